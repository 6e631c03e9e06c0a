"""Measure engines and report what speculation is worth."""

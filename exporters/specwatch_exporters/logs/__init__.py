"""Speculative lines in engine logs."""

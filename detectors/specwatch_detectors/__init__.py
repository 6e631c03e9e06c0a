"""Decide whether the draft still matches its target."""

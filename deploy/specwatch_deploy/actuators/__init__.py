"""Levers that move traffic or restart engines, each behind the one interface of the fallback controller."""

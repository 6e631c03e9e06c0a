"""Adds the sidecars to somebody's manifest and leaves every other byte of it alone."""

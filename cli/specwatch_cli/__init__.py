"""The `specwatch` command: one file per command group, no logic."""

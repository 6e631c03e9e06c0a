"""The dashboards, one file each."""

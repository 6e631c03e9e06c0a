"""Grafana dashboards, built from the catalogue."""

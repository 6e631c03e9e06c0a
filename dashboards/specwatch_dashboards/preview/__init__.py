"""Draws dashboards from their own JSON and the answers of a Prometheus, for review without a Grafana."""

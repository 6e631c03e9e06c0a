"""Grafana's dashboard JSON, version 39, made with grafanalib and mended where grafanalib 0.7.1 is behind."""

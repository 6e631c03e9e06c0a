"""The fleet watch: canonical counters of many pods out of Prometheus, one verdict per model."""

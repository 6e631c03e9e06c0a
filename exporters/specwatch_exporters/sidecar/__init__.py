"""The scrape sidecar: fetch, accumulate, serve."""

"""Per-request speculative records inside API responses."""

"""A small server that behaves as a speculative vLLM does, for demos and tests."""

"""The live demonstration: replay engine, traffic, sidecar, terminal view."""

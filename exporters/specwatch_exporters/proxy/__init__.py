"""The request sidecar: a pass-through in front of one engine that reads each request without changing it."""

"""Scaling on demand in replica units: rules, objects, the HPA's arithmetic and a simulation of it."""

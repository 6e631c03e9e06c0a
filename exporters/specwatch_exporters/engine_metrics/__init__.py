"""The engines' own metrics, as data: one file per engine."""

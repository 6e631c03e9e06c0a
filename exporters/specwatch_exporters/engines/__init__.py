"""One reader per engine: raw names in, canonical series out."""

"""Say why acceptance moved: mix or draft, where, since when, which cause, and when nothing can be said."""

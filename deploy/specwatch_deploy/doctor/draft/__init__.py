"""Whether a draft fits its target, read from their folders before anything is deployed."""

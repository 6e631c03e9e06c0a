"""When to leave a drafter, for what, and when to come back."""

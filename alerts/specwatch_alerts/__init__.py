"""Rules, runbooks and messages for people on call."""

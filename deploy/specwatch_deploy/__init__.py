"""Scaling, rollouts and checks of a deployment."""

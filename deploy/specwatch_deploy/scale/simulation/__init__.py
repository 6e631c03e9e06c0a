"""A discrete-event simulation of vLLM pods under an autoscaler. Everything in it is simulated."""

"""Is speculation paying right now: speed-up S = tau / rho, from acceptance and step times."""

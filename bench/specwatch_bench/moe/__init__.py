"""How much routing noise of a mixture of experts costs a fixed draft."""

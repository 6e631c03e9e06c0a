"""Random algebraic expressions, in plain notation or in LaTeX."""

from __future__ import annotations

from random import Random

VARIABLES = ("x", "x", "x", "y", "n", "t", "z", "a")
_FUNCTIONS = ("sin", "cos", "tan", "ln", "exp", "sqrt", "log")


def expression(rng: Random, variable: str) -> str:
    """A polynomial, a function of a linear term, a product or a quotient."""
    latex = rng.random() < 0.4
    kind = rng.random()
    if kind < 0.6:
        return polynomial(rng, variable)
    inner = polynomial(rng, variable, degree=1)
    name = rng.choice(_FUNCTIONS)
    if kind < 0.8:
        if latex:
            return f"\\sqrt{{{inner}}}" if name == "sqrt" else f"\\{name}({inner})"
        return f"{name}({inner})"
    other = polynomial(rng, variable, degree=2)
    if latex:
        return f"\\frac{{{inner}}}{{{other}}}"
    return f"({inner})/({other})" if kind < 0.9 else f"({inner})*({other})"


def polynomial(rng: Random, variable: str, degree: int | None = None) -> str:
    """Such as `3x^2 - 4x + 1` or `3*x**2 - 4*x + 1`."""
    top = degree or rng.randint(1, 4)
    power, times = rng.choice((("^", ""), ("^", ""), ("**", "*"), ("^", "*")))
    terms = []
    for exponent in range(top, -1, -1):
        factor = rng.randint(-12, 20)
        if factor == 0 and exponent != top:
            continue
        shown = str(abs(factor) or 1)
        body = {0: shown, 1: f"{shown}{times}{variable}"}.get(
            exponent, f"{shown}{times}{variable}{power}{exponent}"
        )
        sign = "-" if factor < 0 else "+"
        terms.append((sign, body))
    first_sign, first = terms[0]
    rest = "".join(f" {sign} {body}" for sign, body in terms[1:])
    return ("-" if first_sign == "-" else "") + first + rest


def number(rng: Random) -> int:
    """Small numbers more often than large ones."""
    return rng.choice((rng.randint(2, 12), rng.randint(2, 99), rng.randint(10, 999), rng.randint(100, 99_999)))

"""Compare a derived answer with the right one, however it is written."""

from __future__ import annotations

import random

import sympy as sp

Answer = sp.Expr | float | str
DIGITS = 30
POINTS = 5


def same(answer: Answer, right: Answer) -> bool:
    """Return whether two expressions or numbers are equal.

    Symbols are matched by name, whatever their assumptions. Since ``simplify`` may not finish, both sides are evaluated
    with 30 digits at five random points; different expressions would have to agree at all of them. A symbol that is an
    integer in the right answer gets small positive integers, any other a rational number between 0 and 1.

    Args:
        answer: the answer to check.
        right: the right answer.

    Returns:
        True if they agree at every point to nine digits; more would reject answers given in decimals.

    Raises:
        ValueError: the answer is not an expression, or has a symbol that the right answer does not have.

    Example:
        >>> same("1 - tanh(x)**2", sp.cosh(sp.Symbol("x")) ** -2)
        True
        >>> same("h*(d + h)", "h*(d + h + 1)")
        False
    """
    try:
        answer, right = sp.sympify(answer), sp.sympify(right)
    except (sp.SympifyError, TypeError) as error:
        raise ValueError(f"{answer!r} is not an expression; give a number, a SymPy expression or a string") from error
    known = {symbol.name: symbol for symbol in right.free_symbols}
    if unknown := sorted({symbol.name for symbol in answer.free_symbols} - set(known)):
        raise ValueError(
            f"the answer contains {', '.join(unknown)}; it can contain {', '.join(sorted(known)) or 'no symbols'}"
        )
    answer = answer.subs({symbol: known[symbol.name] for symbol in answer.free_symbols})
    rng = random.Random(0)
    for _ in range(POINTS):
        point = {s: rng.randint(2, 9) if s.is_integer else sp.Rational(rng.randint(1, 96), 97) for s in known.values()}
        actual, expected = (sp.N(side.subs(point).doit(), DIGITS) for side in (answer, right))
        if not abs(actual - expected) <= 1e-9 * max(abs(expected), sp.Float(1e-300)):
            return False
    return True


def at(answer: Answer, **values: float) -> sp.Expr:
    """Return the value of an answer for these values of its symbols, which are matched by name.

    A whole number is returned as an integer, because in SymPy 6.0 does not equal 6.

    Args:
        answer: an expression, a number or a string.
        values: a value for each symbol; others remain symbols.

    Example:
        >>> at("h*(d + h + 1)", d=3, h=5)
        45
    """
    answer = sp.sympify(answer)
    value = answer.subs({symbol: values[symbol.name] for symbol in answer.free_symbols if symbol.name in values}).doit()
    return sp.Integer(int(value)) if value.is_Float and float(value).is_integer() else value

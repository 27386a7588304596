"""Compare an answer that was derived with the right one, however it is written."""

from __future__ import annotations

import random

import sympy as sp

Answer = sp.Expr | float | str
DIGITS = 30


def same(answer: Answer, right: Answer, points: int = 5) -> bool:
    """Return whether two expressions, or numbers, are equal.

    Symbols are matched by name, whatever they are assumed to be. Both sides are evaluated with 30 digits at random
    points, since ``simplify`` may not finish: two different expressions would have to agree at all of them. A symbol
    that is an integer in the right answer gets small positive integers, any other a rational number between 0 and 1.

    Args:
        answer: what is examined.
        right: what it should be.
        points: how many points to try.

    Returns:
        True where they agree at every point, to nine digits, since an answer may have been given in decimals.

    Raises:
        ValueError: the answer has a symbol that the right answer has not, or it is no expression.
    """
    try:
        answer, right = sp.sympify(answer), sp.sympify(right)
    except (sp.SympifyError, TypeError) as error:
        raise ValueError(f"{answer!r} is not an expression; give a number, a SymPy expression or a string") from error
    known = {symbol.name: symbol for symbol in right.free_symbols}
    if strangers := sorted({symbol.name for symbol in answer.free_symbols} - set(known)):
        raise ValueError(
            f"the answer has {', '.join(strangers)} in it; it can have {', '.join(sorted(known)) or 'none'}"
        )
    answer = answer.subs({symbol: known[symbol.name] for symbol in answer.free_symbols})
    rng = random.Random(0)
    for _ in range(points):
        at = {s: rng.randint(2, 9) if s.is_integer else sp.Rational(rng.randint(1, 96), 97) for s in known.values()}
        left, expected = (sp.N(side.subs(at).doit(), DIGITS) for side in (answer, right))
        if not abs(left - expected) <= 1e-9 * max(abs(expected), sp.Float(1e-300)):
            return False
    return True


def at(answer: Answer, **values: float) -> sp.Expr:
    """Return the value of an answer where its symbols, matched by name, have these values.

    A whole number comes back as an integer, since SymPy's 6.0 does not equal 6.
    """
    answer = sp.sympify(answer)
    value = answer.subs({symbol: values[symbol.name] for symbol in answer.free_symbols if symbol.name in values}).doit()
    return sp.Integer(int(value)) if value.is_Float and float(value).is_integer() else value

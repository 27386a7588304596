"""Symbols, σ, and the exact comparison of what is written with them."""

from __future__ import annotations

import sympy as sp
from sympy.polys.rings import PolyRing


class sigma(sp.Function):
    """σ(a) = 1 / (1 + e^−a), with the rule σ′ = σ (1 − σ), and not written out: its derivatives would grow too fast."""

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """Return σ′(a)."""
        return self * (1 - self)


def symbol_matrix(name: str, rows: int, columns: int = 1) -> sp.Matrix:
    """Return a matrix of symbols, indexed from 1; a 1 × 1 matrix holds the bare name, and a column needs one index."""
    if rows == columns == 1:
        return sp.Matrix([sp.Symbol(name)])
    return sp.Matrix(
        rows, columns, lambda i, j: sp.Symbol(f"{name}_{i + 1}" if columns == 1 else f"{name}_{i + 1}{j + 1}")
    )


def _expanded(expression: sp.Expr) -> sp.Expr:
    """Return a polynomial expanded, as by `sympy.expand`, but in a ring, where that is many times faster.

    A symbol in a denominator has to cancel when the sums it stands before are multiplied out, as Z_t does.
    """
    expression = sp.Add(*(sp.expand_mul(term, deep=False) for term in sp.Add.make_args(expression)))
    symbols = sorted(expression.free_symbols, key=str)
    return PolyRing(symbols, sp.QQ, sp.lex).from_expr(expression).as_expr() if symbols else expression


def difference(a: sp.Matrix, b: sp.Matrix) -> sp.Matrix:
    """Return a − b, expanded: all zeros if and only if the two are the same polynomial in their symbols.

    Raises:
        ValueError: the shapes differ.
    """
    if a.shape != b.shape:
        raise ValueError(f"the shapes are {a.shape} and {b.shape}; they must be the same to be compared")
    return (a - b).applyfunc(_expanded)

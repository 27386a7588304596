"""Symbols, σ, and the exact comparison of polynomials."""

import sympy as sp
from sympy.polys.rings import PolyRing


class sigma(sp.Function):
    """σ(a) = 1 / (1 + e^−a), left unevaluated: written out, its derivatives would grow too fast.

    Example:
        >>> a = sp.Symbol("a")
        >>> sp.diff(sigma(a), a)
        (1 - sigma(a))*sigma(a)
    """

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """Return σ′(a) = σ(a) (1 − σ(a))."""
        return self * (1 - self)


def symbol_matrix(name: str, rows: int, columns: int = 1) -> sp.Matrix:
    """Return a matrix of symbols, indexed from 1; a column has one index, and a 1 × 1 matrix the bare name."""
    if rows == columns == 1:
        return sp.Matrix([sp.Symbol(name)])
    return sp.Matrix(
        rows, columns, lambda i, j: sp.Symbol(f"{name}_{i + 1}" if columns == 1 else f"{name}_{i + 1}{j + 1}")
    )


def _expanded(expression: sp.Expr) -> sp.Expr:
    """Return a polynomial expanded, as `sympy.expand` does, but in a ring, which is many times faster.

    A symbol in a denominator must cancel when products of sums are multiplied out, as Z_t does.
    """
    expression = sp.Add(*(sp.expand_mul(term, deep=False) for term in sp.Add.make_args(expression)))
    symbols = sorted(expression.free_symbols, key=str)
    return PolyRing(symbols, sp.QQ, sp.lex).from_expr(expression).as_expr() if symbols else expression


def difference(a: sp.Matrix, b: sp.Matrix) -> sp.Matrix:
    """Return a − b, expanded: all zeros if and only if the two are the same polynomials in their symbols.

    Example:
        >>> x, y = sp.symbols("x y")
        >>> difference(sp.Matrix([(x + y) ** 2]), sp.Matrix([x**2 + y**2]))
        Matrix([[2*x*y]])
    """
    return (a - b).applyfunc(_expanded)

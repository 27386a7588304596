"""Proofs by SymPy that hold for any number of steps: the closed forms of the recursions, and the powers of W_hh.

`symbolic` compares gradients of networks with up to four steps; here the step t and the number of steps T are symbols.
A proof is a computation that ends in 0. Each takes what it proves something about as an argument, so that it can also
be seen to fail.

The following are functions of the step, and stand for matrices of any size, which do not commute:

    J(s)      the Jacobian J_s = ∂h_s/∂h_{s−1}
    P(s, k)   the product J_s J_{s−1} ⋯ J_{k+1} = ∂h_s/∂h_k, and so P(k, k) = 1
    F(s)      the immediate derivative ∂⁺h_s/∂θ by some weights θ, and X(s) the total one, ∂h_s/∂θ
    g(s)      the immediate derivative ∂⁺L/∂h_s, and D(s) the total one, ∂L/∂h_s
"""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

Step = Callable[[sp.Expr, sp.Expr, sp.Expr], sp.Expr]

J, P, F, X, g, D = (sp.Function(name, commutative=False) for name in "JPFXgD")
s, t, T = sp.symbols("s t T", integer=True)
n = sp.Symbol("n", integer=True, nonnegative=True)


def backward_step(immediate: sp.Expr, jacobian: sp.Expr, later: sp.Expr) -> sp.Expr:
    """Return ∂L/∂h_t from ∂⁺L/∂h_t, J_{t+1} and ∂L/∂h_{t+1} (:eq:`eq-delta-h`)."""
    return immediate + sp.transpose(jacobian) * later


def forward_step(immediate: sp.Expr, jacobian: sp.Expr, earlier: sp.Expr) -> sp.Expr:
    """Return ∂h_t/∂θ from ∂⁺h_t/∂θ, J_t and ∂h_{t−1}/∂θ (:eq:`eq-total`; Williams & Zipser 1989)."""
    return immediate + jacobian * earlier


def prove_backward(recursion: Step = backward_step) -> dict[str, sp.Expr]:
    """Prove ∂L/∂h_t = Σ_{s=t}^T (J_s ⋯ J_{t+1})ᵀ ∂⁺L/∂h_s for all t ≤ T, by induction from t + 1 to t.

    The step puts the claim for t + 1 into the recursion, and takes the claim for t away. All it needs to know of the
    product is its last factor: P(s, t) = P(s, t + 1) J(t + 1) where s > t.

    Args:
        recursion: gives ∂L/∂h_t from ∂⁺L/∂h_t, J_{t+1} and ∂L/∂h_{t+1}.

    Returns:
        What is left of the ``"beginning"`` (t = T, where ∂L/∂h_{T+1} = 0) and of the ``"step"``: 0 each, if it is
        proved.
    """
    term = sp.transpose(P(s, t)) * g(s)
    own = term.subs(s, t).subs(P(t, t), 1)  # the claim's term s = t
    beginning = recursion(g(T), J(T + 1), sp.Integer(0)) - own.subs(t, T)
    claim = own + sp.Sum(term.subs(P(s, t), P(s, t + 1) * J(t + 1)), (s, t + 1, T))
    claim_before = sp.Sum(term.subs(t, t + 1), (s, t + 1, T))
    return {"beginning": _collect(beginning), "step": _collect(recursion(g(t), J(t + 1), claim_before) - claim)}


def prove_forward(recursion: Step = forward_step) -> dict[str, sp.Expr]:
    """Prove ∂h_t/∂θ = Σ_{s=1}^t J_t ⋯ J_{s+1} ∂⁺h_s/∂θ for all t ≥ 1, by induction from t − 1 to t.

    All that the step needs to know of the product is its first factor: P(t, s) = J(t) P(t − 1, s) where s < t. With
    ∂L/∂θ = Σ_t (∂h_t/∂θ)ᵀ ∂⁺L/∂h_t, this is the double sum (:eq:`eq-double-sum`).

    Args:
        recursion: gives ∂h_t/∂θ from ∂⁺h_t/∂θ, J_t and ∂h_{t−1}/∂θ.

    Returns:
        What is left of the ``"beginning"`` (t = 1, where ∂h_0/∂θ = 0) and of the ``"step"``: 0 each, if it is proved.
    """
    term = P(t, s) * F(s)
    own = term.subs(s, t).subs(P(t, t), 1)
    beginning = recursion(F(1), J(1), sp.Integer(0)) - own.subs(t, 1)
    claim = sp.Sum(term.subs(P(t, s), J(t) * P(t - 1, s)), (s, 1, t - 1)) + own
    claim_before = sp.Sum(term.subs(t, t - 1), (s, 1, t - 1))
    return {"beginning": _collect(beginning), "step": _collect(recursion(F(t), J(t), claim_before) - claim)}


def prove_same(backward: Step = backward_step, forward: Step = forward_step) -> dict[str, sp.Expr]:
    """Prove that carrying derivatives back and carrying them forward give the same ∂L/∂θ, for any number of steps.

    Cut the sequence at any step t: go forward up to there, and backward from the end to there.

        C(t) = Σ_{s<t} X(s)ᵀ g(s) + X(t)ᵀ D(t) + Σ_{s>t} F(s)ᵀ D(s)

    At t = T this is Σ_s X(s)ᵀ g(s), the double sum; at t = 1 it is Σ_s F(s)ᵀ D(s), the recursion. What is shown is
    that C(t + 1) = C(t).

    Args:
        backward: gives D(t) from g(t), J(t + 1) and D(t + 1).
        forward: gives X(t) from F(t), J(t) and X(t − 1).

    Returns:
        What is left of ``"last"``, D(T) = g(T), of ``"first"``, X(1) = F(1), and of ``"between"``, C(t + 1) − C(t): 0
        each.
    """
    d_t, x_next = backward(g(t), J(t + 1), D(t + 1)), forward(F(t + 1), J(t + 1), X(t))
    gained = sp.transpose(X(t)) * g(t) + sp.transpose(x_next) * D(t + 1)  # what C(t + 1) has more than C(t)
    lost = sp.transpose(X(t)) * d_t + sp.transpose(F(t + 1)) * D(t + 1)  # and what C(t) has more
    return {
        "last": sp.expand(backward(g(T), J(T + 1), sp.Integer(0)) - g(T)),
        "first": sp.expand(forward(F(1), J(1), sp.Integer(0)) - F(1)),
        "between": sp.expand(gained - lost),
    }


def _collect(expression: sp.Expr) -> sp.Expr:
    """Return the expression expanded, all factors of a sum moved into it, and the sums over one range added up."""
    rest, sums = sp.Integer(0), {}
    for term in sp.Add.make_args(sp.expand(expression)):
        factors = [factor.function if isinstance(factor, sp.Sum) else factor for factor in sp.Mul.make_args(term)]
        limits = [factor.limits for factor in sp.Mul.make_args(term) if isinstance(factor, sp.Sum)]
        if limits:
            sums[limits[0]] = sums.get(limits[0], 0) + sp.Mul(*factors)
        else:
            rest += term
    for limits, summand in sums.items():
        if sp.expand(summand) != 0:
            rest += sp.Sum(sp.expand(summand), *limits)
    return rest


def power(matrix: sp.Matrix) -> sp.Matrix:
    """Return W^n, with n a symbol (`symbolic.proofs.n`), through the Jordan form W = Q Λ Q⁻¹.

    Under the identity activation, J_t ⋯ J_{k+1} = W_hh^(t−k) (:eq:`eq-linear-product`). A block of Λ with the
    eigenvalue λ has in its n-th power C(n, j) λ^(n−j) on its j-th diagonal above the main one. Where W has as many
    eigenvectors as rows, every block is 1 × 1, and this is Q diag(λ_1^n, λ_2^n, …) Q⁻¹; where it is defective, there
    are terms n λ^(n−1) besides.

    Args:
        matrix: W, square, of exact entries: symbols, integers, fractions, roots. Eigenvalues of a defective W must not
            be 0.

    Raises:
        ValueError: W is not square, or has a block of eigenvalue 0 above 1 × 1, whose powers end after a few steps.
    """
    if not matrix.is_square:
        raise ValueError(f"the matrix has shape {matrix.shape}; only a square one has powers")
    Q, form = matrix.jordan_form()
    blocks = []
    for block in form.get_diag_blocks():
        eigenvalue = block[0, 0]
        if eigenvalue == 0 and block.rows > 1:
            raise ValueError(f"the matrix has the eigenvalue 0 in a block of {block.rows}; it must be another there")
        # C(n, j) λ^(n−j) for j = 0, 1, …
        diagonals = [sp.ff(n, j) / sp.factorial(j) * eigenvalue ** (n - j) for j in range(block.rows)]
        blocks.append(sp.Matrix(*block.shape, lambda i, j, above=diagonals: above[j - i] if j >= i else 0))
    return Q * sp.diag(*blocks) * Q.inv()


def prove_power(matrix: sp.Matrix, claim: sp.Matrix) -> dict[str, sp.Matrix]:
    """Prove that a claim, a matrix with `symbolic.proofs.n` in it, is W^n for all n ≥ 0, by induction.

    Args:
        matrix: W.
        claim: the closed form, as from `power`.

    Returns:
        What is left of the ``"beginning"``, W^0 = 1, and of the ``"step"``, W^(n+1) = W W^n: zeros, if it is proved.
        Only the numerators are kept.
    """
    beginning, step = claim.subs(n, 0) - sp.eye(matrix.rows), claim.subs(n, n + 1) - matrix * claim
    return {"beginning": beginning.applyfunc(_numerator), "step": step.applyfunc(_numerator)}


def _numerator(expression: sp.Expr) -> sp.Expr:
    """Return the numerator of an expression, expanded: 0 where the expression is."""
    return sp.expand(sp.numer(sp.together(sp.expand(expression))))

"""Proofs by SymPy that hold for any number of steps: the closed forms of the recursions, and the powers of W_hh.

`symbolic.Network` compares gradients of networks with up to four steps; here the step t and the number of steps T are
symbols. A proof is a computation that ends in 0. Each takes the recursion or claim that it proves as an argument, so
that it can also be seen to fail.

The following are functions of the step that stand for matrices of any size, which do not commute:

    J(s)      the Jacobian J_s = ∂h_s/∂h_{s−1}
    P(t, s)   the product J_t J_{t−1} ⋯ J_{s+1} = ∂h_t/∂h_s, and so P(s, s) = 1
    F(s)      the immediate derivative ∂⁺h_s/∂W with respect to weights W, and X(s) the total one, ∂h_s/∂W
    g(s)      the immediate derivative ∂⁺L/∂h_s, and D(s) the total one, ∂L/∂h_s
"""

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
    """Return ∂h_t/∂W from ∂⁺h_t/∂W, J_t and ∂h_{t−1}/∂W (:eq:`eq-total`; Williams & Zipser 1989)."""
    return immediate + jacobian * earlier


def prove_forward(recursion: Step = forward_step) -> dict[str, sp.Expr]:
    """Prove ∂h_t/∂W = Σ_{s=1}^t J_t ⋯ J_{s+1} ∂⁺h_s/∂W for all t ≥ 1, by induction from t − 1 to t.

    The step puts the claim for t − 1 into the recursion, and subtracts the claim for t. It uses one property of the
    product: its first factor, P(t, s) = J(t) P(t − 1, s) for s < t. With ∂L/∂W = Σ_t (∂h_t/∂W)ᵀ ∂⁺L/∂h_t, the result is
    the double sum (:eq:`eq-double-sum`).

    Args:
        recursion: gives ∂h_t/∂W from ∂⁺h_t/∂W, J_t and ∂h_{t−1}/∂W.

    Returns:
        The remainders of the ``"beginning"`` (t = 1, where ∂h_0/∂W = 0) and of the ``"step"``: 0 each, if it is proved.
    """
    term = P(t, s) * F(s)
    own = term.subs(s, t).subs(P(t, t), 1)
    beginning = recursion(F(1), J(1), sp.Integer(0)) - own.subs(t, 1)
    claim = sp.Sum(term.subs(P(t, s), J(t) * P(t - 1, s)), (s, 1, t - 1)) + own
    claim_before = sp.Sum(term.subs(t, t - 1), (s, 1, t - 1))
    return {"beginning": _collect(beginning), "step": _collect(recursion(F(t), J(t), claim_before) - claim)}


def prove_same(backward: Step = backward_step, forward: Step = forward_step) -> dict[str, sp.Expr]:
    """Prove that carrying derivatives backward and carrying them forward give the same ∂L/∂W, for any number of steps.

    Cut the sequence at any step t, and go forward up to t and backward from the end down to t:

        C(t) = Σ_{s<t} X(s)ᵀ g(s) + X(t)ᵀ D(t) + Σ_{s>t} F(s)ᵀ D(s)

    At t = T this is Σ_s X(s)ᵀ g(s), the double sum; at t = 1 it is Σ_s F(s)ᵀ D(s), the recursion. The proof shows that
    C(t + 1) = C(t).

    Args:
        backward: gives D(t) from g(t), J(t + 1) and D(t + 1).
        forward: gives X(t) from F(t), J(t) and X(t − 1).

    Returns:
        The remainders of ``"last"``, D(T) − g(T), of ``"first"``, X(1) − F(1), and of ``"between"``, C(t + 1) − C(t): 0
        each, if it is proved.

    Example:
        >>> prove_same()
        {'last': 0, 'first': 0, 'between': 0}
        >>> prove_same(forward=lambda immediate, jacobian, earlier: immediate)["between"]  # nothing is carried
        -transpose(X(t))*transpose(J(t + 1))*D(t + 1)
    """
    d_t, x_next = backward(g(t), J(t + 1), D(t + 1)), forward(F(t + 1), J(t + 1), X(t))
    entering = sp.transpose(X(t)) * g(t) + sp.transpose(x_next) * D(t + 1)  # in C(t + 1), not in C(t)
    leaving = sp.transpose(X(t)) * d_t + sp.transpose(F(t + 1)) * D(t + 1)  # in C(t), not in C(t + 1)
    return {
        "last": sp.expand(backward(g(T), J(T + 1), sp.Integer(0)) - g(T)),
        "first": sp.expand(forward(F(1), J(1), sp.Integer(0)) - F(1)),
        "between": sp.expand(entering - leaving),
    }


def _collect(expression: sp.Expr) -> sp.Expr:
    """Return the expression expanded, with factors moved into the sums, and sums over the same range added up."""
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
    """Return W^n, where n is a symbol (`symbolic.proofs.n`), through the Jordan form W = Q Λ Q⁻¹.

    In a linear network, J_t ⋯ J_{s+1} = W_hh^(t−s) (:eq:`eq-linear-product`). The n-th power of a block of Λ with
    eigenvalue λ has C(n, j) λ^(n−j) on its j-th diagonal above the main one. If W has as many independent eigenvectors
    as rows, every block is 1 × 1 and the result is Q diag(λ_1^n, λ_2^n, …) Q⁻¹; if W is defective, it also contains
    terms n λ^(n−1).

    Args:
        matrix: W, square, with exact entries: symbols, integers, fractions, roots. An eigenvalue 0 must have 1 × 1
            blocks only, as the powers of a larger one vanish after a few steps.

    Example:
        >>> power(sp.Matrix([[2, 1], [0, 2]]))
        Matrix([
        [2**n, 2**(n - 1)*n],
        [   0,         2**n]])
    """
    Q, form = matrix.jordan_form()
    blocks = []
    for block in form.get_diag_blocks():
        eigenvalue = block[0, 0]
        if eigenvalue == 0 and block.rows > 1:
            raise ValueError(f"a Jordan block of {block.rows} rows has the eigenvalue 0; it must be 1 × 1")
        # C(n, j) λ^(n−j) for j = 0, 1, …
        diagonals = [sp.ff(n, j) / sp.factorial(j) * eigenvalue ** (n - j) for j in range(block.rows)]
        blocks.append(sp.Matrix(*block.shape, lambda i, j, above=diagonals: above[j - i] if j >= i else 0))
    return Q * sp.diag(*blocks) * Q.inv()


def prove_power(matrix: sp.Matrix, claim: sp.Matrix) -> dict[str, sp.Matrix]:
    """Prove that a claim, a matrix with `symbolic.proofs.n` in it, is W^n for all n ≥ 0, by induction.

    Returns:
        The numerators of the remainders of the ``"beginning"``, W^0 = 1, and of the ``"step"``, W^(n+1) = W W^n: zeros,
        if it is proved.
    """
    beginning, step = claim.subs(n, 0) - sp.eye(matrix.rows), claim.subs(n, n + 1) - matrix * claim
    return {"beginning": beginning.applyfunc(_numerator), "step": step.applyfunc(_numerator)}


def _numerator(expression: sp.Expr) -> sp.Expr:
    """Return the numerator of an expression, expanded: 0 if and only if the expression is 0."""
    return sp.expand(sp.numer(sp.together(sp.expand(expression))))

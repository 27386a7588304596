"""The proofs hold for any number of steps, powers are those of any matrix, and false claims are not proved."""

import pytest
import sympy as sp

from unrolled.symbolic import proofs
from unrolled.symbolic.proofs import F, J, X, g, t

transpose = sp.transpose


def remaining(proof: dict) -> list[str]:
    """Return the parts of a proof that did not come to 0."""
    return [part for part, remainder in proof.items() if remainder != 0]


def test_the_closed_forms_are_proved_by_induction():
    assert remaining(proofs.prove_forward()) == []
    assert remaining(proofs.prove_same()) == []


@pytest.mark.parametrize(
    "recursion",
    [
        lambda own, jacobian, later: own + jacobian * later,  # a forgotten transpose
        lambda own, jacobian, later: own + later * transpose(jacobian),  # a reversed product
        lambda own, jacobian, later: own + later,  # a dropped factor
        lambda own, jacobian, later: own,  # the immediate derivative for the total
        lambda own, jacobian, later: own - transpose(jacobian) * later,
        lambda own, jacobian, later: transpose(jacobian) * later,
    ],
)
def test_a_false_recursion_is_not_proved(recursion):
    assert "between" in remaining(proofs.prove_same(backward=recursion))


@pytest.mark.parametrize(
    "recursion, parts",
    [
        (lambda own, jacobian, earlier: own + transpose(jacobian) * earlier, ["step"]),
        (lambda own, jacobian, earlier: own + earlier * jacobian, ["step"]),
        (lambda own, jacobian, earlier: own + earlier, ["step"]),
        (lambda own, jacobian, earlier: own, ["step"]),
        (lambda own, jacobian, earlier: jacobian * earlier, ["beginning", "step"]),
    ],
)
def test_a_false_total_derivative_is_not_proved(recursion, parts):
    assert remaining(proofs.prove_forward(recursion)) == parts
    assert "between" in remaining(proofs.prove_same(forward=recursion))


def test_what_is_left_says_what_is_missing():
    missing = proofs.prove_same(backward=lambda own, jacobian, later: own)["between"]
    assert missing == transpose(X(t)) * transpose(J(t + 1)) * proofs.D(t + 1)
    assert not any(symbol.is_commutative for symbol in (F(t), g(t), X(t), J(t)))


# powers of W_hh


a, b, c, d, l = sp.symbols("a b c d lambda", nonzero=True)
HALF = sp.Rational(1, 2)
MATRICES = {
    "any 2 × 2": sp.Matrix([[a, b], [c, d]]),
    "symmetric": sp.Matrix([[a, b], [b, a]]),
    "rotation": sp.Matrix([[3, -4], [4, 3]]) / 5,
    "irrational": sp.Matrix([[1, 1], [1, 0]]),
    "singular": sp.Matrix([[1, 2], [2, 4]]),
    "any defective 2 × 2": sp.Matrix([[l + a * b, a**2], [-(b**2), l - a * b]]),
    "Jordan block": sp.Matrix([[l, 1, 0], [0, l, 1], [0, 0, l]]),
    "block and number": sp.Matrix([[HALF, 1, 0], [0, HALF, 0], [0, 0, 2]]),
}


@pytest.mark.parametrize("kind", MATRICES)
def test_a_power_is_proved_by_induction(kind):
    matrix = MATRICES[kind]
    claim = proofs.power(matrix)
    assert all(not any(remainder) for remainder in proofs.prove_power(matrix, claim).values())
    cube = claim.subs(proofs.n, 3) - matrix**3
    assert not any(cube.applyfunc(lambda entry: sp.numer(sp.together(sp.expand(entry))).expand()))


def test_a_defective_matrix_has_a_factor_n():
    n = proofs.n
    block = sp.Matrix([[l, 1], [0, l]])
    assert proofs.power(block) == sp.Matrix([[l**n, n * l ** (n - 1)], [0, l**n]])
    without = sp.Matrix([[l**n, l ** (n - 1)], [0, l**n]])
    proof = proofs.prove_power(block, without)
    assert any(proof["beginning"]) and any(proof["step"])


def test_a_false_power_is_not_proved():
    n = proofs.n
    matrix = MATRICES["symmetric"]
    right = proofs.power(matrix)
    proof = proofs.prove_power(matrix, right.subs(n, n + 1))  # grows as it should, but begins too high
    assert any(proof["beginning"]) and not any(proof["step"])
    proof = proofs.prove_power(matrix, right.subs(n, 2 * n))  # begins as it should, but grows too fast
    assert not any(proof["beginning"]) and any(proof["step"])


def test_a_matrix_without_such_powers_is_named():
    with pytest.raises(ValueError, match="a Jordan block of 2 rows has the eigenvalue 0"):
        proofs.power(sp.Matrix([[0, 1], [0, 0]]))

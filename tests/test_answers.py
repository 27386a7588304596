"""A derived answer counts however it is written, and a wrong one does not."""

import pytest
import sympy as sp

from unrolled import answers

d, h = sp.symbols("d h", integer=True, positive=True)
w, x = sp.symbols("w x")
n, k = sp.symbols("n k", integer=True, positive=True)


@pytest.mark.parametrize(
    "answer",
    [
        h * (d + h + 1),
        h * d + h**2 + h,
        "h*(d + h + 1)",
        sp.Symbol("h") * (sp.Symbol("d") + sp.Symbol("h") + 1),
        sp.expand((h + 1) * h) + 1.0 * d * h,
    ],
)
def test_every_way_to_write_it_is_the_same(answer):
    assert answers.same(answer, h * (d + h + 1))


def test_a_sum_is_the_same_as_its_closed_form():
    by_steps = sp.Sum(w ** (k - 1), (k, 1, n))
    assert answers.same(by_steps, (1 - w**n) / (1 - w))
    assert not answers.same(by_steps, (1 - w ** (n + 1)) / (1 - w))


def test_an_identity_that_needs_thought_is_seen():
    assert answers.same(1 - sp.tanh(x) ** 2, 1 / sp.cosh(x) ** 2)
    assert answers.same("256", 256) and answers.same(256.0, 256)


@pytest.mark.parametrize("wrong", [h * (d + h), h * (d + h + 2), h * (d + h - 1), h * (d + h + 1) / 2, 2, "h*h*d"])
def test_another_expression_is_not_the_same(wrong):
    assert not answers.same(wrong, h * (d + h + 1))


def test_a_number_near_by_is_not_the_same():
    assert not answers.same(255.999, 256) and not answers.same(1e-12, 0)


def test_a_strange_symbol_is_named_with_those_that_are_right():
    with pytest.raises(ValueError, match="the answer contains q; it can contain d, h"):
        answers.same("q + h", d + h)


def test_what_is_no_expression_is_named():
    with pytest.raises(ValueError, match=r"'h \+' is not an expression"):
        answers.same("h +", h)


def test_a_value_is_taken_at_symbols_by_name():
    assert answers.at(h * d + w, h=2, d=3, w=4) == 10
    assert answers.at("h*d", h=2, d=3) == 6
    assert answers.at(sp.Sum(k, (k, 1, n)), n=4) == 10


def test_a_whole_value_is_an_integer_even_from_decimals():
    assert answers.at(0.5 * h * (h + 1), h=3) == 6 and answers.at(0.5 * h, h=3) != 1

"""A derived answer counts however it is written, a wrong one does not, and what is no answer gets a sentence."""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
import torch

from unrolled import checks, settings

d, h = sp.symbols("d h", integer=True, positive=True)
k = sp.Symbol("k", integer=True)
WAYS = {
    "an expression": h * (d + h + 1),
    "a string": "h*(d + h + 1)",
    "other symbols of these names": sp.Symbol("h") * (sp.Symbol("d") + sp.Symbol("h") + 1),
    "a float in it": sp.expand((h + 1) * h) + 1.0 * d * h,
    "a sum": 2 * sp.Sum(k, (k, 1, h)) + d * h,
    "a function": lambda d, h: h * (d + h + 1),
    "a function of one of them": lambda h: h * (h + 4),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_write_it_has_the_same_value(way):
    assert checks.value(WAYS[way], "size", d=3, h=5) == 45


@pytest.mark.parametrize("name", ["beta", "gamma", "S", "N", "Q", "E", "I"])
def test_in_a_string_a_symbol_is_one_whatever_sympy_calls_by_its_name(name):
    assert checks.value(f"1 - {name}", "along", **{name: 0.25}) == 0.75


def test_a_value_is_exact():
    assert checks.at("h*d", h=2, d=sp.Rational(1, 3)) == sp.Rational(2, 3)


@pytest.mark.parametrize("half", [0.5, Fraction(1, 2), sp.Rational(1, 2), np.float32(0.5), torch.tensor([0.5])])
def test_a_number_counts_in_all_its_clothes(half):
    assert checks.number(half, "half") == checks.value(half, "half") == 0.5


@pytest.mark.parametrize("made", [list, np.array, torch.tensor, lambda rows: tuple(map(tuple, rows))])
def test_an_array_counts_in_all_its_clothes(made):
    assert checks.array(made([[1.0, 2.0]]), "a", (1, 2)).tolist() == [[1, 2]]
    assert checks.array(torch.ones(2, requires_grad=True), "a").tolist() == [1, 1]


NO_NUMBERS = [None, "q", [0.5, 1], True, sp.Symbol("q"), 1j, float("nan"), torch.zeros(2)]
REFUSED = [(checks.number, (wrong, "it"), "^it(:| is) .{10}") for wrong in NO_NUMBERS]
REFUSED += [(checks.value, (wrong, "it"), "^it(:| is) .{10}") for wrong in [*NO_NUMBERS, "q +", lambda q: q]]
REFUSED += [(checks.several, (wrong, 2, "it"), "2 values are asked for") for wrong in (None, 3, (1,), np.zeros(3))]
REFUSED += [(checks.table, (wrong, [8], "it"), r"keys \[8\]") for wrong in (None, {9: 1}, {8: 1, 9: 1})]
REFUSED += [
    (checks.table, ({8: None}, [8], "it"), r"it\[8\] is None"),
    (checks.array, (None, "it"), "it is None"),
    (checks.array, ("12", "it"), "of type str; an array"),
    (checks.array, ([1, [2]], "it"), "an array of numbers"),
    (checks.array, ([1.0], "it", (2,)), r"the shape is \(1,\); right is \(2,\)"),
    (checks.array, ([1, np.nan], "it"), "there is nan"),
    (checks.sealed, (None, "it"), "it is None"),
]


@pytest.mark.parametrize("ask, given, message", REFUSED)
def test_what_is_no_answer_gets_a_sentence(ask, given, message):
    with pytest.raises(AssertionError, match=message):
        ask(*given)


def test_a_strange_symbol_is_named_with_those_that_are_right():
    with pytest.raises(AssertionError, match="^size: the answer contains q; it can contain d, h"):
        checks.value("q + h", "size", d=1, h=1)


def test_values_and_tables_are_counted():
    assert checks.several([1, None], 2, "read(…)") == [1, None]
    assert checks.several(np.array([1.0, 2.0]), 2, "read(…)") == [1, 2]
    assert checks.table({8: torch.tensor(1)}, [8], "costs") == {8: 1}


def test_points_are_drawn_anew_and_again_from_the_same_seed():
    ranges = {"h": (2, 9), "p": (0.1, 0.9)}
    settings.begin()
    first, second = checks.points(5, **ranges), checks.points(5, **ranges)
    settings.begin()
    assert first == checks.points(5, **ranges) != second
    assert len({at["h"] for at in first}) == 5 and all(2 <= at["h"] <= 9 and 0.1 <= at["p"] <= 0.9 for at in first)


def test_an_error_of_a_students_code_gets_a_hint_and_a_stub_and_a_check_keep_their_own():
    assert checks.attempt(lambda: 3, "no hint") == 3
    with pytest.raises(AssertionError, match='stops with "RuntimeError: mat1 .*": is W transposed'):
        checks.attempt(lambda: torch.ones(2, 3) @ torch.ones(2, 3), "is W transposed?")
    with pytest.raises(NotImplementedError):
        checks.attempt(lambda: exec("raise NotImplementedError"), "write it")
    with pytest.raises(AssertionError, match="^of its own$"):
        checks.attempt(lambda: exec("raise AssertionError('of its own')"), "no hint")


@pytest.mark.parametrize(("yours", "right"), [(0.8994, 0.8993), (1e-9, 2e-9), (2, 2.00001), (123456, 123457), (0.0, 1)])
def test_two_numbers_that_differ_are_shown_with_enough_digits_to_differ(yours, right):
    shown = checks.against(yours, right).removeprefix("you have ").split(", and right is ")
    assert float(shown[0]) != float(shown[1])


def test_a_seal_tells_answers_apart_and_exercises_too():
    assert checks.sealed(" B ", "x") == checks.sealed("b", "x") != checks.sealed("b", "y")
    assert checks.sealed("a", "x") != checks.sealed("b", "x")


def test_what_is_to_be_written_may_not_be_called_and_may_again_afterwards():
    with pytest.raises(AssertionError, match=r"calls torch\.Tensor\.backward"), checks.unaided("torch.Tensor.backward"):
        torch.ones(1, requires_grad=True).sum().backward()
    torch.ones(1, requires_grad=True).sum().backward()


def test_any_prediction_is_compared(capsys):
    for prediction in (3, {8: 2}, "little", {8: "little"}):
        checks.compare(prediction, {8: 0.6123})
    checks.compare(7, 21)
    guesses = [f"8: predicted {guess}, found 0.612" for guess in ("3", "2", "little", "little")]
    assert capsys.readouterr().out.splitlines() == [*guesses, "predicted 7, found 21"]

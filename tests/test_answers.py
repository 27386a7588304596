"""A derived answer counts however it is written, a wrong one does not, and what is no answer gets a sentence."""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
import torch

from unrolled import answers, settings

d, h = sp.symbols("d h", integer=True, positive=True)
n, k = sp.symbols("n k", integer=True, positive=True)


@pytest.mark.parametrize(
    "answer",
    [
        h * (d + h + 1),
        "h*(d + h + 1)",
        sp.Symbol("h") * (sp.Symbol("d") + sp.Symbol("h") + 1),
        sp.expand((h + 1) * h) + 1.0 * d * h,
        lambda d, h: h * (d + h + 1),
        lambda h: h * (h + 4),
    ],
)
def test_every_way_to_write_it_has_the_same_value(answer):
    assert answers.value(answer, "size", d=3, h=5) == 45


@pytest.mark.parametrize("name", ["beta", "gamma", "S", "N", "Q", "E", "I"])
def test_in_a_string_a_symbol_is_one_whatever_sympy_calls_by_its_name(name):
    assert answers.value(f"1 - {name}", "along", **{name: 0.25}) == answers.at(f"1 - {name}", **{name: 0.25}) == 0.75


@pytest.mark.parametrize("strange", ["q + h", lambda q, h: q + h])
def test_a_strange_symbol_is_named_with_those_that_are_right(strange):
    with pytest.raises(AssertionError, match="^size: the answer contains q; it can contain d, h"):
        answers.value(strange, "size", d=1, h=1)


def test_what_is_no_expression_is_named():
    with pytest.raises(AssertionError, match=r"'h \+' is not an expression"):
        answers.at("h +", h=1)


def test_a_value_is_taken_exactly_at_symbols_by_name():
    assert answers.at(h * d + sp.Symbol("w"), h=2, d=3, w=4) == 10
    assert answers.at("h*d", h=2, d=sp.Rational(1, 3)) == sp.Rational(2, 3)
    assert answers.at(sp.Sum(k, (k, 1, n)), n=4) == 10


@pytest.mark.parametrize("half", [0.5, "1/2", Fraction(1, 2), sp.Rational(1, 2), np.float32(0.5), torch.tensor([0.5])])
def test_a_number_counts_in_all_its_clothes(half):
    assert (answers.value(half, "half") if isinstance(half, str) else answers.number(half, "half")) == 0.5


@pytest.mark.parametrize("wrong", [None, "half", [0.5, 1], True, sp.Symbol("q"), 1j, float("nan"), torch.zeros(2), len])
def test_what_is_no_number_gets_a_sentence(wrong):
    for ask in (answers.number, answers.value):
        with pytest.raises(AssertionError, match="^half.{20}"):
            ask(wrong, "half")


@pytest.mark.parametrize("made", [list, np.array, torch.tensor, lambda rows: tuple(map(tuple, rows))])
def test_an_array_counts_in_all_its_clothes(made):
    assert answers.array(made([[1.0, 2.0]]), "a", (1, 2)).tolist() == [[1, 2]]
    assert answers.array(torch.ones(2, requires_grad=True), "a").tolist() == [1, 1]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [(None, "return"), ("12", "of type str"), ([1, [2]], "array"), ([1.0], r"right is \(2,\)"), ([1, np.nan], "nan")],
)
def test_what_is_no_array_gets_a_sentence(wrong, message):
    with pytest.raises(AssertionError, match=f"^states.*{message}"):
        answers.array(wrong, "states", (2,))


def test_what_is_no_number_gets_the_likely_cause_where_the_exercise_knows_it():
    with pytest.raises(AssertionError, match="^weights: there is nan, .*: does a score overflow"):
        answers.array([np.nan], "weights", nan="does a score overflow?")


def test_values_and_tables_are_counted():
    assert answers.several([1, None], 2, "read(…)") == [1, None]
    assert answers.several(np.array([1.0, 2.0]), 2, "read(…)") == [1, 2]
    assert answers.table({8: torch.tensor(1)}, [8], "costs") == {8: 1}
    for wrong in (None, 3, (1,), np.array(2.0)):
        with pytest.raises(AssertionError, match="read.* 2 values are asked for"):
            answers.several(wrong, 2, "read(…)")
    for wrong, message in ((None, "a dictionary"), ({8: 1}, "the keys"), ({8: 1, 16: None}, "costs.16. is None")):
        with pytest.raises(AssertionError, match=message):
            answers.table(wrong, [8, 16], "costs")


def test_points_are_drawn_anew_and_again_from_the_same_seed():
    ranges = {"h": (2, 9), "p": (0.1, 0.9)}
    settings.begin()
    first, second = answers.points(5, **ranges), answers.points(5, **ranges)
    settings.begin()
    assert first == answers.points(5, **ranges) != second
    assert len({at["h"] for at in first}) == 5 and all(2 <= at["h"] <= 9 and 0.1 <= at["p"] <= 0.9 for at in first)
    with pytest.raises(ValueError):
        answers.points(9, h=(2, 9))


def test_an_error_of_a_students_code_gets_a_hint_and_a_stub_and_a_check_keep_their_own():
    assert answers.attempt(lambda: 3, "no hint") == 3
    with pytest.raises(AssertionError, match='stops with a RuntimeError, "mat1 .*": is W transposed'):
        answers.attempt(lambda: torch.ones(2, 3) @ torch.ones(2, 3), "is W transposed?")
    with pytest.raises(NotImplementedError):
        answers.attempt(lambda: exec("raise NotImplementedError"), "write it")
    with pytest.raises(AssertionError, match="^of its own$"):
        answers.attempt(lambda: exec("raise AssertionError('of its own')"), "no hint")


@pytest.mark.parametrize(("yours", "right"), [(0.8994, 0.8993), (1e-9, 2e-9), (2, 2.00001), (123456, 123457), (0.0, 1)])
def test_two_numbers_that_differ_are_shown_with_enough_digits_to_differ(yours, right):
    shown = answers.against(yours, right).removeprefix("you have ").split(", and right is ")
    assert float(shown[0]) != float(shown[1])


def test_a_seal_tells_answers_apart_and_exercises_too():
    assert answers.sealed(" B ", "x") == answers.sealed("b", "x") != answers.sealed("b", "y")
    assert answers.sealed("a", "x") != answers.sealed("b", "x")
    with pytest.raises(AssertionError, match="x is None"):
        answers.sealed(None, "x")


def test_what_is_to_be_written_may_not_be_called_and_may_again_afterwards():
    with (
        pytest.raises(AssertionError, match=r"your code calls torch\.Tensor\.backward"),
        answers.unaided("torch.Tensor.backward"),
    ):
        torch.ones(1, requires_grad=True).sum().backward()
    torch.ones(1, requires_grad=True).sum().backward()


def test_any_prediction_is_compared(capsys):
    for prediction in (3, {8: 2}, "little", {8: "little"}):
        answers.compare(prediction, {8: 0.6123})
    printed = capsys.readouterr().out.splitlines()
    assert printed == [f"8: predicted {guess}, found 0.612" for guess in ("3", "2", "little", "little")]
    answers.compare(7, 21)
    assert capsys.readouterr().out == "predicted 7, found 21\n"

"""A map of a loss, and descents over it."""

import numpy as np
import pytest
from matplotlib import colors
from matplotlib import pyplot as plt

from unrolled.figures import landscapes
from unrolled.figures.roles import looks

X, Y = np.linspace(-1, 1, 5), np.linspace(-2, 2, 9)
LOSS = X**2 + Y[:, None] ** 2
START = [0.5, 1.0]
TOLD = {"levels": [1, 2], "xlabel": "w", "ylabel": "b", "label": "loss"}


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def names(ax):
    return {text.get_text(): text for text in ax.texts if text.get_text()}


def test_a_descent_that_stays_is_drawn_to_its_end_and_one_that_leaves_to_the_edge():
    stays, leaves = [START, [0.2, 0.4], [0.0, 0.1]], [START, [0.6, 1.5], [0.8, 3.5], [9.0, 9.0]]
    ax = landscapes.descents(X, Y, LOSS, {"stays": stays, "leaves": leaves}, **TOLD).axes[0]
    first, second = (line for line in ax.lines if len(line.get_xdata()) > 1)
    assert first.get_xydata().tolist() == stays and second.get_xydata().tolist() == leaves[:2]
    (arrow,) = (text for text in ax.texts if not text.get_text())
    assert arrow.xy == pytest.approx([0.65, 2.0])  # a quarter of the way from 1.5 to 3.5
    assert names(ax)["stays"].xy == pytest.approx(stays[-1]) and names(ax)["leaves"].xy == pytest.approx([0.65, 2.0])


def test_descents_have_colours_of_their_own_and_begin_at_one_mark():
    ax = landscapes.descents(X, Y, LOSS, {"a": [START, [0, 0]], "b": [START, [0.1, 0]]}, **TOLD).axes[0]
    drawn = [colors.to_hex(line.get_color()) for line in ax.lines if len(line.get_xdata()) > 1]
    assert drawn == [look["color"] for look in looks("ab")]
    assert names(ax)["start"].xy == pytest.approx(START)


def test_a_descent_whose_numbers_overflow_leaves_the_map():
    way = [START, [0.2, 0.4], [np.inf, 0.0]]
    ax = landscapes.descents(X, Y, LOSS, {"a": way}, **TOLD).axes[0]
    assert names(ax)["a"].xy == pytest.approx([1.0, 0.4])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"loss": LOSS.T}, r"loss has shape \(5, 9\); \(9, 5\) is expected"),
        ({"paths": {}}, "paths have the shapes"),
        ({"paths": {"a": [0.5, 1.0]}}, "paths have the shapes"),
        ({"paths": {"a": [START], "b": [[0.4, 1.0]]}}, "one place of the map is right"),
        ({"paths": {"a": [[3.0, 1.0]]}}, "one place of the map is right"),
    ],
)
def test_what_cannot_be_drawn_is_named(changed, message):
    given = {"x": X, "y": Y, "loss": LOSS, "paths": {"a": [START]}} | changed
    with pytest.raises(ValueError, match=message):
        landscapes.descents(**given, **TOLD)

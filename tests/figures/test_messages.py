"""Figures that are drawn for one message: strips of heat, falls through a half, gaps, and dots that grow."""

import numpy as np
import pytest
from matplotlib import colors
from matplotlib import pyplot as plt

from unrolled.figures import falls, gaps, strips
from unrolled.figures.roles import ramp

HEAT = {"xlabel": "step", "ends": ("guessing", "always"), "marked": ("trained to here", 3)}
FALL = {"xlabel": "letters", "ylabel": "share", "trained": 3}
GAP = {"labels": ("learned", "shuffled"), "xlabel": "symbol", "ylabel": "right"}


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def texts(ax):
    return {text.get_text(): text for text in ax.texts}


# Strips


def found(*shape):
    """Return the values of two models in two groups, for two panels, (seeds, steps)."""
    values = np.linspace(0, 1, int(np.prod(shape))).reshape(shape)
    seen, unseen = (dict.fromkeys(("2 cups", "5 cups"), each) for each in (values, 0 * values))
    return {"sees": {"GRU": seen}, "blind": {"minGRU": unseen}}


def test_a_strip_has_a_line_for_each_seed_and_lies_beside_its_label():
    fig = strips.strips(found(3, 5), **HEAT)
    first, second, _ = fig.axes
    assert [ax.get_title() for ax in (first, second)] == ["2 cups", "5 cups"]
    for image, place, values in zip(first.images, first.get_yticks(), (found(3, 5)["sees"]["GRU"], None), strict=True):
        left, right, bottom, top = image.get_extent()
        assert (left, right) == (0.5, 5.5) and bottom > place > top
        assert values is None or (image.get_array() == values["2 cups"]).all()
    names = first.get_yticklabels()
    assert [name.get_text() for name in names] == ["GRU", "minGRU"]
    assert [name.get_gid() for name in names] == ["role-gru", "role-mingru"]
    sees, blind = (texts(first)[name].get_position()[1] for name in ("sees", "blind"))
    assert sees < first.get_yticks()[0] < blind < first.get_yticks()[1]  # downwards: a heading is above its group


def test_the_marked_step_is_ruled_in_every_panel_and_named_once():
    *panels, _ = strips.strips(found(3, 5), **HEAT).axes
    assert [[line.get_xdata()[0] for line in ax.lines] for ax in panels] == [[3.5], [3.5]]
    assert ["trained to here" in texts(ax) for ax in panels] == [False, True]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({}, "give the same to each"),
        ({"a": {"GRU": {"2": [[1.0]]}, "RNN": {"5": [[1.0]]}}}, "give the same to each"),
        ({"a": {"GRU": {"2": [1.0, 0.5]}}}, r"shapes \[\(2,\)\]"),
        ({"a": {"GRU": {"2": [[1.0]]}, "RNN": {"2": [[1.0, 0.5]]}}}, "the same everywhere"),
        ({"a": {"GRU": {"2": [[1.5]]}}}, "'GRU' has values from 1.5 to 1.5"),
    ],
)
def test_strips_that_cannot_be_drawn_are_named(groups, message):
    with pytest.raises(ValueError, match=message):
        strips.strips(groups, **HEAT)


# Falls


def test_a_line_is_named_where_it_falls_through_a_half():
    ax = falls.falls({"16 units": ([1, 2, 3], [[1.0, 0.4, 0.0], [1.0, 0.4, 0.0]])}, **FALL, ordered=True).axes[0]
    assert texts(ax)["16 units"].xy == pytest.approx((1 + 0.5 / 0.6, 0.5))
    (line,) = (line for line in ax.lines if line.get_label() == "16 units")
    assert colors.to_hex(line.get_color()) == ramp(1)[0] and line.get_gid() == "role-ordered"


def test_names_of_close_lines_differ_in_height_and_stand_on_their_lines():
    x = np.arange(1, 11)
    lines = {str(at): (x, np.clip((at - x) / 4 + 0.5, 0, 1)) for at in (4, 5, 9)}
    written = texts(falls.falls(lines, **FALL, ordered=True).axes[0])
    heights = {name: written[name].xy[1] for name in lines}
    assert heights["4"] > heights["5"] + 0.1 and heights["9"] == 0.5
    for name, (at, height) in ((name, written[name].xy) for name in lines):
        assert (int(name) - at) / 4 + 0.5 == pytest.approx(height)


def test_a_line_that_does_not_fall_is_named_below_its_end_and_the_training_is_marked():
    told = {"32 units": ([1, 2, 3], [1.0, 0.2, 0.0]), "with attention": ([1, 2, 3], [1.0, 1.0, 0.9])}
    ax = falls.falls(told, **FALL, ordered=["32 units"]).axes[0]
    end = texts(ax)["with attention"]
    assert end.xy == pytest.approx((3, 0.8)) and end.get_gid() == "role-attention"
    assert texts(ax)["trained to here"].xy[0] == 3


@pytest.mark.parametrize(
    ("series", "message"),
    [({}, "series is empty"), ({"a": ([1, 2], [1.0])}, r"'a' has x of shape \(2,\) and y of shape \(1, 1\)")],
)
def test_falls_that_cannot_be_drawn_are_named(series, message):
    with pytest.raises(ValueError, match=message):
        falls.falls(series, **FALL)


# Gaps


def test_the_bar_is_the_difference_and_the_changed_dot_is_hollow():
    ax = gaps.gaps("Y-", [1.0, 0.9], [0.3, 0.8], beside=("largest weight", [0.5, 0.6]), **GAP).axes[0]
    (bars,) = ax.collections
    assert [sorted(bar[:, 1].tolist()) for bar in bars.get_segments()] == [[0.3, 1.0], [0.8, 0.9]]
    kept, changed = ({line.get_label(): line for line in ax.lines}[name] for name in GAP["labels"])
    assert kept.get_ydata().tolist() == [1.0, 0.9] and changed.get_ydata().tolist() == [0.3, 0.8]
    assert changed.get_markerfacecolor() == "white" != kept.get_markerfacecolor()


@pytest.mark.parametrize(("names", "kept"), [("", []), ("ab", [1.0])])
def test_gaps_that_cannot_be_drawn_are_named(names, kept):
    with pytest.raises(ValueError, match=f"there are {len(names)} names"):
        gaps.gaps(names, kept, kept, beside=("weight", kept), **GAP)

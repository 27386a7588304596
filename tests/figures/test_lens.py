"""The chart with an enlarged end: what stands where, and what is refused."""

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot as plt

from unrolled.figures import lens, plots, roles

STRIP = {"uniform": 59.0, "bigram": 10.0, "window": 1.3, "floor": 1.1}
ROWS = {"window": [0.15, 0.17], "12-gram": 0.12, "GRU": [0.08, 0.1]}
WORDS = {"inside": "networks", "strip_label": "perplexity", "xlabel": "nats above the floor"}


@pytest.fixture(autouse=True)
def book_style():
    with matplotlib.rc_context():
        plots.style()
        yield
    plt.close("all")


def drawn(rows=ROWS, gone=("12-gram", "GRU", "a quarter of the way")):
    return lens.zoom(STRIP, rows, gone=gone, **WORDS)


def identified(ax, name):
    """Return the lines of a chart that stand for a role."""
    return [line for line in ax.lines if line.get_gid() == f"role-{name}"]


def test_the_strip_names_all_but_the_two_ends_of_what_is_enlarged():
    top, _ = drawn().axes
    assert [text.get_text() for text in top.texts] == ["uniform\n59", "bigram\n10", "networks"]
    box = top.collections[0].get_paths()[0].get_extents()
    assert np.allclose((box.x0, box.x1), (1.1, 1.3)) and top.get_xscale() == "log"


def test_a_row_has_a_dot_at_its_mean_within_its_range_and_the_colour_of_its_role():
    _, ax = drawn().axes
    assert [label.get_text() for label in ax.get_yticklabels()] == [*ROWS, "the way to the floor"]
    reach, dot, *_ = identified(ax, "gru")
    assert list(reach.get_xdata()) == [0.08, 0.1] and np.allclose(dot.get_xdata(), 0.09) and dot.get_ydata() == [2]
    assert dot.get_color() == roles.BY_NAME["gru"].colour
    assert {"0.16", "0.12", "0.09", "floor"} <= {text.get_text() for text in ax.texts}


def test_the_bracket_spans_the_way_to_the_floor_and_what_is_gone_of_it_is_thick():
    _, ax = drawn().axes
    (bracket,) = identified(ax, "other")
    thick = identified(ax, "gru")[-1]
    assert list(bracket.get_xdata()) == [0, 0.12] and np.allclose(thick.get_xdata(), [0.12, 0.09])
    assert thick.get_linewidth() > 3 * bracket.get_linewidth()
    assert identified(ax, "floor")[0].get_xdata() == [0, 0]


def test_nothing_is_written_over_anything_else():
    fig = drawn()
    fig.draw_without_rendering()
    texts = [text for ax in fig.axes for text in ax.texts]
    boxes = [matplotlib.text.Text.get_window_extent(text) for text in texts]
    for number, box in enumerate(boxes):
        hit = [texts[at].get_text() for at in range(number) if box.overlaps(boxes[at])]
        assert not hit, f"{texts[number].get_text()} over {hit}"


def test_a_strip_too_short_and_rows_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match="strip has 1 values; it needs at least the two ends"):
        lens.zoom({"floor": 1.1}, ROWS, gone=("12-gram", "GRU", ""), **WORDS)
    with pytest.raises(ValueError, match="gone names '12-gram' and 'LSTM'; the rows are"):
        drawn(gone=("12-gram", "LSTM", ""))

"""The book's charts: what is drawn where, that names can be read, and that a file always has the same bytes."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.text import Text

from unrolled.figures import charts, palette

pytestmark = pytest.mark.usefixtures("book_style")
AXES = {"xlabel": "x", "ylabel": "y"}


def names(fig):
    """Return the names in a chart, each with its box in pixels."""
    fig.draw_without_rendering()
    return {text.get_text(): Text.get_window_extent(text) for text in fig.axes[0].texts}  # without leaders


def tick_names(axis):
    axis.axes.figure.draw_without_rendering()
    return [text.get_text() for text in axis.get_ticklabels() if text.get_text()]


def marked(ax):
    return [line for line in ax.lines if line.get_marker() != "None"]


DRAW = """
import numpy as np
from unrolled.figures import charts, diagrams, excerpts
charts.style()
x = np.arange(9)
charts.save(charts.curves({"a": (x, [x, 2 * x]), "GRU": (x, x)}, xlabel="x", ylabel="y", floor=("f", 0)), "curves")
charts.save(charts.heatmap(np.outer(x, x), columns="unrolled!", xlabel="x", ylabel="y", label="z"), "heatmap")
charts.save(charts.dots({"a": [1, 2], "b": 3}, xlabel="x", baselines={"c": 2}), "dots")
charts.save(excerpts.states("unrolled!", {"f": x / 8, "i": x / 9}), "states")
charts.save(diagrams.gru_cell("reset"), "gru")
"""


def test_two_fresh_interpreters_write_the_same_bytes_and_nothing_is_saved_without_a_folder(tmp_path, monkeypatch):
    for run in "12":
        monkeypatch.setenv("UNROLLED_FIGURES", str(tmp_path / run / "new"))
        monkeypatch.setenv("PYTHONHASHSEED", run)
        subprocess.run([sys.executable, "-c", DRAW], check=True)
    first, second = ({p.name: p.read_bytes() for p in sorted((tmp_path / run / "new").iterdir())} for run in "12")
    assert first == second and len(first) == 5
    assert all(svg.startswith(b"<?xml") and b"<dc:date>" not in svg for svg in first.values())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNROLLED_FIGURES", "")
    charts.save(charts.curves({"a": ([1, 2], [1, 2])}, **AXES), "loss")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2"]


def test_curves_are_the_mean_of_the_seeds_within_their_range_above_floor_and_baselines():
    x, y = np.arange(3), np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 7.0]])
    fig = charts.curves({"GRU": (x, y), "b": (x, y[0])}, **AXES, floor=("floor", 0.5), baselines={"4-gram": 6, "c": 2})
    ax = fig.axes[0]
    assert ax.lines[0].get_ydata().tolist() == [2, 2, 5] and ax.lines[1].get_ydata().tolist() == [1, 2, 3]
    (band,) = ax.collections
    corners = band.get_paths()[0].vertices
    assert sorted(set(map(tuple, corners))) == [(0, 1), (0, 3), (1, 2), (2, 3), (2, 7)]
    across = [(line.get_ydata()[0], line.get_color(), line.get_linestyle()) for line in ax.lines[2:]]
    assert across == [(6, palette.BLACK, "--"), (2, palette.GREY, "--"), (0.5, palette.GREY, "-")]
    assert set(names(fig)) == {"GRU", "b", "floor", "4-gram", "c"} and ax.get_legend() is None
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "y")
    assert [line.get_marker() for line in ax.lines[:2]] == ["^", "o"], "few points are marked"
    many = charts.curves({"a": (range(20), range(20))}, **AXES, ylim=(0, 30)).axes[0]
    assert many.lines[0].get_marker() == "None" and many.get_ylim() == (0, 30)


def test_names_beside_lines_do_not_overlap_keep_the_lines_order_and_stay_on_the_figure():
    x = np.arange(5)
    fig = charts.curves({f"line {n}": (x, x + n / 1000) for n in range(6)}, **AXES, floor=("floor", 0))
    boxes = names(fig)
    order = sorted(boxes, key=lambda name: boxes[name].y0)
    assert order == ["floor"] + [f"line {n}" for n in range(6)]
    assert all(boxes[below].y1 <= boxes[above].y0 for below, above in pairwise(order))
    assert all(fig.bbox.y0 <= box.y0 and box.y1 <= fig.bbox.y1 and box.x1 <= fig.bbox.x1 for box in boxes.values())


def test_a_line_is_named_where_it_was_last_seen_or_at_the_edge():
    fig = charts.curves({"gone": ([1, 2, 3], [1, 5, np.nan])}, **AXES, ylim=(0, 10))
    box = names(fig)["gone"]
    assert (box.y0 + box.y1) / 2 == pytest.approx(fig.axes[0].transData.transform((0, 5))[1], abs=3)
    fig = charts.curves({"gone": ([1, 2, 3], [1, 1e-3, 0])}, **AXES, ylog=True, floor=("f", 1e-9))
    assert all(fig.bbox.y0 <= box.y0 and box.y1 <= fig.bbox.y1 for box in names(fig).values())


def test_a_legend_names_what_names_beside_lines_cannot():
    x = np.arange(5)
    crowd = charts.curves({f"line {n}": (x, x * n) for n in range(25)}, **AXES).axes[0]
    assert len(crowd.get_legend().get_texts()) == 25 and not crowd.texts
    uneven = charts.curves({"long": (x, x), "short": (x[:3], -x[:3])}, **AXES, floor=("f", -5)).axes[0]
    assert [text.get_text() for text in uneven.get_legend().get_texts()] == ["long", "short"]
    assert [text.get_text() for text in uneven.texts] == ["f"]


def test_ticks_are_round_or_the_values_and_do_not_run_into_each_other():
    ax = charts.curves({"a": ([8, 16, 64], [10, 2000, 30000])}, **AXES, xlog=True, ylog=True).axes[0]
    assert tick_names(ax.xaxis) == ["8", "16", "64"] and "10,000" in tick_names(ax.yaxis)
    ax = charts.curves({"a": (range(1, 7), [-0.5, 0, 1, 2, 3, 4])}, **AXES).axes[0]
    assert all("." not in text for text in tick_names(ax.xaxis)) and "−0.5" not in tick_names(ax.xaxis)
    flat, steep = (
        tick_names(charts.curves({"a": ([1, 2, 3], y)}, **AXES, ylog=True, ylim=(1e-17, 10)).axes[0].yaxis)
        for y in ([1.0, 1.0, 1.0], [1.0, 1e-8, 1e-16])
    )
    assert flat == steep and "10⁻⁸" in flat and not any("0.0" in text for text in flat), "the frames of an explorer"
    groups = {name: {"a": ([1000, 1024, 2048, 4096, 1_000_000], range(5))} for name in ("left", "middle", "right")}
    fig = charts.panels(groups, **AXES, xlog=True)
    fig.draw_without_rendering()
    for ax in fig.axes:
        boxes = [text.get_window_extent() for text in ax.get_xticklabels() if text.get_text()]
        assert len(boxes) > 1 and all(one.x1 < other.x0 for one, other in pairwise(boxes))


def test_panels_share_their_y_axis_and_name_each_kind_of_line_once():
    x = np.array([10, 20, 40])
    groups = {
        "whole": {"short": (x, [1.0, 2.0, 3.0]), "long": (x, [[3.0, 4.0, 5.0], [5.0, 6.0, 7.0]])},
        "cut": {"short": (x, [10.0, 20.0, np.nan]), "long": (x, [30.0, 40.0, np.nan])},
    }
    fig = charts.panels(groups, **AXES, xlog=True, ylog=True)
    left, right = fig.axes
    assert [ax.get_title() for ax in fig.axes] == ["whole", "cut"] and right.get_yscale() == "log"
    assert left.get_ylim() == right.get_ylim() and left.get_ylim()[0] <= 1 and left.get_ylim()[1] >= 40
    assert left.lines[1].get_ydata().tolist() == [4.0, 5.0, 6.0] and right.lines[0].get_ydata()[:2].tolist() == [10, 20]
    assert left.lines[0].get_color() == right.lines[0].get_color() != left.lines[1].get_color()
    assert [ax.get_xticks().tolist() for ax in fig.axes] == [[10, 20, 40], [10, 20]], (
        "no tick where no line has a point"
    )
    (legend,) = fig.legends
    fig.canvas.draw()
    assert [text.get_text() for text in legend.get_texts()] == ["short", "long"]
    assert 0 < legend.get_window_extent().x0 < legend.get_window_extent().x1 < fig.bbox.width
    assert [ax.get_ylim() for ax in charts.panels(groups, **AXES, ylim=(0.5, 3)).axes] == [(0.5, 3)] * 2
    own = charts.panels(groups, **AXES, shared=False).axes
    assert own[0].get_ylim() != own[1].get_ylim()


def test_a_users_words_are_no_formulas():
    words = ["$5", r"$\no$"]
    fig = charts.heatmap(np.eye(2), columns=words, **AXES, label="z")
    charts.svg(fig)  # draws every letter
    assert [label.get_text() for label in fig.axes[0].get_xticklabels()] == words


@pytest.mark.parametrize(
    ("matrix", "how", "limits", "palest"),
    [
        ([[0.5, -2.0, 0.0]], {}, (-2.0, 2.0), 0.0),
        ([[0.5, 2.0, np.nan]], {}, (0.0, 2.0), 0.0),
        ([[-0.5, -2.0, 0.0]], {}, (-2.0, 0.0), 0.0),
        ([[0.0, 0.0, 0.0]], {}, (-1.0, 1.0), 0.0),
        ([[0.2, 0.0, 0.0]], {"limit": 1.0}, (0.0, 1.0), 0.0),
        ([[-12.0, -3.0, 0.0]], {"logarithms": True}, (-12.0, 0.0), None),
    ],
)
def test_a_heatmap_is_white_at_zero_only(matrix, how, limits, palest):
    fig = charts.heatmap(np.array(matrix), columns="a \n", rows=["h"], **AXES, label="z", **how)
    ax, (image,) = fig.axes[0], fig.axes[0].images
    assert image.get_clim() == limits and fig.axes[1].get_ylabel() == "z"
    assert tick_names(ax.xaxis) == ["a", "␣", "↵"] and tick_names(ax.yaxis) == ["h"]
    shades = {value: sum(image.to_rgba(value)[:3]) for value in (*limits, 0.0)}
    assert (max(shades, key=shades.get) == 0.0 and shades[0.0] > 2.8) if palest == 0.0 else max(shades.values()) < 2.6
    if limits == (-2.0, 2.0):
        assert image.to_rgba(2.0)[0] > image.to_rgba(2.0)[2] and image.to_rgba(-2.0)[0] < image.to_rgba(-2.0)[2]


def test_dots_stand_at_the_mean_with_baselines_and_floor_as_rows():
    values = {"GRU": [4.0, 5.0], "carried": 3.0}
    fig = charts.dots(values, xlabel="perplexity", floor=("f", 2), baselines={"12-gram": 6}, xlim=(1, 9))
    ax = fig.axes[0]
    assert tick_names(ax.yaxis) == ["GRU", "carried", "12-gram", "f"] and ax.yaxis_inverted()
    assert [text.get_text() for text in ax.texts] == ["4.5", "3", "6", "2"] and ax.get_xlim() == (1, 9)
    assert [list(line.get_xdata()) for line in ax.lines[:2]] == [[4.0, 5.0], [4.5]]
    colours = [line.get_color() for line in marked(ax)]
    assert colours == [palette.RED, palette.CATEGORIES[0], palette.BLACK, palette.GREY] and ax.get_legend() is None


def test_grouped_dots_stand_around_their_row_and_each_kind_is_in_the_legend_once():
    ax = charts.dots({"16": {"GRU": 1, "LSTM": 2}, "32": {"RNN": 3}, "64": {"RNN": 1, "GRU": 2}}, xlabel="nats").axes[0]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["GRU", "LSTM", "RNN"]
    assert np.allclose([line.get_ydata()[0] for line in marked(ax)], [-0.15, 0.15, 1.0, 1.85, 2.15])
    assert ax.lines[-1].get_xdata()[0] == 1, "the legend's order: the last is the RNN"
    ax = charts.dots({name: {"before": 1.0, "after": 2.0} for name in ("RNN", "LSTM")}, xlabel="x").axes[0]
    assert [line.get_color() for line in marked(ax)] == [palette.BLUE] * 2 + [palette.ORANGE] * 2
    assert [line.get_markerfacecolor() == "white" for line in marked(ax)] == [True, False] * 2
    assert [sample.get_color() for sample in ax.get_legend().legend_handles] == [palette.INK] * 2


def test_a_scatter_names_some_of_its_points_and_its_groups_and_names_move_apart():
    points = {"cold": (0.69, 0.007), "greedy": (0.57, 0.0), "hot": (1.9, 0.27)}
    fig = charts.scatter(points, named=points, **AXES)
    cold, greedy, hot = fig.axes[0].texts
    assert not names(fig)["cold"].overlaps(names(fig)["greedy"])
    assert cold.xyann[1] > 0 > greedy.xyann[1] and hot.xyann == (6, 0)
    every, *one = (line.get_xydata().tolist() for line in fig.axes[0].lines)
    assert every == [list(place) for place in points.values()] and one == [[place] for place in every]
    ax = charts.scatter(points, named=["hot"], groups={"a": ["greedy", "cold"], "b": ["hot"]}, **AXES, log=True).axes[0]
    assert [line.get_xydata().tolist() for line in ax.lines] == [[[0.57, 0.0], [0.69, 0.007]], [[1.9, 0.27]]]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"] and ax.get_xscale() == "log"
    assert ax.texts[0].get_color() == palette.legible(ax.lines[1].get_color())


def test_what_would_be_drawn_wrongly_is_refused():
    with pytest.raises(ValueError, match=r"'a' has x of \(1,\) and y of \(1, 2\): give \(points,\)"):
        charts.curves({"a": ([1], [[1, 2]])}, **AXES)
    with pytest.raises(ValueError, match="give the same labels to each"):
        charts.panels({"a": {"x": ([1], [1])}, "b": {"y": ([1], [1])}}, **AXES)

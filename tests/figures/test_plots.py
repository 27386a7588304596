"""The book's figure style and charts."""

import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib import colors
from matplotlib.text import Text

from unrolled.figures import labels, plots, roles

pytestmark = pytest.mark.usefixtures("book_style")


def chart():
    x = np.arange(20)
    series = {f"T = {size}": (x, [size / (x + 8.0), size / (x + 10.0)]) for size in (16, 32, 64)}
    return plots.curves(series, xlabel="update", ylabel="loss", floor=("entropy floor", 0.2), baselines={"4-gram": 0.5})


def direct_labels(fig):
    """Return the direct labels of a chart by their text, each with its box in pixels."""
    fig.draw_without_rendering()
    return {text.get_text(): Text.get_window_extent(text) for text in fig.axes[0].texts}  # without leaders


def test_lines_differ_by_more_than_colour_and_the_ground_is_white():
    lines = [line for line in chart().axes[0].lines if line.get_label().startswith("T = ")]
    assert len({line.get_color() for line in lines}) == len({line.get_linestyle() for line in lines}) == 3
    few = plots.curves({name: ([1, 2], [1, 2]) for name in "ab"}, xlabel="x", ylabel="y").axes[0].lines
    assert [line.get_marker() for line in (*few, *lines)] == ["o", "s", "None", "None", "None"]  # few points are marked
    assert matplotlib.rcParams["savefig.facecolor"] == "white"
    assert matplotlib.rcParams["font.size"] >= 11


def test_saving_is_off_unless_a_folder_is_named(tmp_path, monkeypatch):
    assert plots.save(chart(), "loss") is None
    monkeypatch.setenv("UNROLLED_FIGURES", "")
    assert plots.save(chart(), "loss") is None
    monkeypatch.setenv("UNROLLED_FIGURES", str(tmp_path / "new" / "figures"))
    path = plots.save(chart(), "loss-2")
    assert path == tmp_path / "new" / "figures" / "loss-2.svg" and path.read_text().startswith("<?xml")


@pytest.mark.parametrize("name", ["Loss", "loss.svg", "loss curve", "-loss", "loss--curve", "", "../loss", "loß"])
def test_names_that_are_not_kebab_case_are_refused(name):
    with pytest.raises(ValueError, match="names no figure: use a-z"):
        plots.save(chart(), name)


def test_an_unwritable_folder_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("UNROLLED_FIGURES", str(tmp_path / "file"))
    with pytest.raises(OSError, match="cannot write .*loss.svg: .*set UNROLLED_FIGURES"):
        plots.save(chart(), "loss")


DRAW = """
import numpy as np
from unrolled.figures import diagrams, excerpts, plots
plots.style()
x = np.arange(9)
matrix = np.outer(np.sin(x), np.cos(x))
plots.save(plots.curves({"a": (x, [x, 2 * x]), "b": (x, x)}, xlabel="x", ylabel="y", floor=("f", 0)), "curves")
plots.save(plots.heatmap(matrix, columns="unrolled!", xlabel="x", ylabel="y", label="z"), "heatmap")
plots.save(plots.dots({"a": [1, 2], "b": 3}, xlabel="x", baselines={"c": 2}), "dots")
plots.save(excerpts.gates("unrolled!", {"f": x / 8, "i": x / 9}), "gates")
plots.save(diagrams.rnn_unrolled(), "rnn")
plots.save(diagrams.gru_cell("reset"), "gru")
"""


def test_two_fresh_interpreters_write_the_same_bytes(tmp_path, monkeypatch):
    for run in "12":
        monkeypatch.setenv("UNROLLED_FIGURES", str(tmp_path / run))
        monkeypatch.setenv("PYTHONHASHSEED", run)
        subprocess.run([sys.executable, "-c", DRAW], check=True)
    for name in ("curves.svg", "heatmap.svg", "dots.svg", "gates.svg", "rnn.svg", "gru.svg"):
        first, second = ((tmp_path / run / name).read_bytes() for run in "12")
        assert first == second and b"<dc:date>" not in first


def test_curves_draw_the_mean_of_the_seeds_within_their_range():
    x, y = np.arange(3), np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 7.0]])
    ax = plots.curves({"loss": (x, y)}, xlabel="update", ylabel="loss").axes[0]
    assert ax.lines[0].get_ydata().tolist() == [2, 2, 5]
    (band,) = ax.collections
    corners = band.get_paths()[0].vertices
    assert corners[:, 1].max() == 7 and corners[:, 1].min() == 1
    ax = plots.curves({"loss": (x, y[0])}, xlabel="update", ylabel="loss", ylim=(0, 9)).axes[0]
    assert not ax.collections
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_ylim()) == ("update", "loss", (0, 9))


def test_floor_and_baselines_are_lines_across_with_their_names():
    fig = chart()
    across = [line.get_ydata()[0] for line in fig.axes[0].lines if len(line.get_ydata()) == 2]
    assert sorted(across) == [0.2, 0.5]
    assert {"entropy floor", "4-gram", "T = 16", "T = 32", "T = 64"} == set(direct_labels(fig))
    assert fig.axes[0].get_legend() is None


def test_direct_labels_do_not_overlap_and_stay_on_the_figure():
    x = np.arange(5)
    fig = plots.curves({f"line {n}": (x, x + n / 1000) for n in range(6)}, xlabel="x", ylabel="y", floor=("floor", 0))
    boxes = sorted(direct_labels(fig).values(), key=lambda box: box.y0)
    assert len(boxes) == 7
    assert all(below.y1 <= above.y0 for below, above in zip(boxes, boxes[1:], strict=False))
    assert all(fig.bbox.y0 <= box.y0 and box.y1 <= fig.bbox.y1 and box.x1 <= fig.bbox.x1 for box in boxes)
    in_order = sorted(direct_labels(fig), key=lambda name: direct_labels(fig)[name].y0)
    assert in_order == ["floor"] + [f"line {n}" for n in range(6)]


def test_a_legend_names_what_direct_labels_cannot():
    x = np.arange(5)
    crowd = plots.curves({f"line {n}": (x, x * n) for n in range(25)}, xlabel="x", ylabel="y").axes[0]
    assert len(crowd.get_legend().get_texts()) == 25 and not crowd.texts
    uneven = plots.curves({"long": (x, x), "short": (x[:3], -x[:3])}, xlabel="x", ylabel="y", floor=("f", -5)).axes[0]
    assert [text.get_text() for text in uneven.get_legend().get_texts()] == ["long", "short"]
    assert [text.get_text() for text in uneven.texts] == ["f"]


def test_few_values_on_a_logarithmic_axis_are_ticks():
    fig = plots.curves({"a": ([8, 16, 64], [10, 2000, 30000])}, xlabel="x", ylabel="y", xlog=True, ylog=True)
    ax = fig.axes[0]
    fig.draw_without_rendering()
    assert [text.get_text() for text in ax.get_xticklabels()] == ["8", "16", "64"]
    assert ax.get_xscale() == ax.get_yscale() == "log" and "10,000" in [t.get_text() for t in ax.get_yticklabels()]


def test_a_value_out_of_view_is_named_at_the_edge():
    fig = plots.curves({"gone": ([1, 2, 3], [1, 1e-3, 0])}, xlabel="x", ylabel="y", ylog=True, floor=("f", 1e-9))
    assert all(fig.bbox.y0 <= box.y0 and box.y1 <= fig.bbox.y1 for box in direct_labels(fig).values())


def test_a_curve_is_named_where_it_was_last_seen():
    fig = plots.curves({"gone": ([1, 2, 3], [1, 5, np.nan])}, xlabel="x", ylabel="y", ylim=(0, 10))
    box = direct_labels(fig)["gone"]
    assert (box.y0 + box.y1) / 2 == pytest.approx(fig.axes[0].transData.transform((0, 5))[1], abs=3)


def test_direct_labels_can_be_read_on_white():
    for colour in (*roles.CATEGORIES, *(role.colour for role in roles.ROLES)):
        rgb = np.array(labels.ink(colour))
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        assert 1.05 / (linear @ (0.2126, 0.7152, 0.0722) + 0.05) >= 4.5
    assert labels.ink("black") == colors.to_rgb("black")


def test_a_model_looks_the_same_in_every_chart_and_no_other_label_looks_like_it():
    def drawn(*names, draw=plots.curves):
        lines = {name: ([1, 2], [1.0, 2.0]) for name in names}
        if draw is plots.panels:
            lines = {"panel": lines}
        if draw is plots.dots:
            lines = {"row": dict.fromkeys(names, 1.0)}
        ax = draw(lines, xlabel="x", **{} if draw is plots.dots else {"ylabel": "y"}).axes[0]
        of = {line.get_label(): line for line in ax.lines}
        return {name: (of[name].get_color(), of[name].get_marker()) for name in names}

    models = drawn("RNN", "LSTM", "GRU", "transformer")
    assert len({colour for colour, _ in models.values()}) == len({mark for _, mark in models.values()}) == 4
    for draw in (plots.curves, plots.panels, plots.dots):
        some = drawn("12-gram", "transformer", "GRU", "window", draw=draw)
        assert some["GRU"] == models["GRU"] and some["transformer"] == models["transformer"]
        assert not {some["12-gram"], some["window"]} & set(models.values()) and some["12-gram"] != some["window"]
    assert drawn("one", "GRU", "three")["GRU"] == models["GRU"]
    assert list(drawn("a", "b").values()) == list(drawn("c", "d").values())
    assert not set(drawn("a", "b").values()) & set(models.values())


def test_rows_of_dots_have_the_colours_of_their_roles_and_before_is_hollow():
    ax = plots.dots({"GRU": 3.0, "12-gram": 2.0, "clipped": 1.0}, xlabel="x").axes[0]
    colours = [line.get_color() for line in ax.lines if line.get_marker() != "None"]
    assert colours == [roles.BY_NAME["gru"].colour, roles.BLACK, roles.CATEGORIES[0]]
    groups = {name: {"before": 1.0, "after": 2.0} for name in ("RNN", "LSTM")}
    ax = plots.dots(groups, xlabel="x").axes[0]
    marked = [line for line in ax.lines if line.get_marker() != "None"]
    assert [line.get_color() for line in marked] == [
        roles.BY_NAME[name].colour for name in ("rnn", "rnn", "lstm", "lstm")
    ]
    assert [line.get_markerfacecolor() == "white" for line in marked] == [True, False] * 2
    assert [sample.get_color() for sample in ax.get_legend().legend_handles] == [roles.INK] * 2


def test_an_ordered_quantity_is_a_ramp_and_n_grams_are_black_lines_to_compare_with():
    x = [1, 2, 3]
    ax = plots.curves({f"{n} units": (x, x) for n in (16, 32)}, xlabel="x", ylabel="y", ordered=True).axes[0]
    assert [line.get_color() for line in ax.lines] == roles.ramp(2)
    axes = {"xlabel": "x", "ylabel": "y", "baselines": {"5-gram": 1.5, "chance": 1.0}, "floor": ("floor", 0.5)}
    ax = plots.curves({"a": (x, x)}, **axes).axes[0]
    assert [line.get_color() for line in ax.lines[1:]] == [roles.BLACK, roles.GREY, roles.GREY]
    assert [line.get_linestyle() for line in ax.lines[1:]] == ["--", "--", "-"]


def test_ticks_are_whole_where_the_values_are_and_do_not_run_into_each_other():
    fig = plots.curves({"a": (range(1, 7), [-0.5, 0, 1, 2, 3, 4])}, xlabel="rank", ylabel="y")
    fig.draw_without_rendering()
    ax = fig.axes[0]
    assert all("." not in text.get_text() for text in ax.get_xticklabels())
    assert (
        ax.get_xticks().tolist() == ax.get_xticks().round().tolist() and "−" not in ax.get_xticklabels()[1].get_text()
    )
    crowd = [1000, 1024, 2048, 4096, 1_000_000]
    groups = {name: {"a": (crowd, range(5))} for name in ("left", "middle", "right")}
    fig = plots.panels(groups, xlabel="x", ylabel="y", xlog=True)
    fig.draw_without_rendering()
    for ax in fig.axes:
        boxes = [text.get_window_extent() for text in ax.get_xticklabels() if text.get_text()]
        assert len(boxes) > 1 and all(one.x1 < other.x0 for one, other in zip(boxes, boxes[1:], strict=False))


def test_small_values_on_an_axis_are_powers_of_ten_throughout():
    fig = plots.curves({"a": ([1, 2], [1e-9, 1.0])}, xlabel="x", ylabel="y", ylog=True)
    fig.draw_without_rendering()
    texts = [text.get_text() for text in fig.axes[0].get_yticklabels()]
    assert "10⁻⁶" in texts and not any("0.0" in text for text in texts)


def test_panels_share_their_y_axis_and_name_each_kind_of_line_once():
    groups = {
        "before": {"short": ([1, 2], [1.0, 2.0]), "long": ([1, 2], [[3.0, 4.0], [5.0, 6.0]])},
        "after": {"short": ([1, 2], [10.0, 20.0]), "long": ([1, 2], [30.0, 40.0])},
    }
    fig = plots.panels(groups, xlabel="lag", ylabel="norm", ylog=True)
    left, right = fig.axes
    assert [ax.get_title() for ax in fig.axes] == ["before", "after"]
    assert left.get_ylim() == right.get_ylim() and right.get_yscale() == "log"
    assert left.lines[1].get_ydata().tolist() == [4.0, 5.0] and right.lines[0].get_ydata().tolist() == [10.0, 20.0]
    assert left.lines[0].get_color() == right.lines[0].get_color() != left.lines[1].get_color()
    (legend,) = fig.legends
    assert [text.get_text() for text in legend.get_texts()] == ["short", "long"]


@pytest.mark.parametrize("name, lines", [("{}", 1), ("network {}", 2)])
def test_five_names_stand_in_one_line_of_the_legend_where_they_are_short(name, lines):
    series = {name.format(n): ([1, 2], [1.0, 2.0]) for n in range(5)}
    fig = plots.panels({"a": series, "b": series}, xlabel="lag", ylabel="norm")
    fig.canvas.draw()
    (legend,) = fig.legends
    assert len({round(text.get_window_extent().y0) for text in legend.get_texts()}) == lines
    assert 0 < legend.get_window_extent().x0 < legend.get_window_extent().x1 < fig.bbox.width


@pytest.mark.parametrize("ylog", [False, True])
@pytest.mark.parametrize("larger", [0, 1])
def test_no_panel_cuts_off_what_is_drawn_in_it(larger, ylog):
    heights = ([1.0, 2.0], [0.01, 30.0])
    groups = {f"{n}": {"line": ([1, 2], heights[n ^ larger])} for n in (0, 1)}
    for ax in plots.panels(groups, xlabel="x", ylabel="y", ylog=ylog).axes:
        low, high = ax.get_ylim()
        assert low <= 0.01 and high >= 30.0
    fixed = plots.panels(groups, xlabel="x", ylabel="y", ylog=ylog, ylim=(0.5, 3.0))
    assert [ax.get_ylim() for ax in fixed.axes] == [(0.5, 3.0)] * 2


def test_each_panel_has_its_own_values_of_x_as_ticks():
    groups = {"adding": {"net": ([10, 20, 40], [1.0, 2.0, 3.0])}, "copy": {"net": ([1, 2, 5], [1.0, 2.0, 3.0])}}
    fig = plots.panels(groups, xlabel="length", ylabel="loss", xlog=True)
    assert [ax.get_xticks().tolist() for ax in fig.axes] == [[10, 20, 40], [1, 2, 5]]
    assert fig.axes[0].get_xlim()[0] > 5 > fig.axes[1].get_xlim()[0]


def test_a_heatmap_is_white_at_zero_and_names_every_character():
    fig = plots.heatmap(np.array([[0.5, -2.0, 0.0]]), columns="a \n", rows=["h"], xlabel="x", ylabel="y", label="z")
    ax = fig.axes[0]
    assert ax.images[0].get_clim() == (-2.0, 2.0)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["a", "␣", "↵"]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["h"]
    assert fig.axes[1].get_ylabel() == "z"


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_heatmap_of_one_sign_has_half_the_colours(sign):
    matrix = sign * np.array([[2.0, 0.0, np.nan]])
    image = plots.heatmap(matrix, xlabel="x", ylabel="y", label="z").axes[0].images[0]
    assert sorted(image.get_clim()) == sorted([2.0 * sign, 0.0])
    red, _, blue, _ = image.to_rgba(2.0 * sign)
    assert np.sign(red - blue) == sign and image.to_rgba(0.0)[:3] == pytest.approx((1.0, 1.0, 1.0), abs=0.06)
    nothing = plots.heatmap(np.zeros((2, 2)), xlabel="x", ylabel="y", label="z").axes[0].images[0]
    assert nothing.get_clim() == (-1.0, 1.0)


def test_ticks_are_those_of_the_limits_and_not_of_the_values():
    fig = plots.curves({"a": ([1, 2], [0.2, 0.3])}, xlabel="x", ylabel="y", ylog=True, ylim=(1e-6, 1))
    fig.draw_without_rendering()
    assert fig.axes[0].get_ylim() == (1e-6, 1)
    seen = [text.get_text() for text in fig.axes[0].get_yticklabels() if text.get_text()]
    assert len(seen) < 10 and "10⁻³" in seen


def test_frames_of_heatmaps_have_one_scale_where_a_limit_is_given():
    maps = [plots.heatmap([[size]], xlabel="x", ylabel="y", label="w", limit=1.0) for size in (0.2, 0.9)]
    assert {fig.axes[0].images[0].get_clim() for fig in maps} == {(0.0, 1.0)}


def test_a_heatmap_of_logarithms_is_white_only_where_there_is_no_value():
    matrix = np.array([[-12.0, -3.0, 0.0, np.nan]])
    ax = plots.heatmap(matrix, xlabel="x", ylabel="y", label="z", logarithms=True).axes[0]
    (image,) = ax.images
    assert image.get_clim() == (-12.0, 0.0)
    brightness = [sum(image.to_rgba(value)[:3]) for value in matrix[0, :3]]
    assert brightness == sorted(brightness) and brightness[-1] < 2.6  # white is 3
    assert image.get_array().mask.tolist() == [[False, False, False, True]]
    assert ax.get_facecolor()[:3] == (1.0, 1.0, 1.0)


def test_dots_stand_at_the_mean_with_baselines_and_floor_as_rows():
    fig = plots.dots({"reset": [4.0, 5.0], "carried": 3.0}, xlabel="perplexity", floor=("f", 2), baselines={"b": 6})
    ax = fig.axes[0]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["reset", "carried", "b", "f"]
    assert [text.get_text() for text in ax.texts] == ["4.5", "3", "6", "2"]
    assert [list(line.get_xdata()) for line in ax.lines[:2]] == [[4.0, 5.0], [4.5]]
    assert ax.yaxis_inverted()  # the first row is on top
    assert ax.get_legend() is None


def test_grouped_dots_have_a_legend_and_their_own_markers():
    groups = {number: {"reset": [1, 2], "carried": [2, 3]} for number in ("16", "32")}
    ax = plots.dots(groups, xlabel="perplexity", xlog=True).axes[0]
    assert ax.get_xscale() == "log"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["reset", "carried"]
    assert len({line.get_marker() for line in ax.lines} - {"None"}) == 2
    assert len({line.get_ydata()[0] for line in ax.lines}) == 4  # a place each


def test_groups_of_dots_may_lack_labels_and_each_label_is_in_the_legend_once():
    ax = plots.dots({"16": {"GRU": 1, "LSTM": 2}, "32": {"RNN": 3}, "64": {"RNN": 1, "GRU": 2}}, xlabel="nats").axes[0]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["GRU", "LSTM", "RNN"]
    heights = [line.get_ydata()[0] for line in ax.lines if line.get_marker() != "None"]
    assert np.allclose(heights, [-0.15, 0.15, 1.0, 1.85, 2.15])  # around its row, in the legend's order
    assert np.isclose(ax.lines[-1].get_xdata()[0], 1)  # the last is the RNN


def test_dots_keep_to_the_limits_that_they_are_given():
    for values in ([-1, 1], [-3, 2]):
        ax = plots.dots({"one": values}, xlabel="difference", xlim=(-4, 4), baselines={"none": 0.0}).axes[0]
        assert ax.get_xlim() == (-4, 4)


def test_a_scatter_names_some_of_its_points():
    points = {"upon": (900.0, 2.0), "the": (9000.0, 800.0), "fox": (30.0, 12.0)}
    fig = plots.scatter(points, named=["upon", "the"], xlabel="count", ylabel="words before", log=True)
    assert [text.get_text() for text in fig.axes[0].texts] == ["upon", "the"]
    assert fig.axes[0].get_xscale() == fig.axes[0].get_yscale() == "log"
    dots, *marked = (line.get_xydata().tolist() for line in fig.axes[0].lines)
    assert dots == [list(place) for place in points.values()] and marked == [dots[:1], dots[1:2]]


def test_the_groups_of_a_scatter_differ_in_colour_and_shape_and_are_named():
    points = {"fox": (1.0, 2.0), "owl": (1.5, 2.0), "Monday": (5.0, 1.0)}
    groups = {"animals": ["owl", "fox"], "days": ["Monday"]}
    ax = plots.scatter(points, named=["fox", "Monday"], groups=groups, xlabel="x", ylabel="y").axes[0]
    animals, days = ax.lines
    assert animals.get_xydata().tolist() == [[1.5, 2.0], [1.0, 2.0]] and days.get_xydata().tolist() == [[5.0, 1.0]]
    assert animals.get_color() != days.get_color() and animals.get_marker() != days.get_marker()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["animals", "days"]
    inks = {text.get_text(): text.get_color() for text in ax.texts}
    assert inks == {"fox": labels.ink(animals.get_color()), "Monday": labels.ink(days.get_color())}
    for wrong in ({"animals": ["owl", "fox"]}, groups | {"more": ["fox"]}, {"all": [*points, "hen"]}):
        with pytest.raises(ValueError, match="each point needs one group"):
            plots.scatter(points, named=[], groups=wrong, xlabel="x", ylabel="y")


def test_names_in_a_scatter_move_apart():
    points = {"cold": (0.69, 0.007), "greedy": (0.57, 0.0), "hot": (1.9, 0.27)}
    fig = plots.scatter(points, named=points, xlabel="x", ylabel="y")
    fig.draw_without_rendering()
    cold, greedy, hot = fig.axes[0].texts
    assert not cold.get_window_extent().overlaps(greedy.get_window_extent())
    assert cold.xyann[1] > 0 > greedy.xyann[1] and hot.xyann == (6, 0)


AXES = {"xlabel": "x", "ylabel": "y"}


@pytest.mark.parametrize(
    "draw, message",
    [
        (lambda: plots.curves({}, **AXES), "series is empty"),
        (lambda: plots.curves({"a": ([1], [[1, 2]])}, **AXES), r"'a' has x of shape \(1,\) and y of shape \(1, 2\)"),
        (lambda: plots.panels({"a": {"x": ([1], [1])}, "b": {"y": ([1], [1])}}, **AXES), "the same labels"),
        (lambda: plots.panels({}, **AXES), "at least one panel"),
        (lambda: plots.heatmap(np.zeros(3), **AXES, label="z"), r"matrix has shape \(3,\)"),
        (
            lambda: plots.heatmap([[1, 2, 3]], columns="ab", **AXES, label="z"),
            "2 names for columns, but the matrix has 3",
        ),
        (lambda: plots.dots({}, xlabel="x"), "values is empty"),
        (lambda: plots.scatter({"fox": (1, 2)}, named=["owl"], **AXES), "points has no 'owl'"),
        (lambda: plots.scatter({}, named=[], **AXES), "points is empty"),
    ],
)
def test_what_cannot_be_drawn_is_named(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


def test_a_frame_has_the_ticks_of_its_limits_whatever_its_line():
    told = {"xlabel": "x", "ylabel": "y", "ylog": True, "ylim": (1e-17, 10)}
    frames = [plots.curves({"a": ([1, 2, 3], y)}, **told) for y in ([1.0, 1.0, 1.0], [1.0, 1e-8, 1e-16])]
    for fig in frames:
        fig.draw_without_rendering()
    flat, steep = ([text.get_text() for text in fig.axes[0].get_yticklabels()] for fig in frames)
    assert flat == steep and "10⁻⁸" in flat


def test_an_axis_has_no_tick_where_no_line_has_a_point():
    x, y = np.array([10, 20, 40, 80, 160, 320, 640]), np.arange(7.0)
    groups = {"whole": {"RNN": (x, y)}, "cut": {"RNN": (x, np.where(x < 640, y, np.nan))}}
    whole, cut = plots.panels(groups, xlabel="lag", ylabel="share", xlog=True).axes
    assert whole.get_xticks()[-1] == 640 and cut.get_xticks()[-1] == 320

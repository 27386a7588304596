"""The explorer, with the browser's link and with the callback of older ipywidgets."""

import html
import io
import json
import re

import ipywidgets as widgets
import matplotlib
import numpy as np
import pytest
from ipywidgets.embed import dependency_state
from matplotlib import pyplot as plt
from PIL import Image

from unrolled.figures import excerpts, explore, plots

needs_stack = pytest.mark.skipif(not hasattr(widgets, "Stack"), reason="this ipywidgets has no Stack")


pytestmark = pytest.mark.usefixtures("book_style")


def frames():
    x = np.arange(30)
    return {w: plots.curves({"left": (x, w**x)}, xlabel="step", ylabel="left") for w in (0.5, 0.9, 1)}


def blank(width=2, colour="red"):
    fig = plt.figure(figsize=(width, 1), layout="none")
    fig.add_axes((0, 0, 1, 1), facecolor=colour).grid(False)
    return fig


@needs_stack
def test_the_page_links_slider_and_pictures_without_python():
    box = explore.slider(frames(), "recurrent weight")
    choice, shown = box.children[:2]
    assert [label for label, _ in choice.options] == ["0.5", "0.9", "1"]
    assert choice.readout and choice.description == "recurrent weight"
    state = dependency_state([box])
    (link,) = (model["state"] for model in state.values() if model["model_name"] == "LinkModel")
    assert link["source"] == [f"IPY_MODEL_{choice.model_id}", "index"]
    assert link["target"] == [f"IPY_MODEL_{shown.model_id}", "selected_index"]
    assert len({picture.value for picture in shown.children}) == 3


def test_the_slider_starts_where_it_is_told_to():
    choice, shown = explore.slider(frames(), "recurrent weight", start=0.9).children[:2]
    assert choice.label == "0.9" and getattr(shown, "selected_index", 1) == 1


def test_without_stack_a_callback_changes_the_picture(monkeypatch):
    monkeypatch.delattr(widgets, "Stack", raising=False)
    box = explore.slider({colour: blank(colour=colour) for colour in ("red", "lime", "blue")}, "colour")
    choice, shown = box.children[:2]

    def colour():
        return Image.open(io.BytesIO(shown.value)).convert("RGB").getpixel((144, 72))

    assert isinstance(shown, widgets.Image) and colour() == (255, 0, 0)
    choice.index = 2
    assert colour() == (0, 0, 255)
    choice.label = "lime"
    assert colour() == (0, 255, 0)


def test_figures_become_small_pictures_of_one_size_and_are_closed():
    drawn = frames()
    already = plt.figure()
    box = explore.slider(drawn, "recurrent weight")
    assert plt.get_fignums() == [already.number]
    shown = box.children[1]
    pictures = [picture.value for picture in getattr(shown, "children", [shown])]
    assert {Image.open(io.BytesIO(picture)).size for picture in pictures} == {(1008, 518)}
    assert all(len(picture) < 60_000 for picture in pictures)
    first = Image.open(io.BytesIO(pictures[0]))
    assert first.mode == "P" and first.convert("RGB").getpixel((0, 0)) == (255, 255, 255)


def test_the_ground_is_white_whatever_the_style():
    with matplotlib.rc_context({"savefig.facecolor": "black"}):
        shown = explore.slider(frames(), "recurrent weight").children[1]
    first = getattr(shown, "children", [shown])[0]
    assert Image.open(io.BytesIO(first.value)).convert("RGB").getpixel((0, 0)) == (255, 255, 255)


def test_the_gates_of_units_and_their_mean_become_small_frames():
    text = "The owl said that Anna had gone to the river, and the fox thanked her.\n" * 2
    units = np.random.default_rng(0).random((4, 3, len(text)))  # (units, gates, characters)
    values = {f"unit {number}": unit for number, unit in enumerate(units)} | {"mean": units.mean(axis=0)}
    drawn = {name: excerpts.gates(text, dict(zip("fio", gates, strict=True))) for name, gates in values.items()}
    shown = explore.slider(drawn, "unit").children[1]
    pictures = [picture.value for picture in getattr(shown, "children", [shown])]
    assert len(set(pictures)) == len(pictures) and all(len(picture) < 40_000 for picture in pictures)


def test_the_slider_is_named_for_those_who_do_not_see_it():
    box = explore.slider({1: blank(), 2: blank()}, 'a "b" <i>')
    naming = box.children[2].value
    script = html.unescape(re.search(r'onload="([^"]*)"', naming)[1])
    assert re.search(r'closest\("\.([^"]+)"\)', script)[1] in box._dom_classes  # where the script looks for the slider
    assert 'const name = "a \\"b\\" <i>"' in script
    assert 'setAttribute("aria-label", name)' in script and "aria-valuetext" in script and ".alt = " in script
    assert "<i>" not in naming  # a label cannot become markup


def test_bad_frames_are_named():
    with pytest.raises(ValueError, match="at least two frames, and there are 0"):
        explore.slider({}, "x")
    with pytest.raises(ValueError, match="at least two frames, and there are 1"):
        explore.slider({0.5: blank()}, "x")
    with pytest.raises(TypeError, match="the frame for 2 is a ndarray; give a Figure"):
        explore.slider({1: blank(), 2: np.zeros(3)}, "x")
    with pytest.raises(
        ValueError, match="the frame for 2 is 3 × 1 inches, .*, and the one for 1 is 2 × 1 .*; draw all"
    ):
        explore.slider({1: blank(), 2: blank(width=3)}, "x")
    two = blank()
    two.add_axes((0, 0, 0.5, 0.5))
    with pytest.raises(
        ValueError, match="the frame for 2 is .* with 2 axes, and the one for 1 is .* with 1 axes; draw"
    ):
        explore.slider({1: blank(), 2: two}, "x")
    with pytest.raises(ValueError, match="the slider cannot start at 3: its values are 1, 2"):
        explore.slider({1: blank(), 2: blank()}, "x", start=3)
    for label in ("", " ", "?"):
        with pytest.raises(ValueError, match=rf"label is {label!r}: say in letters".replace("?", r"\?")):
            explore.slider({1: blank(), 2: blank()}, label)


# What stays where it is


def test_all_frames_have_the_same_axes_in_the_same_place():
    drawn = [
        plots.dots({"a": [-size, size], "a much longer name": 0.0}, xlabel="difference") for size in (1, 2, 10_000)
    ]
    drawn += [plots.dots({"a": [0.0, 3.0], "b": 1.0}, xlabel="difference")]
    explore.slider(dict(enumerate(drawn)), "size")
    axes = [figure.axes[0] for figure in drawn]
    assert len({(ax.get_xlim(), ax.get_ylim()) for ax in axes}) == 1
    assert axes[0].get_xlim()[0] < -10_000 and axes[0].get_ylim()[0] > axes[0].get_ylim()[1], "upside down, as drawn"
    assert np.ptp([ax.get_position().extents for ax in axes], axis=0).max() < 1e-9
    assert [text.get_text() for text in axes[1].get_yticklabels()] == ["a", "a much longer name"]


def test_names_beside_lines_follow_them_when_the_limits_change():
    x = np.arange(30)
    drawn = {size: plots.curves({"up": (x, size * x), "flat": (x, 0 * x)}, xlabel="x", ylabel="y") for size in (1, 9)}
    explore.slider(drawn, "size")
    for size, figure in drawn.items():
        ax = figure.axes[0]
        ends = dict(zip(("flat", "up"), ax.transData.transform([(0, 0), (0, size * 29)])[:, 1], strict=True))
        names = {text.get_text(): ax.transAxes.transform(text.xy)[1] for text in ax.texts}
        assert names == pytest.approx(ends, abs=1), size


def test_logarithmic_axes_have_ticks_in_every_frame():
    x, y = np.arange(1, 100), np.geomspace(1, 1e-15, 99)
    axes = {"xlabel": "x", "ylabel": "y", "ylog": True, "ylim": (1e-16, 10)}
    drawn = {power: plots.curves({"left": (x, y**power)}, **axes) for power in (1, 0.01)}
    explore.slider(drawn, "power")
    ticks = [[text.get_text() for text in figure.axes[0].get_yticklabels()] for figure in drawn.values()]
    assert ticks[0] == ticks[1] and 4 <= sum(map(bool, ticks[0])) <= 20


def test_a_colour_is_the_same_value_in_all_heatmaps_and_each_has_its_own_columns():
    labels = {"xlabel": "x", "ylabel": "y", "label": "z"}
    drawn = {n: plots.heatmap(np.full((4, n), n / 10), **labels) for n in (2, 5)}
    explore.slider(drawn, "columns")
    images = [figure.axes[0].images[0] for figure in drawn.values()]
    assert [image.get_clim() for image in images] == [(0, 0.5), (0, 0.5)]
    assert [figure.axes[0].get_xlim()[1] for figure in drawn.values()] == [1.5, 4.5]


# What the book's pages are made of


def test_while_the_book_is_made_the_frames_are_saved_always_with_the_same_bytes(tmp_path, monkeypatch):
    saved = []
    for run in ("first", "second"):
        monkeypatch.setenv("UNROLLED_FIGURES", str(tmp_path / run))
        explore.slider(frames(), "recurrent weight w")
        (folder,) = (tmp_path / run / "explorers").iterdir()
        saved.append({path.name: path.read_text(encoding="utf8") for path in sorted(folder.iterdir())})
    assert folder.name == "recurrent-weight-w" and saved[0] == saved[1]
    assert list(saved[0]) == ["0.svg", "1.svg", "2.svg", "explorer.json"]
    assert json.loads(saved[0]["explorer.json"]) == {
        "label": "recurrent weight w",
        "values": ["0.5", "0.9", "1"],
        "start": 0,
    }
    assert len({saved[0][f"{number}.svg"] for number in range(3)}) == 3


def test_for_a_reader_nothing_is_saved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UNROLLED_FIGURES", raising=False)
    explore.slider(frames(), "recurrent weight")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("UNROLLED_FIGURES", str(tmp_path / "file"))
    with pytest.raises(OSError, match="cannot write .*recurrent-weight: .*set UNROLLED_FIGURES"):
        explore.slider(frames(), "recurrent weight")

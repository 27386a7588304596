"""The explorer, with the browser's link and with the callback of older ipywidgets."""

import html
import io
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
    with pytest.raises(ValueError, match="the frame for 2 is 3 × 1 inches and the one for 1 is 2 × 1 inches; draw all"):
        explore.slider({1: blank(), 2: blank(width=3)}, "x")
    with pytest.raises(ValueError, match="label is empty"):
        explore.slider({1: blank(), 2: blank()}, " ")

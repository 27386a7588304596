"""Colours: each model has one, they can be told apart, and in the stored figures they stand for nothing else."""

import re
from functools import cache
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import colors

from places import ROOT
from unrolled.figures import canvas, charts, palette
from unrolled.figures.palette import CATEGORIES, PALETTE, RESERVED, legible, name_of, ramp, styles

TO_XYZ = np.array([[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]])
EYES = (  # what is seen, in linear RGB, by those who lack no kind of cone or one (Machado, Oliveira, Fernandes, 2009)
    np.eye(3),
    [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]],
    [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]],
)


def linear(colour):
    """Return a colour in linear RGB, (3,)."""
    rgb = np.array(colors.to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(colour, see=EYES[0]):
    """Return a colour in CIELAB, (3,): its lightness, and how red and how yellow it is."""
    x, y, z = np.cbrt(TO_XYZ @ np.clip(np.array(see) @ linear(colour), 0, 1) / (0.9505, 1.0, 1.0888))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def distance(one, other, see=EYES[0]):
    return float(np.linalg.norm(lab(one, see) - lab(other, see)))


def contrast(colour):
    """Return the contrast of a colour with white (WCAG 2)."""
    return 1.05 / (float(TO_XYZ[1] @ linear(colour)) + 0.05)


def test_models_can_be_told_apart_in_grey_and_by_the_colour_blind():
    for one, other in combinations([palette.BLUE, palette.ORANGE, palette.RED, palette.VIOLET, palette.BLACK], 2):
        assert abs(lab(one)[0] - lab(other)[0]) > 7
        assert min(distance(one, other, see) for see in EYES) > 11
    for tint in RESERVED:
        kin = [look for colour, *look in PALETTE.values() if colour == tint]
        assert len(set(map(tuple, kin))) == len(kin), "relatives of one tint differ by dashes and markers"


def test_no_other_colour_looks_reserved_and_all_can_be_seen_on_white():
    free = [*CATEGORIES, *ramp(6), canvas.BACK, palette.TEAL, palette.GREY, palette.INK]
    assert min(distance(one, other) for one in free for other in RESERVED) > 18
    assert min(map(contrast, [*free, *RESERVED])) > 2.99
    assert min(distance(*pair) for pair in combinations(CATEGORIES, 2)) > 20
    for steps in (2, 4, 6):
        assert (np.diff([lab(colour)[0] for colour in ramp(steps)]) < -6).all()
    assert min(contrast(legible(colour)) for colour in (*free, *RESERVED)) >= 4.4999
    assert legible("black") == (0, 0, 0)


def test_labels_of_the_book_have_their_names():
    known = {"RNN": "rnn", "tanh": "rnn", "RNN, ReLU": "rnn-variant", "LSTM": "lstm", "LSTM, dropout": "lstm-variant"}
    known |= {"GRU, reset after": "gru-after", "minGRU, one layer": "mingru", "transformer": "attention"}
    known |= {"12-gram": "counting", "the floor": "floor", "untrained": "before", "reset gate": "reset-gate"}
    known |= dict.fromkeys(("reset", "LSTM − GRU", "GRU, reset after − before", "T = 16", "one layer", None, ""))
    assert {label: name_of(label) for label in known} == known
    assert set(palette.LABELS.values()) <= set(PALETTE)


def test_a_model_looks_the_same_whatever_is_beside_it_and_nothing_looks_like_it():
    alone = styles(["GRU"])
    assert styles(["clipped", "GRU", "LSTM"])[1:2] == styles(["GRU", "reset"])[:1] == alone
    every = styles(["RNN", "LSTM", "GRU", "transformer", "12-gram", "window", "clipped", "reset"])
    for what in ("color", "marker"):
        assert len({look[what] for look in every[:4]}) == 4
    assert len({look["color"] for look in every}) == 8
    gate, other = styles(["input gate", "adds everything"])
    assert gate["color"] == CATEGORIES[0] and other["color"] == CATEGORIES[1]
    before, after = styles(["before training", "after"])
    assert before["markerfacecolor"] == "white" and "markerfacecolor" not in after and before["color"] == after["color"]


def test_labels_of_one_colour_differ_by_dashes_and_markers():
    for labels in (
        ["LSTM, dropout", "LSTM, cache", "LSTM, both"],
        ["8-gram", "12-gram"],
        ["a", "b", "c", "d", "e", "f"],
    ):
        looks = styles(labels)
        assert len({(look["color"], str(look["linestyle"]), look["marker"]) for look in looks}) == len(labels)
        assert len({str(look["linestyle"]) for look in looks}) == len({look["marker"] for look in looks}) == len(labels)


def test_steps_of_an_ordered_quantity_are_a_ramp_beside_others():
    drawn = styles(["−1", "1", "chrono", "LSTM"], ordered=["−1", "1"])
    assert [look["color"] for look in drawn] == [*ramp(2), CATEGORIES[0], PALETTE["lstm"][0]]
    assert drawn[:2] == styles(["−1", "1"], ordered=True)
    assert len({(str(look["linestyle"]), look["marker"]) for look in drawn[:3]}) == 3
    (given,) = styles(["two layers"], roles={"two layers": "attention"})
    assert given["color"] == PALETTE["attention"][0] and given["gid"] == "role-attention"


# The stored figures


@cache
def near(colour):
    """Return the colours of the book that a colour is: it, or it darkened for letters."""
    known = {of for of, *_ in PALETTE.values()} | {*CATEGORIES, canvas.BACK}
    return {each for each in known if colour in (each, colors.to_hex(legible(each)))}


@cache
def on_ramp(colour):
    steps = np.array([(colors.to_rgb(each), legible(each)) for each in ramp(100)])  # (100, itself or legible, RGB)
    return np.abs(steps - colors.to_rgb(colour)).max(axis=2).min() < 0.01


def faults(svg):
    """Return what is wrong with the colours of a figure: a colour that is not the book's, or not that of its part.

    A part that stands for a model says so in its identifier. Greys, what is pale, and images are not looked at.
    """
    found = set()

    def look(element, name):
        inside = re.match(r"role-([a-z0-9-]+?)(?:\.\d+)?$", element.get("id", ""))
        name = inside[1] if inside else name
        own = PALETTE[name][0] if name in PALETTE else None
        for colour in re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", element.get("style", "")):
            lightness, *hue = lab(colour)
            if colour not in RESERVED and (lightness > 85 or np.hypot(*hue) < 5):
                continue
            if own and own not in near(colour):
                found.add(f"{colour} stands for {name}, whose colour is {own}")
            elif not own and near(colour) & set(RESERVED):
                found.add(f"{colour} is a model's, and stands for something else")
            elif not near(colour) and not on_ramp(colour):
                found.add(f"{colour} is no colour of the palette")
        for child in element:
            look(child, name)

    look(ElementTree.fromstring(svg), None)
    return sorted(found)


def test_in_the_stored_figures_a_models_colour_stands_for_it_alone():
    wrong = {path.stem: faults(path.read_text("utf8")) for path in sorted(ROOT.glob("figures/*.svg"))}
    assert len(wrong) > 100 and {name: found for name, found in wrong.items() if found} == {}


@pytest.mark.usefixtures("book_style")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda ax: None, None),
        (lambda ax: ax.axhline(1.5, color=palette.RED), "is a model's"),
        (lambda ax: ax.plot([1, 2], [1, 2], color=palette.RED, gid="role-lstm"), "stands for lstm"),
        (lambda ax: ax.axhline(1, color="#3f90da"), "no colour of the palette"),
    ],
)
def test_a_colour_in_the_wrong_place_is_found(change, message):
    every = "RNN", "LSTM", "GRU", "minGRU", "12-gram", "clipped", "before", "after"
    series = {label: ([1, 2, 3], [[1.0, 2.0, n], [1.0, 3.0, n]]) for n, label in enumerate(every)}
    fig = charts.curves(series, xlabel="x", ylabel="y", floor=("floor", 0.5), baselines={"5-gram": 1.0, "chance": 2.0})
    change(fig.axes[0])
    svg = charts.svg(fig).decode()
    found = faults(svg)
    assert (message in found[0] and len(found) == 1) if message else found == []
    names = re.findall(r'id="(role-[^"]+)"', svg)
    assert len(names) == len(set(names)) > 8

"""The diagrams: what is in them, where their arrows lead, and that they can be read."""

import io
import re
from collections import Counter

import matplotlib
import pytest
from matplotlib import pyplot as plt

from unrolled.figures import canvas, charts, diagrams


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def written(fig):
    return [text.get_text() for text in fig.axes[0].texts]


def directions(fig, colour):
    """Return how many arrows of a colour set out in each direction."""
    ways = Counter()
    for line in fig.axes[0].lines:
        (x, y), (to_x, to_y), *_ = line.get_xydata()
        if line.get_color() == colour:
            way = {"right": to_x - x, "left": x - to_x, "up": to_y - y, "down": y - to_y}
            ways[max(way, key=way.get)] += 1
    return ways


@pytest.mark.parametrize("steps", [1, 3])
def test_every_copy_of_the_step_has_the_same_weights(steps):
    fig = diagrams.rnn_unrolled(steps)
    texts = written(fig)
    for weight in ("xh", "hh", "hy"):
        assert texts.count(canvas.weight(weight)) == steps + 1  # and once beside the loop
    for vector in (canvas.X, canvas.H, canvas.Y):
        assert [canvas.vector(vector, step) in texts for step in range(1, steps + 2)] == [True] * steps + [False]
    assert canvas.vector(canvas.H, 0) in texts
    assert directions(fig, canvas.W_XH) == directions(fig, canvas.W_HY) == {"up": steps + 1}
    assert directions(fig, canvas.W_HH) == {"up": 1, "right": steps + 1}  # the loop; from h_0 to the last and on


def test_a_language_model_is_given_each_symbol_that_it_was_to_predict():
    texts = written(diagrams.language_model("once"))
    assert {symbol: texts.count(symbol) for symbol in "once"} == {"o": 1, "n": 2, "c": 2, "e": 1}
    places = {text.get_text(): text.get_position()[0] for text in diagrams.language_model("once").axes[0].texts}
    assert places["o"] == places[canvas.vector(canvas.X, 1)] and places["e"] == places[canvas.vector(canvas.Y, 3)]
    assert [f"$L_{step}$" in texts for step in range(1, 5)] == [True] * 3 + [False]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["rnn_unrolled", "language_model", "lstm_cell", "gru_cell"])
def test_texts_are_large_apart_and_inside_and_a_notebook_draws_them_without_a_warning(name):
    draw = getattr(diagrams, name)
    with matplotlib.rc_context(charts.STYLE):
        fig = draw()
        for bounds in (None, "tight"):
            fig.canvas.print_figure(io.BytesIO(), bbox_inches=bounds)
    boxes = [text.get_window_extent() for text in fig.axes[0].texts]
    assert all(text.get_fontsize() >= 13 for text in fig.axes[0].texts)
    assert all(text.get_math_fontfamily() == "cm" for text in fig.axes[0].texts)  # as the book's formulas
    assert not any(box.overlaps(other) for n, box in enumerate(boxes) for other in boxes[:n])
    assert all(fig.bbox.x0 <= box.x0 and box.x1 <= fig.bbox.x1 for box in boxes)
    assert all(fig.bbox.y0 <= box.y0 and box.y1 <= fig.bbox.y1 for box in boxes)


@pytest.fixture
def pieces(monkeypatch):
    """Record the boxes (left, right, bottom, top, text) and the arrows (points, colour) of what a test draws."""
    boxes, arrows = [], []
    box, arrow = canvas.Sheet.box, canvas.Sheet.arrow

    def boxed(self, x, y, text, fill, width=0.62, height=0.5, **colours):
        boxes.append((x - width / 2, x + width / 2, y - height / 2, y + height / 2, text))
        box(self, x, y, text, fill, width, height, **colours)

    def pointed(self, *points, colour, width):
        arrows.append((points, colour))
        arrow(self, *points, colour=colour, width=width)

    monkeypatch.setattr(canvas.Sheet, "box", boxed)
    monkeypatch.setattr(canvas.Sheet, "arrow", pointed)
    return boxes, arrows


def plain(text):
    """Return a formula without its markup."""
    for sign, letter in (("\\mathbf", ""), ("\\tilde", "~"), ("\\sigma", "σ"), ("\\odot", "⊙"), ("\\", "")):
        text = text.replace(sign, letter)
    return re.sub(r"[${} ]", "", text)


def flow(fig, pieces):
    """Return the lit arrows of a cell as pairs of what they join; "" is outside.

    A layer bears its weights' name too, and products are numbered from the left.
    """
    boxes, arrows = pieces
    ax = fig.axes[0]
    names = {}
    for left, right, bottom, top, text in boxes:
        within = [t for t in ax.texts if left < t.get_position()[0] < right and bottom < t.get_position()[1] < top]
        labels = [plain(t.get_text()) for t in within if plain(t.get_text()) not in ("(h)", "(d)")]
        names[left, right, bottom, top] = plain(text) or (labels or ["⊙"])[0]
    for number, product in enumerate(sorted(box for box, name in names.items() if name == "⊙"), start=1):
        names[product] = f"⊙{number}"
    for t in ax.texts:  # weights stand right of the arrow to their layer
        if plain(t.get_text()).startswith("W"):
            x, y = t.get_position()
            (layer,) = (b for b in names if b[0] < x - 0.1 < b[1] and 0 < b[2] - y < 0.5)
            names[layer] += plain(t.get_text())

    def at(point):
        x, y = point
        touched = [n for (a, b, c, d), n in names.items() if a - 1e-6 <= x <= b + 1e-6 and c - 1e-6 <= y <= d + 1e-6]
        if touched:
            (name,) = touched
            return name
        if min(x, y, fig.get_figwidth() - x) < 0.06:
            return ""
        (trunk,) = (
            points
            for points, _ in arrows
            if any(a == c == x and b < y < d for (a, b), (c, d) in zip(points, points[1:], strict=False))
        )
        return at(trunk[0])  # a fork

    return sorted((at(points[0]), at(points[-1])) for points, colour in arrows if colour != canvas.FAINT)


READ = [("", "h_t-1"), ("", "x_t")]
ADD = [("+", "c_t"), ("c_t", "")]
LSTM = {
    "cell": [("", "c_t-1"), ("c_t-1", "⊙1"), ("⊙1", "+"), *ADD],
    "forget": [*READ, ("h_t-1", "σW_f"), ("σW_f", "⊙1"), ("⊙1", "+"), *ADD],
    "input": [*READ, ("h_t-1", "σW_i"), ("σW_i", "⊙2"), ("⊙2", "+"), *ADD],
    "candidate": [*READ, ("h_t-1", "tanhW_c"), ("tanhW_c", "⊙2"), ("⊙2", "+"), *ADD],
    "output": [
        *[*READ, ("h_t-1", "σW_o"), ("σW_o", "⊙3")],
        *[("c_t", "tanh"), ("tanh", "⊙3"), ("⊙3", "h_t"), ("h_t", "")],
    ],
    "gradient": [
        *[("", "h_t"), ("h_t", "⊙3"), ("⊙3", "tanh"), ("tanh", "c_t")],
        *[("", "c_t"), ("c_t", "+"), ("+", "⊙1"), ("⊙1", "c_t-1"), ("c_t-1", "")],
    ],
}
READ = [("", "h_t-1"), ("h_t-1", "h_t-1"), ("", "x_t")]
ADD = [("+", "h_t"), ("h_t", "")]
CANDIDATE = [("⊙2", "r_t⊙h_t-1"), ("r_t⊙h_t-1", "tanhW_h"), ("tanhW_h", "⊙3"), ("⊙3", "+"), *ADD]
GRU = {
    "keep": [("", "h_t-1"), ("h_t-1", "⊙1"), ("⊙1", "+"), *ADD],
    "update": [
        *[*READ, ("h_t-1", "σW_z"), ("σW_z", "1-z_t"), ("1-z_t", "⊙1"), ("⊙1", "+")],
        *[("σW_z", "⊙3"), ("⊙3", "+"), *ADD],
    ],
    "reset": [*READ, ("h_t-1", "σW_r"), ("σW_r", "⊙2"), *CANDIDATE],
    "candidate": [*READ, ("h_t-1", "⊙2"), ("x_t", "x_t"), *CANDIDATE],
    "gradient": [("", "h_t"), ("h_t", "+"), ("+", "⊙1"), ("⊙1", "h_t-1"), ("h_t-1", "")],
}


@pytest.mark.parametrize(("draw", "paths"), [(diagrams.lstm_cell, LSTM), (diagrams.gru_cell, GRU)])
def test_each_path_flows_as_its_equation_says(draw, paths, pieces):
    seen = set()
    for path, expected in paths.items():
        for recorded in pieces:
            recorded.clear()
        assert flow(draw(path), pieces) == sorted(expected), path
        seen |= set(expected) if path != "gradient" else {pair[::-1] for pair in expected}
    for recorded in pieces:
        recorded.clear()
    assert set(flow(draw(), pieces)) == seen

"""The diagrams: what is in them, and that the same call draws the same bytes."""

import io
import re
from collections import Counter

import matplotlib
import pytest
from matplotlib import pyplot as plt
from matplotlib.path import Path

from unrolled.figures import canvas, diagrams, plots, roles


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def written(fig):
    return [text.get_text() for text in fig.axes[0].texts]


def arrows(fig, colour):
    """Return where the arrows of a colour begin, and the direction in which each sets out."""
    starts = []
    for line in fig.axes[0].lines:
        (x, y), (to_x, to_y), *_ = line.get_xydata()
        ways = {"right": to_x - x, "left": x - to_x, "up": to_y - y, "down": y - to_y}
        if line.get_color() == colour:
            starts.append((x, y, max(ways, key=ways.get)))
    return starts


def directions(fig, colour):
    return Counter(way for *_, way in arrows(fig, colour))


@pytest.mark.parametrize("steps", [1, 3, 6])
def test_every_copy_of_the_step_has_the_same_weights(steps):
    texts = written(diagrams.rnn_unrolled(steps))
    for weight in ("xh", "hh", "hy"):
        assert texts.count(canvas.weight(weight)) == steps + 1  # and once beside the loop
    for vector in (canvas.X, canvas.H, canvas.Y):
        assert [canvas.vector(vector, step) in texts for step in range(1, steps + 2)] == [True] * steps + [False]
    assert canvas.vector(canvas.H, 0) in texts


def test_the_network_has_a_loop_or_is_unrolled_to_the_right():
    fig = diagrams.rnn_unrolled(3)
    assert directions(fig, canvas.W_XH) == directions(fig, canvas.W_HY) == {"up": 4}
    assert directions(fig, canvas.W_HH) == {"up": 1, "right": 4}  # the loop; from h_0 to h_3 and on


def test_what_a_decoder_writes_stands_above_and_right_of_all_that_was_read():
    texts = [text for text in diagrams.encoder_decoder("gate").axes[0].texts if len(text.get_text()) == 1]
    (*_, last), written_ = texts[:4], texts[4:]
    assert "".join(text.get_text() for text in written_) == "etag"
    assert all(
        x > last.get_position()[0] and y > last.get_position()[1] for x, y in (t.get_position() for t in written_)
    )


def test_each_layer_of_a_stack_has_a_state_for_each_step():
    texts = written(diagrams.stacked_layers(layers=3, steps=4))
    assert sum(r"mathbf{h}^{(" in text for text in texts) == 12
    assert [text for text in texts if text.startswith("layer")] == ["layer 1", "layer 2", "layer 3"]


def test_a_language_model_is_given_each_symbol_that_it_was_to_predict():
    texts = written(diagrams.language_model("once"))
    assert {symbol: texts.count(symbol) for symbol in "once"} == {"o": 1, "n": 2, "c": 2, "e": 1}
    places = {text.get_text(): text.get_position()[0] for text in diagrams.language_model("once").axes[0].texts}
    assert places["o"] == places[canvas.vector(canvas.X, 1)] and places["e"] == places[canvas.vector(canvas.Y, 3)]
    assert [f"$L_{step}$" in texts for step in range(1, 5)] == [True] * 3 + [False]


@pytest.mark.parametrize("window", [2, 4, 6])
def test_every_position_of_a_window_has_weights_of_its_own(window):
    fig = diagrams.window_network(window)
    texts = written(fig)
    positions = [canvas.weight(str(position)) for position in range(1, window + 1)]
    assert [texts.count(weight) for weight in positions] == [1] * window
    inks = {text.get_color() for text in fig.axes[0].texts if text.get_text() in positions}
    assert len(inks) == window
    assert [directions(fig, colour) for colour in roles.ramp(window)] == [{"up": 1}] * window
    places = {text.get_text(): text.get_position() for text in fig.axes[0].texts}
    inputs = [canvas.vector(canvas.X, f"t-{back}" if back else "t") for back in range(window, -1, -1)]
    assert sorted(inputs, key=places.get) == inputs and places["out of view"][0] == places[inputs[0]][0]


@pytest.mark.parametrize(("t", "s"), [(4, 2), (3, 3), (4, 1)])
def test_a_gradients_path_has_a_jacobian_for_each_state_it_crosses(t, s):
    fig = diagrams.gradient_paths(4, t, s)
    texts = written(fig)
    crossed = [step for step in range(1, 5) if rf"$\mathbf{{J}}_{{{step}}}^\top$" in texts]
    assert crossed == list(range(s + 1, t + 1))
    assert texts.count(canvas.weight("hh")) == 4
    assert directions(fig, canvas.BACK) == Counter(down=2, left=t - s)
    assert directions(fig, canvas.FAINT) == Counter(up=6, right=4 - (t - s))
    columns = {text.get_text(): text.get_position()[0] for text in fig.axes[0].texts}
    down = sorted((-y, x) for x, y, way in arrows(fig, canvas.BACK) if way == "down")
    states = [columns[canvas.vector(canvas.H, step)] for step in (t, s)]
    assert [x for _, x in down] == pytest.approx(states)


@pytest.mark.parametrize(("t", "s"), [(4, 2), (3, 3), (4, 1)])
def test_a_gradients_path_is_named_by_its_term(t, s):
    texts = written(diagrams.gradient_paths(4, t, s))
    use, loss = (
        rf"\partial^{{+}}\mathbf{{h}}_{{{s}}}/\partial\mathbf{{W}}_{{hh}}",
        rf"\partial^{{+}}L/\partial\mathbf{{h}}_{{{t}}}",
    )
    assert f"path from loss {t} to use {s}:" in texts
    assert texts.count(rf"$({use})^\top$") == texts.count(f"${loss}$") == 1  # beside the last arrow and the first
    (term,) = [text for text in texts if use in text and loss in text]
    factors = [int(step) for step in re.findall(r"\{J\}\}?_\{(\d)\}", term)]
    assert factors == list(range(t, s, -1))  # the latest on the left


def test_every_number_of_the_backward_pass_stands_beside_its_arrow():
    fig = diagrams.gradient_messages([0.2, 0.7, 0.1], own=[-0.1, 0.3], passed=[0.05, 0.4], shares=[-0.02, 0.25])
    assert directions(fig, canvas.BACK) == Counter(down=4, left=2)
    places = {text.get_text(): text.get_position() for text in fig.axes[0].texts}
    first, second = (places[f"$h_{{{step}}}=${value}"] for step, value in ((1, "0.70"), (2, "0.10")))
    for state, own, share in ((first, "−0.100", "−0.020"), (second, "+0.300", "+0.250")):
        assert state[0] < places[own][0] < state[0] + 0.3 > places[share][0]
        assert places[own][1] > state[1] > places[share][1]
    assert places["+0.050"][0] < first[0] < places["+0.400"][0] < second[0]


@pytest.mark.parametrize(
    "fig",
    [
        *(diagrams.rnn_unrolled, diagrams.language_model, diagrams.window_network, diagrams.gradient_paths),
        lambda: diagrams.gradient_messages([0.2, -0.7, 0.1, 0.4], *[[-0.12, 0.36, -0.217]] * 3),
        *(diagrams.encoder_decoder, diagrams.stacked_layers, diagrams.gpu),
        *(diagrams.lstm_cell, lambda: diagrams.lstm_cell("gradient")),
        *(diagrams.gru_cell, lambda: diagrams.gru_cell("gradient")),
    ],
)
def test_texts_are_large_apart_and_inside(fig):
    fig = fig()
    fig.draw_without_rendering()
    boxes = [text.get_window_extent() for text in fig.axes[0].texts]
    assert all(text.get_fontsize() >= 13 for text in fig.axes[0].texts)
    assert all(text.get_math_fontfamily() == "cm" for text in fig.axes[0].texts)  # as the book's formulas
    assert not any(box.overlaps(other) for n, box in enumerate(boxes) for other in boxes[:n])
    assert all(fig.bbox.x0 <= box.x0 and box.x1 <= fig.bbox.x1 for box in boxes)
    assert all(fig.bbox.y0 <= box.y0 and box.y1 <= fig.bbox.y1 for box in boxes)


def test_the_workers_of_a_gpu_are_not_hidden():
    patches = diagrams.gpu().axes[0].patches
    workers = [patch for patch in patches if isinstance(patch, matplotlib.patches.Rectangle)]
    assert len(workers) == 40
    assert min(worker.get_zorder() for worker in workers) > max(p.get_zorder() for p in patches if p not in workers)


CELLS = [(diagrams.lstm_cell, path) for path in (None, *diagrams.LSTM_PATHS)]
CELLS += [(diagrams.gru_cell, path) for path in (None, *diagrams.GRU_PATHS)]


RESULTS = {
    diagrams.lstm_cell: {"f": "f", "i": "i", "c": "~c", "o": "o"},
    diagrams.gru_cell: {"z": "z", "r": "r", "h": "~h"},
}


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


@pytest.mark.parametrize(("draw", "path"), CELLS)
def test_weights_and_results_are_lit_with_their_layer(draw, path):
    texts = {plain(text.get_text()): text.get_color() for text in draw(path).axes[0].texts}
    layers = RESULTS[draw]
    on = {None: "".join(layers), "candidate": list(layers)[2], "reset": "rh"}
    on |= {"forget": "f", "input": "i", "output": "o", "update": "z"}
    for letter, result in layers.items():
        colours = {texts[f"W_{letter}"], texts[f"{result}_t"]}
        assert len(colours) == 1 and (canvas.GREY in colours) == (letter not in on.get(path, ""))


@pytest.mark.parametrize(("draw", "path"), CELLS)
def test_cells_can_be_read_on_a_phone_and_no_line_touches_a_letter(draw, path, pieces):
    fig = draw(path)
    fig.draw_without_rendering()
    boxes, arrows = pieces
    inches = fig.dpi_scale_trans.inverted()
    phone = 360 * 0.75 / (72 * fig.get_figwidth())  # of a figure 360 pixels wide, 0.75 points each
    for text in fig.axes[0].texts:
        assert text.get_fontsize() * phone >= 8
        letters = text.get_window_extent().transformed(inches).padded(0.03)
        assert not any(Path(points).intersects_bbox(letters, filled=False) for points, _ in arrows), text.get_text()
        for left, right, bottom, top, _ in boxes:
            edge = Path([(left, bottom), (right, bottom), (right, top), (left, top), (left, bottom)])
            assert not edge.intersects_bbox(letters, filled=False), text.get_text()


@pytest.mark.parametrize("draw", [diagrams.lstm_cell, diagrams.gru_cell])
def test_no_two_arrows_of_a_cell_cross(draw, pieces):
    draw()
    lines = [part for points, _ in pieces[1] for part in zip(points, points[1:], strict=False)]
    across = [sorted([a, c]) + [b] for (a, b), (c, d) in lines if b == d]
    upright = [sorted([b, d]) + [a] for (a, b), (c, d) in lines if a == c]
    assert len(across) + len(upright) == len(lines)  # no line is slanted
    assert not any(left < x < right and low < y < high for left, right, y in across for low, high, x in upright)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="steps is 7; from 1 to 6"):
        diagrams.rnn_unrolled(7)
    with pytest.raises(ValueError, match="text is 'a', of 1 symbols; from 2 to 6"):
        diagrams.language_model("a")
    with pytest.raises(ValueError, match="window is 1; from 2 to 6"):
        diagrams.window_network(1)
    with pytest.raises(ValueError, match="source is 'reverse', of 7 symbols; from 2 to 5 fit"):
        diagrams.encoder_decoder("reverse")
    with pytest.raises(ValueError, match="there are 1 layers and 4 steps; from 2 to 4 and from 2 to 5 fit"):
        diagrams.stacked_layers(1)
    with pytest.raises(ValueError, match="steps is 6; from 2 to 5"):
        diagrams.gradient_paths(6)
    with pytest.raises(ValueError, match="t is 2 and s is 3; 1 ≤ s ≤ t ≤ 4"):
        diagrams.gradient_paths(4, t=2, s=3)
    with pytest.raises(ValueError, match="there are 5 steps; from 1 to 4"):
        diagrams.gradient_messages([0.0] * 6, [0.0] * 5, [0.0] * 5, [0.0] * 5)
    with pytest.raises(ValueError, match="own, passed and shares have lengths 1, 2, 2; 2 is expected"):
        diagrams.gradient_messages([0.0] * 3, [0.0], [0.0] * 2, [0.0] * 2)
    with pytest.raises(ValueError, match="path is 'keep'; None or one of 'cell', 'forget', 'input', 'candidate', "):
        diagrams.lstm_cell("keep")
    with pytest.raises(ValueError, match="path is 'cell'; None or one of 'keep', 'update', 'reset', 'candidate', "):
        diagrams.gru_cell("cell")


@pytest.mark.filterwarnings("error")
def test_a_notebook_shows_a_diagram_without_a_warning():
    """Notebooks print figures with tight bounds, after `save` has printed them, under the style's layout."""
    with matplotlib.rc_context(plots.STYLE):
        for figure in (diagrams.rnn_unrolled(), diagrams.window_network(), diagrams.lstm_cell()):
            for bounds in (None, "tight"):
                figure.canvas.print_figure(io.BytesIO(), bbox_inches=bounds)


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_a_tree_finds_every_state_from_an_earlier_one_and_the_piece_between(levels):
    fig, steps = diagrams.scan_tree(levels), 2**levels
    texts = written(fig)
    assert {f"$h_{{{step}}}$" for step in range(1, steps + 1)} <= set(texts)
    pieces = 2 * steps - 1 - (levels + 1)  # all nodes of the tree but those that begin at step 1
    assert len(texts) == steps + pieces
    later = steps - (levels + 1)  # the states that are no node of the tree
    assert directions(fig, canvas.W_HH).total() == directions(fig, canvas.FAINT).total() == later
    assert directions(fig, canvas.INK).total() == 2 * (steps - 1)


def test_a_tree_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="levels is 4; from 1 to 3 fit on a page"):
        diagrams.scan_tree(4)

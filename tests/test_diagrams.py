"""The diagrams: what is in them, and that the same call draws the same bytes."""

import io
import subprocess
import sys
from collections import Counter

import matplotlib
import pytest
from matplotlib import pyplot as plt

from unrolled import diagrams, plots


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def written(fig):
    return [text.get_text() for text in fig.axes[0].texts]


def arrows(fig, colour):
    """Return where the arrows of a colour begin, and which way each sets out."""
    found = []
    for line in fig.axes[0].lines:
        (x, y), (to_x, to_y), *_ = line.get_xydata()
        ways = {"right": to_x - x, "left": x - to_x, "up": to_y - y, "down": y - to_y}
        if line.get_color() == colour:
            found.append((x, y, max(ways, key=ways.get)))
    return found


def directions(fig, colour):
    return Counter(way for *_, way in arrows(fig, colour))


@pytest.mark.parametrize("steps", [1, 3, 6])
def test_every_copy_of_the_step_has_the_same_weights(steps):
    texts = written(diagrams.rnn_unrolled(steps))
    for weight in ("xh", "hh", "hy"):
        assert texts.count(diagrams._weight(weight)) == steps + 1  # and once beside the loop
    for vector in (diagrams.X, diagrams.H, diagrams.Y):
        assert [diagrams._vector(vector, step) in texts for step in range(1, steps + 2)] == [True] * steps + [False]
    assert diagrams._vector(diagrams.H, 0) in texts


def test_the_network_has_a_loop_or_is_unrolled_to_the_right():
    fig = diagrams.rnn_unrolled(3)
    assert directions(fig, diagrams.W_XH) == directions(fig, diagrams.W_HY) == {"up": 4}
    assert directions(fig, diagrams.W_HH) == {"up": 1, "right": 4}  # the loop; from h_0 to h_3 and on


@pytest.mark.parametrize("window", [2, 4, 6])
def test_every_position_of_a_window_has_weights_of_its_own(window):
    fig = diagrams.window_network(window)
    texts = written(fig)
    positions = [diagrams._weight(str(position)) for position in range(1, window + 1)]
    assert [texts.count(weight) for weight in positions] == [1] * window
    inks = {text.get_color() for text in fig.axes[0].texts if text.get_text() in positions}
    assert len(inks) == window
    assert [directions(fig, diagrams.OTHERS[position]) for position in range(window)] == [{"up": 1}] * window
    places = {text.get_text(): text.get_position() for text in fig.axes[0].texts}
    inputs = [diagrams._vector(diagrams.X, f"t-{back}" if back else "t") for back in range(window, -1, -1)]
    assert sorted(inputs, key=places.get) == inputs and places["out of view"][0] == places[inputs[0]][0]


@pytest.mark.parametrize(("t", "k"), [(4, 2), (3, 3), (4, 1)])
def test_a_gradients_way_has_a_jacobian_for_each_state_it_crosses(t, k):
    fig = diagrams.gradient_paths(4, t, k)
    texts = written(fig)
    crossed = [step for step in range(1, 5) if rf"$\mathbf{{J}}_{{{step}}}^\top$" in texts]
    assert crossed == list(range(k + 1, t + 1))
    assert texts.count(r"$\partial^{+}$") == 1 and texts.count(diagrams._weight("hh")) == 4
    assert directions(fig, diagrams.BACK) == Counter(down=2, left=t - k)
    assert directions(fig, diagrams.FAINT) == Counter(up=6, right=4 - (t - k))
    columns = {text.get_text(): text.get_position()[0] for text in fig.axes[0].texts}
    down = sorted((-y, x) for x, y, way in arrows(fig, diagrams.BACK) if way == "down")
    states = [columns[diagrams._vector(diagrams.H, step)] for step in (t, k)]
    assert [x for _, x in down] == pytest.approx(states)


@pytest.mark.parametrize("fig", [diagrams.rnn_unrolled, diagrams.window_network, diagrams.gradient_paths])
def test_texts_are_large_apart_and_inside(fig):
    fig = fig()
    fig.draw_without_rendering()
    boxes = [text.get_window_extent() for text in fig.axes[0].texts]
    assert all(text.get_fontsize() >= 13 for text in fig.axes[0].texts)
    assert all(text.get_math_fontfamily() == "cm" for text in fig.axes[0].texts)  # as the book's formulas
    assert not any(one.overlaps(other) for n, one in enumerate(boxes) for other in boxes[:n])
    assert all(fig.bbox.x0 <= box.x0 and box.x1 <= fig.bbox.x1 for box in boxes)
    assert all(fig.bbox.y0 <= box.y0 and box.y1 <= fig.bbox.y1 for box in boxes)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="steps is 7; from 1 to 6"):
        diagrams.rnn_unrolled(7)
    with pytest.raises(ValueError, match="window is 1; from 2 to 6"):
        diagrams.window_network(1)
    with pytest.raises(ValueError, match="steps is 6; from 2 to 5"):
        diagrams.gradient_paths(6)
    with pytest.raises(ValueError, match="t is 2 and k is 3; 1 ≤ k ≤ t ≤ 4"):
        diagrams.gradient_paths(4, t=2, k=3)


DRAW = """
from unrolled import diagrams, plots
plots.save(diagrams.rnn_unrolled(), "rnn")
plots.save(diagrams.window_network(), "window")
"""


def test_two_fresh_interpreters_write_the_same_bytes(tmp_path, monkeypatch):
    for run in "12":
        monkeypatch.setenv("UNROLLED_FIGURES", str(tmp_path / run))
        monkeypatch.setenv("PYTHONHASHSEED", run)
        subprocess.run([sys.executable, "-c", DRAW], check=True)
    for name in ("rnn.svg", "window.svg"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


@pytest.mark.filterwarnings("error")
def test_a_notebook_shows_a_diagram_without_a_warning():
    """Notebooks print figures with tight bounds, after `save` has printed them, under the style's layout."""
    with matplotlib.rc_context(plots.STYLE):
        for figure in (diagrams.rnn_unrolled(), diagrams.window_network()):
            for bounds in (None, "tight"):
                figure.canvas.print_figure(io.BytesIO(), bbox_inches=bounds)

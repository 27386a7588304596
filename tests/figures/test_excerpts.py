"""Texts as figures: samples under their headings, and what gates do while a network reads."""

import io

import numpy as np
import pytest
from matplotlib import colors
from matplotlib import pyplot as plt

from unrolled.figures import excerpts
from unrolled.figures.roles import GATE_COLOURS

TEXT = '"Where is $x$?" asked the fox.\nThe owl said that  Anna had gone to the river, and the fox thanked her.'


pytestmark = pytest.mark.usefixtures("book_style")


def values(seed, names="fio"):
    generator = np.random.default_rng(seed)
    return dict(zip(names, generator.random((len(names), len(TEXT))), strict=True))


@pytest.mark.parametrize("names", ["fio", "zr"])
def test_the_strips_hold_the_numbers_given_in_order_and_on_one_scale(names):
    given = values(0, names)
    ax = excerpts.gates(TEXT, given).axes[0]
    for number, row in enumerate(given.values()):
        strips = ax.images[number :: len(names)]  # one a line
        assert np.concatenate([strip.get_array()[0] for strip in strips]).tolist() == row.tolist()
        assert {strip.get_clim() for strip in strips} == {(0, 1)}
        centres = [np.mean(strip.get_extent()[2:]) for strip in strips]
        ticks = zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)
        assert [y for y, name in ticks if name.get_text() == names[number]] == pytest.approx(centres)


def test_a_strip_has_the_colour_of_its_gate():
    ax = excerpts.gates(TEXT, values(0)).axes[0]
    for strip, gate in zip(ax.images, ("forget", "input", "output"), strict=False):
        assert colors.to_hex(strip.cmap(1.0)) == GATE_COLOURS[gate] and colors.to_hex(strip.cmap(0.0)) == "#ffffff"


def test_each_character_stands_under_its_own_column():
    ax = excerpts.gates(TEXT, values(0)).axes[0]
    letters = iter(ax.texts)
    for strip in ax.images[2::3]:  # the lowest of each line
        _, width, below, _ = strip.get_extent()
        line = [next(letters) for _ in range(int(width))]
        assert [letter.get_position()[0] for letter in line] == [column + 0.5 for column in range(len(line))]
        assert all(0 < letter.get_position()[1] - below < excerpts.LINE for letter in line)
    assert "".join(letter.get_text() for letter in ax.texts) == TEXT.replace(" ", "␣").replace("\n", "↵")


def test_lines_break_between_words_and_keep_their_length():
    ax = excerpts.gates(TEXT, values(0)).axes[0]
    widths = [int(strip.get_extent()[1]) for strip in ax.images[::3]]
    assert 20 < max(widths) <= 30 and sum(widths) == len(TEXT)
    for end in np.cumsum(widths)[:-1]:
        assert TEXT[end - 1].isspace() or TEXT[end].isspace()


def test_the_text_can_be_read_on_a_phone_and_nothing_overlaps():
    fig = excerpts.gates(TEXT, values(0))
    fig.draw_without_rendering()
    strips, scale = fig.axes
    texts = [*strips.texts, *scale.texts, *strips.get_yticklabels()]
    phone = 360 * 0.75 / (72 * fig.get_figwidth())  # of a figure 360 pixels wide, 0.75 points each
    assert all(text.get_fontsize() * phone >= 8 for text in texts)
    boxes = [text.get_window_extent() for text in texts]
    assert all(fig.bbox.x0 <= box.x0 and box.x1 <= fig.bbox.x1 for box in boxes)
    assert all(fig.bbox.y0 <= box.y0 and box.y1 <= fig.bbox.y1 for box in boxes)
    columns = [box for box, text in zip(boxes, texts, strict=True) if text not in strips.get_yticklabels()]
    assert not any(box.overlaps(other) for n, box in enumerate(columns) for other in columns[:n])
    assert not any(strip.get_window_extent().overlaps(box) for strip in strips.images for box in boxes)


def test_what_cannot_be_drawn_is_named():
    with pytest.raises(ValueError, match="text is empty"):
        excerpts.gates("", {"f": []})
    with pytest.raises(ValueError, match="values is empty"):
        excerpts.gates("fox", {})
    with pytest.raises(ValueError, match=r"'i' has shape \(4,\); \(3,\) is expected, one value for each character"):
        excerpts.gates("fox", {"f": np.zeros(3), "i": np.zeros(4)})
    with pytest.raises(ValueError, match=r"'f' has shape \(1, 3\)"):
        excerpts.gates("fox", {"f": np.zeros((1, 3))})
    with pytest.raises(ValueError, match="stands for no gate"):
        excerpts.gates("fox", {"g": np.zeros(3)})
    for value in (-0.1, 1.5, np.nan):
        with pytest.raises(ValueError, match=f"'o' has the value {value:g}; a gate lies between 0 and 1"):
            excerpts.gates("fox", {"o": [0, value, 1]})


def test_every_letter_stands_on_its_units_state():
    given = {f"unit {name}": row - 0.5 for name, row in values(1, "ab").items()}
    ax = excerpts.states(TEXT, given).axes[0]
    half = len(ax.images) // 2
    limit = max(np.abs(row).max() for row in given.values())
    for strips, row in zip((ax.images[:half], ax.images[half:]), given.values(), strict=True):
        assert np.concatenate([strip.get_array()[0] for strip in strips]).tolist() == row.tolist()
        assert {strip.get_clim() for strip in strips} == {(-limit, limit)}
    letters = iter(text for text in ax.texts if text.get_text() not in given)
    for strip in ax.images:
        _, width, below, above = strip.get_extent()
        for column in range(int(width)):
            x, y = next(letters).get_position()
            assert x == column + 0.5 and above < y < below
    for wrong in ({}, {"a": np.zeros(3)}, {"a": np.zeros(len(TEXT))}):
        with pytest.raises(ValueError, match="is expected|is empty"):
            excerpts.states(TEXT, wrong)


def test_a_page_sets_texts_under_headings():
    fig = excerpts.page({"order 2": "abc " * 200, "order 3": "line\nline $x$"})
    texts = [text.get_text() for text in fig.texts]
    assert texts[0] == "order 2" and texts[4] == "order 3" and len(texts) == 6
    assert texts[5] == "line ↵ line $x$" and all(len(text) <= 80 for text in texts)
    boxes = [text.get_window_extent() for text in fig.texts]
    assert all(box.x1 <= fig.bbox.x1 and fig.bbox.y0 <= box.y0 and box.y1 <= fig.bbox.y1 for box in boxes)
    assert all(above.y0 > below.y1 for above, below in zip(boxes, boxes[1:], strict=False))
    excerpts.page({"order 4": r"\frac $\frac$ is no formula"}).draw_without_rendering()
    with pytest.raises(ValueError, match="blocks is empty"):
        excerpts.page({})


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "draw",
    [
        lambda: excerpts.gates(TEXT, values(0)),
        lambda: excerpts.states(TEXT, values(0)),
        lambda: excerpts.page({"a": TEXT}),
    ],
)
def test_a_figure_stays_as_it_is_when_it_is_drawn_again(draw):
    fig = draw()
    places = [ax.get_position().bounds for ax in fig.axes]
    for _ in range(2):
        fig.canvas.print_figure(io.BytesIO(), format="png", bbox_inches="tight")
    assert [ax.get_position().bounds for ax in fig.axes] == places


def test_tracks_share_their_words_and_mark_one():
    words = ["Ada", "slept", ".", "Ada", "woke"]
    lines = {"probability": {"GRU": np.arange(5) / 5, "RNN": np.zeros(5)}, "state": {"unit 1": -np.arange(5)}}
    fig = excerpts.tracks(words, lines, marked="Ada")
    assert [ax.get_ylabel() for ax in fig.axes] == ["probability", "state"]
    names = [[text.get_text() for text in ax.get_legend().get_texts()] for ax in fig.axes]
    assert names == [["GRU", "RNN"], ["unit 1"]]
    assert all([line.get_xdata()[0] for line in ax.lines[-2:]] == [1, 4] for ax in fig.axes)
    assert fig.axes[0].lines[0].get_xdata().tolist() == [1, 2, 3, 4, 5]
    plt.close(fig)


@pytest.mark.parametrize(
    "values, marked, message",
    [
        ({}, "Ada", "a chart without lines"),
        ({"p": {}}, "Ada", "a chart without lines"),
        ({"p": {"GRU": [0.1]}}, "Ada", r"'GRU' has shape \(1,\); \(2,\) is expected"),
        ({"p": {"GRU": [0.1, 0.2]}}, "Leo", "'Leo', a word that the text does not have"),
    ],
)
def test_tracks_that_do_not_fit_their_words_are_refused(values, marked, message):
    with pytest.raises(ValueError, match=message):
        excerpts.tracks(["Ada", "slept"], values, marked=marked)
    plt.close("all")

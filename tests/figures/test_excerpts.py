"""Texts as figures: what states do while a network reads."""

import io

import numpy as np
import pytest

from unrolled.figures import excerpts

TEXT = '"Where is $x$?" asked the fox.\nThe owl said that  Anna had gone to the river, and the fox thanked her.'

pytestmark = pytest.mark.usefixtures("book_style")


def values(names):
    generator = np.random.default_rng(0)
    return dict(zip(names, generator.random((len(names), len(TEXT))), strict=True))


def test_every_letter_stands_on_its_units_state():
    given = {f"unit {name}": row - 0.5 for name, row in values("ab").items()}
    ax = excerpts.states(TEXT, given).axes[0]
    half, limit = len(ax.images) // 2, max(np.abs(row).max() for row in given.values())
    for strips, row in zip((ax.images[:half], ax.images[half:]), given.values(), strict=True):
        assert np.concatenate([strip.get_array()[0] for strip in strips]).tolist() == row.tolist()
        assert {strip.get_clim() for strip in strips} == {(-limit, limit)}
    letters = iter(text for text in ax.texts if text.get_text() not in given)
    for strip in ax.images:
        _, width, below, above = strip.get_extent()
        for column in range(int(width)):
            x, y = next(letters).get_position()
            assert x == column + 0.5 and above < y < below


def test_the_text_can_be_read_on_a_phone_and_nothing_overlaps():
    fig = excerpts.states(TEXT, values("ab"))
    fig.draw_without_rendering()
    strips, scale = fig.axes
    texts = [*strips.texts, *scale.texts]
    phone = 360 * 0.75 / (72 * fig.get_figwidth())  # of a figure 360 pixels wide, 0.75 points each
    assert all(text.get_fontsize() * phone >= 8 for text in texts)
    boxes = [text.get_window_extent() for text in texts]
    assert all(fig.bbox.x0 <= box.x0 and box.x1 <= fig.bbox.x1 for box in boxes)
    assert all(fig.bbox.y0 <= box.y0 and box.y1 <= fig.bbox.y1 for box in boxes)
    assert not any(box.overlaps(other) for n, box in enumerate(boxes) for other in boxes[:n])


@pytest.mark.filterwarnings("error")
def test_a_figure_stays_as_it_is_when_a_notebook_draws_it_again():
    fig = excerpts.states(TEXT, values("a"))
    places = [ax.get_position().bounds for ax in fig.axes]
    for _ in range(2):
        fig.canvas.print_figure(io.BytesIO(), format="png", bbox_inches="tight")
    assert [ax.get_position().bounds for ax in fig.axes] == places


def test_values_of_another_text_are_refused():
    with pytest.raises(ValueError, match=r"'i' has shape \(4,\): give one value for each of 3 characters"):
        excerpts.states("fox", {"f": np.zeros(3), "i": np.zeros(4)})

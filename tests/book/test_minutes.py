"""The minutes that a chapter says its reading takes are those that are counted, and its prose is not too long."""

import json

import pytest

import exercises
import minutes
from places import ROOT

pytestmark = pytest.mark.book
CHAPTERS = {path.stem: json.loads(path.read_text("utf8")) for path in sorted(ROOT.glob("chapters/*.ipynb"))}


def problems(notebook: dict) -> list[str]:
    """Return what is wrong with the length of a chapter, or with what it says of it."""
    reading, wrong = minutes.reading(notebook), []
    if reading.words > minutes.WORDS:
        wrong.append(f"{reading.words:,} words of prose; at most {minutes.WORDS:,}")
    try:
        announced = exercises.announced(notebook)
    except ValueError as error:
        return [*wrong, str(error)]
    if abs(announced - reading.minutes) > 0.1 * reading.minutes:
        wrong.append(f"the first cell says {announced} minutes, and {reading.minutes:.0f} are counted: {reading}")
    return wrong


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_says_how_long_it_takes_and_is_not_too_long(chapter):
    assert problems(CHAPTERS[chapter]) == []


# Proof that it can fail


def markdown(source: str) -> dict:
    return {"cell_type": "markdown", "source": source, "metadata": {}}


def code(source: str, *tags: str, **mystnb) -> dict:
    return {"cell_type": "code", "source": source, "metadata": {"tags": [*tags], "mystnb": mystnb}}


def specimen(time: str = "10 minutes", prose: int = 1330) -> dict:
    """Return a notebook that takes ten minutes: 1,350 words, 10 lines, a figure and an equation."""
    opening = markdown(f"# Title\n\nReading takes about {time}; so\nit goes on. And the rest, too, is here.")
    equation = markdown(r"$$ p = \prod_t p_t $$ (eq-p)" + "\n\n$$\nq = 1\n$$\n\n" + "word " * prose)
    figure = code("charts.save(fig, 'a')\nplt.show()", "hide-input", figure={"caption": "It falls. A line."})
    filler = " ".join(["more"] * (1350 - prose - minutes.words(opening["source"])))
    return {"cells": [opening, equation, markdown(filler), code("x = 1\n\n" * 10), figure]}


def test_everything_is_counted():
    assert minutes.reading(specimen()) == minutes.Reading(words=1350, lines=10, figures=1, equations=1)
    assert minutes.reading(specimen()).minutes == pytest.approx(10)
    assert problems(specimen()) == problems(specimen("11 minutes")) == []


@pytest.mark.parametrize("time", ["12 minutes", "8 minutes", "ten minutes"])
def test_other_minutes_are_found(time):
    assert len(problems(specimen(time))) == 1


def test_too_much_prose_is_found():
    long = specimen("19 minutes")
    long["cells"].append(markdown("word " * 1651))
    assert problems(long) == ["3,001 words of prose; at most 3,000"]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("A model *pays* – or so – for `one symbol`.", 8),
        ("With $p(w \\mid u)$, and $x + y$.", 4),
        ("$$ p = \\text{one two} $$ (eq-a)\n\nThree words follow.", 3),
        ("$$\n\\begin{aligned}\na &= b\n\\end{aligned}\n$$\n\nOne.", 1),
        ("Before.\n\n```python\nx = 1\n```\n\nAfter.", 2),
        ("Before.\n\n```{include} ../exercises/01.md\n```\n", 1),
        ("```{dropdown} Answer\n:open:\nIt is four.\n```\n", 3),
        ("| after | came |\n|---|---|\n| *a* | *wall* |", 4),
        ("See {doc}`../prerequisites` and {cite}`Elman1990`.", 4),
    ],
)
def test_words_are_those_of_the_prose(text, count):
    assert minutes.words(text) == count


def test_a_figure_that_moves_is_a_figure():
    assert minutes.reading({"cells": [code("explore.slider(frames)", "hide-input")]}).figures == 1

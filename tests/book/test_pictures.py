"""The pictures: those stored are those that the chapters draw, and the gallery shows each of them."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from bs4 import BeautifulSoup

from extensions import gallery
from notebooks import figures_of
from places import ROOT

pytestmark = pytest.mark.book
CHAPTERS = {path.stem: path for path in sorted(ROOT.glob("chapters/*.ipynb"))}
# Drawn from a live training, or from what rounding decides: on another processor they look a little different.
LIVE = {
    *("learning-letters", "unit-over-story", "state-readout", "early-stopping"),
    *("far-terms", "gradient-vs-lag", "signal-and-noise"),
    *("cliff-descent", "lstm-win"),
    *("common-rate", "expected-best", "follow-the-ball"),
    *("frames", "alignment", "shuffled-weights"),
    "tags-by-side",
}
IDENTIFIER = re.compile(r'(?<=[#"])[a-zA-Z][0-9a-f]{10}(?=[")])')  # a hash of what it stands for
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def split(svg: str) -> tuple[str, np.ndarray]:
    """Return a figure without its numbers, its identifiers in the order in which they come, and the numbers."""
    order = {}
    svg = IDENTIFIER.sub(lambda name: f"id-{order.setdefault(name[0], len(order))}", svg)
    return NUMBER.sub("", svg), np.array([float(number) for number in NUMBER.findall(svg)])


def same(stored: str, fresh: str) -> bool:
    """Tell whether two figures are the same, byte by byte but for rounding: less than a hundredth of a point."""
    if stored == fresh:
        return True
    (text, numbers), (other_text, other_numbers) = split(stored), split(fresh)
    return text == other_text and np.allclose(numbers, other_numbers, rtol=0, atol=0.01)


def written(svg: str) -> list[str]:
    """Return the words in a figure, sorted, numbers left out: their digits and their order are another processor's.

    Matplotlib leaves each text as a comment beside its outlines.
    """
    texts = re.findall(r"<!-- (.*?) -->", svg, re.DOTALL)
    return sorted(text for text in texts if not NUMBER.fullmatch(text.replace("−", "-")))


def foreign_files(stored: dict[str, str], fresh: dict[str, str]) -> list[str]:
    """Return what is wrong with the stored files, by name, beside those that were drawn just now."""
    wrong = []
    for name, svg in fresh.items():
        if name in LIVE and written(stored[name]) != written(svg):
            wrong.append(f"figures/{name}.svg has not the texts of the one drawn now: make chapters")
        if name not in LIVE and not same(stored[name], svg):
            wrong.append(f"figures/{name}.svg is not the one drawn now: make chapters; drawn live, it belongs to LIVE")
    return wrong


def drawn(chapter: str) -> Path:
    """Return the folder with the figures that a chapter has drawn last, by `make test` or by `make book`."""
    folder = Path(os.environ.get("UNROLLED_FIGURES") or figures_of(CHAPTERS[chapter]))
    if not folder.is_dir():
        pytest.skip(f"{chapter} has not been executed here: make book")
    return folder


@pytest.mark.parametrize("chapter", [chapter for chapter in CHAPTERS if chapter[0] != "a"])  # an appendix draws none
def test_the_files_are_the_figures_that_the_chapter_draws(chapter):
    fresh = {path.stem: path.read_text("utf8") for path in sorted(drawn(chapter).glob("*.svg"))}
    stored = {name: (ROOT / "figures" / f"{name}.svg").read_text("utf8") for name in fresh}
    assert fresh, "it draws nothing"
    assert foreign_files(stored, fresh) == []


# The gallery


def test_the_gallery_shows_every_stored_figure_once_and_leads_to_it(html):
    page = BeautifulSoup((html / "pages" / "gallery.html").read_text("utf8"), "html.parser").article
    cards = {Path(card.img["src"]).stem: card for card in page.select(".gallery-card")}
    assert sorted(cards) == sorted(path.stem for path in (ROOT / "figures").glob("*.svg"))
    assert len(cards) == len(page.select(".gallery-card img"))
    for path in CHAPTERS.values():
        for figure in gallery.figures(path):
            card = cards[figure.name]
            assert card.img["alt"] == figure.alt and card.a["href"].startswith(f"../chapters/{path.stem}.html#")


# Proof that the comparison can fail


def test_a_swapped_and_a_changed_file_is_found_and_rounding_and_identifiers_do_not_count():
    assert {path.stem for path in ROOT.glob("figures/*.svg")} >= LIVE
    names = ("lstm-cell", "learning-letters")  # the second is live
    fresh = {name: (ROOT / "figures" / f"{name}.svg").read_text("utf8") for name in names}
    first, second = fresh.values()
    assert foreign_files(fresh, fresh) == []
    assert len(foreign_files(dict(zip(names, (second, first), strict=True)), fresh)) == 2
    label = written(second)[0]
    assert foreign_files(fresh | {names[1]: second.replace(f"<!-- {label}", f"<!-- {label}?", 1)}, fresh)
    moved = re.sub(r"L \d", lambda line: f"L {(int(line[0][-1]) + 1) % 10}", first, count=1)  # one byte
    assert foreign_files(fresh | {names[0]: moved}, fresh)
    line = '<path id="m2ed3aa3d61" d="M 10.123456 20 L 30 -40" style="stroke: #3f90da"/><use href="#m2ed3aa3d61"/>'
    assert same(line, line.replace("10.123456", "10.12346")) and same(line, line.replace("m2ed3aa3d61", "m0123456789"))
    for old, new in (("10.12", "10.22"), ("-40", "40"), ("3f90da", "3f90db"), ("L", "M"), ("#m2", "#m3")):
        assert not same(line, line.replace(old, new)), new

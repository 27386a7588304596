"""The gallery shows every figure that a chapter saves, with what its cell says of it."""

import json
import re
from pathlib import Path

import pytest

import gallery
from places import ROOT

pytestmark = pytest.mark.book


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf8")


def chapter(folder: Path, cells: list[dict], name: str = "02-test.ipynb") -> Path:
    (folder / "chapters").mkdir(exist_ok=True)
    path = folder / "chapters" / name
    path.write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": ["# A *title*\n"]}, *cells]}))
    return path


def cell(source: str, **mystnb) -> dict:
    return {"cell_type": "code", "source": source, "metadata": {"mystnb": mystnb}}


GOOD = {
    "image": {"alt": "Line chart,\nof a fall."},
    "figure": {"name": "fig-fall", "caption": "It *falls* by\n0.5. A line for each weight."},
}


def test_the_gallery_is_up_to_date():
    assert read("figures/index.md") == gallery.page(ROOT), "figures/index.md is out of date; run: make chapters"


def test_the_gallery_shows_every_stored_figure_once():
    shown = re.findall(r"^:img-top: (.*)\.svg$", read("figures/index.md"), re.MULTILINE)
    assert sorted(shown) == sorted(path.stem for path in (ROOT / "figures").glob("*.svg"))


def test_the_gallery_takes_its_text_from_the_cell(tmp_path):
    chapter(tmp_path, [cell("x = 1"), cell('fig = draw(1, 2)\nplots.save(fig, "a-fall")\n', **GOOD)])
    page = gallery.write(tmp_path).read_text(encoding="utf8")
    assert "## [A *title*](../chapters/02-test.ipynb)\n\n::::{grid} 1 2 3 3\n" in page
    assert ":img-top: a-fall.svg\n:img-alt: Line chart, of a fall.\n:link: fig-fall\n:link-type: ref\n" in page
    assert "\nIt *falls* by 0.5.\n:::\n" in page and page.count(":::{grid-item-card}") == 1
    assert gallery.EMPTY not in page


def test_the_gallery_of_a_book_without_figures_says_so(tmp_path):
    chapter(tmp_path, [cell("x = 1")])
    assert gallery.page(tmp_path).endswith(gallery.EMPTY)


@pytest.mark.parametrize(
    "code",
    [
        'plots.save(draw(f(1, 2), "x"), "a-fall")',
        'plots.save(fig, name="a-fall")',
        '_ = plots.save(\n  fig,\n  "a-fall",\n)',
    ],
)
def test_a_saved_figure_is_found_however_it_is_written(code):
    assert gallery.saved_names(code) == ["a-fall"]


def test_a_cell_that_saves_a_figure_without_telling_of_it_is_an_error(tmp_path):
    path = chapter(
        tmp_path, [cell('plots.save(fig, "a-fall")', image={"alt": "A chart."}, figure={"name": "fig-fall"})]
    )
    with pytest.raises(ValueError, match=r"02-test\.ipynb, cell 2 saves 'a-fall' .* lacks mystnb\.figure\.caption$"):
        list(gallery.figures(path))


def test_a_cell_that_saves_two_figures_is_an_error(tmp_path):
    path = chapter(tmp_path, [cell('plots.save(a, "one")\nplots.save(b, "two")', **GOOD)])
    with pytest.raises(ValueError, match="saves 2 figures, one, two; a cell saves one"):
        list(gallery.figures(path))


def test_a_chapter_without_a_title_is_an_error(tmp_path):
    path = tmp_path / "02-test.ipynb"
    path.write_text('{"cells": [{"cell_type": "markdown", "source": "## no title"}]}')
    with pytest.raises(ValueError, match=r"02-test\.ipynb has no title"):
        gallery.title(path)

"""What leads from a page to the next, and what a page says of itself to a search engine."""

import pytest
from docutils import nodes

from extensions import heads

pytestmark = pytest.mark.book
PAGES = ["intro", "pages/running"]
PAGES += [f"{folder}/{name}" for name in ("01-one", "02-two") for folder in ("chapters", "exercises", "solutions")]
PAGES += ["pages/audit"]


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("intro", None, "pages/running"),
        ("chapters/01-one", "pages/running", "chapters/02-two"),
        ("exercises/01-one", "chapters/01-one", "chapters/02-two"),
        ("solutions/01-one", "exercises/01-one", "chapters/02-two"),
        ("chapters/02-two", "chapters/01-one", "pages/audit"),
        ("pages/audit", "chapters/02-two", None),
        ("search", None, None),
    ],
)
def test_exercises_and_solutions_stand_beside_the_way(name, before, after):
    assert heads.neighbours(PAGES, name) == (before, after)


def test_pages_are_ordered_as_their_contents_are():
    includes = {"intro": ["chapters/01-one", "pages/audit"], "chapters/01-one": ["exercises/01-one"]}
    assert heads.ordered(includes, "intro") == ["intro", "chapters/01-one", "exercises/01-one", "pages/audit"]


def page(*paragraphs: nodes.paragraph) -> nodes.section:
    section = nodes.section()
    section.extend(paragraphs)
    return section


def test_a_page_is_described_by_its_first_paragraph_without_formulas():
    short, formula = nodes.paragraph("", "Too short."), nodes.paragraph("", "A formula that nobody reads as it is: ")
    formula += nodes.math("", r"\alpha")
    plain = nodes.paragraph("", "Networks that read one symbol after another,\nand what they remember of it.")
    about = heads.description(page(short, formula, plain), "A title")
    assert about == "Networks that read one symbol after another, and what they remember of it."
    assert heads.description(page(short, formula), "A title") == heads.description(None, "A title") == "A title"


def test_a_long_description_ends_between_words():
    about = heads.description(page(nodes.paragraph("", "gradient " * 40)), "A title")
    assert len(about) <= heads.LONGEST and about.endswith("gradient…")

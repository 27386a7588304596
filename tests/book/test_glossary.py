"""The glossary agrees with the chapters: each term is introduced where it says, and linked at its first use."""

import re
from functools import cache

import pytest
from bs4 import BeautifulSoup
from myst_parser.mdit_to_docutils.base import default_slugify

import formulas
import glossary
from extensions import cells, terms
from places import ROOT

pytestmark = pytest.mark.book
PAGE = glossary.PAGE.read_text(encoding="utf8")
ENTRIES = glossary.entries(PAGE)
CHAPTERS = sorted(ROOT.glob("chapters/[0-9]*.ipynb"))


@cache
def sections(path: str) -> dict[str, str]:
    """Return the sections of a chapter, heading to heading and text with all below it, white space levelled."""
    text = "\n\n".join(cell["source"] for cell in cells(ROOT / path) if cell["cell_type"] == "markdown")
    headings = [*re.finditer(r"^(#{2,3}) (.+)$", text, flags=re.MULTILINE)]
    whole = {}
    for number, heading in enumerate(headings):
        ends = (other.start() for other in headings[number + 1 :] if len(other[1]) <= len(heading[1]))
        below = re.sub(r"^#{2,3} .+$", "", text[heading.end() : next(ends, None)], flags=re.MULTILINE)
        whole[heading[2]] = " ".join(f"{heading[2]}\n{below}".split())
    return whole


def running(text: str) -> str:
    """Return a section's text without its heading, tables, formulas and code."""
    return re.sub(r"\$\$.*?\$\$|\$[^$]*\$|`[^`]*`|\[[^\]]*\]\([^)]*\)", "", text)


def mentions(text: str, name: str) -> bool:
    """Say whether a text has every word of a term, in some form: "vanishing gradient" in "the gradient *vanishes*"."""
    words = re.findall(r"\w+", terms.EVERYDAY.sub("", name).lower())
    return all(re.search(rf"\b{re.escape(word[:5])}", text.lower()) for word in words)


def wrong_places(entry: glossary.Entry) -> list[str]:
    """Return what is wrong with where a term is said to be introduced."""
    wrong = [] if entry.places else ["it names no section"]
    for number, heading, path, end in entry.places:
        if not (ROOT / path).is_file() or int(path.removeprefix("chapters/")[:2]) != number:
            wrong.append(f"{path} is not chapter {number}")
        elif heading not in sections(path):
            wrong.append(f"{path} has no section {heading!r}")
        elif end != default_slugify(heading):
            wrong.append(f"{heading!r} is at #{default_slugify(heading)}, not #{end}")
        elif not any(mentions(sections(path)[heading], name) for name in entry.names):
            wrong.append(f"{heading!r} does not mention it")
    return wrong + [f"there is no equation {label}" for label in entry.equations if label not in formulas.equations()]


def test_terms_are_introduced_where_the_glossary_says():
    assert [f"{entry.names[0]}: {wrong}" for entry in ENTRIES for wrong in wrong_places(entry)] == []


def test_terms_are_in_order_and_no_name_stands_for_two():
    keys = [entry.names[0].lower().replace("–", "-") for entry in ENTRIES]
    assert keys == sorted(keys)
    names = [name for entry in ENTRIES for name in entry.names]
    assert len(names) == len(set(names))


# The links, as they are on the pages


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_the_terms_of_a_chapter_are_linked_once_each_where_they_first_stand(html, path):
    page = BeautifulSoup((html / "chapters" / f"{path.stem}.html").read_text("utf8"), "html.parser")
    links = page.select('article a[href*="glossary.html#term-"]')
    targets = [link["href"] for link in links]
    assert len(targets) == len(set(targets)) and len(targets) > 10
    linked = {" ".join(link.get_text().lower().replace("’", "'").split()) for link in links}
    parts = sections(f"chapters/{path.name}").items()
    texts = [running(text.removeprefix(head)).lower() for head, text in parts if head not in terms.CLOSING]
    for entry in ENTRIES:
        if not any(place[2] == f"chapters/{path.name}" for place in entry.places):
            continue
        forms = [terms.EVERYDAY.sub("", name).lower() for name in entry.names]
        patterns = [
            re.escape(f"*{form}*") if form != name.lower() else rf"(?<![\w-]){re.escape(form)}\b"
            for form, name in zip(forms, entry.names, strict=True)
        ]
        if any(re.search(pattern, text) for text in texts for pattern in patterns):
            assert linked & {form + end for form in forms for end in ("", "s", "es")}, f"{entry.names[0]} is not linked"


FORMS = {name: name for name in ("perplexity", "logit", "hidden state", "mcnemar's test")}
WORDS = {
    "Perplexity": "perplexity",
    "hidden\nstates": "hidden state",
    "McNemar’s test": "mcnemar's test",
    "logit.": None,
}


@pytest.mark.parametrize("word, term", WORDS.items())
def test_a_word_names_a_term_in_the_singular_and_in_the_plural(word, term):
    assert terms.named(word, FORMS) == term

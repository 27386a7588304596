"""The bibliography: sorted, complete, and every work in it is cited."""

import re

import pytest
from pybtex.database import parse_file

import book
from places import ROOT

pytestmark = pytest.mark.book
NEEDED = {
    "article": {"title", "journal", "volume", "pages", "year"},
    "inproceedings": {"title", "booktitle", "year"},
    "book": {"title", "publisher", "year"},
    "misc": {"title", "year"},
}
WORKS = parse_file(ROOT / "data" / "references.bib").entries  # a key given twice raises


def test_works_are_sorted_and_complete():
    assert list(WORKS) == sorted(WORKS)
    for key, work in WORKS.items():
        assert not NEEDED[work.type] - set(work.fields) and work.persons["author"], key
        assert {"doi", "url", "eprint"} & set(work.fields), f"{key} cannot be found"


def test_every_work_is_cited_and_every_work_cited_is_there():
    pages = [page for name in book.parse_toc_data(book.contents(student=False)) for page in ROOT.glob(f"{name}.*")]
    roles = re.findall(r"\{cite(?::\w+)?\}`([^`]+)`", "\n".join(page.read_text(encoding="utf8") for page in pages))
    assert {key.strip() for role in roles for key in role.split(",")} == set(WORKS)

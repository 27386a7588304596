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
ANCHORED = {
    *("Elman1990", "Bengio1994", "Bengio2003", "HochreiterSchmidhuber1997", "Gers2000", "KneserNey1995"),
    *("ChenGoodman1999", "Mikolov2010", "Pascanu2013", "Cho2014", "Chung2014", "Zaremba2014", "Le2015"),
}


@pytest.fixture(scope="module")
def works():
    return parse_file(ROOT / "data" / "references.bib").entries  # a key given twice raises


def test_bibliography_is_sorted_and_has_the_works_the_book_stands_on(works):
    assert list(works) == sorted(works)
    assert set(works) >= ANCHORED


def test_every_work_is_complete(works):
    for key, work in works.items():
        lacking = NEEDED[work.type] - set(work.fields)
        assert not lacking, f"{key} lacks {sorted(lacking)}"
        assert {"doi", "url", "eprint"} & set(work.fields), f"{key} cannot be found: it has no doi, url or eprint"
        assert work.persons["author"], f"{key} has no author"
        if "pages" in work.fields:
            first, last = map(int, work.fields["pages"].split("--"))
            assert first < last, f"{key}: pages {first} to {last}"


def test_proceedings_of_one_series_are_given_alike(works):
    for key, work in works.items():
        where = work.fields.get("booktitle", "")
        if "International Conference on Machine Learning" in where or "Artificial Intelligence and Statistics" in where:
            assert work.fields["series"] == "Proceedings of Machine Learning Research", key
            assert {"volume", "pages"} <= set(work.fields), f"{key} lacks its volume or its pages"
        if "Advances in Neural" in where or "Association for Computational Linguistics" in where:
            assert "pages" in work.fields, f"{key} lacks its pages"
        if "Learning Representations" in where:
            assert where == "International Conference on Learning Representations ({ICLR})" and "eprint" in work.fields


def cited() -> set[str]:
    """Return the keys of all works that a page of the book cites."""
    pages = [page for name in book.pages(book.contents(student=False)) for page in ROOT.glob(f"{name}.*")]
    roles = re.findall(r"\{cite(?::\w+)?\}`([^`]+)`", "\n".join(page.read_text(encoding="utf8") for page in pages))
    return {key.strip() for role in roles for key in role.split(",")}


def test_every_work_is_cited_and_every_work_cited_is_there(works):
    assert set(works) == cited()


def test_every_key_is_its_authors_and_its_year(works):
    plain = str.maketrans("", "", "{}\\'\"^~ ")
    for key, work in works.items():
        authors = ["".join(person.last_names).translate(plain) for person in work.persons["author"]]
        names = {authors[0], "".join(authors[:2])}
        assert key in {name + work.fields["year"] for name in names}, key

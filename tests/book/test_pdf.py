"""The printed book: which pages it has, where its links lead, and what of a page is left out."""

import pytest
from bs4 import BeautifulSoup
from pypdf import PdfReader, PdfWriter

import book
import pdf

pytestmark = pytest.mark.book
PAGES = ["intro", "chapters/01-one", "chapters/02-two", "exercises/02-two"]
NOWHERE, SOMEWHERE = f"https://{book.NOBODY}github.io/book/", "https://somebody.github.io/book/"
PAGE = """<html><body><nav id="two"></nav><article class="bd-article"><section id="two">
<h1>2. Two<a class="headerlink" href="#two">#</a></h1>
<p>See <a href="#more">below</a>, <a href="01-one.html#start">before</a>,
<a href="../pages/api/cells.html#x">a cell</a>.</p>
<section id="more"><h2>More &amp; more</h2>
<div class="cell"><details class="hide above-input"><summary>Folded</summary><pre>plot()</pre></details>
<img src="../_images/two.svg"><script>1</script></div>
<details><summary>A hint</summary><p>Think.</p></details></section></section></article></body></html>"""


def printed(page: str) -> BeautifulSoup:
    return pdf.article(PAGE, page, PAGES, NOWHERE)


def test_solutions_and_what_is_looked_up_are_not_printed():
    pages = pdf.printed(book.contents(student=False))
    assert pages[0] == "intro" and "pages/glossary" in pages
    assert (
        sum(page.startswith("chapters/") for page in pages)
        == sum(page.startswith("exercises/") for page in pages)
        == 13
    )
    assert not [page for page in pages if page.startswith(("solutions/", "pages/api/"))]


@pytest.mark.parametrize(
    ("address", "leads"),
    [
        *(("#more", "#chapters-02-two--more"), ("01-one.html#start", "#chapters-01-one--start")),
        *(("../exercises/02-two.html", "#exercises-02-two"), ("../intro.html", "#intro")),
        *(("https://example.org/a#b", "https://example.org/a#b"), ("mailto:a@b.c", "mailto:a@b.c")),
        (f"{NOWHERE}chapters/01-one.html#start", "#chapters-01-one--start"),
    ],
)
def test_a_link_leads_to_the_same_place_in_print(address, leads):
    assert pdf.target("chapters/02-two", address, PAGES, NOWHERE) == leads


def test_a_link_to_a_page_that_is_not_printed_leads_to_the_site_if_there_is_one():
    asked = ("chapters/02-two", "../pages/api/cells.html#x", PAGES)
    assert pdf.target(*asked, SOMEWHERE) == f"{SOMEWHERE}pages/api/cells.html#x"
    assert pdf.target(*asked, NOWHERE) is None


def test_names_on_a_page_are_told_apart_from_those_on_others():
    section = printed("chapters/02-two")
    assert [named["id"] for named in section.select("[id]")][:1] == ["chapters-02-two"]
    assert section["id"] == "chapters-02-two--two" and section.select_one("#chapters-02-two--more")
    assert section.img["src"] == "_images/two.svg"
    assert [link["href"] for link in section.select("a[href]")] == ["#chapters-02-two--more", "#chapters-01-one--start"]
    assert "a cell" in section.p.get_text()


def test_folded_code_is_left_out_and_hints_are_open():
    section = printed("chapters/02-two")
    assert "plot()" not in str(section) and not section.select("script, .headerlink")
    assert [fold.has_attr("open") for fold in section.select("details")] == [True]


@pytest.mark.parametrize("start, printed", [(0, (0, 2)), (1, (1, 2)), (2, (0, 2))])
def test_an_explorer_is_printed_as_the_picture_it_starts_with_and_the_other_end(start, printed):
    hidden = ["" if n == start else " hidden" for n in range(3)]
    frames = "".join(f'<img src="../explorers/two/w/{n}.svg" alt="w: {n} &amp; more"{hidden[n]}>' for n in range(3))
    html = PAGE.replace("<script>1</script>", f'<div class="explorer"><button>Play</button><div>{frames}</div></div>')
    section = pdf.article(html, "chapters/02-two", PAGES, NOWHERE)
    shown = [(picture["src"], picture["alt"]) for picture in section.select(".explorer-still img")]
    assert shown == [(f"explorers/two/w/{n}.svg", f"w: {n} & more") for n in printed]
    captions = [caption.get_text() for caption in section.select(".explorer-still figcaption")]
    assert captions == [f"w: {n} & more" for n in printed] and not section.select("[hidden], button")


def test_exercises_are_printed_without_their_code():
    section = printed("exercises/02-two")
    assert not section.select(".cell, img") and "Think." in section.get_text()


def test_contents_lead_to_places_that_are_there():
    sections = {page: printed(page) for page in ("chapters/02-two", "exercises/02-two")}
    listed = BeautifulSoup(pdf.contents(pdf.entries(sections)), "html.parser")
    places = {named["id"] for section in sections.values() for named in section.select("[id]")}
    asked = [number["data-place"] for number in listed.select("[data-place]")]
    assert asked == ["chapters-02-two", "chapters-02-two--more", "exercises-02-two"]
    assert set(asked) <= places and [link["href"] for link in listed.select("a")] == [f"#{place}" for place in asked]
    assert listed.get_text("|", strip=True) == "2. Two|More & more|2. Two"


def test_a_running_head_is_a_string_of_a_style_sheet():
    section = BeautifulSoup('<div><h1>1. "A" \\ b</h1></div>', "html.parser").div
    assert pdf.running_heads({"intro": section}) == "@page intro { @top-right { content: \"1. 'A'  b\"; } }"


def test_bookmarks_are_those_of_the_contents(tmp_path):
    made, file = PdfWriter(), tmp_path / "book.pdf"
    for number, place in enumerate(("one", "one--more", "two")):
        made.add_blank_page(100, 100)
        made.add_named_destination(place, number)
    made.write(file)
    assert pdf.sheets(file) == {"one": 1, "one--more": 2, "two": 3}
    pdf.bookmark(file, [("page", "one", "One"), ("section", "one--more", "More"), ("page", "two", "Two")])
    first, (more,), second = PdfReader(file).outline
    assert [mark.title for mark in (first, more, second)] == ["One", "More", "Two"]
    assert PdfReader(file).get_destination_page_number(second) == 2

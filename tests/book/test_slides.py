"""The decks: made of what the chapters say, whole without a network, and with nothing that leaves its slide."""

import re

import nbformat
import pytest
from bs4 import BeautifulSoup
from pypdf import PdfReader

import slides
import vendor
from places import ROOT

pytestmark = pytest.mark.book
NUMBERS = [f"{number:02}" for number in range(1, 14)]
CROWDED = """() => {
    const slide = document.querySelector("section.present .slide"), box = slide.getBoundingClientRect();
    const picture = slide.querySelector("img");
    const faults = {
        "leaves its slide": slide.scrollHeight > slide.clientHeight || slide.scrollWidth > slide.clientWidth
            || box.width !== 1120 || box.height !== 620 || box.top < 40 || box.right > 1210,
        "small type": parseFloat(getComputedStyle(slide).fontSize) < 20,
        "small picture": picture && (picture.getBoundingClientRect().height < 380 || !picture.naturalWidth),
        "a formula that MathJax cannot set": slide.querySelector("mjx-merror"),
        "a formula that is not set": /\\\\[([]/.test(slide.innerText),
    };
    return Object.keys(faults).filter((name) => faults[name]);
}"""


@pytest.fixture(scope="module")
def decks(tmp_path_factory):
    """A folder with the decks of all chapters."""
    try:
        scripts = vendor.fetch(slides.BUILD / "vendor"), vendor.fetch(slides.BUILD / "vendor-slides", vendor.SLIDES)
    except vendor.VendorError as error:
        pytest.skip(f"reveal.js and MathJax come from npm: {error}")
    folder = tmp_path_factory.mktemp("decks") / "slides"
    assert [path.stem for path in slides.write(folder, scripts)] == NUMBERS
    return folder


@pytest.fixture
def open_deck(browser, decks):
    """A function that opens a deck from disk, without a network; asking for anything else fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 720}, offline=True)
    page, asked, faults = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfailed", lambda request: faults.append(request.url))
    page.on("pageerror", lambda error: faults.append(str(error)))

    def opened(name, query=""):
        page.goto(f"{(decks / name).as_uri()}.html{query}")
        page.wait_for_function("window.Reveal && Reveal.isReady()")
        return page

    yield opened
    context.close()
    assert asked and faults == []
    assert [url for url in asked if not url.startswith((decks.as_uri(), "data:"))] == []


def crowded(page) -> list[tuple[int, list[str]]]:
    """Return the slides of an open deck that are not to be read, each with what is wrong."""
    found = []
    for number in range(page.evaluate("Reveal.getTotalSlides()")):
        page.evaluate(f"Reveal.slide({number})")
        if faults := page.evaluate(CROWDED):
            found.append((number + 1, faults))
    return found


@pytest.mark.parametrize("name", NUMBERS)
def test_nothing_leaves_its_slide(open_deck, name):
    assert crowded(open_deck(name)) == []


def test_what_leaves_its_slide_is_noticed(open_deck, decks):
    full = [slides.Slide("task", "Too long", "<p>word </p>" * 60), slides.Slide("task", "Wide", f"<p>{'w' * 400}</p>")]
    deck = slides.DECK.format(slides="".join(slide.html() for slide in full))
    (decks / "full.html").write_text(slides.PAGE.format(title="Full", body=deck))
    assert crowded(open_deck("full")) == [(1, ["leaves its slide"]), (2, ["leaves its slide"])]


@pytest.mark.parametrize("name", NUMBERS)
def test_a_deck_asks_shows_and_ends_as_its_chapter_does(decks, name):
    deck = BeautifulSoup((decks / f"{name}.html").read_text(encoding="utf8"), "html.parser").select("section")
    kinds = [slide["class"][0] for slide in deck]
    first = nbformat.read(next(ROOT.glob(f"chapters/{name}-*.ipynb")), as_version=4).cells[0].source
    assert kinds[0] == "opening" and f"# {deck[0].h2.get_text()}\n" in first
    words = " ".join(deck[0].select_one(".slide").get_text(" ").split()[-4:])
    assert words.replace(" ", "") in re.sub(r"[\s*]", "", first)
    assert kinds.count("guess") >= 2
    assert all(after == "figure" for kind, after in zip(kinds, kinds[1:], strict=False) if kind == "guess")
    assert kinds[kinds.index("hand") + 1] in ("table", "figure")
    assert kinds[-3:] == ["table", "task", "task"] and deck[-3].h2.get_text() == "What we know now"
    assert len(deck[-3].select("table tr")) > 2
    assert all("What students get wrong in exercise" in slide.aside.get_text() for slide in deck[-3:])
    assert all(slide.aside.get_text().strip() for slide in deck)
    for picture in (picture for slide in deck for picture in slide.select("img")):
        assert (decks / picture["src"]).is_file() and len(picture["alt"]) > 40


@pytest.mark.parametrize("name", NUMBERS)
def test_no_markup_of_a_notebook_is_left(decks, name):
    deck = BeautifulSoup((decks / f"{name}.html").read_text(encoding="utf8"), "html.parser")
    for code in deck.select("pre, code, script"):
        code.decompose()
    words = re.sub(r"\\\[.*?\\\]|\\\(.*?\\\)", "", deck.get_text(), flags=re.DOTALL)  # no formulas
    assert re.findall(r".{,30}(?:\{\w+\}|\]\(|\*\*|\$|`|<|fig-|eq-).{,30}", words) == []


def test_a_deck_is_printed_a_slide_a_page(open_deck, tmp_path):
    page = open_deck("02", "?print-pdf")
    page.wait_for_selector(".pdf-page")
    page.pdf(path=tmp_path / "02.pdf", prefer_css_page_size=True, print_background=True)
    sheets = PdfReader(tmp_path / "02.pdf").pages
    assert len(sheets) == page.evaluate("document.querySelectorAll('.pdf-page').length") > 10
    assert "What we know now" in sheets[-3].extract_text()


def text(source: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_markdown_cell(source)


@pytest.mark.parametrize(
    ("source", "asked"),
    [
        ("## A\n\nSo far so good. Is it? Will it be?", "Is it? Will it be?"),
        ("Which is better? Move the slider.", "Which is better?"),
        ("How often? It has a name. Guess, then simulate.", "How often? It has a name. Guess, then simulate."),
        ("Is it so? It is.", None),
        ("## Is it so?", None),
    ],
)
def test_a_question_is_one_that_waits_for_its_figure(source, asked):
    assert (found := slides.question(text(source))) == asked or found[0] == asked


def test_a_short_question_brings_what_it_asks_about():
    cell = text("## A\n\nTwo networks learn it.\n\n$$ x $$\n\nand they differ.\n\nBy how much?")
    assert slides.question(cell)[1].startswith("Two networks learn it.")
    long = text(f"## A\n\nNo.\n\n{'Word ' * 50}.\n\nBy how much?")
    assert not slides.question(long)[1].startswith("No.")


def test_roles_and_links_become_words():
    source = "By {eq}`eq-rnn` {cite}`Elman1990`, see [chapter 3](03.ipynb) and {doc}`02-vanilla-rnn` ([(2.1)](x#y))."
    assert slides.plain(source) == "By (2.1), see chapter 3 and Vanilla recurrent networks (2.1)."


def test_without_npm_the_command_says_what_is_missing(monkeypatch):
    def fetch(*_):
        raise vendor.VendorError("npm is not installed")

    monkeypatch.setattr(slides, "fetch", fetch)
    with pytest.raises(SystemExit, match=r"make slides needs npm.*npm is not installed"):
        slides.main()

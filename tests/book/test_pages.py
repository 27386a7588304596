"""One pass over the built pages in a browser, on a desk by day and on a phone by night, and a look at every link.

The network is cut: what a page asks another host for fails its test, as do scripts that complain (`visit`). Photographs
are left in _build/screenshots.
"""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlencode, urlsplit

import pytest
import yaml

import axe
import book
from places import ROOT
from screens import SCREENS, draw_explorers, draw_theme

pytestmark = pytest.mark.book
LISTED = list(book.parse_toc_data(yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf8"))))
PAGES = [name for name in LISTED if not name.startswith("pages/api/") or name == "pages/api/cells"]  # made alike
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf8"))
FOLDER = urlsplit(CONFIG["html"]["baseurl"]).path  # where a site has the pages, "/unrolled/"
# What becomes of each formula and table: it fits, or scrolls inside a box that fits, or is cut off. A slanted letter
# may lean over the edge of its box.
FITTING = """() => {
    document.querySelectorAll("article details").forEach(fold => { fold.open = true; });
    const extent = (boxes) => {
        const shown = boxes.map(box => box.getBoundingClientRect()).filter(box => box.width);
        return [Math.min(...shown.map(box => box.left)), Math.max(...shown.map(box => box.right))];
    };
    const fate = (box, [left, right]) => {
        for (; box.tagName !== "BODY"; box = box.parentElement) {
            const view = box.getBoundingClientRect(), over = getComputedStyle(box).overflowX;
            if (over === "visible" || (left >= view.left - 3 && right <= view.right + 3)) continue;
            if (over === "hidden" || over === "clip") return "is cut off";
            return fate(box.parentElement, [view.left, view.right]) === "fits" ? "scrolls" : "is cut off";
        }
        return left >= -1 && right <= innerWidth + 1 ? "fits" : "is cut off";
    };
    return [...document.querySelectorAll("article mjx-container, article table")].map(item => {
        const formula = item.tagName !== "TABLE", span = extent(formula ? [...item.querySelectorAll("mjx-c")] : [item]);
        const name = item.closest("[id]").id + (formula ? ": a formula " : ": a table ");
        return [isFinite(span[0]) ? fate(item, span) : "fits", name];
    });
}"""
WRONG = """async () => {
    const pictures = [...document.querySelectorAll("article img:not([hidden], .demonstration *)")], wrong = [];
    await Promise.all(pictures.map(e => { e.loading = "eager"; return e.decode().catch(() => {}); }));
    for (const e of pictures) {
        const shown = e.getBoundingClientRect(), stretch = e.height * e.naturalWidth / (e.width * e.naturalHeight);
        const framed = getComputedStyle(e).objectFit === "contain";
        if (!e.naturalWidth || !shown.width) wrong.push("not visible: " + e.src);
        else if (!framed && Math.abs(stretch - 1) > 0.02) wrong.push("out of proportion: " + e.src);
        if (!e.alt.trim().includes(" ")) wrong.push("no alternative text, or a hash: " + e.src);
        if (e.closest(".picture") && shown.width < 0.78 * parseFloat(e.style.getPropertyValue("--readable")) - 1)
            wrong.push("letters too small to read: " + e.src);
    }
    if (document.documentElement.scrollWidth > innerWidth) wrong.push("wider than the screen");
    if (document.querySelectorAll("article .math").length > document.querySelectorAll("article mjx-container").length)
        wrong.push("formulas are missing");
    if (document.querySelector("mjx-merror, .MathJax_Error, mjx-mtext[style*=red]")) wrong.push("a formula is wrong");
    return wrong;
}"""
CUT = """() => [...document.querySelectorAll("article pre")].filter(block => block.scrollWidth > block.clientWidth)
    .map(block => "code or output that must be scrolled: " + block.innerText)"""
# The theme sees to it a little later, and axe asks for it.
BY_KEYBOARD = """() => [...document.querySelectorAll("article pre")]
    .every(box => box.scrollWidth <= box.clientWidth || box.tabIndex === 0)"""


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_whole_readable_and_usable_on_a_desk_and_on_a_phone(visit, name):
    page, problems = visit(name), []
    (shots := ROOT / "_build" / "screenshots").mkdir(exist_ok=True)
    for screen, theme, allowed in (("desktop", "light", {"fits"}), ("phone", "dark", {"fits", "scrolls"})):
        page.set_viewport_size(dict(zip(("width", "height"), SCREENS[screen], strict=True)))
        draw_theme(page, theme)
        draw_explorers(page)
        page.screenshot(path=shots / f"{name.replace('/', '-')}-{screen}.png")
        found = page.evaluate(WRONG) + (page.evaluate(CUT) if screen == "desktop" else [])
        if name.endswith("05-lstm") or name.startswith(
            ("pages/", "intro", *(["chapters/"] if theme == "light" else []))
        ):
            page.wait_for_function(BY_KEYBOARD)  # exercises are made alike; a theme has the same colours everywhere
            axe.load(page)
            found += axe.violations(page)
        found += [what + fate for fate, what in page.evaluate(FITTING) if fate not in allowed]
        problems += [f"{screen}: {line}" for line in found]
    assert not problems, "\n".join(problems)


def test_what_is_wrong_with_a_page_is_found(visit):
    page = visit("pages/running")
    axe.load(page)
    wide = "<div style='overflow-x: hidden'><table id=wide style='width: 3000px'><td>-</td></table></div>"
    page.locator("article").evaluate(
        "(e, html) => e.insertAdjacentHTML('beforeend', html)", f"<img src='data:image/png;base64,AAAA'>{wide}"
    )
    assert {"image-alt"} == {line.split(":")[0] for line in axe.violations(page)}
    assert ["is cut off", "wide: a table "] in page.evaluate(FITTING)
    assert [line.split(":")[0] for line in page.evaluate(WRONG)] == ["not visible", "no alternative text, or a hash"]


def test_an_address_that_is_not_there_leads_back_into_the_book(browser, own):
    """As a site does: whatever is asked for and is not there, however deep, is answered with 404.html."""
    page, faults = browser.new_page(), []
    page.on("pageerror", lambda error: faults.append(str(error)))

    def answer(route):
        place = own / unquote(urlsplit(route.request.url).path).removeprefix(FOLDER)
        route.fulfill(path=place if place.is_file() else own / "404.html")

    page.route("**/*", answer)
    page.goto(f"http://book.test{FOLDER}chapters/deep/nowhere.html", wait_until="load")
    assert page.locator("article h1").inner_text() == "There is no such page"
    page.locator(".bd-sidebar a", has_text="Attention").first.click()
    page.wait_for_url(f"**{FOLDER}chapters/11-attention.html")
    assert page.locator("article h1").inner_text().startswith("11. Attention") and faults == []
    page.close()


def test_the_audit_is_filtered_with_the_keyboard_and_is_whole_in_print(visit):
    page = visit("pages/audit")
    rows = page.locator("article tr:has(.verdict, .question)")

    def shown():
        return rows.evaluate_all("all => all.filter(r => r.getClientRects().length).map(r => r.innerText)")

    everything = shown()
    page.get_by_label("Verdict").focus()
    page.keyboard.press("w")  # the only verdict that begins so
    assert 0 < len(shown()) < len(everything) and all("wrong" in row for row in shown())
    page.keyboard.press("Tab")
    page.keyboard.type("transformer PARAMETERS")
    assert shown() and all(word in row.lower() for row in shown() for word in ("wrong", "transformer", "parameters"))
    page.emulate_media(media="print")
    assert len(shown()) == len(everything)


def test_a_term_opens_in_place_with_the_keyboard_and_gives_the_focus_back(visit):
    page = visit("chapters/05-lstm")
    link = page.locator('article a[href*="glossary.html#term-"]').first
    link.press("Enter")
    page.locator(".opens dd").wait_for()
    axe.load(page)
    assert axe.violations(page) == [] and "05-lstm" in page.url
    page.keyboard.press("Escape")
    page.wait_for_function("document.activeElement.href?.includes('glossary') && !document.querySelector('.opens')")


FOUND = {  # among the first three
    "running#how-do-i-run-this": ("how do I run this", "how to run?"), "running#install-on-your-machine": ("install",),
    "running#open-in-colab": ("colab",), "running": ("run in Colab",), "playground": ("play", "playground"),
    "05-lstm": ("LSTM", "long short-term memory"), "06-gru": ("GRU",), "glossary#term-forget-bias": ("forget bias",),
    "glossary#term-vanishing-gradient": ("vanishing gradient",), "04-vanishing-gradients": ("vanishing gradients",),
    "03-backpropagation-through-time": ("BPTT", "truncated backpropagation"), "teaching": ("teaching", "slides"),
    "09-generating-text": ("beam search",), "11-attention": ("attention",), "12-cost": ("kv cache",),
    "api/cells#unrolled.cells.GRUCell": ("GRUCell",), "glossary#term-perplexity": ("perplexity",),
    "glossary#term-weight-tying": ("weight tying",),
}  # fmt: skip


def test_the_search_finds_what_a_reader_asks_for_and_its_excerpts_have_no_tex(visit):
    page, missed = visit("search"), []
    address = page.url
    for place, query in ((place, query) for place, queries in FOUND.items() for query in queries):
        page.goto(f"{address}?{urlencode({'q': query})}")
        page.wait_for_function("document.querySelectorAll('#search-results p.context').length > 2")
        hits = page.locator("#search-results li > a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
        if not any(hit.replace(".html", "").endswith(f"/{place}") for hit in hits[:3]):
            missed.append(f"{query}: {place}, and not {hits[:3]}")
        told = page.locator("#search-results p.context").all_inner_texts()
        missed += [text for text in told if re.search(r"\\[a-z(\[]|\.ipynb|\.pdf", text)]
    assert missed == []


class Links(HTMLParser):
    """Collect what a page links and loads, and the names that links can lead to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets, self.loaded, self.names = set(), set(), {""}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.names |= {values[word] for word in ("id", "name") if values.get(word)}
        if tag in ("script", "link", "img", "iframe") and values.get("rel") not in ("canonical", "prev", "next"):
            self.loaded |= {values[word] for word in ("href", "src") if values.get(word)}
        self.targets |= {values[word] for word in ("href", "src") if values.get(word) and tag != "link"}


def test_links_inside_the_book_lead_somewhere_and_nothing_is_loaded_from_elsewhere(own):
    paths = [path for path in own.rglob("*.html") if "_static" not in path.parts]
    pages = {path: Links(path.read_text(encoding="utf8")) for path in paths}
    broken, strangers = [], []
    for path, links in pages.items():
        strangers += [f"{path.relative_to(own)}: {url}" for url in links.loaded if urlsplit(url).netloc]
        for target in links.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            whole = parts.path.startswith(FOLDER)
            place = own / parts.path.removeprefix(FOLDER) if whole else path.parent / parts.path
            there = Path(unquote(str(place))).resolve() if parts.path else path
            there = there / "index.html" if there.is_dir() else there
            anchors = pages[there].names if there in pages else {""}
            if not there.is_file() or (there in pages and unquote(parts.fragment) not in anchors):
                broken.append(f"{path.relative_to(own)}: {target}")
    assert len(pages) > len(PAGES) and (broken, strangers) == ([], [])

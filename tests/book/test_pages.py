"""Look at the built pages as a reader does: in a browser, by day and by night, on a desk and on a phone.

The network is cut: whatever a page asks another host for is refused and fails its test.
"""

import http.server
import re
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml

import book
from places import ROOT
from screens import SCREENS, draw_explorers, draw_theme
from unrolled import __version__

pytestmark = pytest.mark.book
LISTED = book.pages(yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf8")))
LIBRARY = [name for name in LISTED if name.startswith("pages/api/") and name != "pages/api/index"]
PAGES = [name for name in LISTED if name not in LIBRARY or name == "pages/api/cells"]  # they are all made alike
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf8"))
FOLDER = urlsplit(CONFIG["html"]["baseurl"]).path  # where a site has the pages, "/unrolled/"
NOTEBOOKS = [name for name in PAGES if (ROOT / f"{name}.ipynb").is_file()]
CHAPTERS = [name for name in NOTEBOOKS if name.startswith("chapters/")]
CUT = """[...document.querySelectorAll("article pre")]
    .filter(block => block.scrollWidth > block.clientWidth).map(block => block.innerText)"""

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
    const items = [...document.querySelectorAll("article mjx-container, article table")];
    return items.map(item => {
        const formula = item.tagName !== "TABLE", span = extent(formula ? [...item.querySelectorAll("mjx-c")] : [item]);
        const name = item.closest("[id]").id + ": " + (formula ? "formula" : "table") + ", ";
        return [isFinite(span[0]) ? fate(item, span) : "fits", name + Math.round(span[1] - span[0]) + " pixels"];
    });
}"""


# Drawings that are narrower than their smallest letters need.
SMALL = """() => [...document.querySelectorAll("article .picture img:not([hidden])")]
    .map(drawing => [drawing.getBoundingClientRect().width, parseFloat(drawing.style.getPropertyValue("--readable")),
        drawing.src.slice(-60)])
    .filter(([shown, least]) => shown < least - 1)
    .map(([shown, least, name]) => `${name} is ${shown} pixels wide, not ${least}`)"""

# Lines whose letters and ground differ too little in brightness, by the formula of WCAG 2, with their contrast.
FAINT = """() => {
    const parts = colour => colour.match(/[\\d.]+/g).map(Number);
    const light = rgb => rgb.slice(0, 3).map(v => v / 255)
        .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const ground = box => {
        const colour = parts(getComputedStyle(box).backgroundColor);
        return colour.length < 4 || colour[3] > 0.99 || !box.parentElement ? colour : ground(box.parentElement);
    };
    const contrast = line => {
        const [dark, bright] = [parts(getComputedStyle(line).color), ground(line)].map(light).sort((a, b) => a - b);
        return (bright + 0.05) / (dark + 0.05);
    };
    const lines = [...document.querySelectorAll("article :is(p, li, td, th, summary, figcaption, pre, a)")];
    return lines.filter(line => line.innerText.trim() && line.offsetParent && contrast(line) < 4.5)
        .map(line => line.innerText.trim().slice(0, 60) + ": " + contrast(line).toFixed(1));
}"""


# What is wrong with a page that is open, a line each: with its shape, which no theme changes, and with its colours. A
# check may open what is folded, and changes nothing else.


def the_ground_is_that_of_the_theme(page, theme):
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    if (sum(int(part) for part in colour[4:-1].split(",")[:3]) > 600) != (theme == "light"):
        yield f"the ground is {colour}"


def it_fits_the_screen(page, name, screen):
    if page.evaluate("document.documentElement.scrollWidth - innerWidth") > 0:
        yield "wider than the screen"
    if screen == "desktop":
        yield from (f"code or output that must be scrolled: {cut}" for cut in page.evaluate(CUT))


def what_is_to_be_read_stands_out_from_its_ground(page, theme):
    yield from page.evaluate(FAINT)


def pictures_are_visible_in_proportion_and_say_what_they_show(page, name, screen):
    page.evaluate("""() => Promise.all([...document.querySelectorAll("article img[loading=lazy]")].map(picture => {
        picture.loading = "eager";
        return picture.decode();
    }))""")
    script = """() => [...document.querySelectorAll('article img:not([hidden], .pg-lives *)')].map(e => ({
        source: e.src.slice(-60), width: e.naturalWidth, shown: e.getBoundingClientRect().width, alt: e.alt,
        framed: getComputedStyle(e).objectFit === "contain",
        stretch: e.height * e.naturalWidth / (e.width * e.naturalHeight) }))"""
    pictures = page.evaluate(script)
    for picture in pictures:
        if not picture["width"] or not picture["shown"]:
            yield f"not visible: {picture}"
        elif not picture["framed"] and not 0.98 < picture["stretch"] < 1.02:
            yield f"out of proportion: {picture}"
        if " " not in picture["alt"].strip():
            yield f"no alt text, or a hash: {picture}"
    if not pictures and name in CHAPTERS:
        yield "no picture"


def letters_of_drawings_can_be_read(page, name, screen):
    yield from page.evaluate(SMALL)


def formulas_are_rendered_and_fit_or_on_a_phone_scroll_inside_themselves(page, name, screen):
    written = page.locator("article .math").count()
    if page.locator("article mjx-container").count() < written or (name in CHAPTERS and not written):
        yield "formulas are missing"
    if page.locator("mjx-merror, .MathJax_Error, mjx-mtext[style*=red]").count():
        yield "a formula is wrong, or a command of it unknown"
    allowed = {"fits"} if screen == "desktop" else {"fits", "scrolls"}
    for fate, what in page.evaluate(FITTING):
        if fate not in allowed:
            yield f"{what} {fate}; break the formula, or shorten the table"


def a_chapter_has_its_first_picture_on_one_of_the_first_two_screens(page, name, screen):
    if name in CHAPTERS and screen == "desktop":
        top = page.locator("article figure").first.bounding_box()["y"] + page.evaluate("scrollY")
        if top > 1600:  # of 800 pixels each
            yield f"the first picture is {top:.0f} pixels down"


SHAPE = (
    a_chapter_has_its_first_picture_on_one_of_the_first_two_screens,
    it_fits_the_screen,
    pictures_are_visible_in_proportion_and_say_what_they_show,
    letters_of_drawings_can_be_read,
    formulas_are_rendered_and_fit_or_on_a_phone_scroll_inside_themselves,
)
COLOUR = (the_ground_is_that_of_the_theme, what_is_to_be_read_stands_out_from_its_ground)


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_photographed_and_passes_every_check(visit, name, screen):
    page = visit(name, screen, "light")
    assert page.locator("article h1").inner_text().strip()
    draw_explorers(page)
    shots = ROOT / "_build" / "screenshots"
    shots.mkdir(exist_ok=True)
    for theme in ("dark", "light"):
        draw_theme(page, theme)
        page.screenshot(path=shots / f"{name.replace('/', '-')}-{screen}-{theme}.png")
    problems = [f"{check.__name__}: {line}" for check in SHAPE for line in check(page, name, screen)]
    for theme in ("light", "dark"):
        draw_theme(page, theme)
        problems += [f"{check.__name__}, {theme}: {line}" for check in COLOUR for line in check(page, theme)]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("name", LIBRARY)
def test_a_page_of_the_library_fits_on_a_phone(visit, name):
    page = visit(name, "phone")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, "wider than the screen"
    assert page.locator("article dl.py").count() > 0


def test_no_script_fails_on_a_file_that_is_in_no_contents(browser, own):
    """Whatever else a browser can open, opened from disk: 404.html, the indexes, the search."""
    listed, failed = {own / f"{name}.html" for name in LISTED}, []
    others = sorted(set(own.glob("**/*.html")) - listed)
    assert {"404.html", "genindex.html", "search.html"} <= {file.name for file in others}
    for file in others:
        page = browser.new_page()  # its own: index.html leads on to another page at a moment of its choosing
        page.on("pageerror", lambda error, file=file: failed.append(f"{file.name}: {error}"))
        page.goto(file.as_uri(), wait_until="load")
        page.close()
    assert failed == []


def test_an_address_that_is_not_there_leads_back_into_the_book(browser, own):
    """As a site does: whatever is asked for and is not there, however deep, is answered with 404.html."""

    class Site(http.server.SimpleHTTPRequestHandler):
        def translate_path(self, path):
            there = own / unquote(urlsplit(path).path).removeprefix(FOLDER)
            return str(there if path.startswith(FOLDER) and there.is_file() else own / "404.html")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = browser.new_page()
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(f"http://127.0.0.1:{server.server_port}{FOLDER}chapters/deep/nowhere.html", wait_until="load")
    assert page.locator("article h1").inner_text() == "There is no such page"
    ground = "getComputedStyle(document.querySelector('.bd-sidebar')).position"
    assert page.evaluate(ground) == "sticky", "the stylesheet was not found"
    page.locator(".bd-sidebar a", has_text="Attention").first.click()
    page.wait_for_url(f"**{FOLDER}chapters/11-attention.html")
    assert page.locator("article h1").inner_text().startswith("11. Attention") and faults == []
    page.close()
    server.shutdown()


def test_from_a_chapter_one_reads_on_to_the_next(html):
    leads = [
        re.search(r'class="right-next"\s+href="([^"]+)"', (html / f"{name}.html").read_text("utf8"))[1]
        for name in CHAPTERS
    ]
    assert leads[:-1] == [f"{Path(name).name}.html" for name in CHAPTERS[1:]] and leads[-1].startswith("../pages/")


def test_exercises_lead_back_to_their_chapter_and_on_to_the_next(visit):
    page = visit(CHAPTERS[0].replace("chapters", "exercises"))
    leads = [page.locator(place).get_attribute("href") for place in (".left-prev", ".right-next")]
    assert leads == [f"../{name}.html" for name in CHAPTERS[:2]]


def test_every_page_has_one_title_and_says_what_it_is_about(html):
    wrong, said = [], set()
    for path in html.rglob("*.html"):
        page = path.read_text(encoding="utf8")
        about = re.findall(r'<meta name="description" content="([^"]+)"', page)
        if "_static" not in path.parts and path != html / "index.html":
            said.update(about)
            if page.count("<h1") != 1 or len(about) != 1 or not 10 < len(about[0]) < 300:
                wrong.append(f"{path.relative_to(html)}: {page.count('<h1')} titles, described as {about}")
    assert wrong == [] and len(said) > 50


def test_excerpts_of_the_search_have_no_tex_and_no_names_of_files(visit):
    page = visit("search")
    page.goto(f"{page.url}?q=gradient")
    page.wait_for_function("document.querySelectorAll('#search-results p.context').length > 9")
    excerpts = page.locator("#search-results p.context").all_inner_texts()
    assert [text for text in excerpts if re.search(r"\\[a-z(\[]|\.ipynb|\.pdf", text)] == []
    assert sum("gradient" in text.lower() for text in excerpts) > len(excerpts) / 2


def test_the_records_can_be_scanned(visit):
    page = visit("pages/records")
    table = page.locator("table.records")
    assert table.locator("tbody tr").count() > 50 and not table.locator("details[open]").count()
    height, rows = table.evaluate("e => [e.getBoundingClientRect().height, e.rows.length]")
    assert height / rows < 110
    assert page.evaluate("document.documentElement.scrollHeight") - height < 3 * 800  # screens, around the table


@pytest.mark.parametrize("name", CHAPTERS)
def test_nothing_gapes_between_code_output_and_figures(visit, name):
    page = visit(name)
    gaps = page.evaluate("""() => [...document.querySelectorAll("article .cell_output")].map(output => {
        const first = output.firstElementChild, above = output.previousElementSibling ?? output.parentElement;
        const edge = above.matches(".cell_input") ? above.getBoundingClientRect().bottom
            : (output.parentElement.previousElementSibling ?? output).getBoundingClientRect().bottom;
        return first ? first.getBoundingClientRect().top - edge : 0;
    })""")
    assert max(gaps) < 32, sorted(gaps)[-5:]


@pytest.mark.parametrize("screen", SCREENS)
def test_there_is_one_way_to_search(visit, screen):
    page = visit(PAGES[0], screen)
    fields = "document.querySelectorAll('.search-button, .search-button-field, input[type=search]')"
    shown = page.evaluate(f"[...{fields}].filter(e => e.checkVisibility({{visibilityProperty: true}})).length")
    assert shown == 1


WIDE = "<div id=wide style='overflow-x: {over}; width: {width}'><table style='width: 3000px'><td>-</td></table></div>"


@pytest.mark.parametrize(
    "over, width, right",
    [
        ("visible", "auto", "is cut off"),
        ("hidden", "auto", "is cut off"),
        ("auto", "auto", "scrolls"),
        ("auto", "2000px", "is cut off"),
        ("auto", "3000px", "is cut off"),
    ],
)
def test_what_does_not_fit_is_found(visit, over, width, right):
    page = visit("pages/notation", "phone")
    page.locator("article").evaluate(f'e => e.insertAdjacentHTML("beforeend", "{WIDE.format(over=over, width=width)}")')
    assert [fate for fate, name in page.evaluate(FITTING) if name.startswith("wide: ")] == [right]
    page.locator("article span.math mjx-container").first.evaluate("e => { e.style.maxWidth = '3px'; }")
    assert "scrolls" in {fate for fate, name in page.evaluate(FITTING) if "formula" in name}


@pytest.mark.parametrize("screen, across", [("desktop", 2), ("phone", 1)])
def test_the_gallery_has_two_cards_across_on_a_desk_and_one_on_a_phone(visit, screen, across):
    tops = "e => [...e.querySelectorAll('.gallery-card')].map(card => card.getBoundingClientRect().top)"
    for grid in visit("pages/gallery", screen).locator("article .sd-row").all():
        places = grid.evaluate(tops)
        assert places.count(places[0]) == min(across, len(places))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_opens_in_colab_once_the_book_has_an_address(html, name):
    buttons = re.findall(
        r'href="(https://colab\.research\.google\.com/[^"]+)"', (html / f"{name}.html").read_text("utf8")
    )
    explained = book.NO_COLAB.split(":")[0] in (html / "pages" / "running.html").read_text(encoding="utf8")
    if urlsplit(CONFIG["html"]["baseurl"]).netloc.startswith(book.NOBODY):
        assert explained and buttons == []
    else:
        assert not explained and {urlsplit(button).path for button in buttons} == {
            f"/github/{urlsplit(CONFIG['repository']['url']).path[1:]}/blob/v{__version__}/{name}.ipynb"
        }


def test_the_first_page_is_one_screen(visit):
    page = visit("intro")
    page.wait_for_selector("figure.demonstration[data-ready]")
    boxes, height = ("article", "article .front"), SCREENS["desktop"][1]
    article, start = (page.locator(box).first.evaluate("e => e.getBoundingClientRect().bottom") for box in boxes)
    assert start <= height and article <= 1.1 * height  # a tenth may hang over, in the widest of the common fonts


def test_on_the_first_screen_a_network_remembers(visit):
    page = visit("intro")
    race = page.locator("figure.demonstration")
    page.wait_for_selector("figure.demonstration[data-ready]")
    assert race.locator(".pg-race").bounding_box()["y"] < SCREENS["desktop"][1] - 150
    said = re.search(r"RNN (.+)\s%, LSTM (.+)\s%, GRU (.+)\s%", race.locator(".pg-score").inner_text())
    rnn, lstm, gru = map(float, said.groups())
    assert max(rnn, lstm) < 10 and gru > 90
    race.get_by_role("button", name="Play").click()
    page.wait_for_function("document.querySelector('figure.demonstration input').value > 3")
    race.get_by_role("button", name="Pause").click()
    slider = race.get_by_role("slider")
    place = slider.input_value()
    page.wait_for_timeout(300)
    assert slider.input_value() == place
    slider.focus()
    page.keyboard.press("End")
    assert slider.input_value() == slider.get_attribute("max")


@pytest.mark.parametrize("screen", SCREENS)
def test_the_audit_is_filtered_with_the_keyboard_and_is_whole_in_print(visit, screen):
    page = visit("pages/audit", screen)
    rows, count = page.locator("article tr:has(.verdict, .question)"), page.locator(".audit-filter output")

    def shown():
        """Return the rows that take room on the page."""
        return rows.evaluate_all("all => all.filter(r => r.getClientRects().length).map(r => r.innerText)")

    everything = shown()
    assert len(everything) == rows.count() > 100 and count.inner_text() == ""
    page.get_by_label("Verdict").focus()
    page.keyboard.press("w")  # the only verdict that begins so
    wrong = shown()
    assert 0 < len(wrong) < len(everything) and all("wrong" in row for row in wrong)
    assert count.inner_text() == f"{len(wrong)} of {len(everything)} rows"
    page.keyboard.press("Tab")
    page.keyboard.type("transformer PARAMETERS")
    few = shown()
    assert few and set(few) < set(wrong)
    assert all(word in row.lower() for row in few for word in ("transformer", "parameters"))
    assert page.locator("article h3").evaluate_all("all => all.filter(h => h.getClientRects().length).length") <= len(
        few
    )
    page.emulate_media(media="print")
    assert len(shown()) == len(everything) and not page.locator(".audit-filter").is_visible()


@pytest.mark.parametrize("name", CHAPTERS)
def test_folded_code_is_called_by_its_summary_and_opens(visit, name):
    page = visit(name)
    folds = page.locator("article details.hide")
    assert folds.count() > 0
    assert page.locator("article details.hide > summary[aria-label]").count() == 0, "all called by one name"
    fold = folds.first
    summary = fold.locator("summary")
    called, code = summary.inner_text(), fold.locator("pre")
    assert len(called.strip()) > 5 and not code.is_visible()
    summary.focus()
    page.keyboard.press("Enter")
    assert code.is_visible() and summary.inner_text() == called


class Links(HTMLParser):
    """Collect a page's link targets and the names that links can lead to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets, self.names = set(), {""}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.names |= {values[word] for word in ("id", "name") if values.get(word)}
        for word in ("href", "src"):
            if values.get(word) and not (word == "href" and tag == "link"):
                self.targets.add(values[word])


def test_links_inside_the_book_lead_somewhere(html):
    """A missing page, figure or anchor behind any link of any page is named."""
    paths = [path for path in html.rglob("*.html") if "_static" not in path.parts]
    pages = {path: Links(path.read_text(encoding="utf8")) for path in paths}
    broken, followed = [], 0
    for path, links in pages.items():
        for target in links.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            followed += 1
            whole = parts.path.startswith(FOLDER)
            place = html / parts.path.removeprefix(FOLDER) if whole else path.parent / parts.path
            there = Path(unquote(str(place))).resolve() if parts.path else path
            there = there / "index.html" if there.is_dir() else there
            anchors = pages[there].names if there in pages else {""}
            if not there.is_file() or (there in pages and unquote(parts.fragment) not in anchors):
                broken.append(f"{path.relative_to(html)}: {target}")
    assert followed > 20 * len(PAGES)
    assert broken == []


def test_no_page_names_a_third_party_script(own):
    """Scripts and stylesheets come from the site itself: the book tells nobody who reads it."""
    strangers = []
    for path in own.rglob("*.html"):
        for line in path.read_text(encoding="utf8").splitlines():
            if ("<script" in line and 'src="http' in line) or ('rel="stylesheet"' in line and 'href="http' in line):
                strangers.append(f"{path.relative_to(own)}: {line.strip()[:120]}")
    assert strangers == []

"""What is mended in the built pages: names for those who listen, and weight for those who wait."""

import os
import re
import shutil
from pathlib import Path
from statistics import median
from types import SimpleNamespace

import pydata_sphinx_theme
import pytest
from fontTools.ttLib import TTFont

import axe
import mend
import weights
from places import ROOT
from screens import SCREENS, draw_explorers, draw_theme

pytestmark = pytest.mark.book
LOOKED_AT = (
    *("intro", "chapters/05-lstm", "exercises/05-lstm", "pages/glossary", "pages/api/cells", "pages/audit"),
    *("pages/playground", "pages/bibliography", "pages/gallery", "pages/records"),
)
CHAPTERS = [f"chapters/{path.stem}" for path in sorted(ROOT.glob("chapters/*.ipynb"))]
SCROLLED_BY_KEYBOARD = """() => [...document.querySelectorAll("article pre")]
    .every(box => box.scrollWidth <= box.clientWidth || box.tabIndex === 0)"""


@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_page_breaks_no_rule_of_axe_and_is_light(visit, own, name):
    page = visit(name)
    assert weights.weigh(page, own)[0] <= weights.limit(name)
    draw_explorers(page)
    axe.load(page)
    assert axe.violations(page) == []
    page.set_viewport_size(dict(zip(("width", "height"), SCREENS["phone"], strict=True)))
    draw_theme(page, "dark")
    page.wait_for_function(SCROLLED_BY_KEYBOARD)  # the theme sees to it a little later
    assert axe.violations(page) == []


FAULTS = {
    "image-alt": "<img src='data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'>",
    "color-contrast": "<p style='color: #777; background: #888'>faint</p>",
    "link-name": "<a href=there></a>",
    "summary-name": "<details><summary></summary>folded</details>",
    "empty-table-header": "<table><tr><th></th><td>a</td></tr></table>",
}


def test_axe_finds_faults(visit):
    page = visit("pages/running")
    axe.load(page)
    page.locator("article").evaluate("(e, html) => e.insertAdjacentHTML('beforeend', html)", "".join(FAULTS.values()))
    assert {line.split(":")[0] for line in axe.violations(page)} == set(FAULTS)


ICONS = """<i class="fa-solid fa-bars"></i><i class="fab fa-github"></i><span class="fa-lg"></span>"""


@pytest.fixture
def theme(tmp_path):
    """A folder with what the theme puts on a site, and a page with two icons."""
    shutil.copytree(
        Path(pydata_sphinx_theme.__file__).parent / "theme/pydata_sphinx_theme/static", tmp_path / "_static"
    )
    (tmp_path / "page.html").write_text(ICONS, encoding="utf8")
    return tmp_path


def test_of_the_icons_those_that_are_used_are_kept(theme):
    everything = sum(font.stat().st_size for font in theme.rglob("*.woff2"))
    mend.cut_fonts(theme)
    fonts = {font.stem: font for font in theme.rglob("webfonts/*")}
    drawn = {stem: {code for code in TTFont(font).getBestCmap() or () if code > 0xF000} for stem, font in fonts.items()}
    bars, github, close, bell = 0xF0C9, 0xF09B, 0xF00D, 0xF0F3  # of a script; of a sheet
    assert github in drawn["fa-brands-400"] and {bars, close, bell} <= drawn["fa-solid-900"]
    assert sum(font.stat().st_size for font in fonts.values()) < 0.03 * everything
    sheet = (theme / "_static/styles/pydata-sphinx-theme.css").read_text(encoding="utf8")
    named = set(re.findall(r"fontawesome/webfonts/([\w.-]+)", sheet))
    assert named == {font.name for font in fonts.values()}
    assert not list(theme.rglob("fontawesome.js*"))


def test_a_stylesheet_that_names_the_fonts_otherwise_is_refused(theme):
    sheet = theme / "_static/styles/pydata-sphinx-theme.css"
    sheet.write_text(sheet.read_text(encoding="utf8").replace('format("truetype")', "format(truetype)"), "utf8")
    with pytest.raises(ValueError, match="names 0 fonts of icons, and there are 3"):
        mend.cut_fonts(theme)


def test_every_icon_of_a_built_page_is_in_its_font(html):
    sheet = (html / "_static/styles/pydata-sphinx-theme.css").read_text(encoding="utf8")
    page = (html / "chapters/05-lstm.html").read_text(encoding="utf8")
    icons = set(re.findall(r'class="(?:[\w-]+ )*(fa[sb]|fa-solid|fa-brands) +(fa-[\w-]+)', page))
    assert len(icons) > 8
    for family, name in icons:
        (code,) = re.findall(rf'\.{name}:before[^{{]*\{{content:"\\([0-9a-f]+)"', sheet)
        stem = "fa-brands-400" if family in ("fab", "fa-brands") else "fa-solid-900"
        assert int(code, 16) in TTFont(html / f"_static/vendor/fontawesome/webfonts/{stem}.woff").getBestCmap(), name


def test_only_the_page_of_the_search_loads_its_index(tmp_path):
    loads = '<script src="{}_static/searchtools.js"></script><script src="{}searchindex.js"></script>'
    (tmp_path / "pages/api").mkdir(parents=True)
    for name, up in {"search": "", "intro": "", "pages/api/cells": "../../"}.items():
        (tmp_path / f"{name}.html").write_text(f"<p>{loads.format(up, up)}</p>", encoding="utf8")
    for page in tmp_path.rglob("*.html"):
        text = mend.mended(page)
        assert ("searchindex.js" in text and "searchtools.js" in text) == (page.stem == "search")


DRAWN = """<svg viewBox="0 0 504 252" xmlns="http://www.w3.org/2000/svg"><g transform="scale(0.11 -0.11)"/></svg>"""


def test_drawings_have_their_size_and_scroll_where_letters_would_be_too_small(tmp_path):
    (tmp_path / "_images").mkdir()
    (tmp_path / "pages").mkdir()
    (tmp_path / "_images" / "a.svg").write_text(DRAWN)
    (tmp_path / "_images" / "b.svg").write_text("<svg></svg>")
    page = '<img alt="A" src="../_images/a.svg" /><img class="sd-card-img-top" src="../_images/a.svg" />'
    page += '<img src="../_images/b.svg" /><img src="../_images/c.png" />'
    drawn, card, *others = mend.shaped(tmp_path / "pages" / "one.html", page).split("<img")[1:]
    size = 'width="672" height="336" style="--readable: 458px"'
    assert drawn.startswith(f' alt="A" src="../_images/a.svg" {size} /></a>') and size in card and "</a>" not in card
    assert others == [' src="../_images/b.svg" />', ' src="../_images/c.png" />']
    assert mend.shaped(tmp_path / "pages" / "one.html", page).startswith('<a class="picture" href="../_images/a.svg"')


# What a visit weighs


def test_a_visit_is_weighed_with_what_came_in_sight_apart(tmp_path):
    sizes = {"pages/page.html": 10, "picture.png": 300, "browser/page.js": 50, "other.png": 7, "mathjax/es5/a.js": 900}
    for name, size in sizes.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_bytes(os.urandom(size))
    (tmp_path / "text.js").write_text("a" * 10_000)
    assert weights.sent(tmp_path / "text.js") < 100
    loaded = ["pages/page.html", "picture.png", "picture.png?v=1", "browser/page.js", "mathjax/es5/a.js"]
    loaded += ["not-there.js"]
    page = SimpleNamespace(evaluate=lambda script: [f"http://127.0.0.1:80/{name}" for name in loaded])
    page_and_picture, script = weights.weigh(page, tmp_path)
    assert page_and_picture == weights.sent(tmp_path / "pages/page.html") + 300
    assert script == weights.sent(tmp_path / "browser/page.js")


def test_the_chapters_are_light(visit, own):
    found = {name: weights.weigh(visit(name), own)[0] for name in CHAPTERS}
    assert max(found.values()) <= weights.limit(CHAPTERS[0]), found
    assert median(found.values()) <= weights.MEDIAN["chapters"], found

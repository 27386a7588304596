"""What is mended in the built pages: names for those who listen, and weight for those who wait."""

import json
import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pydata_sphinx_theme
import pytest
from fontTools.ttLib import TTFont

import axe
import mend
import weights
from screens import SCREENS, draw_explorers

pytestmark = pytest.mark.book
LOOKED_AT = {  # page: whether it has explorers
    "intro": False,
    "chapters/05-lstm": True,
    "exercises/05-lstm": False,
    "pages/glossary": False,
    "pages/api/cells": False,
    "pages/audit": False,
    "pages/playground": False,
    "pages/bibliography": False,
    "pages/gallery": False,
}
SCROLLED_BY_KEYBOARD = """() => [...document.querySelectorAll("article pre")]
    .every(box => box.scrollWidth <= box.clientWidth || box.tabIndex === 0)"""
DEEP = "chapters/01-language-models"  # its first explorer stands several screens down


def test_the_explorers_scripts_are_loaded_when_one_comes_into_sight(visit):
    page = visit(DEEP)
    assert page.evaluate("typeof requirejs") == "undefined" and not page.evaluate("scrollY")
    draw_explorers(page)
    assert page.evaluate("typeof requirejs") == "function"


@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_page_breaks_no_rule_of_axe_and_is_light(visit, own, name):
    page = visit(name)
    assert weights.weigh(page, own)[0] <= weights.limit(name)
    if LOOKED_AT[name]:
        draw_explorers(page)
    axe.load(page)
    assert axe.violations(page) == []
    page.set_viewport_size(dict(zip(("width", "height"), SCREENS["phone"], strict=True)))
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
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


@pytest.mark.parametrize("served", [True, False])
def test_explorers_pictures_wait_in_a_script_unless_the_page_loads_its_explorers_at_once(tmp_path, served):
    kind, state = "application/vnd.jupyter.widget-state+json", r'{"state": {"a": {"html": "<b>\u00e9<\\/script>"}}}'
    page = f'<script type="{kind}">{state}</script><p>{{}}</p>' + (
        "" if served else '<script src="/embed-amd.js"></script>'
    )
    kept = mend.explorers_aside(tmp_path / "05-lstm.html", page)
    assert (kept == page) != served and (kind in kept) != served
    script = tmp_path / "05-lstm.explorers.js"
    assert script.is_file() == served and ('data-explorers="05-lstm.explorers.js"' in kept) == served
    if served:
        (literal,) = re.findall(r"JSON\.stringify\((.*)\);", script.read_text(encoding="utf8"))
        assert json.loads(literal) == json.loads(state) and kind in script.read_text(encoding="utf8")


# What a visit weighs


def test_a_visit_is_weighed_with_what_came_in_sight_apart(tmp_path):
    for name, size in {"pages/page.html": 10, "picture.png": 300, "browser/page.js": 50, "other.png": 7}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(os.urandom(size))
    (tmp_path / "text.js").write_text("a" * 10_000)
    assert weights.sent(tmp_path / "text.js") < 100
    loaded = ["pages/page.html", "picture.png", "picture.png?v=1", "browser/page.js", "not-there.js"]
    page = SimpleNamespace(evaluate=lambda script: [f"http://127.0.0.1:80/{name}" for name in loaded])
    page_and_picture, script = weights.weigh(page, tmp_path)
    assert page_and_picture == weights.sent(tmp_path / "pages/page.html") + 300
    assert script == weights.sent(tmp_path / "browser/page.js")

"""What is mended in the built pages: names for those who listen, and weight for those who wait."""

import re

import pytest
from fontTools.ttLib import TTFont

import axe
import weights
from screens import SCREENS, draw_explorers

pytestmark = pytest.mark.book
LOOKED_AT = {  # page: whether it has explorers
    "intro": False,
    "chapters/05-lstm": True,
    "exercises/05-lstm": False,
    "glossary": False,
    "api/cells": False,
    "audit": False,
    "playground": False,
    "bibliography": False,
}
DEEP = "chapters/01-language-models"  # its first explorer stands several screens down


def test_the_explorers_scripts_are_loaded_when_one_comes_into_sight(visit):
    page = visit(DEEP)
    assert not page.evaluate("window.requirejs") and not page.evaluate("scrollY")
    draw_explorers(page)
    assert page.evaluate("window.requirejs")


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
    assert axe.violations(page) == []


FAULTS = {
    "image-alt": "<img src='data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'>",
    "color-contrast": "<p style='color: #777; background: #888'>faint</p>",
    "link-name": "<a href=there></a>",
    "summary-name": "<details><summary></summary>folded</details>",
    "empty-table-header": "<table><tr><th></th><td>a</td></tr></table>",
}


def test_axe_finds_faults(visit):
    page = visit("running")
    axe.load(page)
    page.locator("article").evaluate("(e, html) => e.insertAdjacentHTML('beforeend', html)", "".join(FAULTS.values()))
    assert {found.split(":")[0] for found in axe.violations(page)} == set(FAULTS)


def test_the_icons_that_are_named_are_there_and_no_others(html):
    fonts = {path.stem: path for path in html.glob("_static/vendor/fontawesome/webfonts/*")}
    assert set(fonts) == {"fa-brands-400", "fa-regular-400", "fa-solid-900"}
    drawn = {stem: set(TTFont(path).getBestCmap()) for stem, path in fonts.items()}
    sheet = (html / "_static/styles/pydata-sphinx-theme.css").read_text(encoding="utf8")
    icons = re.findall(
        r'class="(?:[\w-]+ )*(fa[sb]|fa-solid|fa-brands) +(fa-[\w-]+)', (html / "running.html").read_text("utf8")
    )
    assert len(icons) > 10
    for family, name in icons:
        (code,) = re.findall(rf'\.{name}:before[^{{]*\{{content:"\\([0-9a-f]+)"', sheet)
        assert int(code, 16) in drawn["fa-brands-400" if family in ("fab", "fa-brands") else "fa-solid-900"], name
    assert sum(path.stat().st_size for path in fonts.values()) < 10_000
    assert not list(html.glob("**/fontawesome.js*"))

"""Mend what the theme and Sphinx leave in the built pages: what they load and do not use, and what has no name.

Their templates have no setting for any of it. `tests/book/test_mended.py` looks at the pages with axe, an engine that
checks them against the rules of WCAG, and at what they load.
"""

import json
import re
import shutil
from io import BytesIO
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

MENDS = (
    # All of Font Awesome as a script, which would draw the icons a second time: the stylesheet does, with a font.
    (r'<script defer src="[^"]*/scripts/fontawesome\.js[^"]*"></script>', ""),
    # The button's label must contain what is written on it, with the keys.
    (r'(<button class="btn search-button-field[^>]*) aria-label="Search"', r"\1"),
    # The arrow that opens an entry of the contents is called like the entry.
    (
        r'(<a class="(?:current )?reference internal" href="[^"]*">([^<]*)</a><details[^>]*><summary)>',
        r'\1 aria-label="Pages of: \2">',
    ),
    # The book's name and the search stand beside the navigation, outside any landmark.
    (r'(<div id="pst-primary-sidebar")', r'\1 role="complementary" aria-label="The book"'),
    # A page without a heading of its own for print, such as 404.html, would have an empty one.
    (r'(<div id="jb-print-docs-body" class="onlyprint">\s*)<h1></h1>', r"\1"),
    # A list may have no other children than items, and the role of an entry is deprecated.
    (r'role="doc-biblioentry"', 'role="listitem"'),
    # The gallery has a hundred pictures; a browser loads those that are near.
    (r'<img (?=[^>]*class="[^"]*sd-card-img-top)', '<img loading="lazy" '),
    # A table's corner heads nothing.
    (r'<th class="head">(?:<p></p>)?</th>', "<td></td>"),
)
EXPLORERS = re.compile(r'<script type="application/vnd\.jupyter\.widget-state\+json">(.*?)</script>', re.DOTALL)
ASIDE = """(() => {{
  const state = document.createElement("script");
  state.type = "application/vnd.jupyter.widget-state+json";
  state.textContent = JSON.stringify({});
  document.head.append(state);
}})();
"""
SEARCHES = "search.html"  # the one page that uses the search's index
INDEX = re.compile(r'<script src="[^"]*(?:searchtools|language_data|searchindex)\.js"></script>')
CHARACTER = re.compile(r'content:\s*"\\(f[0-9a-f]{3})"')  # an icon's, in Font Awesome's range
LITERAL = re.compile(r'--pst-icon-[\w-]+:\s*"([\ue000-\uf8ff])"')  # an icon of the theme's boxes and links, itself
NAMED = re.compile(r'((?:\.fa-[\w-]+:before,?)+)\{content:"\\([0-9a-f]+)"\}')
FONT = re.compile(
    r'url\((\.\./vendor/fontawesome/webfonts/[\w-]+)\.woff2\) format\("woff2"\),url\(\1\.ttf\) format\("truetype"\)'
)


def mended(path: Path) -> str:
    """Return the HTML of a page that was built, mended."""
    page = path.read_text(encoding="utf8")
    for pattern, instead in MENDS:
        page = re.sub(pattern, instead, page)
    return page if path.name == SEARCHES else INDEX.sub("", page)


def explorers_aside(path: Path, page: str) -> str:
    """Return a page's HTML without its explorers' pictures, which are put into a script beside the page.

    `_static/widgets.js` loads it when an explorer comes into sight. A page that names the explorers' scripts itself, as
    it does where the site does not serve them, is left as it is: they look for the pictures at once.
    """
    if "embed-amd" in page or not (state := EXPLORERS.search(page)):
        return page
    aside = path.with_suffix(".explorers.js")
    aside.write_text(ASIDE.format(state[1]), encoding="utf8")
    return page.replace(state[0], f'<script type="text/plain" data-explorers="{aside.name}"></script>')


def explorers(path: Path) -> dict[str, dict]:
    """Return the widgets of a page that was built, by their names; none where it has no explorer."""
    aside = path.with_suffix(".explorers.js")
    if aside.is_file():
        state = re.search(r"JSON\.stringify\((.*)\);", aside.read_text(encoding="utf8"))
    else:
        state = EXPLORERS.search(path.read_text(encoding="utf8"))
    return json.loads(state[1])["state"] if state else {}


def icons(site: Path) -> set[int]:
    """Return the characters of the icons that a site's pages, scripts and stylesheets name.

    Args:
        site: the folder of the built pages.
    """
    sheets = [path.read_text(encoding="utf8") for path in site.glob("_static/**/*.css")]
    code_of = {name: code for sheet in sheets for names, code in NAMED.findall(sheet) for name in names.split(",")}
    users = [*site.rglob("*.html"), *(path for path in site.glob("_static/**/*.js") if path.stem != "fontawesome")]
    names = {name for path in users for name in re.findall(r"\bfa-[a-z0-9-]+", path.read_text(encoding="utf8"))}
    used = {code_of[key] for name in names if (key := f".{name}:before") in code_of}
    used |= {code for sheet in sheets for code in CHARACTER.findall(NAMED.sub("", sheet))}
    return {int(code, base=16) for code in used} | {ord(icon) for sheet in sheets for icon in LITERAL.findall(sheet)}


def cut(font: Path, characters: set[int]) -> bytes:
    """Return a font with some of its characters only, in the format WOFF."""
    options = subset.Options(flavor="woff", layout_features=[], notdef_outline=True)
    face = TTFont(font)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=characters)
    subsetter.subset(face)
    face.flavor = "woff"
    face.save(made := BytesIO())
    return made.getvalue()


def cut_fonts(site: Path) -> None:
    """Put in the place of Font Awesome, in a site's folder, the icons that the site uses.

    Raises:
        ValueError: the theme's stylesheet names the fonts in another way than this expects.
    """
    used, sheet = icons(site), site / "_static" / "styles" / "pydata-sphinx-theme.css"
    text, named = FONT.subn(r'url(\1.woff) format("woff")', sheet.read_text(encoding="utf8"))
    fonts = sorted(site.glob("_static/vendor/fontawesome/webfonts/*.ttf"))
    if not 0 < named == len(fonts):
        raise ValueError(f"{sheet.name} names {named} fonts of icons, and there are {len(fonts)}: see FONT in mend.py")
    sheet.write_text(text, encoding="utf8")
    for font in fonts:
        font.with_suffix(".woff").write_bytes(cut(font, used))
        font.with_suffix(".woff2").unlink()
        font.unlink()
    for script in site.glob("_static/scripts/fontawesome.js*"):
        script.unlink()


def mend(site: Path) -> None:
    """Mend the built pages in a folder, once."""
    for path in site.rglob("*.html"):
        path.write_text(explorers_aside(path, mended(path)), encoding="utf8")
    cut_fonts(site)
    widgets = site / "chapters" / "@jupyter-widgets"
    for font in widgets.glob("html-manager/dist/*.woff2"):  # two of the explorers' scripts ask for it, in two places
        shutil.copy(font, widgets)

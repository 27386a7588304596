"""Mend what the theme and Sphinx leave in the built pages, and have no setting for: `tests/book/test_pages.py` checks.

Some loads what no page uses; some has no name for those who do not see, or another fault by the rules of WCAG.
"""

import re
from functools import partial
from pathlib import Path

from pictures import SIZE, shape

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
    # 404.html names its scripts by the site's address, and so has none where it is opened from disk.
    (
        r"<script>(DOCUMENTATION_OPTIONS\.[^<]*)</script>",
        r'<script>if (typeof DOCUMENTATION_OPTIONS === "object") \1</script>',
    ),
    # Print has a heading of its own, the title once more, without its number.
    (r'(<div id="jb-print-docs-body" class="onlyprint">\s*)<h1>.*?</h1>', r"\1"),
    # A list may have no other children than items, and the role of an entry is deprecated.
    (r'role="doc-biblioentry"', 'role="listitem"'),
    # The gallery has a hundred pictures; a browser loads those that are near.
    (r'<img (?=[^>]*class="[^"]*sd-card-img-top)', '<img loading="lazy" '),
    # A table's corner heads nothing.
    (r'<th (?:class="head"|scope="col"[^>]*)>(?:<p></p>)?</th>', "<td></td>"),
)
# Of all pages only the search uses its index.
INDEX = (r'<script src="[^"]*(?:searchtools|language_data|searchindex)\.js"></script>', "")
DRAWING = re.compile(r'(<img [^>]*src=")([^"]*_images/[^"]*\.svg)("[^>]*?) */>')


def shaped(folder: Path, picture: re.Match) -> str:
    """Return a picture with its size if it is a drawing, and in a box in which it scrolls where the page is narrow."""
    svg = (folder / picture[2]).read_text(encoding="utf8")
    if not SIZE.search(svg):
        return picture[0]
    sized = f"{picture[1]}{picture[2]}{picture[3]} {shape(svg)} />"
    return sized if "sd-card-img-top" in sized else f'<a class="picture" href="{picture[2]}" tabindex="0">{sized}</a>'


def mend(site: Path) -> None:
    """Mend the built pages in a folder, once."""
    for path in site.rglob("*.html"):
        page = path.read_text(encoding="utf8")
        for pattern, instead in MENDS if path.name == "search.html" else (*MENDS, INDEX):
            page = re.sub(pattern, instead, page)
        path.write_text(DRAWING.sub(partial(shaped, path.parent), page), encoding="utf8")

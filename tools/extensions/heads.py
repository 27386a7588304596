"""What leads from a page to the next, and what a search engine says of it.

From a chapter one reads on to the next chapter; its exercises and their solutions stand beside it.
"""

from html import escape

from docutils import nodes
from sphinx.application import Sphinx

from extensions import SAFE

BESIDE = ("exercises/", "solutions/")
LONGEST = 160  # characters of a description


def neighbours(pages: list[str], name: str) -> tuple[str | None, str | None]:
    """Return the page before a page and the one after it; None where there is none.

    Args:
        pages: all pages, in the order of the contents.
        name: the page.
    """
    main = [page for page in pages if not page.startswith(BESIDE)]
    if name not in pages:
        return None, None
    if not name.startswith(BESIDE):
        place = main.index(name)
        return main[place - 1] if place else None, main[place + 1] if place + 1 < len(main) else None
    chapter = f"chapters/{name.partition('/')[2]}"
    task = f"exercises/{name.partition('/')[2]}"
    return chapter if name == task else task, neighbours(pages, chapter)[1]


def description(doctree: nodes.document | None, title: str) -> str:
    """Return what a page is about: the beginning of its first paragraph without formulas, or its title."""
    for paragraph in doctree.findall(nodes.paragraph) if doctree else ():
        text = " ".join(paragraph.astext().split())
        plain = not any(paragraph.findall(lambda node: isinstance(node, (nodes.math, nodes.raw))))
        if plain and len(text) > 40 and isinstance(paragraph.parent, nodes.section):
            return text if len(text) <= LONGEST else text[: LONGEST - 1].rpartition(" ")[0] + "…"
    return title


def complete(app: Sphinx, name: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Put a page's neighbours and its description into what its template is given."""
    pages = ordered(app.env.toctree_includes, app.config.root_doc)
    before, after = neighbours(pages, name)
    for place, page in (("prev", before), ("next", after)):
        title = page and app.builder.render_partial(app.env.titles[page])["title"]
        context[place] = page and {"link": app.builder.get_relative_uri(name, page), "title": title}
    text = description(doctree, f"{context.get('title', name)}: {app.config.html_title}")
    context["metatags"] = context.get("metatags", "") + f'\n<meta name="description" content="{escape(text)}" />'


def ordered(includes: dict[str, list[str]], root: str) -> list[str]:
    """Return all pages in the order of the contents, from what each page's own contents include."""
    return [root, *(page for child in includes.get(root, ()) for page in ordered(includes, child))]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("html-page-context", complete)
    return SAFE

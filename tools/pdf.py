"""Print the built pages as one file, _build/unrolled.pdf, with contents, page numbers, links and bookmarks.

``make pdf`` calls it after ``make book``. All pages become one document, which Chromium prints twice: the first time to
see on which sheet each heading falls, the second time with these numbers in the contents. Left out are pages for
looking things up or for teachers, folded code, the code of exercises, and what only moves on a screen.
"""

import argparse
import posixpath
import re
import shutil
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from bs4 import BeautifulSoup, Tag
from playwright.sync_api import sync_playwright
from pypdf import PdfReader, PdfWriter

import book

LEFT_OUT = ("solutions/", "pages/api/", "pages/gallery", "pages/playground", "pages/records", "pages/teaching")
SCREEN_ONLY = "script, a.headerlink, button, form, details.hide, .toctree-wrapper"
NOT_PRINTED = {"exercises": ".cell"}  # of the pages of a folder: stubs and checks are for a notebook
DOCUMENT, LIMIT = "print.html", 600_000  # milliseconds for a browser to set or to print the whole book
NOTE = """Printed from the pages of the book. There all code can be unfolded and run, explorers move, networks answer;
here pictures stand in their place. The exercises are notebooks, with checks; here are their questions and hints."""
SETTLED = """async () => {
    await MathJax.startup.promise;
    await document.fonts.ready;
    await Promise.all([...document.images].map(image => image.decode().catch(() => {
        throw new Error("no picture: " + image.src);
    })));
}"""
NUMBER = """numbers => document.querySelectorAll("[data-place]").forEach(number => {
    number.textContent = numbers[number.dataset.place];
})"""


def printed(toc: dict) -> list[str]:
    """Return the pages that are printed, in the order of a table of contents."""
    return [name for name in book.pages(toc) if not name.startswith(LEFT_OUT)]


def label(page: str, anchor: str = "") -> str:
    """Return the name in the printed document of a page, or of a place on it."""
    return "--".join(filter(None, [page.replace("/", "-"), anchor]))


def target(page: str, address: str, pages: list[str], site: str) -> str | None:
    """Return where a link leads in print; None if nowhere.

    Args:
        page: the page that the link stands on, as ``"chapters/12-cost"``.
        address: what it refers to, seen from that page.
        pages: all that are printed.
        site: the book's address, for what is not printed, with a slash at its end.
    """
    ours = address.removeprefix(site)
    there = urlsplit(ours)
    if there.scheme or there.netloc:
        return address
    folder = posixpath.dirname(page) if ours == address else ""
    path = posixpath.normpath(posixpath.join(folder, there.path)) if there.path else f"{page}.html"
    if path.removesuffix(".html") in pages:
        return f"#{label(path.removesuffix('.html'), there.fragment)}"
    without_address = urlsplit(site).netloc.startswith(book.NOBODY)
    return None if without_address else site + path + (there.fragment and f"#{there.fragment}")


def still(explorer: Tag) -> Tag:
    """Return what stands for an explorer: the picture it starts with and its last, or if that is one, its first."""
    pictures, figures = explorer.select("img"), ""
    start = next((number for number, picture in enumerate(pictures) if not picture.has_attr("hidden")), 0)
    for picture in (pictures[start], pictures[-1]) if start < len(pictures) - 1 else (pictures[0], pictures[-1]):
        source, value = escape(picture["src"]), escape(picture["alt"])
        figures += f'<figure><img src="{source}" alt="{value}"><figcaption>{value}</figcaption></figure>'
    return BeautifulSoup(f'<div class="explorer-still">{figures}</div>', "html.parser").div


def article(html: str, page: str, pages: list[str], site: str) -> Tag:
    """Return a page's text as a section of the printed document: names, links and pictures are seen from there."""
    section = BeautifulSoup(html, "html.parser").select_one("article.bd-article > section")
    folder = page.split("/")[0]
    for explorer in section.select(".explorer"):
        explorer.replace_with(still(explorer))
    for linked in section.select("a.picture"):
        linked.unwrap()
    for left_out in section.select(", ".join([SCREEN_ONLY, *filter(None, [NOT_PRINTED.get(folder)])])):
        left_out.decompose()
    for fold in section.select("details"):
        fold["open"] = ""
    for named in (section, *section.select("[id]")):
        named["id"] = label(page, named["id"])
    for link in section.select("a[href]"):
        if leads := target(page, link["href"], pages, site):
            link["href"] = leads
        else:
            link.unwrap()
    for picture in section.select('img[src]:not([src^="data:"])'):
        picture["src"] = posixpath.normpath(posixpath.join(posixpath.dirname(page), picture["src"]))
    section.name, section["class"] = "div", ["printed"]
    section.insert(0, BeautifulSoup(f'<a id="{label(page)}"></a>', "html.parser"))
    section["style"] = f"page: {label(page)}"
    return section


def title(heading: Tag) -> str:
    """Return a heading's text."""
    return " ".join(heading.get_text().split())


def running_heads(sections: dict[str, Tag]) -> str:
    """Return the rules that put a page's title at the head of its sheets."""
    rules = []
    for page, section in sections.items():
        text = title(section.h1).replace("\\", "").replace('"', "'")
        rules.append(f'@page {label(page)} {{ @top-right {{ content: "{text}"; }} }}')
    return "\n".join(rules)


def entries(sections: dict[str, Tag]) -> list[tuple[str, str, str]]:
    """Return what the contents list, each a kind, a place and a title: pages, and the sections of chapters."""
    listed = []
    for page, section in sections.items():
        for heading in section.select("h1, h2") if page.startswith("chapters/") else [section.h1]:
            kind, place = ("page", label(page)) if heading.name == "h1" else ("section", heading.parent["id"])
            listed.append((kind, place, title(heading)))
    return listed


def contents(listed: list[tuple[str, str, str]]) -> str:
    """Return the table of contents, with a place for each number."""
    line = '<a class="contents-{}" href="#{}"><span>{}</span><span data-place="{}"></span></a>'
    return "\n".join(line.format(kind, place, escape(text), place) for kind, place, text in listed)


def document(sections: dict[str, Tag], styles: str) -> str:
    """Return the document that is printed, from the texts of its pages and the links to their style sheets."""
    style = Path(__file__).with_suffix(".css").read_text(encoding="utf8")
    name, about = (escape(part.get_text()) for part in next(iter(sections.values())).select("h1, p")[:2])
    maths = '<script src="mathjax/es5/tex-mml-chtml.js"></script>'
    options = '<script>MathJax = {options: {processHtmlClass: "math"}};</script>'
    return f"""<!DOCTYPE html>
<html lang="en" data-theme="light"><head><meta charset="utf-8"><title>{name}</title>
{styles}<style>{style}{running_heads(sections)}</style>{options}{maths}</head>
<body class="tex2jax_ignore mathjax_ignore"><article class="bd-article">
<div class="cover"><p class="cover-title">{name}</p><p><em>{about}</em></p><p>{NOTE}</p></div>
<nav><p class="contents-title">Contents</p>{contents(entries(sections))}</nav>
{"".join(str(section) for section in sections.values())}
</article></body></html>"""


def sheets(pdf: Path) -> dict[str, int]:
    """Return on which sheet, from 1, each place falls that a link leads to."""
    reader = PdfReader(pdf)
    places = reader.named_destinations
    return {name.lstrip("/"): reader.get_destination_page_number(place) + 1 for name, place in places.items()}


def bookmark(pdf: Path, listed: list[tuple[str, str, str]]) -> None:
    """Give a file the bookmarks that its contents list, a chapter's sections below it."""
    numbers, writer, above = sheets(pdf), PdfWriter(clone_from=pdf), None
    for kind, place, text in listed:
        below = above if kind == "section" else None
        mark = writer.add_outline_item(title=text, page_number=numbers[place] - 1, parent=below)
        above = mark if kind == "page" else above
    writer.write(pdf)


def print_pages(address: str, pdf: Path) -> None:
    """Print one document, and again with the numbers of its sheets in its contents.

    Raises:
        SystemExit: Chromium is not installed.
    """
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium:
        raise SystemExit("make pdf needs Chromium, which prints the book. On Debian or Ubuntu: apt install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.set_default_timeout(LIMIT)
        page.goto(address, wait_until="load")
        page.evaluate(SETTLED)
        for _ in range(2):
            page.pdf(path=pdf, prefer_css_page_size=True, print_background=True, tagged=True)
            page.evaluate(NUMBER, sheets(pdf))
        browser.close()


def main() -> None:
    """Print the book."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", help="print these alone, such as chapters/04-vanishing-gradients")
    every = printed(book.contents(student=True))
    pages = parser.parse_args().pages or every
    html, into = book.BUILD / "html", book.BUILD / "unrolled.pdf"
    site = yaml.safe_load((book.ROOT / "_config.yml").read_text(encoding="utf8"))["html"]["baseurl"]
    files = {page: html / f"{page}.html" for page in pages}
    sections = {page: article(file.read_text(encoding="utf8"), page, pages, site) for page, file in files.items()}
    front = (html / f"{every[0]}.html").read_text(encoding="utf8")  # it stands where the document will
    styles = "\n".join(re.findall(r'<link[^>]*rel="stylesheet"[^>]*>', front))
    printable = html / DOCUMENT
    printable.write_text(document(sections, styles), encoding="utf8")
    print_pages(printable.resolve().as_uri(), into)
    printable.unlink()
    bookmark(into, entries(sections))
    print(f"The printed book: {into}", flush=True)


if __name__ == "__main__":
    main()

"""What a first visit to a page loads, in bytes as a server sends them: text gzipped, pictures and fonts as they are.

MathJax, with its fonts, is left out.
"""

from __future__ import annotations

import functools
import gzip
import http.server
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from urllib.parse import unquote, urlsplit

SITE = Path(__file__).resolve().parent.parent / "_build" / "html"
GZIPPED = {".css", ".html", ".js", ".json", ".svg"}
KINDS = ("chapters", "exercises", "solutions", "pages")  # the folders of pages; the rest is of the kind "other"
AT_MOST = {"chapters": 450_000, "pages": 460_000}  # bytes, MathJax apart; the playground has nine photographs
MEDIAN = {"chapters": 330_000}
ANY_OTHER = 450_000
# What an explorer or a demonstration loads when it comes into sight is counted apart.
IN_SIGHT = re.compile(r"^browser/.*\.js$|^explorers/")
FORMULAS = "mathjax/"  # the same scripts and fonts for all pages; they are not counted
WIDTH = 44
# Scripts, stylesheets, fonts and pictures; MathJax asks for its fonts while it sets formulas.
LOADED = """async () => {
    await window.MathJax?.startup?.promise;
    await document.fonts.ready;
    return [location.href, ...performance.getEntriesByType("resource").map((entry) => entry.name)];
}"""


def sent(path: Path) -> int:
    """Return the bytes that a server sends for a file."""
    content = path.read_bytes()
    return len(gzip.compress(content, mtime=0)) if path.suffix in GZIPPED else len(content)


def kind(name: str) -> str:
    """Return a page's kind: its folder, or "other"."""
    folder = name.partition("/")[0]
    return folder if folder in KINDS else "other"


def limit(name: str) -> int:
    """Return how many bytes a first visit to a page may load, besides formulas, explorers and demonstrations."""
    return AT_MOST.get(kind(name), ANY_OTHER)


def weigh(page, site: Path) -> tuple[int, int]:
    """Return what a page that is open in a browser has loaded, in bytes: always, then in sight.

    Args:
        page: Playwright's page, at an address below which the site is served.
        site: the folder that is served.
    """
    always = in_sight = 0
    for name in {unquote(urlsplit(address).path).lstrip("/") for address in page.evaluate(LOADED)}:
        if (file := site / name).is_file() and not name.startswith(FORMULAS):
            apart = bool(IN_SIGHT.search(name))
            always += 0 if apart else sent(file)
            in_sight += sent(file) if apart else 0
    return always, in_sight


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve a folder on this machine, and yield its address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def visits(site: Path, quick: bool) -> dict[str, tuple[int, int]]:
    """Return the weight of every page, or with `quick` of one of each kind: on a desk, before anything is scrolled."""
    from playwright.sync_api import sync_playwright

    paths = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
    ahead = 'http-equiv="Refresh"'  # the front of the site leads to the first page
    names = [str(path.relative_to(site))[:-5] for path in paths if ahead not in path.read_text("utf8")[:200]]
    names = list({kind(name): name for name in names}.values()) if quick else names
    weights = {}
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with served(site) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name in names:
            page = browser.new_page(viewport={"width": 1280, "height": 900})  # a fresh one has no cache
            page.goto(f"{address}/{name}.html", wait_until="load")
            weights[name] = weigh(page, site)
            page.close()
        browser.close()
    return weights


def table(weights: dict[str, tuple[int, int]]) -> Iterator[str]:
    """Yield the lines of the table: a kind's pages, the median, the heaviest, and what came in sight, in kilobytes."""
    yield f"{'pages':{WIDTH}}{'median':>8}{'heaviest':>10}{'limit':>7}{'in sight':>10}"
    for group in dict.fromkeys(kind(name) for name in sorted(weights)):
        own = {name: weight for name, weight in weights.items() if kind(name) == group}
        heaviest = max(own, key=own.get)
        middle, apart = median(always for always, _ in own.values()), max(apart for _, apart in own.values())
        most = own[heaviest][0]
        title = f"{group} ({len(own)}; {heaviest.rpartition('/')[2]})"
        over = "  OVER" if most > limit(heaviest) else ""
        kilobytes = f"{middle / 1e3:8.0f}{most / 1e3:10.0f}{limit(heaviest) / 1e3:7.0f}{apart / 1e3:10.0f}"
        yield f"{title:{WIDTH}}{kilobytes}{over}"

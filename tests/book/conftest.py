"""The built pages, open in a browser whose network is cut: what a page asks another host for fails its test."""

import functools
import http.server
import threading

import pytest

from screens import SCREENS


@pytest.fixture(scope="module")
def own(html):
    """The built pages, where they bring their own scripts: without npm they load them from public networks."""
    if not (html / "mathjax").is_dir():
        pytest.skip("npm was missing when the pages were built, so with the network cut they cannot be tried")
    return html


@pytest.fixture(scope="module")
def site(own):
    """The address of the built pages, served from this machine."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=own))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture
def visit(browser, site):
    """A function that opens a page; after the test, what the pages complained of or asked strangers for fails it."""
    contexts, faults = [], []

    def opened(name, screen="desktop", theme="light"):
        width, height = SCREENS[screen]
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: faults.append(f"console: {said.text}") if said.type == "error" else None)
        page.on("pageerror", lambda error: faults.append(f"script: {error}"))
        page.on("response", lambda got: faults.append(f"{got.status}: {got.url}") if got.status >= 400 else None)

        def gate(route):
            if route.request.url.startswith((site, "data:", "blob:")):
                return route.continue_()
            faults.append(f"asked another host: {route.request.url}")
            return route.abort()

        page.route("**/*", gate)
        page.goto(f"{site}/{name}.html", wait_until="load")
        page.wait_for_function("!window.MathJax || !MathJax.startup || MathJax.startup.promise.then(() => true)")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == []

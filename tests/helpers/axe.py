"""axe, which checks an open page against the rules of WCAG: fetched by npm once, at a version with a known hash."""

from pathlib import Path

import pytest

import vendor
from places import ROOT

PACKAGES = {
    "axe-core@4.14.1": (
        "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745",
        {"axe.min.js": "axe.min.js"},
    )
}
# What MathJax makes of a formula is its own, and there are tens of thousands of boxes of it in a chapter: a head that
# is a formula is not empty.
RUN = """() => axe.run({ exclude: ["mjx-container"] }, { resultTypes: ["violations"] }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes
        .filter(({ target }) => id !== "empty-table-header" || !document.querySelector(target + " mjx-container"))
        .map(({ target, html }) => `${id}: ${target} ${html.slice(0, 200)}`)))"""


def load(page) -> None:
    """Put axe into a page that is open in Playwright; without npm the test is skipped."""
    try:
        script: Path = vendor.fetch(ROOT / "_build" / "axe", PACKAGES) / "axe.min.js"
    except vendor.VendorError as error:
        pytest.skip(f"axe could not be had: {error}")
    page.evaluate(script.read_text(encoding="utf8"))


def violations(page) -> list[str]:
    """Return a line for each place of the page as it is now that breaks a rule: the rule, where, and the HTML."""
    return page.evaluate(RUN)

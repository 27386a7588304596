"""The decks: made of what the chapters say, whole without a network, and with nothing that leaves its slide."""

import re

import pytest

pytestmark = pytest.mark.book
LEFT = r".{,30}(?:\{\w+\}`|\]\([\w./-]+\.(?:ipynb|md|html)|\*\*|fig-|eq-).{,30}"  # of a notebook's markup
CROWDED = """() => {
    const slide = document.querySelector("section.present .slide"), picture = slide.querySelector("img");
    return slide.scrollHeight > 720 || slide.scrollWidth > 1280 || slide.querySelector("mjx-merror")
        || /\\\\[([]/.test(slide.innerText) || (picture && !picture.naturalWidth);
}"""


def test_every_slide_of_every_deck_can_be_read_without_a_network(browser, html):
    if not (decks := sorted((html / "slides").glob("*.html"))):
        pytest.skip("npm was missing when the pages were built, so there are no decks")
    context = browser.new_context(viewport={"width": 1280, "height": 720}, offline=True)
    page, faults = context.new_page(), []
    page.on("requestfailed", lambda request: faults.append(request.url))
    page.on("pageerror", lambda error: faults.append(str(error)))
    for deck in decks:
        page.goto(deck.as_uri())
        page.wait_for_function("window.Reveal && Reveal.isReady()")
        count = page.evaluate("Reveal.getTotalSlides()")
        words = page.evaluate("document.querySelector('.slides').textContent")
        assert count > 8 and re.findall(LEFT, words) == [], deck.name
        crowded = [n for n in range(count) if page.evaluate(f"Reveal.slide({n})") or page.evaluate(CROWDED)]
        assert crowded == [], f"{deck.name}: {[n + 1 for n in crowded]} of {count}"
    context.close()
    assert faults == []

"""Each demonstration once in a browser: it runs, its controls have names, it fits a phone, nothing is thrown."""

import html
import re
import shutil
from pathlib import Path

import pytest

import unrolled
from unrolled.figures import demonstration, live
from unrolled.models import LanguageModel
from unrolled.text import Vocabulary

expect = pytest.importorskip("playwright.sync_api", reason="Playwright opens the pages (pip install playwright)").expect
BROWSER = Path(unrolled.__file__).parent / "figures" / "browser"
ROOT = Path(__file__).resolve().parents[2]
NAMELESS = """figure => [...figure.querySelectorAll("button, input, select, textarea, svg[role=img], [role=group]")]
    .filter((each) => !(each.ariaLabel || each.labels?.length || (each.matches("button") && each.textContent.trim())))
    .map((each) => each.outerHTML.slice(0, 80))"""
SMALL = {"units": 3, "rate": 0.01, "start": {}}
LAGS = {5: {"tanh": {"core": "rnn", **SMALL}, "LSTM": {"core": "lstm", **SMALL}}}
GIVEN = {  # what chapters give, here so small that a training ends soon
    "learns": {"text": "once upon a time\n" * 150, "settings": {"updates": 900, "every": 300, "order": 3, "units": 16}},
    "latches": {"lags": LAGS, "lag": 5, "settings": {"updates": 900, "every": 300, "scored": 1}},
}


def data(name: str) -> dict:
    """Return what a demonstration is given, settings that are not given as they are."""
    given = GIVEN.get(name, {})
    return given | {"settings": live.descriptions()[name]["data"]["settings"] | given["settings"]} if given else given


def says(page, words: str, where: str = ".pg-score"):
    """Wait until some place on the page says what these words, a regular expression, describe."""
    expect(page.locator(where).last).to_contain_text(re.compile(words))


def race(page):
    page.get_by_role("button", name="Pause").wait_for()  # in sight, it begins by itself
    page.get_by_role("button", name="Ben").click()
    words = len(live.descriptions()["race"]["data"]["words"])
    slider = page.get_by_role("slider")
    slider.fill(str(words - 3))
    expect(page.locator(".pg-race rect")).to_have_count(3 * (words - 3))
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".pg-race rect")).to_have_count(3 * words)
    says(page, r"^30 words after the last Ben, .* RNN .*, LSTM .*, GRU .*%")
    expect(page.locator(".pg-badge")).to_have_count(3 * 3)
    tall = float(page.locator(".pg-of-gru").last.get_attribute("height"))
    assert tall == pytest.approx(38 * live.descriptions()["race"]["data"]["heroes"]["Ben"]["chances"]["gru"][-1] / 1e4)


def guesses(page):
    field = page.get_by_label("next letter")
    for letter in "tUcRxiaeah7":
        if field.count():
            field.type(letter)
    says(page, "You were right in 5 of 10 places", ".pg-result")
    expect(page.locator(".pg-losses li")).to_have_count(4)
    page.get_by_role("button", name="Again").click()
    expect(page.locator(".pg-text")).to_have_text("Once upon a ")


def writes(page):
    for _ in range(3):
        page.get_by_role("button", name="Step").click()
    expect(page.locator(".pg-written")).to_have_count(3)
    expect(page.locator(".pg-bars li")).to_have_count(8)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".pg-written")).to_have_count(2)
    page.get_by_label("top-k").fill("0")
    expect(page.locator(".pg-bars li.pg-cut")).to_have_count(7)
    says(page, "A beam of 4 would write: ")
    page.get_by_label("it begins").fill("Zorro was")
    expect(page.locator(".pg-unknown")).to_have_text("Zorro")
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".pg-written").nth(4)).to_be_visible()


def looks(page):
    page.get_by_label("or", exact=True).select_option("24.6.1987")
    expect(page.locator(".pg-target")).to_have_text("1987-06-24■")
    page.locator(".pg-target button").nth(8).click()
    shares = page.locator(".pg-source span").evaluate_all("all => all.map(e => +e.style.getPropertyValue('--share'))")
    assert shares.index(max(shares)) == 0  # the first digit of the day
    page.get_by_label("weights").select_option("shuffled among the places")
    expect(page.locator(".pg-target")).not_to_have_text("1987-06-24■")


def trains(page):
    page.get_by_role("button", name="Step").click()
    says(page, "after 0 updates|Update 0 of 900")
    page.get_by_role("button", name="Train").click()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Train")).to_be_enabled()
    page.get_by_role("button", name="Train").click()
    expect(page.get_by_role("button", name="Train")).to_be_disabled(timeout=30_000)
    says(page, "after 900 updates|Update 900 of 900")
    page.get_by_role("button", name="Start again").click()
    says(page, "Press Train")


def learns(page):
    trains(page)
    page.get_by_label("your text").fill("too short")
    expect(page.get_by_role("button", name="Train")).to_be_disabled()


def keeps(page):
    for _ in range(3):
        page.get_by_role("button", name="Next step").click()
    says(page, "Step 4 of 6, b: of 3.00 the forget gate keeps 3.00, the input gate adds −1.00")
    page.get_by_label("f, forget gate").fill("0.5")
    expect(page.locator(".pg-formulas")).to_contain_text("= 0.50 · 3.00 + 1.00 · (−1.00) = 0.50")
    says(page, "= 1.00 · 0.46 = 0.46", ".pg-formulas")
    page.get_by_label("task").select_option("write, ignore, read")
    says(page, "The cell holds 0.90 and shows 0.00.")


def eigenvalue(page):
    page.get_by_role("button", name="explodes").click()
    says(page, "Radius 1.05, angle 0°: after 14.2 steps the state is twice as long")
    box = page.locator(".pg-circle").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2 * (1 - 0.8 / 1.3))
    says(page, r"Radius 0\.(79|80|81), angle (89|90|91)°")


USES = {"race": race, "guesses": guesses, "writes": writes, "looks": looks, "learns": learns, "eigenvalue": eigenvalue}
USES |= {"latches": trains, "keeps": keeps, "your own": lambda page: page.get_by_role("button", name="Step").click()}


@pytest.mark.parametrize("name", USES)
def test_a_demonstration_runs_in_a_browser(name, browser, tmp_path):
    faults, page = [], browser.new_page(viewport={"width": 360, "height": 780})
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    shutil.copytree(BROWSER, tmp_path / "browser")
    shutil.copytree(ROOT / "figures" / "demonstrations", tmp_path / "browser", dirs_exist_ok=True)
    figure = live.figure(name, **data(name)) if name in live.descriptions() else "<main></main>"
    if name == "your own":  # as a notebook shows it
        figure = demonstration(LanguageModel(3, hidden_size=4, core="lstm"), Vocabulary("abc"))._repr_html_()
    (tmp_path / "index.html").write_text(f'<!doctype html><meta charset="utf-8">{figure}', encoding="utf8")
    page.goto((tmp_path / "index.html").as_uri())
    inside = page.frame_locator("iframe") if name == "your own" else page
    inside.locator("figure[data-ready]").wait_for()
    USES[name](inside)
    assert inside.locator("figure").evaluate(NAMELESS) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()
    assert faults == []


def test_the_page_shows_all_that_need_no_chapter_and_each_has_its_picture():
    page = (ROOT / "pages" / "playground.md").read_text(encoding="utf8")
    shown = re.findall(r"^:file: \.\./figures/demonstration-(\w+)\.html$", page, re.MULTILINE)
    assert shown == live.with_pictures() and set(USES) == {*live.descriptions(), "your own"}
    assert {path.stem for path in (ROOT / "figures" / "demonstrations").iterdir()} == set(shown)
    assert all(html.escape(live.descriptions()[name]["alt"]) in live.figure(name) for name in shown)

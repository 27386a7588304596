"""The reader trains: on a page opened from disk, in a notebook, with workers and without, with any text."""

import json
import re

import pytest
from playwright.sync_api import expect

import axe
from unrolled import figures, ngram
from unrolled.figures import live
from unrolled.measure import token_nats
from unrolled.text import Vocabulary, stories

TEXT = stories.corpus(5_000, seed=0).text
SMALL = {"units": 8, "batch": 4, "steps": 8, "rate": 0.02, "limit": 1.0, "updates": 400, "every": 20}
LETTERS = {"text": TEXT, "settings": SMALL | {"order": 3, "symbols": 120, "sample": 30}}
TANH = {"core": "rnn", "units": 16, "rate": 0.004, "start": {"initialisation": "orthogonal"}}
GATED = {"core": "lstm", "units": 12, "rate": 0.02, "start": {"forget_bias": 3.0, "input_bias": -2.0}}
LAGS = {
    "lag": 20,
    "lags": {lag: {"tanh": TANH, "LSTM": GATED} for lag in (5, 20)},
    "settings": {"batch": 8, "limit": 1.0, "updates": 200, "every": 20, "scored": 4},
}
SHOWN = {"learns": LETTERS, "latches": LAGS}
NO_WORKERS = {
    "refused": "window.Worker = class { constructor() { throw new Error('no workers'); } };",
    "silent": """window.Worker = class {
        constructor() { setTimeout(() => this.onerror({ message: "forbidden", preventDefault() {} }), 50); }
        postMessage() {}
        terminate() {}
    };""",
}


@pytest.fixture
def shown(opened):
    """Return a function that opens a demonstration with its data, or with other data."""

    def open_page(name: str, script: str = "", data: dict | None = None, **options):
        return opened(name, SHOWN[name] | (data or {}), script, **options)

    return open_page


def press(page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def status(page):
    return page.locator(".pg-score").last


def update(page) -> int:
    """Return the update that the figure of letters has come to."""
    found = re.search(r"Update ([\d,]+) of", status(page).inner_text())
    return int(found[1].replace(",", "")) if found else 0


def trained(page) -> None:
    """Wait until a training is over."""
    expect(page.get_by_role("button", name="Train")).to_be_disabled(timeout=60_000)


@pytest.mark.parametrize("workers", [None, *NO_WORKERS])
@pytest.mark.parametrize("name", SHOWN)
def test_it_trains_to_its_end_with_workers_and_in_slices_without(shown, name, workers):
    page = shown(name, NO_WORKERS.get(workers, ""))
    if name == "latches":
        page.get_by_label("lag", exact=True).press("Home")
    press(page, "Train")
    trained(page)
    if name == "learns":
        assert update(page) == 400
        costs = re.search(r"costs (\d\.\d\d) nats", status(page).inner_text())
        assert float(costs[1]) < 2.9  # it began at ln 46 = 3.8
    else:
        assert "after 200 updates" in status(page).inner_text() or "99 of 100" in status(page).inner_text()


def test_slices_leave_the_page_awake(shown):
    """Nothing that the page does while it learns without a worker takes much longer than a slice, or an update."""
    watch = """window.longest = 0;
        let last = performance.now();
        setInterval(() => { const now = performance.now(); longest = Math.max(longest, now - last); last = now; });"""
    settings = LETTERS["settings"] | {"units": 96, "batch": 8, "steps": 32}
    page = shown("learns", NO_WORKERS["refused"] + watch, {"settings": settings})
    page.evaluate("longest = 0")
    press(page, "Train")
    page.wait_for_timeout(3_000)
    assert page.evaluate("longest") < 300  # twenty milliseconds, on a machine that has other work, too


def test_a_step_is_one_update_and_the_curve_is_what_it_says(shown):
    page = shown("learns")
    assert page.locator("polyline").count() == 0
    press(page, "Step")
    expect(status(page)).to_contain_text("Update 0 of 400")
    for number in (1, 2, 3):
        press(page, "Step")
        expect(status(page)).to_contain_text(f"Update {number} of 400")
    expect(page.locator("polyline").first).to_have_attribute("points", re.compile(r"^(\S+ ){3}\S+$"))
    vocabulary = Vocabulary(TEXT)
    tokens = vocabulary.encode(TEXT)
    cut = int(0.9 * len(tokens))
    end = cut + (len(tokens) - cut) // 4 * 4
    counts = ngram.Counts(tokens[:cut], len(vocabulary), 3)
    paid = token_nats(ngram.KneserNey(counts, 3), tokens[:end], streams=1)[cut - end :].mean()
    assert f"the 3-gram pays {paid:.2f}." in status(page).inner_text()
    assert page.locator("svg[role=img]").get_attribute("aria-label") == f"Line chart. {status(page).inner_text()}"
    expect(page.locator("[aria-live]")).to_contain_text("It writes: ")
    press(page, "Start again")
    expect(page.locator("polyline")).to_have_count(0)  # drawn with the browser's next frame
    assert update(page) == 0 and page.locator("dt").count() == 0


def test_train_and_pause_by_keyboard_alone(shown):
    page = shown("learns", data={"settings": LETTERS["settings"] | {"updates": 100_000}})  # it does not end by itself
    button = page.get_by_role("button", name="Train")
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelectorAll('dt').length > 1")
    page.keyboard.press("Enter")
    expect(button).to_be_focused()
    page.wait_for_timeout(300)
    before = update(page)
    page.wait_for_timeout(500)
    assert update(page) == before > 0


def test_it_rests_while_it_is_out_of_sight_and_goes_on_afterwards(shown):
    page = shown("learns", data={"settings": LETTERS["settings"] | {"updates": 100_000}})
    press(page, "Train")
    page.wait_for_function("document.querySelectorAll('dt').length > 1")
    page.evaluate("scrollTo(0, 2500)")
    page.wait_for_timeout(500)
    before = update(page)
    page.wait_for_timeout(700)
    assert update(page) == before
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_function("n => !document.querySelector('figure').textContent.includes(`Update ${n} of`)", arg=before)
    assert page.get_by_role("button", name="Pause").count() == 1


def paste(page, text: str) -> None:
    page.evaluate(
        """text => {
        const clipboardData = new DataTransfer();
        clipboardData.setData("text/plain", text);
        const field = document.querySelector("textarea");
        const event = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
        if (field.dispatchEvent(event)) {  // as a browser does where nobody objects
            field.value = text;
            field.dispatchEvent(new Event("input", { bubbles: true }));
        }
    }""",
        text,
    )


def test_a_pasted_novel_is_cut_and_said_to_be_and_the_page_stays_quick(shown):
    page = shown("learns")
    novel = "It was a dark and stormy night; the rain fell in torrents. " * 20_000
    paste(page, novel)
    said = f"Of {len(novel):,} characters the first 200,000 are read, so that your browser stays quick."
    expect(page.locator(".pg-score").first).to_have_text(said)
    assert len(page.get_by_label("your text").input_value()) == 200_000
    press(page, "Train")
    expect(page.locator(".pg-score").first).to_contain_text("It reads 180,000 characters", timeout=30_000)
    expect(page.locator(".pg-score").first).to_contain_text(said)


def test_a_short_text_is_refused_with_the_remedy(shown):
    page = shown("learns")
    paste(page, "Too short. " * 20)
    note = page.locator(".pg-score").first
    expect(note).to_have_text(
        "220 characters are too few to learn from: paste at least 2,000, about a page, or empty the field for the "
        "book’s stories."
    )
    expect(page.get_by_role("button", name="Train")).to_be_disabled()
    page.get_by_label("your text").fill("")
    expect(note).to_have_text(f"The text has {len(TEXT):,} characters; the last tenth is held out.")
    expect(page.get_by_role("button", name="Train")).to_be_enabled()


def test_a_text_of_letters_that_no_story_has_is_learned_too(shown):
    page = shown("learns")
    paste(page, "".join(chr(0x3041 + n * n % 83) for n in range(2_100)) + "<script>😀</script>" * 10)
    expect(page.locator(".pg-score").first).to_contain_text("2,")
    press(page, "Train")
    trained(page)
    assert update(page) == 400


def test_the_lag_and_the_size_begin_afresh_and_both_curves_are_drawn(shown):
    page = shown("latches")
    press(page, "Train")
    expect(status(page)).to_contain_text("Lag 20, seed 1. tanh: ")
    page.get_by_label("lag", exact=True).press("Home")
    expect(status(page)).to_have_text("Press Train.")
    assert page.get_by_label("lag", exact=True).get_attribute("aria-valuetext") == "5 steps"
    page.get_by_label("tanh units").select_option("16: as many weights")
    press(page, "Train")
    expect(status(page)).to_contain_text("Lag 5, seed 2. tanh: ")
    page.wait_for_function("document.querySelectorAll('polyline').length === 2")


def test_in_a_notebook_it_needs_nothing_beside_it(browser):
    page = browser.new_page()
    page.set_content(figures.demonstration("learns", **LETTERS)._repr_html_())
    frame = page.frames[1]
    frame.wait_for_selector("figure[data-ready]")
    frame.get_by_role("button", name="Step").click()
    expect(frame.locator(".pg-score").last).to_contain_text("Update 0 of 400")
    page.close()


WHOLE = {"landmark-one-main", "page-has-heading-one", "region"}  # what axe asks of a whole page


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", SHOWN)
def test_it_fits_a_phone_and_breaks_no_rule_of_axe(browser, name, theme):
    page = browser.new_page(viewport={"width": 360, "height": 740}, color_scheme=theme)
    page.set_content(figures.demonstration(name, **SHOWN[name]).page)
    page.wait_for_selector("figure[data-ready]")
    axe.load(page)
    for button in (None, "Step", "Train"):
        if button:
            press(page, button)
            page.wait_for_timeout(500)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        assert [line for line in axe.violations(page) if line.split(":")[0] not in WHOLE] == []
    page.close()


def test_no_text_can_end_the_script_that_brings_it():
    figure = live.figure("learns", text="</script><b>")
    assert "</script><b>" not in figure
    data = re.search(r'<script type="application/json">(.*?)</script>', figure, re.DOTALL)[1]
    assert json.loads(data)["text"] == "</script><b>"

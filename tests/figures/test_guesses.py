"""The reader guesses ten letters: the story and its prices are what the library says, and the game is fair."""

import math
import re
import shutil
from itertools import accumulate

import numpy as np
import pytest

import axe
from running import FOLDER
from unrolled import figures, ngram
from unrolled.figures import live
from unrolled.measure import token_nats
from unrolled.text import Vocabulary, stories

expect = pytest.importorskip("playwright.sync_api", reason="Playwright opens the pages (pip install playwright)").expect
DATA = live.descriptions()["guesses"]["data"]
TEXT = "".join(DATA["pieces"])
PLACES = list(accumulate(map(len, DATA["pieces"][:-1])))  # of the letters that are guessed
LETTERS = [TEXT[place] for place in PLACES]


# The story, and what counting models pay for it


@pytest.fixture(scope="module")
def split():
    """The stories that were counted, and those that were held out."""
    return stories.corpus(1_000_000, seed=0).split(0.9)


def test_the_pieces_are_one_story_that_was_held_out(split):
    counted, held_out = split
    assert TEXT in {story.text for story in held_out.stories} - {story.text for story in counted.stories}


def test_ten_letters_are_asked_for_some_within_a_word_and_some_at_its_beginning():
    assert len(LETTERS) == 10 and all(letter.isalpha() for letter in LETTERS)
    within = [TEXT[place - 1].isalpha() for place in PLACES]
    assert 3 <= sum(within) <= 5


def test_the_name_is_asked_for_soon_after_a_mention_and_at_last_far_from_any():
    asked = [place for place in PLACES if TEXT.startswith(DATA["hero"], place)]
    ends = [TEXT.rindex(DATA["hero"], 0, place) + len(DATA["hero"]) for place in asked]
    lags = [place - end for place, end in zip(asked, ends, strict=True)]
    assert min(lags[:-1]) <= 12 and lags[-1] > 60 and asked[-1] == PLACES[-1]
    assert TEXT[ends[-1] : asked[-1]].count(". ") >= 2  # the end of the sentence with the mention, and another's


def test_the_prices_are_those_that_the_library_computes(split):
    counted, vocabulary = split[0], Vocabulary(split[0].text)
    assert DATA["symbols"] == len(vocabulary)
    counts = ngram.Counts(vocabulary.encode(counted.text), len(vocabulary), order=12)
    assert [each["order"] for each in DATA["counting"]] == [3, 6, 12]
    for each in DATA["counting"]:
        model = ngram.KneserNey(counts, each["order"])
        paid = token_nats(model, vocabulary.encode(TEXT), start=vocabulary["\n"], streams=1)[PLACES]
        right = {"nats": paid.mean(), "perplexity": np.exp(paid.mean()), "last": paid[-1]}
        assert each == {"order": each["order"]} | {name: round(float(value), 2) for name, value in right.items()}


# The game


@pytest.fixture(params=["page", "notebook"])
def game(request, browser, tmp_path):
    """The demonstration on a page that is opened from disk with a phone, and in a notebook; a fault fails the test."""
    faults, asked = [], []
    page = browser.new_page(viewport={"width": 360, "height": 640})
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    if request.param == "page":
        shutil.copytree(FOLDER, tmp_path / "browser", ignore=shutil.ignore_patterns("models"))
        (tmp_path / "browser" / "guesses.png").touch()
        head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>game</title>'
        whole = f"{head}<main><h1>game</h1>{live.figure('guesses')}</main>"
        (tmp_path / "index.html").write_text(whole, encoding="utf8")
        page.goto((tmp_path / "index.html").as_uri())
        frame = page.main_frame
    else:
        page.set_content(figures.demonstration("guesses")._repr_html_())
        frame = page.frames[1]
    frame.wait_for_selector("figure[data-ready]")
    yield frame.locator("figure")
    if request.param == "page":
        assert set(asked) == {"index.html", "guesses.png", *(f"{name}.js" for name in PARTS), "page.css"}
    else:
        assert asked == [] and "Unrolled.softmax" not in frame.content()
    assert faults == []
    page.close()


PARTS = ("page", "elements", "guesses")  # no engine


def paid(right: int, places: int = 10) -> float:
    """Return what a model pays that is right so often and as sure as that, in nats a letter."""
    p = right / places
    first, other = (share * -math.log(each) if share else 0.0 for share, each in ((p, p), (1 - p, (1 - p) / 58)))
    return first + other


def play(game, guesses) -> None:
    """Type one guess after another; the field keeps the focus."""
    game.get_by_label("next letter").focus()
    for guess in guesses:
        game.page.keyboard.press(guess)


def you(game) -> list[str]:
    """Return the row of the table that has the reader's own prices."""
    return game.locator("tbody tr").first.locator("td").all_inner_texts()


def test_a_perfect_game_is_played_by_keyboard_alone(game):
    text, score = game.locator(".pg-text"), game.locator("[aria-live=polite]")
    before = score.inner_text()
    assert before == "Type the letter that comes next. There are ten to guess."
    assert text.inner_text().strip() == DATA["pieces"][0].strip()
    for number, (letter, piece) in enumerate(zip(LETTERS, DATA["pieces"][1:], strict=True), start=1):
        play(game, letter.swapcase())  # either case of a letter will do
        expect(text).to_contain_text(piece.strip())
        heard = score.text_content()
        assert heard.startswith(f"✓ It is {letter}. {number} of {number} right.") and (piece in heard) == (number < 10)
    assert text.inner_text() == TEXT
    assert text.locator(".pg-right").all_inner_texts() == LETTERS and text.locator("del").count() == 0
    result = game.locator(".pg-result")
    expect(result).to_contain_text("You were right in 10 of 10 places.")
    expect(result).to_contain_text("0.00 nats a letter at these places: a perplexity of 1.00")
    expect(result).to_contain_text("At the last place you knew the name")
    expect(result).to_be_focused()
    assert you(game) == ["0.00", "1.00", "0.00"]
    game.page.keyboard.press("Tab")
    expect(game.get_by_role("button", name="Again")).to_be_focused()
    game.page.keyboard.press("Enter")
    assert score.inner_text() == before and game.locator("table").count() == 0
    expect(game.get_by_label("next letter")).to_be_focused()


@pytest.mark.parametrize("wrong", [{2, 5, 6}, {0, 5, 9}, set(range(10))])
def test_what_is_paid_follows_from_how_often_the_reader_was_right(game, wrong):
    play(game, ["q" if number in wrong else letter for number, letter in enumerate(LETTERS)])
    right = 10 - len(wrong)
    nats, perplexity = f"{paid(right):.2f}", f"{math.exp(paid(right)):.2f}"
    result = game.locator(".pg-result").inner_text()
    assert f"You were right in {right} of 10 places." in result and "the other 58 characters" in result
    assert f"It pays {nats} nats a letter at these places: a perplexity of {perplexity}" in result
    last = -math.log((1 - right / 10) / 58 if 9 in wrong else right / 10)
    assert you(game) == [nats, perplexity, f"{last:.2f}"]
    assert ("you knew the name" in result) == (9 not in wrong)
    text = game.locator(".pg-text")
    assert text.locator("del").all_inner_texts() == ["q"] * len(wrong)
    assert text.locator(".pg-wrong").all_inner_texts() == [LETTERS[number] for number in sorted(wrong)]
    score = game.locator("[aria-live=polite]").inner_text()
    assert score.startswith("✗ It is R, not q." if 9 in wrong else "✓ It is R.")


def test_beside_it_stands_what_counting_models_pay(game):
    play(game, LETTERS)
    rows = game.locator("tbody tr")
    assert rows.locator("th").all_inner_texts() == ["as often right as you", "3-gram", "6-gram", "12-gram"]
    for row, each in zip(rows.all()[1:], DATA["counting"], strict=True):
        assert row.locator("td").all_inner_texts() == [f"{each[name]:.2f}" for name in ("nats", "perplexity", "last")]
    result = game.locator(".pg-result").inner_text()
    lag = len(TEXT[: PLACES[-1]].rpartition(DATA["hero"])[2])
    assert f"{lag} characters after its last mention: you had read" in result
    assert f"The 12-gram sees only 11 characters, and paid {DATA['counting'][-1]['last']:.2f} nats there." in result


def test_what_is_no_single_letter_is_no_guess(game):
    field, score = game.get_by_label("next letter"), game.locator("[aria-live=polite]")
    for typed in ("to", "7", " ", "é\u0301"):
        field.fill(typed)
        expect(score).to_have_text("One letter at a time, please.")
        expect(field).to_have_value("")
    field.fill("")
    field.press("Enter")
    expect(score).to_have_text("One letter at a time, please.")
    field.fill("t")
    expect(score).to_contain_text(re.compile(r"^✓ It is t\. 1 of 1 right\."))
    field.fill("uv")
    expect(score).to_have_text("One letter at a time, please. 1 of 1 right.")


WHOLE = {"landmark-one-main", "page-has-heading-one", "region"}  # what axe asks of a whole page


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_fits_a_phone_and_breaks_no_rule_of_axe(browser, theme):
    page = browser.new_page(viewport={"width": 360, "height": 640}, color_scheme=theme)
    page.set_content(figures.demonstration("guesses").page)
    page.wait_for_selector("figure[data-ready]")
    axe.load(page)
    for guesses in ([], [LETTERS[0], "q"], ["q", *LETTERS[3:]]):
        play(page.locator("figure"), guesses)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        assert [line for line in axe.violations(page) if line.split(":")[0] not in WHOLE] == []
    page.close()


def test_a_script_that_does_not_arrive_is_named_and_no_network_is_blamed(browser, tmp_path):
    shutil.copytree(FOLDER, tmp_path / "browser", ignore=shutil.ignore_patterns("models", "guesses.js"))
    (tmp_path / "index.html").write_text(live.figure("guesses"), encoding="utf8")
    page = browser.new_page()
    page.goto((tmp_path / "index.html").as_uri())
    fault = "The script guesses.js did not arrive. The demonstration cannot run here; load the page again"
    expect(page.get_by_role("alert")).to_contain_text(fault)
    page.close()


def test_it_may_come_before_the_networks_and_after_them(browser, tmp_path):
    shutil.copytree(FOLDER, tmp_path / "browser")
    for names in (("guesses", "looks"), ("looks", "guesses")):
        shown = "".join(live.figure(name) for name in names)
        (tmp_path / "index.html").write_text(f'<meta charset="utf-8">{shown}', encoding="utf8")
        page = browser.new_page()
        page.goto((tmp_path / "index.html").as_uri())
        for name in names:
            expect(page.locator(f"figure[data-show={name}]")).to_have_class("demonstration pg-lives")
        page.close()


def test_without_scripts_there_are_the_gaps_and_the_letters_to_unfold(browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.set_content(live.figure("guesses"))
    assert (
        page.locator("p").inner_text().count("_") == 10 and DATA["pieces"][0].strip() in page.locator("p").inner_text()
    )
    folded = page.locator("details")
    expect(folded).not_to_have_attribute("open", "")
    assert folded.text_content() == "The letters" + ", ".join(LETTERS)
    context.close()

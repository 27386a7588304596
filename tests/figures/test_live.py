"""Demonstrations as a cell shows it and as a page has them: what a reader types, chooses and hears."""

import json
import re
import shutil

import pytest
import torch

from running import (
    FOLDER,
    LETTERS,
    SOURCES,
    TARGETS,
    half_lives,
    in_python,
    influence,
    lively,
    rewriter,
    rewritten,
    sign_changes,
)
from unrolled import figures
from unrolled.decoding import beam_search
from unrolled.figures import live
from unrolled.figures.weights import weights_script
from unrolled.models import FixedWindowLM, LanguageModel, ResidualLM
from unrolled.text import Vocabulary, WordVocabulary

expect = pytest.importorskip("playwright.sync_api", reason="Playwright opens the pages (pip install playwright)").expect
WORDS = WordVocabulary(["\n", "the", "cat", "Ada", "Ben", "saw", "a", "dog", ".", ",", "said", '"', "'s"])


# What is refused, and how


@pytest.mark.parametrize(
    "model, vocabulary, message",
    [
        (FixedWindowLM(3, window=2), "abc", "of RNN, LSTM or GRU cells, and this is FixedWindowLM; make it with core="),
        (LanguageModel(3, core="torch-lstm"), "abc", "this has nn.LSTM; make it with core='rnn', 'lstm' or 'gru'"),
        (LanguageModel(3, core="lstm-1997"), "abc", "and this has OriginalLSTMCell; make it with core="),
        (ResidualLM(3, num_layers=2), "abc", "and this is ResidualLM; make it with"),
        (LanguageModel(3, core="gru", cell_options={"reset": "after"}), "abc", "the book's, with reset='before'"),
        (LanguageModel(3, cell_options={"nonlinearity": "identity"}), "abc", "nonlinearity is 'identity'; a page"),
        (LanguageModel(3), "abcd", "the vocabulary has 4 symbols and the model 3; give the vocabulary"),
        (LanguageModel(3, hidden_size=1000), "abc", r"the model has 1,\d+,\d+ weights; a page takes 1,000,000 at most"),
    ],
)  # fmt: skip
def test_what_cannot_run_in_a_page_is_refused_with_the_remedy(model, vocabulary, message):
    with pytest.raises(ValueError, match=message):
        figures.demonstration(model, Vocabulary(vocabulary))


@pytest.mark.parametrize(
    "options, vocabularies, message",
    [
        ({}, SOURCES, r"needs two vocabularies, and this is Vocabulary; give the pair \(sources, targets\)"),
        ({}, (TARGETS, TARGETS), "the vocabulary of the sources has 13 symbols and the model 11; give the"),
        ({}, (SOURCES, SOURCES), "the vocabulary of the targets has 11 symbols and the model 13; give the"),
        ({"attention": "additive"}, (SOURCES, TARGETS), "not scaled; a page runs a model that has"),
        ({"attention": "dot"}, (SOURCES, TARGETS), "the attention is not scaled"),
        ({"num_layers": 2}, (SOURCES, TARGETS), "num_layers is 2; a page runs an encoder–decoder of one layer"),
    ],
)  # fmt: skip
def test_an_encoder_decoder_that_cannot_run_in_a_page_is_refused_with_the_remedy(options, vocabularies, message):
    with pytest.raises(ValueError, match=message):
        figures.demonstration(rewriter("gru", **options), vocabularies)


def test_a_demonstration_that_the_book_lacks_is_refused_with_those_that_it_has():
    with pytest.raises(
        ValueError, match="the book has no demonstration 'expect'; it has race, guesses, expects, remembers"
    ):
        figures.demonstration("expect")


def test_a_weight_beyond_16_bits_is_refused():
    model = LanguageModel(3, hidden_size=4)
    model.output.bias.data[1] = 1e6
    with pytest.raises(ValueError, match=r"a weight is 1e\+06; 16 bits hold 65,504 at most"):
        figures.demonstration(model, Vocabulary("abc"))


def test_no_symbol_ends_the_script_that_brings_it():
    vocabulary = WordVocabulary(["</script>", "<!--", "a"])
    shown = figures.demonstration(LanguageModel(len(vocabulary), hidden_size=4), vocabulary)
    parts = len(["expects", "writes", "page", "the weights"])
    assert shown.page.count("</script>") == shown.page.count("<script>") == len(live.SCRIPTS) + parts


def test_a_page_of_a_large_model_is_as_large_as_its_weights():
    model = LanguageModel(len(LETTERS), hidden_size=400, core="lstm")
    assert sum(p.numel() for p in model.parameters()) > 690_000
    assert len(figures.demonstration(model, LETTERS)._repr_html_()) < 2.1e6


# A page of its own, as in a notebook


@pytest.fixture
def shown(browser):
    """A function that shows a model as a cell does; what the page complains of or asks for fails the test."""
    contexts, faults = [], []

    def show(model, vocabulary, **settings):
        context = browser.new_context(viewport={"width": 760, "height": 900}, **settings)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: faults.append(request.url))
        page.set_content(f"<body>{figures.demonstration(model, vocabulary)._repr_html_()}</body>")
        frame = page.frames[1]
        frame.wait_for_selector("figure[data-ready]")
        return page, frame

    yield show
    for context in contexts:
        context.close()
    assert faults == []


def figure(frame, name):
    """Return a demonstration of a page, in sight and ready."""
    shown = frame.locator(f"figure[data-show={name}]")
    shown.scroll_into_view_if_needed()
    expect(shown).to_have_attribute("data-ready", "")
    return shown


def probabilities(model, vocabulary, text):
    """Return what a model expects after a text that begins after a line break, the most probable first."""
    with torch.no_grad():
        p = model(
            vocabulary.encode(["\n", *text])[None] if isinstance(text, list) else vocabulary.encode("\n" + text)[None]
        )
    p = p[0][0, -1].softmax(dim=-1)
    return [(vocabulary.symbols[number], float(p[number])) for number in p.argsort(descending=True)]


def test_what_is_typed_is_read_and_what_is_expected_is_said(shown):
    model = lively("gru")
    _, frame = shown(model, LETTERS)
    expects = figure(frame, "expects")
    expects.get_by_label("your text").fill("a quick")
    best = probabilities(model, LETTERS, "a quick")
    rows = expects.locator(".pg-bars li")
    expect(rows).to_have_count(8)
    for row, (symbol, p) in zip(rows.all(), best, strict=False):
        assert row.locator(".pg-symbol").inner_text() == {" ": "␣", "\n": "¶"}.get(symbol, symbol)
        number = row.locator(".pg-number").inner_text().removesuffix(" %")
        assert number == "< 0.1" if p < 0.0005 else abs(float(number) - 100 * p) < 0.51
    expect(expects.locator("[aria-live=polite]")).to_contain_text(re.compile(r"Most probable next: \S+ \S+ %, \S+ \S+"))
    spans = expects.locator(".pg-text span")
    expect(spans).to_have_count(7)
    first = float(-torch.tensor(dict(probabilities(model, LETTERS, ""))["a"]).log())
    assert f"{first:.2f} nats" in spans.first.get_attribute("title")


def test_a_symbol_that_the_vocabulary_lacks_is_shown_as_such(shown):
    _, frame = shown(lively("rnn"), LETTERS)
    expects = figure(frame, "expects")
    expects.get_by_label("your text").fill("naïve")
    unknown = expects.locator(".pg-unknown")
    expect(unknown).to_have_text("ï")
    assert unknown.get_attribute("title") == "ï: not in the vocabulary"
    assert "Underlined: 1 character that the vocabulary lacks." in expects.locator(".pg-score").inner_text()
    known = [row.inner_text() for row in expects.locator(".pg-bars li").all()]
    expects.get_by_label("your text").fill("nave")  # it was not read
    assert [row.inner_text() for row in expects.locator(".pg-bars li").all()] == known


def test_a_word_that_is_being_typed_is_not_read_before_it_is_one(shown):
    _, frame = shown(LanguageModel(len(WORDS), hidden_size=6, core="gru"), WORDS)
    expects = figure(frame, "expects")
    field, bars = expects.get_by_label("your text"), expects.locator(".pg-bars")
    field.fill("the cat")
    expected, text = bars.inner_text(), expects.locator(".pg-text").inner_text()
    field.fill("the cat sai")
    assert (bars.inner_text(), expects.locator(".pg-text").inner_text()) == (expected, text)
    for finished in ("the cat said", "the cat sai ", "the cat sax"):
        field.fill(finished)
        assert bars.inner_text() != expected and expects.locator(".pg-text").inner_text() == finished.strip()


def test_a_word_that_the_vocabulary_lacks_is_one_symbol_however_it_is_spelt(shown):
    _, frame = shown(LanguageModel(len(WORDS), hidden_size=6, core="gru"), WORDS)
    expects = figure(frame, "expects")
    expects.get_by_label("your text").fill("the naïve cat, 1987 😀.")
    assert expects.locator(".pg-unknown").all_inner_texts() == ["naïve", "1987", "😀"]
    assert "Underlined: 3 words that the vocabulary lacks." in expects.locator(".pg-score").inner_text()


def test_who_listens_hears_what_was_written_since(shown):
    _, frame = shown(lively("gru"), LETTERS, reduced_motion="reduce")
    writes = figure(frame, "writes")
    region, text = writes.locator("[aria-live]"), writes.locator(".pg-page")
    writes.get_by_label("it begins").fill("the ")
    for name, count in (("Step", 1), ("Run", 25), ("Step", 1)):
        writes.get_by_role("button", name=name).click()
        fresh = "".join(text.locator(".pg-written").all_text_contents()[-count:]).replace("¶", "")
        expect(region).to_contain_text(f"Written: {fresh.strip()}. Most probable next: ")
    writes.get_by_role("button", name="Undo").click()
    expect(region).to_have_text(re.compile("^Most probable next: "))
    assert writes.locator("output").first.get_attribute("aria-hidden") == "true"  # the slider says the same


def test_it_writes_step_by_step_undoes_and_runs_and_pauses(shown):
    page, frame = shown(lively("lstm"), LETTERS)
    writes = figure(frame, "writes")
    text = writes.locator(".pg-page")
    writes.get_by_label("it begins").fill("the ")
    assert text.inner_text() == "the "
    step = writes.get_by_role("button", name="Step")
    step.focus()
    for _ in range(5):
        page.keyboard.press("Enter")
    five = text.inner_text()
    assert len(text.locator(".pg-written").all()) == 5
    for _ in range(2):
        writes.get_by_role("button", name="Undo").click()
    assert len(text.locator(".pg-written").all()) == 3
    step.click(click_count=2)
    assert text.inner_text() == five  # a step that was undone is taken again alike
    writes.get_by_role("button", name="Run").click()
    expect(text.locator(".pg-written").nth(9)).to_be_attached(timeout=5000)
    writes.get_by_role("button", name="Pause").click()
    written = text.inner_text()
    page.wait_for_timeout(300)
    assert text.inner_text() == written
    writes.get_by_role("button", name="Another continuation").click()
    step.click(click_count=5)
    assert text.inner_text() != five


def test_who_asks_for_less_motion_sees_many_symbols_at_once(shown):
    page, frame = shown(lively("gru"), LETTERS, reduced_motion="reduce")
    writes = figure(frame, "writes")
    run = writes.get_by_role("button", name="Run")
    run.click()
    assert writes.locator(".pg-written").count() == 25 and run.inner_text() == "Run"
    page.wait_for_timeout(300)
    assert writes.locator(".pg-written").count() == 25


def test_what_a_beam_would_write_stands_beside(shown):
    _, frame = shown(lively("gru"), LETTERS)
    writes = figure(frame, "writes")
    writes.get_by_label("it begins").fill("the ")
    best = beam_search(lively("gru"), LETTERS.encode("\nthe ")[None], length=12, width=4, alpha=0)[0]
    text = LETTERS.decode(best.tokens).replace("\n", " ¶ ")
    expect(writes.locator(".pg-score")).to_contain_text(f"A beam of 4 would write: {text}")


def test_what_is_cut_off_is_struck_out_and_not_written(shown):
    page, frame = shown(lively("gru"), LETTERS)
    writes = figure(frame, "writes")
    writes.get_by_label("it begins").fill("the ")
    best = writes.locator(".pg-bars .pg-symbol").first.inner_text()
    top_k = writes.get_by_label("top-k")
    top_k.focus()
    page.keyboard.press("Home")
    assert top_k.get_attribute("aria-valuetext") == "1"
    assert writes.locator(".pg-cut").count() == 7
    writes.get_by_role("button", name="Step").click()
    assert writes.locator(".pg-written").inner_text() == best


def strengths(gates, place):
    """Return how strong the colours of all units are under a symbol, from the top, 0 to 255."""
    data = "canvas => [...canvas.getContext('2d').getImageData(0, 0, 1, canvas.height).data]"
    return gates.locator("canvas").nth(place).evaluate(data)[3::4]


def test_gates_stand_under_the_text_and_one_that_is_held_changes_the_writing(shown):
    page, frame = shown(lively("lstm"), LETTERS)
    gates = figure(frame, "gates")
    gates.get_by_label("your text").fill("the dog")
    assert gates.locator("canvas").count() == 7
    page.wait_for_timeout(400)  # it writes on when the reader has paused
    going, held = gates.locator(".pg-text").all()
    free = going.inner_text()
    assert not held.is_visible() and free.startswith("It goes on: ")
    gates.get_by_label("free, open or shut").select_option("shut")
    assert held.inner_text().startswith("With the forget gate of all units held shut: ")
    assert going.inner_text() == free and held.inner_text().split(": ")[1] != free.split(": ")[1]
    assert "forget gate 0.00" in gates.locator(".pg-strips").get_attribute("aria-label")
    assert max(strengths(gates, 0)) == 0
    gates.get_by_label("of", exact=True).select_option("this unit")
    unit = gates.get_by_label("unit", exact=True).get_attribute("aria-valuetext").split(",")[0]
    assert held.inner_text().startswith(f"With the forget gate of unit {unit} held shut: ")
    assert strengths(gates, 0)[0] == 0 and max(strengths(gates, 0)) > 0  # it is the slowest, at the top
    assert gates.locator(".pg-cell").first.get_attribute("title") == "f: 0.00"
    gates.get_by_label("unit", exact=True).press("End")
    assert f"forget gate of unit {unit} held" not in held.inner_text()


@pytest.mark.parametrize("core, names", [("lstm", "fioch"), ("gru", "zrh")])
def test_units_stand_by_half_life_and_a_click_or_a_key_chooses_one(shown, core, names):
    model = lively(core)
    page, frame = shown(model, LETTERS)
    gates = figure(frame, "gates")
    text = gates.get_by_label("your text").input_value()
    reading = in_python(model, LETTERS.encode("\n" + text))
    lives, turns = half_lives(reading), sign_changes(reading)
    order = lives.argsort(descending=True).tolist()
    assert order != sorted(order)

    def rounded(row):  # to two digits
        return pytest.approx(float(lives[order[row]]), rel=0.05)

    labels = [label.split()[-1] for label in gates.locator(".pg-units span").all_inner_texts()]
    assert [float(label) for label in labels] == [rounded(row) for row in (0, 3, 6, 8, 11)]
    assert gates.locator(".pg-name").all_inner_texts()[0].endswith(f" gate {names[0]}")

    for place, step in enumerate(reading[1:]):
        gate = torch.tensor(step["layers"][-1][names[0]])[order]
        assert (torch.tensor(strengths(gates, place)) - 255 * gate).abs().max() < 0.51

    slider, strips = gates.get_by_label("unit", exact=True), gates.locator(".pg-strips")

    def assert_row(row):
        unit = order[row]
        assert slider.input_value() == str(row)
        number, life = re.fullmatch(
            r"(\d+), half-life (\S+) characters", slider.get_attribute("aria-valuetext")
        ).groups()
        assert int(number) == unit + 1 and float(life) == rounded(row)
        titles = [cell.get_attribute("title") for cell in gates.locator(".pg-cell").all()]
        values = [(name, step["layers"][-1][name][unit]) for step in reading[1:] for name in names]
        assert titles == [f"{name}: {value:.2f}" for name, value in values]
        told = re.findall("“(.)”", strips.get_attribute("aria-label"))
        assert told == [{" ": "␣"}.get(text[at], text[at]) for at in turns[unit][:5]]
        middle = strips.evaluate("strips => strips.style.getPropertyValue('--row')")
        assert float(middle) == pytest.approx((row + 0.5) / 12)

    assert_row(0)  # no name is given, so it opens on the slowest
    column = gates.locator("canvas").nth(2)
    column.click(position={"x": 3, "y": column.bounding_box()["height"] * 5.5 / 12})
    assert_row(5)
    gates.get_by_role("group", name="units by half-life").focus()
    for key, row in (("ArrowDown", 6), ("ArrowUp", 5), ("ArrowUp", 4)):
        page.keyboard.press(key)
        assert_row(row)
    slider.press("ArrowRight")
    assert_row(5)
    slider.press("Home")
    page.keyboard.press("ArrowLeft")
    assert_row(0)


@pytest.mark.parametrize("name, place", [("expects", ".pg-score"), ("gates", ".pg-legend")])
def test_a_long_text_is_read_a_moment_at_a_time(shown, name, place):
    _, frame = shown(lively("gru"), LETTERS)
    whole = figure(frame, name)
    text = "the dog saw a cat " * 5
    whole.get_by_label("your text").fill(text)
    parts = whole.locator(".pg-text").first, whole.locator(".pg-strips, .pg-bars").first
    expect(parts[1]).to_be_visible()
    frame.wait_for_timeout(400)  # it writes on when the reader has paused
    before = [part.inner_html() for part in parts]
    frame.evaluate(
        """selector => {  // each symbol takes a second; keep what is said on the way
        let now = 0;
        performance.now = () => (now += 1000);
        window.heard = [];
        const place = document.querySelector(selector);
        const keep = () => { window.heard.push(place.textContent); };
        new MutationObserver(keep).observe(place, { childList: true });
    }""",
        f"figure[data-show={name}] {place}",
    )
    whole.get_by_label("your text").fill("")
    whole.get_by_label("your text").fill(text)
    frame.wait_for_function("window.heard.at(-1) && !window.heard.at(-1).startsWith('Reading')")
    frame.wait_for_timeout(400)
    heard = frame.evaluate("window.heard")
    assert f"Reading: 1 of {len(text)}." in heard and f"Reading: {len(text) - 1} of {len(text)}." in heard
    assert [part.inner_html() for part in parts] == before


def test_a_network_that_arrives_late_does_not_replace_one_that_was_chosen_after_it(shown):
    _, frame = shown(lively("rnn"), LETTERS)
    chosen = """async () => {
        const taken = [];
        let arrive;
        const late = new Promise((resolve) => (arrive = resolve));
        const networks = [{ name: "late", load: () => late }, { name: "soon", load: async () => "soon" }];
        const { field, showFirst } = Unrolled.elements.network(networks, (model) => taken.push(model));
        const begun = showFirst();
        const choice = field.querySelector("select");
        for (const number of [0, 1]) {
            choice.value = number;
            choice.dispatchEvent(new Event("change"));
        }
        await new Promise((resolve) => setTimeout(resolve));
        arrive("late");
        await begun;
        await new Promise((resolve) => setTimeout(resolve));
        return taken;
    }"""
    assert frame.evaluate(chosen) == ["soon"]


def test_an_rnn_has_no_gates_to_show(shown):
    _, frame = shown(lively("rnn"), LETTERS)
    assert [each.get_attribute("data-show") for each in frame.locator("figure").all()] == ["expects", "writes"]


def test_each_symbol_that_is_written_shows_where_it_looks(shown):
    model = rewriter("gru")
    page, frame = shown(model, (SOURCES, TARGETS))
    looks = figure(frame, "looks")
    looks.get_by_label("your text").fill("a bü cad")
    buttons = looks.locator(".pg-target button")
    read = SOURCES.encode("a b cad")
    target, alpha = [0], []
    while len(target) <= 40 and target[-1] != 1:  # as the library writes it, greedily
        steps = torch.tensor(rewritten(model, read, torch.tensor(target)))
        alpha.append(steps[-1, len(TARGETS) :][: len(read)])
        target.append(int(steps[-1, : len(TARGETS)].argmax()))
    expect(buttons).to_have_count(len(target) - 1)
    assert buttons.all_inner_texts() == ["■" if n == 1 else TARGETS.symbols[n] for n in target[1:]]
    assert looks.locator(".pg-unknown").inner_text() == "ü" and "1 that the vocabulary lacks" in looks.inner_text()
    drawn = looks.locator(".pg-lines").evaluate(
        """lines => [...lines.children].map((group) => [...group.children].map((line) => [
            ...["stroke-opacity", "stroke-width"].map((name) => Number(line.getAttribute(name))),
            ...[line.x1, line.x2].map((x) => x.baseVal.value + lines.getBoundingClientRect().left),
        ]))"""
    )
    lines, weights = torch.tensor(drawn), torch.stack(alpha).float()  # (written, read, 4), (written, read)
    assert torch.allclose(lines[:, :, 0], weights, atol=1e-5) and torch.allclose(lines[:, :, 1], 6 * weights, atol=1e-4)
    centre = "each => each.map((one) => one.getBoundingClientRect()).map(({ left, width }) => left + width / 2)"
    above = looks.locator(".pg-source span:not(.pg-unknown)").evaluate_all(centre)
    assert (lines[:, :, 2] - torch.tensor(buttons.evaluate_all(centre))[:, None]).abs().max() < 1
    assert (lines[:, :, 3] - torch.tensor(above)).abs().max() < 1
    chosen = looks.locator(".pg-lines .pg-chosen")
    which = "group => [...group.parentNode.children].indexOf(group)"
    buttons.nth(2).hover()
    assert chosen.count() == 1 and chosen.evaluate(which) == 2
    page.mouse.move(0, 0)
    buttons.first.focus()
    page.keyboard.press("ArrowRight")
    assert buttons.nth(1).get_attribute("aria-pressed") == "true"
    assert chosen.count() == 1 and chosen.evaluate(which) == 1
    shares = [
        float(span.evaluate("element => element.style.getPropertyValue('--share')"))
        for span in looks.locator(".pg-source span:not(.pg-unknown)").all()
    ]
    assert torch.allclose(torch.tensor(shares), alpha[1].float(), atol=1e-5)
    best = int(alpha[1].argmax()) + 1
    expect(looks.locator("[aria-live]")).to_contain_text(re.compile(rf"symbol 2 of \d+, looks at \S+, symbol {best}, "))
    looks.get_by_label("weights").select_option("shuffled among the places")
    text = "".join(buttons.all_inner_texts()).removesuffix("■")
    expect(looks.locator("[aria-live]")).to_have_text(f"It writes {text}")
    looks.get_by_label("your text").fill("")
    expect(looks.locator(".pg-score")).to_have_text("There is nothing to read yet.")


def test_an_encoder_decoder_without_attention_answers_and_the_stop_is_its_end(shown):
    model = rewriter("gru", attention=None)
    _, frame = shown(model, (SOURCES, TARGETS))
    answers = figure(frame, "answers")
    answers.get_by_label("your text").fill("a bü cad")
    read, target = SOURCES.encode("a b cad"), [0]
    while len(target) <= 40 and target[-1] != 1:
        steps = torch.tensor(rewritten(model, read, torch.tensor(target)))
        target.append(int(steps[-1, : len(TARGETS)].argmax()))
    written = "".join("■" if n == 1 else TARGETS.symbols[n] for n in target[1:])
    expect(answers.get_by_role("img")).to_have_attribute("aria-label", re.compile(r"Read: a␣b␣cad\."))
    answers.get_by_role("button", name="Write on").click()
    expect(answers.get_by_role("img")).to_have_attribute("aria-label", re.compile(rf"one vector: {written}\.$"))
    answers.get_by_label("your text").fill("")
    expect(answers.locator(".pg-score")).to_have_text("There is nothing to read yet.")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_has_the_colours_of_the_readers_system_and_is_as_high_as_it_needs(shown, theme):
    page, frame = shown(lively("gru"), LETTERS, color_scheme=theme)
    figure(frame, "writes")
    ground = frame.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", ground)[:3])) > 600) == (theme == "light")
    page.wait_for_function("document.querySelector('iframe').clientHeight > 800")
    frame.wait_for_function("document.documentElement.scrollHeight - innerHeight <= 1")  # it grows figure by figure


# A demonstration of the book in a notebook, and in a page


def test_a_demonstration_of_the_book_runs_in_a_notebook_with_the_networks_of_the_library(shown):
    _, frame = shown("looks", None)
    looks = figure(frame, "looks")
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}■", looks.locator(".pg-target").inner_text().replace("\n", ""))
    assert looks.locator("figcaption").inner_text() == live.descriptions()["looks"]["caption"]


def test_a_chapter_has_the_picture_and_the_names_of_the_networks_not_their_weights(monkeypatch):
    monkeypatch.setenv("UNROLLED_FIGURES", "anywhere")
    shown = figures.demonstration("remembers")
    html = shown._repr_html_()
    assert repr(shown) == "Demonstration('remembers')" and len(html) < 3000
    assert '<img src="../browser/remembers.png" alt="A story in which' in html
    assert 'data-models="rnn-words lstm-words gru-words"' in html
    assert html.endswith('<script defer src="../browser/page.js"></script>')
    assert "<iframe" in figures.demonstration(lively("gru"), LETTERS)._repr_html_()  # the reader's own is there at once


def test_two_demonstrations_of_one_page_begin_once_each(site):
    page = site(("expects", "rnn-words"), ("writes", "rnn-words"), tags=2)
    for name in ("expects", "writes"):
        assert figure(page, name).locator(".pg-live").count() == 1
    page.close()


def of_words(core: str) -> LanguageModel:
    """Return a small model of words with strong opinions, always the same one."""
    torch.manual_seed(0)
    model = LanguageModel(len(WORDS), embedding_size=4, hidden_size=6, core=core)
    for weights in model.parameters():
        torch.nn.init.normal_(weights)
    return model.half().double().eval()


@pytest.fixture
def site(tmp_path, browser):
    """A page opened from disk, with a network that is asked for, one that is never, and one that was changed."""
    shutil.copytree(FOLDER, tmp_path / "browser", ignore=shutil.ignore_patterns("models"))
    (tmp_path / "browser" / "models").mkdir()
    for core in ("rnn", "lstm", "gru"):
        model = of_words(core)
        script = weights_script(f"{core}-words", model, WORDS, floor=0.5)
        if core == "lstm":
            script = script.replace('\\"floor\\": 0.5', '\\"floor\\": 0.1')
        (tmp_path / "browser" / "models" / f"{core}-words.js").write_text(script, encoding="utf8")
    story = {
        "hero": "Ada",
        "distance": 1,
        "names": {"she": ["Ada"], "he": ["Ben"]},
        "opening": ["{hero} saw a dog."],
        "between": ["the cat saw the dog.", "the dog saw the cat."],
        "closing": ['"a dog," said {hero}.', "{hero} saw a dog."],
        "text": "Ada saw a dog, and the cat saw Ada.",
        "most": [100, 160],
        "late": 10,
        "story": ["{hero} saw a dog.", "the cat saw the dog.", "the dog saw a cat.", '"a dog," said {hero}.'],
    }

    def write(*figures, tags=1):
        parts = [
            f'<figure class="demonstration" data-show="{show}" data-models="{models}">'
            f'<img src="still.png" alt="a story">'
            f'<script type="application/json">{json.dumps(story)}</script></figure><p style="height: 3000px"></p>'
            for show, models in figures
        ]
        tag = '<script defer src="browser/page.js"></script>' * tags
        theme = "<style>[hidden] { display: none !important }</style>"  # as the pages' theme has it, in print, too
        (tmp_path / "index.html").write_text(f'<meta charset="utf-8">{theme}{"".join(parts)}{tag}', encoding="utf8")
        page = browser.new_page(viewport={"width": 360, "height": 700})
        page.requested = []
        page.on("request", lambda request: page.requested.append(request.url.rpartition("/")[2]))
        page.goto(f"file://{tmp_path}/index.html")
        return page

    return write


def test_weights_come_when_a_demonstration_comes_into_sight_and_only_those(site):
    page = site(("expects", "rnn-words gru-words"), ("remembers", "gru-words"))
    figure(page, "expects")
    assert "rnn-words.js" in page.requested and "gru-words.js" not in page.requested
    assert page.locator("figure img").first.is_hidden() and page.locator("figure img").last.is_visible()
    assert "A perfect reader of the stories pays 0.50" in page.locator(".pg-score").inner_text()
    figure(page, "remembers")
    assert page.requested.count("gru-words.js") == page.requested.count("engine.js") == 1
    page.close()


def test_the_name_that_is_asked_for_is_the_one_that_was_chosen(site):
    page = site(("remembers", "rnn-words gru-words"))
    remembers = figure(page, "remembers")
    assert remembers.locator("thead th").all_inner_texts() == ["RNN", "GRU"]
    assert remembers.locator("tbody th").all_inner_texts() == ["after 17 words", "after 2 words"]
    remembers.get_by_label("hero").select_option("Ben")
    text = remembers.locator(".pg-text")
    assert text.inner_text() == 'Ben saw a dog. the cat saw the dog. "a dog," said Ben. Ben saw a dog.'
    remembers.get_by_label("sentences between").press("ArrowRight")
    assert remembers.locator("tbody th").all_inner_texts() == ["after 23 words", "after 2 words"]
    assert remembers.locator(".pg-tested th").all_inner_texts() == ["after 23 words"]
    expect(remembers.locator("[aria-live]")).to_contain_text("Ben, after 23 words: RNN")
    for instead in remembers.locator(".pg-instead").all_inner_texts():
        assert re.fullmatch(r"Ada \d+(\.\d)?\s%", instead)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.close()


def test_a_race_is_run_again_with_every_hero_and_followed_by_keyboard(site):
    page = site(("race", "rnn-words gru-words"))
    race = figure(page, "race")
    score, slider, bars = race.locator(".pg-score"), race.get_by_role("slider"), race.locator("rect")
    assert score.inner_text().startswith("23 words after the last Ada, the name is due: RNN ")
    assert race.locator("[aria-pressed=true]").inner_text() == "Ada"
    race.get_by_role("button", name="Ben").click()
    expect(score).to_contain_text("23 words after the last Ben, the name is due: RNN ")
    expect(race.locator("[aria-live]")).to_contain_text("23 words after the last Ben")
    story = 'Ben saw a dog. the cat saw the dog. the dog saw a cat. "a dog," said Ben.'
    assert race.locator(".pg-story").inner_text() == story and bars.count() == 2 * 25
    assert race.locator("svg text").all_text_contents() == ["after", "23", "RNN", "GRU"]
    slider.focus()
    page.keyboard.press("Home")
    assert bars.count() == 0 and score.inner_text() == "Ben is not due yet."
    page.keyboard.press("ArrowRight")
    assert bars.count() == 2 and slider.get_attribute("aria-valuetext") == "1 of 25"
    assert race.locator(".pg-unread").count() == 24
    race.get_by_role("button", name="Play").click()
    race.get_by_role("button", name="Pause").click()
    race.get_by_role("button", name="Play").click()
    expect(race.get_by_role("button", name="Play")).to_be_visible()  # it has come to the end
    assert slider.input_value() == "25" and bars.count() == 2 * 25
    assert (
        race.get_by_role("img").last.get_attribute("aria-label").startswith("The probability of Ben at 25 words: after")
    )
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.emulate_media(media="print")
    assert race.locator("img").is_visible() and not race.locator(".pg-live").is_visible()
    page.close()


def shades(words) -> list[float]:
    """Return how strong the ground of each word is, from 0 to 1."""
    style = "words => words.map(word => Number(word.style.getPropertyValue('--share')))"
    return words.evaluate_all(style)


def test_the_words_before_one_that_is_pointed_at_are_shaded_by_their_influence(site):
    page = site(("influence", "gru-words rnn-words"))
    shown = figure(page, "influence")
    words, score, slider = shown.locator(".pg-pointed span"), shown.locator(".pg-score"), shown.get_by_role("slider")
    expect(score).to_contain_text("had a probability of")
    text = [
        "¶",
        "Ada",
        "saw",
        "a",
        "dog",
        ",",
        "and",
        "the",
        "cat",
        "saw",
        "Ada",
        ".",
    ]  # "and" is not in the vocabulary
    numbers = WORDS.encode(["\n", *text[1:]])

    def check(core, at):  # the word of the text, counted from 0
        exact = influence(of_words(core), numbers)[at][1 : at + 1].tolist()
        assert shades(words) == pytest.approx([*exact, *[0] * (11 - at)], abs=1e-4)
        asked, best = text[at + 1], max(range(at), key=lambda j: exact[j], default=None)
        expect(score).to_contain_text(asked + (" is not in the" if asked == "and" else " had a probability of"))
        assert shown.locator(".pg-asked").count() == 1 and shown.locator(".pg-unread").count() == 10 - at
        if best is not None:
            word, other = text[best + 1], WORDS.symbols[(numbers[best + 1] + 1) % len(WORDS)].replace("\n", "¶")
            back = f"{at - best} word{'s' if at - best > 1 else ''} before: "
            expect(score).to_contain_text(f"What would move the prediction most: {word} → {other}, {back}")
            strong = next(j for j in range(at) if exact[j] >= 0.1)
            reach = f"No word more than {at - strong} back moves a tenth of the prediction."
            assert (reach in score.inner_text()) == (strong > 0)  # nothing stands before the first
            title = words.nth(best).get_attribute("title")
            assert title.startswith(f"{word} → {other}: ") and title.endswith(" of the prediction moves")

    check("gru", 10)  # the last one
    words.nth(9).hover()
    check("gru", 9)
    expect(shown.locator("[aria-live]")).to_have_text(score.inner_text())
    slider.press("ArrowLeft")
    assert slider.get_attribute("aria-valuetext") == "saw, 9 of 11"
    check("gru", 8)
    shown.get_by_label("network").select_option("RNN, words")
    expect(words.nth(8)).to_have_class("pg-asked")  # the same word is asked about
    check("rnn", 8)
    words.nth(5).hover()
    check("rnn", 5)
    assert shown.locator(".pg-unknown").inner_text() == "and"
    slider.press("Home")
    check("rnn", 0)
    assert "What would move" not in score.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    shown.get_by_label("your text").fill("")
    expect(score).to_have_text("There is nothing to read yet.")
    shown.get_by_label("your text").fill("the cat " * 80)
    expect(words).to_have_count(100)
    expect(slider).to_have_attribute("aria-valuetext", "cat, 100 of 100", timeout=20_000)
    page.close()


def test_where_motion_is_unwelcome_a_race_leaps_to_where_the_name_is_due(site):
    page = site(("expects", "rnn-words"), ("race", "rnn-words gru-words"))
    page.emulate_media(reduced_motion="reduce")
    race = figure(page, "race")
    race.get_by_role("button", name="Play").click()
    assert race.get_by_role("slider").input_value() == "24"
    race.get_by_role("button", name="Play").click()
    assert race.get_by_role("slider").input_value() == "25"
    page.close()


def test_weights_with_a_wrong_checksum_are_refused_with_a_sentence_and_the_picture_stays(site):
    page = site(("expects", "lstm-words"), ("expects", "gru-words lstm-words"))
    alert = page.get_by_role("alert").first
    expect(alert).to_contain_text("These weights are not the ones that were written: their checksum is ")
    assert page.locator("figure img").first.is_visible()
    second = page.locator("figure").last
    second.scroll_into_view_if_needed()
    expect(second).to_have_attribute("data-ready", "")
    second.get_by_label("network").select_option("LSTM, words")
    expect(second.get_by_role("alert")).to_contain_text("These weights are not the ones")
    page.close()


def test_a_script_that_does_not_arrive_is_named(site):
    page = site(("expects", "missing-words"))
    expect(page.get_by_role("alert")).to_contain_text("The script models/missing-words.js did not arrive.")
    page.close()


def test_in_print_there_is_the_picture(site):
    page = site(("expects", "gru-words"))
    expects = figure(page, "expects")
    page.emulate_media(media="print")
    assert expects.locator("img").is_visible() and not expects.locator(".pg-live").is_visible()
    page.close()

"""What the page *Playground* loads is what the record measured, and its texts are stories that the networks know."""

import base64
import gzip
import json
import math
import re

import numpy as np
import pytest
import torch

import demonstrations as tool
from lab import playground
from places import ROOT
from running import READ, REWRITE, half_lives, in_python, influence, largest_difference, rewritten, sign_changes, source
from unrolled import records
from unrolled.decoding import translate
from unrolled.figures import live
from unrolled.models import EncoderDecoder, LanguageModel
from unrolled.tasks.rewriting import START, STOP, Dates
from unrolled.text import WordVocabulary, stories

pytestmark = pytest.mark.book
PAGE = (ROOT / "pages" / "playground.md").read_text(encoding="utf8")
RECORD = records.load("playground")


def data(name: str) -> dict:
    """Return what a demonstration of the page shows first."""
    return live.descriptions()[name]["data"]


def test_every_network_is_the_one_that_was_measured_and_no_larger_than_a_page_takes():
    scripts = {path.stem: path.read_text(encoding="utf8") for path in tool.MODELS.glob("*.js")}
    assert set(scripts) == set(RECORD), "write them: make playground"
    for label, script in scripts.items():
        assert playground.digest(script) == RECORD[label]["digest"][0], f"{label}: make playground"
        most = 600_000 if label.endswith("words") else 400_000  # bytes, compressed as a server sends them
        assert len(gzip.compress(script.encode())) <= most


def test_the_page_has_every_demonstration_with_networks_that_there_are_and_a_picture():
    shown = re.findall(r"^:file: \.\./figures/demonstration-(\w+)\.html$", PAGE, re.MULTILINE)
    assert (
        shown
        == live.with_pictures()
        == ["race", "guesses", "expects", "remembers", "influence", "gates", "writes", "looks", "answers"]
    )
    for name in shown:
        assert set(live.descriptions()[name]["networks"]) <= set(RECORD)
        assert (tool.book.PICTURES / f"{name}.png").is_file(), "photograph it: make playground"


def test_the_table_says_what_the_record_has(monkeypatch, tmp_path):
    monkeypatch.setattr(tool, "RECALL", tmp_path / "recall.md")
    tool.write_table(RECORD)
    assert tool.RECALL.read_text() == (ROOT / "figures" / "playground-recall.md").read_text(), "make playground"


def told(names: dict, sentences: list[str], hero: str) -> str:
    """Return the story that a demonstration tells, as `Unrolled.tell` does."""
    she = hero in names["she"]
    forms = {"hero": hero, "they": "she" if she else "he", "their": "her" if she else "his"}
    forms["They"] = forms["they"].title()
    return re.sub(r"\{(\w+)\}", lambda slot: forms[slot[1]], " ".join(sentences))


def text_of(story: dict, hero: str, distance: int | None = None) -> str:
    """Return the story of *remembers*, with all sentences between or some."""
    return told(story["names"], [*story["opening"], *story["between"][:distance], *story["closing"]], hero)


def test_every_word_of_the_stories_is_known_and_every_name_is_of_its_gender():
    grammar, race, story = stories.grammar(), data("race"), data("remembers")
    known = WordVocabulary(stories.words(stories.corpus(3_000_000).text))
    for names in (story["names"], race["names"]):
        for gender, heroes in enumerate(names.values()):
            assert [grammar.gender[hero] for hero in heroes] == [gender] * len(heroes)
    texts = [text_of(story, hero) for heroes in story["names"].values() for hero in heroes]
    texts += [told(race["names"], race["story"], hero) for heroes in race["names"].values() for hero in heroes]
    for text in texts:
        assert [word for word in stories.words(text) if word not in known] == []
    for name in ("expects", "influence", "gates", "writes"):
        assert [word for word in stories.words(data(name)["text"]) if word not in known] == []


def test_every_sentence_of_the_story_is_one_of_the_grammar():
    story, race, grammar = data("remembers"), data("race"), stories.grammar()
    sentences = [*story["opening"], *story["between"], *story["closing"], *race["story"]]
    templates = {rule.template.removesuffix(" {fame}") for rules in grammar.rules.values() for rule in rules}
    patterns = [re.sub(r"\\{.*?\\}", "[A-Za-z ]+", re.escape(template)) for template in templates if " " in template]
    several = "(" + "|".join(patterns) + ")"
    for sentence in sentences:
        assert re.fullmatch(f"{several}( {several})?", told(race["names"], [sentence], "Ada")), sentence


def model_of(script: str) -> tuple[LanguageModel | EncoderDecoder, dict]:
    """Return the model in a script of weights, read by another hand, and what the script says of it."""
    head, weights, _ = json.loads(re.search(r"= (\[.*\]);", script)[1])
    head, raw = json.loads(head), np.frombuffer(base64.b64decode(weights), dtype=np.uint8)
    shapes = [tuple(shape) for shape in head["shapes"].values()]
    if head.get("bits") == 8:
        columns = np.concatenate([np.full(math.prod(shape[:-1]), shape[-1]) for shape in shapes])
        scales, whole = raw[: 4 * len(columns)].view("<f4"), raw[4 * len(columns) :].view(np.int8)
        numbers = whole.astype(np.float64) * np.repeat(scales, columns)
    else:
        numbers = raw.reshape(2, -1).T.copy().view("<f2").astype(np.float64).ravel()
    numbers = torch.from_numpy(numbers)
    parts = dict(zip(head["shapes"], numbers.split([math.prod(shape) for shape in shapes]), strict=True))
    parts = {name: part.view(shape) for (name, part), shape in zip(parts.items(), shapes, strict=True)}
    options = {"embedding_size": parts["E"].shape[1], "hidden_size": parts["0.W_hh"].shape[1], "core": head["core"]}
    options["cell_options"] = head["options"]
    names, cells = {"E": "embedding.weight", "b_y": "output.bias"}, {"0": "core.layers.0"}
    if "sources" in head:
        sizes = len(head["sources"]), len(head["symbols"])
        attention = "scaled" if "W_q" in parts else None
        model = EncoderDecoder(*sizes, direction="both", attention=attention, **options)
        names |= {"E_x": "source_embedding.weight", "W_b": "bridge.weight", "b_b": "bridge.bias"}
        names |= {"W_q": "score.query.weight", "W_k": "score.key.weight", "W_sy": "output.weight"}
        names |= {"W_a": "combine.weight", "b_a": "combine.bias"}
        cells |= {side: f"encoder.layers.0.{side}" for side in ("from_left", "from_right")}
    else:
        model = LanguageModel(len(head["symbols"]), **options)
        names |= {"W_hy": "output.weight", "0.h_0": "h_0", "0.c_0": "c_0"}
    for name, place in cells.items():
        names |= {f"{name}.{each}": f"{place}.{each}" for each in ("W_xh", "W_hh", "b_h")}
    model.double().load_state_dict({names[name]: part for name, part in parts.items()})
    return model.eval(), head


def test_the_gru_carries_every_name_over_the_sentences_between_and_the_others_lose_it():
    story = data("remembers")
    early = "".join(story["opening"]).count("{hero}")
    for label in ("rnn-words", "lstm-words", "gru-words"):
        model, head = model_of((tool.MODELS / f"{label}.js").read_text(encoding="utf8"))
        shares = []
        for hero in sum(story["names"].values(), []):
            symbols = ["\n", *stories.words(text_of(story, hero, story["distance"]))]
            at = [place for place, symbol in enumerate(symbols) if symbol == hero][early]
            numbers = torch.tensor([[head["symbols"].index(symbol) for symbol in symbols]])
            with torch.no_grad():
                logits, _ = model(numbers[:, :at])
            shares.append(float(logits[0, -1].softmax(dim=-1)[numbers[0, at]]))
        print(label, min(shares), max(shares))
        assert min(shares) > 0.5 if label == "gru-words" else max(shares) < 0.2, (label, shares)


def test_the_gru_predicts_from_the_name_the_lstm_from_its_gender_and_the_rnn_from_what_is_near():
    names, text = data("race")["names"], data("influence")["text"]
    gender = stories.grammar().gender
    for label in ("rnn-words", "lstm-words", "gru-words"):
        model, head = model_of((tool.MODELS / f"{label}.js").read_text(encoding="utf8"))
        for hero in sum(names.values(), []):
            story = text.replace("Ada", hero)
            if hero in names["he"]:
                story = story.replace("She", "He").replace("she", "he").replace(" her ", " his ")
            words = ["\n", *stories.words(story)]
            numbers = torch.tensor([head["symbols"].index(word) for word in words])
            shares = influence(model, numbers[:-1])[-1]  # on the prediction of the last word
            other = head["symbols"][numbers[1] + 1]
            print(label, hero, other, shares[1].item(), shares[1:-10].max().item())
            if label == "gru-words":
                assert shares[1] > 0.5
            elif label == "lstm-words":
                assert shares[1] > 0.95 if gender[other] != gender[hero] else shares[1] < 0.05
            else:
                assert shares[1] < 0.01
                assert hero != "Ada" or shares[1:-10].max() < 0.1
    assert words[1] == words[-1] and len(words) == 62  # it first stands sixty words before


def chances(label: str, text: str, hero: str) -> tuple[list[str], list[float]]:
    """Return the words of a text, and the probability that a network of the page gives a name at each of them."""
    model, head = model_of((tool.MODELS / f"{label}.js").read_text(encoding="utf8"))
    words = stories.words(text)
    numbers = torch.tensor([[head["symbols"].index(word) for word in ("\n", *words)]])
    with torch.no_grad():
        logits, _ = model(numbers[:, :-1])
    return words, logits[0].softmax(dim=-1)[:, head["symbols"].index(hero)].tolist()


def test_a_race_is_won_by_the_gru_whoever_is_the_hero():
    race = data("race")
    for hero in sum(race["names"].values(), []):
        text = told(race["names"], race["story"], hero)
        for label in ("rnn-words", "lstm-words", "gru-words"):
            words, shares = chances(label, text, hero)
            places = [at for at, word in enumerate(words) if word == hero]
            late = [at for before, at in zip(places, places[1:], strict=False) if at - before >= race["late"]]
            found = [shares[at] for at in late]
            assert len(late) == 3 and 140 < len(words) < 160
            assert min(found) > 0.4 if label == "gru-words" else max(found) < 0.1, (hero, label, found)
            if hero == race["hero"] and label == "gru-words":
                assert min(found) > 0.9


def test_a_race_that_is_played_shows_what_python_computes(browser, tmp_path):
    tool.book.lay_out_demonstrations(tmp_path)
    (tmp_path / "page.html").write_text(f'<!doctype html><meta charset="utf-8">{live.figure("race")}', encoding="utf8")
    page, race = browser.new_page(), data("race")
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_selector("figure[data-ready]")
    page.get_by_role("button", name="Ben").click()
    page.wait_for_function("document.querySelector('.pg-score').textContent.includes('last Ben')")
    page.get_by_role("slider").fill("145")
    page.get_by_role("button", name="Play").click()
    text = told(race["names"], race["story"], "Ben")
    page.wait_for_function(
        f"document.querySelectorAll('.pg-race rect').length === {3 * len(stories.words(text))}", timeout=10_000
    )
    for core in ("rnn", "lstm", "gru"):
        tall = [float(bar.get_attribute("height")) for bar in page.locator(f".pg-of-{core}").all()]
        _, shares = chances(f"{core}-words", text, "Ben")
        assert np.abs(np.array(tall) / 28 - shares).max() < 1e-6
    page.close()


def test_the_gates_open_on_a_unit_that_turns_at_the_name(browser, tmp_path):
    tool.book.lay_out_demonstrations(tmp_path)
    (tmp_path / "page.html").write_text(f'<!doctype html><meta charset="utf-8">{live.figure("gates")}', encoding="utf8")
    page, text, name = browser.new_page(), data("gates")["text"], data("gates")["name"]
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_selector("figure[data-ready]")
    for number, label in enumerate(live.descriptions()["gates"]["networks"]):
        model, head = model_of((tool.MODELS / f"{label}.js").read_text(encoding="utf8"))
        words = label.endswith("words")
        symbols = stories.words(text) if words else list(text)
        reading = in_python(model, torch.tensor([head["symbols"].index(symbol) for symbol in ("\n", *symbols)]))
        lives, turns = half_lives(reading), sign_changes(reading)
        first = symbols.index(name) if words else text.index(name)
        over = [
            k for k, places in enumerate(turns) if set(places) & set(range(first, first + (1 if words else len(name))))
        ]
        unit = min(over, key=lambda k: (len(turns[k]), -lives[k]))
        if words:
            assert turns[unit] == [first] and lives[unit] > 5  # as the page says
        page.get_by_label("network").select_option(str(number))
        told = "[...document.querySelectorAll('input[type=range]')].map((each) => each.getAttribute('aria-valuetext'))"
        page.wait_for_function(f"{told}.some((each) => each.startsWith('{unit + 1}, half-life'))")
        slow, *_, fast = (float(each.split()[-1]) for each in page.locator(".pg-units span").all_inner_texts())
        assert slow == pytest.approx(float(lives.max()), rel=0.05) and fast == pytest.approx(
            float(lives.min()), rel=0.05
        )
    page.close()


@pytest.mark.parametrize("label", RECORD)
def test_what_runs_in_the_page_is_what_runs_in_python(browser, label):
    script = (tool.MODELS / f"{label}.js").read_text(encoding="utf8")
    model, head = model_of(script)
    page = browser.new_page()
    for name in ("engine", "encoder_decoder"):
        page.add_script_tag(content=source(name))
    page.add_script_tag(content=script.replace(f'unrolledWeights["{label}"]', "unrolledWeights.test"))
    if "sources" in head:
        text = data("looks" if label == "gru-dates" else "answers")["text"]
        target = "1987-06-24" if label == "gru-dates" else text[::-1]
        read = torch.tensor([head["sources"].index(letter) for letter in text])
        written = torch.tensor([0, *(head["symbols"].index(symbol) for symbol in target)])
        computed = torch.tensor(page.evaluate(REWRITE, [read.tolist(), written.tolist()]), dtype=torch.float64)
        expected = torch.tensor(rewritten(model, read, written), dtype=torch.float64)
        difference = (computed - expected).abs().max()
    else:
        text = stories.corpus(1, seed=9).stories[0].text
        words = stories.words(text) if label.endswith("words") else list(text)
        numbers = torch.tensor([head["symbols"].index(word) for word in words[:150]])
        difference = largest_difference(page.evaluate(READ, [numbers.tolist()]), in_python(model, numbers))
    page.close()
    print(f"{label}: {difference:.1e}")
    assert difference < 1e-5


def test_with_shuffled_weights_the_dashes_of_a_date_stay_and_its_digits_do_not(browser):
    script = (tool.MODELS / "gru-dates.js").read_text(encoding="utf8")
    page = browser.new_page()
    for name in ("engine", "encoder_decoder"):
        page.add_script_tag(content=source(name))
    page.add_script_tag(content=script)
    written = page.evaluate(
        """([text]) => {
        const model = Unrolled.load(...unrolledWeights["gru-dates"]);
        const random = Unrolled.generator(1);
        const shuffle = (weights) =>
            Float64Array.from(Array.from(weights, (w) => [random(), w]).sort(([a], [b]) => a - b), ([, w]) => w);
        const numbers = Array.from(text, (letter) => model.number.get(letter));
        const write = (change) => model.write(numbers, 10, change).map(({ number }) => model.symbols[number]);
        return [write(), ...Array.from({ length: 20 }, () => write(shuffle))];
    }""",
        [data("looks")["text"]],
    )
    page.close()
    right, *shuffled = written
    assert "".join(right) == "1987-06-24"
    kept = np.mean([[place in enumerate(each) for place in enumerate(right)] for each in shuffled], axis=0)
    assert kept[[4, 7]].min() > 0.8 and kept[[1, 2, 3, 8, 9]].mean() < 0.6, kept


@torch.no_grad()
def test_symbol_by_symbol_both_networks_write_what_python_writes(browser, tmp_path):
    labels = live.descriptions()["answers"]["networks"]
    networks = {label: model_of((tool.MODELS / f"{label}.js").read_text(encoding="utf8")) for label in labels}
    tool.book.lay_out_demonstrations(tmp_path)
    (tmp_path / "page.html").write_text(f'<!doctype html><meta charset="utf-8">{live.figure("answers")}', "utf8")
    page, right = browser.new_page(), {}
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_selector("figure[data-ready]")
    boxes = dict(zip(labels, page.locator(".pg-parts > div").all(), strict=True))
    begun = "word => new RegExp(`: ${word}[.].*: .[.]$`).test(document.querySelector('[role=img]').ariaLabel)"
    for word in (data("answers")["text"], "unrolled", "gate"):
        page.get_by_label("your text").fill(word)
        page.wait_for_function(begun, arg=word)
        page.get_by_role("button", name="Start again").click()
        for t in range(1, len(word) + 1):
            for label, (model, head) in networks.items():
                of = torch.tensor([[head["sources"].index(letter) for letter in word]]), torch.tensor([len(word)])
                (best,) = translate(model, *of, start=START, stop=STOP, length=t)
                written = "".join("■" if n == STOP else head["symbols"][n] for n in best.tokens.tolist())
                assert boxes[label].get_by_role("img").get_attribute("aria-label").endswith(f": {written}.")
                right[label, word] = sum(a == b for a, b in zip(written, word[::-1], strict=False))
                if label == "gru-attention":
                    before = torch.tensor([[START, *best.tokens.tolist()[:-1]]])
                    alpha = model.look(before, model.encode(*of))[2][0, -1]
                    ways = boxes[label].locator(".pg-way").all()
                    shares = torch.tensor([float(way.get_attribute("opacity")) for way in ways])
                    assert (shares - alpha).abs().max() < 1e-6
            page.get_by_role("button", name="Next symbol").click()
        said = page.locator(".pg-score").first.inner_text()
        page.wait_for_function("said => document.querySelector('[aria-live]').textContent.includes(said)", arg=said)
    page.close()
    for word in ("recurrent", "unrolled"):
        assert right["gru-attention", word] == len(word) >= right["gru-one-vector", word] + 2
    assert right["gru-one-vector", "gate"] == 4


def test_every_example_of_a_date_is_spelt_with_letters_that_the_network_reads():
    dates = data("looks")
    known = set(Dates().sources)
    assert all(set(text) <= known for text in (dates["text"], *dates["examples"]))

"""What the page *Playground* loads is what the record measured, and its texts are stories that the networks know."""

import base64
import gzip
import json
import math
import re

import numpy as np
import pytest
import torch

import playground as tool
from places import ROOT
from running import READ, in_python, largest_difference, source
from unrolled import experiments
from unrolled.experiments import playground
from unrolled.models import LanguageModel
from unrolled.text import WordVocabulary, stories

pytestmark = pytest.mark.book
PAGE = (ROOT / "playground.md").read_text(encoding="utf8")
FIGURES = {found[1]: found[0] for found in tool.FIGURE.finditer(PAGE)}
RECORD = experiments.measured("playground")


def data(name: str) -> dict:
    """Return the data of a playground of the page."""
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', FIGURES[name], re.DOTALL)[1])


def test_every_network_is_the_one_that_was_measured_and_no_larger_than_a_page_takes():
    scripts = {path.stem: path.read_text(encoding="utf8") for path in (ROOT / "playground" / "models").glob("*.js")}
    assert set(scripts) == set(RECORD), "write them: make playground"
    for label, script in scripts.items():
        assert playground.digest(script) == RECORD[label]["digest"][0], f"{label}: make playground"
        assert len(gzip.compress(script.encode())) <= 400_000


def test_the_page_asks_for_networks_that_there_are_and_has_pictures_of_all_playgrounds():
    assert set(FIGURES) == {"expects", "remembers", "gates", "writes"}
    for name, figure in FIGURES.items():
        assert set(re.search(r'data-models="(.*?)"', figure)[1].split()) <= set(RECORD)
        assert (ROOT / "playground" / f"{name}.png").is_file(), "photograph it: make playground"


def test_the_table_says_what_the_record_has(monkeypatch, tmp_path):
    monkeypatch.setattr(tool, "RECALL", tmp_path / "recall.md")
    tool.write_table(RECORD)
    assert tool.RECALL.read_text() == (ROOT / "figures" / "playground-recall.md").read_text(), "make playground"


def told(story: dict, hero: str, distance: int) -> str:
    """Return the story that a playground tells, as `Unrolled.tell` does."""
    she = hero in story["names"]["she"]
    forms = {"hero": hero, "they": "she" if she else "he", "their": "her" if she else "his"}
    text = " ".join([*story["opening"], *story["between"][:distance], *story["closing"]])
    return re.sub(r"\{(\w+)\}", lambda slot: forms[slot[1]], text)


def test_every_word_of_the_stories_is_known_and_every_name_is_of_its_gender():
    grammar, story = stories.grammar(), data("remembers")
    known = WordVocabulary(stories.words(stories.corpus(3_000_000).text))
    for gender, names in enumerate(story["names"].values()):
        for hero in names:
            assert grammar.gender[hero] == gender
            words = stories.words(told(story, hero, len(story["between"])))
            assert [word for word in words if word not in known] == []
    for name in ("expects", "gates", "writes"):
        assert [word for word in stories.words(data(name)["text"]) if word not in known] == []


def test_every_sentence_of_the_story_is_one_of_the_grammar():
    story, grammar = data("remembers"), stories.grammar()
    templates = {rule.template.removesuffix(" {fame}") for rules in grammar.rules.values() for rule in rules}
    patterns = [re.sub(r"\\{.*?\\}", "[A-Za-z ]+", re.escape(template)) for template in templates if " " in template]
    for sentence in (*story["opening"], *story["between"], *story["closing"]):
        assert any(re.fullmatch(each, sentence.replace("{hero}", "Ada")) for each in patterns), sentence


def model_of(script: str) -> tuple[LanguageModel, list[str]]:
    """Return the model in a script of weights, read by another hand, and its symbols."""
    head, weights, _ = json.loads(re.search(r"= (\[.*\]);", script)[1])
    head, raw = json.loads(head), np.frombuffer(base64.b64decode(weights), dtype=np.uint8)
    numbers = torch.from_numpy(raw.reshape(2, -1).T.copy().view("<f2").astype(np.float64).ravel())
    shapes = [tuple(shape) for shape in head["shapes"].values()]
    parts = dict(zip(head["shapes"], numbers.split([math.prod(shape) for shape in shapes]), strict=True))
    parts = {name: part.view(shape) for (name, part), shape in zip(parts.items(), shapes, strict=True)}
    (symbols, size), hidden_size = parts["E"].shape, len(parts["0.h_0"])
    model = LanguageModel(
        symbols, embedding_size=size, hidden_size=hidden_size, core=head["core"], cell_options=head["options"]
    )
    names = {"E": "embedding.weight", "W_hy": "output.weight", "b_y": "output.bias"}
    names |= {f"0.{name}": f"core.cell.{name}" for name in ("W_xh", "W_hh", "b_h")} | {"0.h_0": "h_0", "0.c_0": "c_0"}
    model.double().load_state_dict({names[name]: part for name, part in parts.items()})
    return model.eval(), head["symbols"]


@pytest.mark.parametrize("label", RECORD)
def test_what_runs_in_the_page_is_what_runs_in_python(browser, label):
    script = (ROOT / "playground" / "models" / f"{label}.js").read_text(encoding="utf8")
    model, symbols = model_of(script)
    text = stories.corpus(1, seed=9).stories[0].text
    words = stories.words(text) if label.endswith("words") else list(text)
    numbers = torch.tensor([symbols.index(word) for word in words[:150]])
    page = browser.new_page()
    page.add_script_tag(content=source("engine"))
    page.add_script_tag(content=script.replace(f'unrolledWeights["{label}"]', "unrolledWeights.test"))
    assert largest_difference(page.evaluate(READ, [numbers.tolist()]), in_python(model, numbers)) < 1e-5
    page.close()

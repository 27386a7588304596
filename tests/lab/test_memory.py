"""Memory by lag: equal sizes, equal searches, the test read once, and what a unit tells of a name."""

import copy

import pytest
import torch
from unrolled.experiments import base, find, memory, reading, records, tuning

from unrolled.text import stories

SMALL = {"hidden_size": 8, "embedding_size": 8, "context": 16, "num_heads": 2, "num_layers": 1}


@pytest.fixture(autouse=True)
def no_record(monkeypatch, tmp_path):
    monkeypatch.setattr(records, "FOLDER", tmp_path / "measured")


@pytest.mark.parametrize("profile, least, most", [("quick", 480_000, 530_000), ("full", 2_040_000, 2_140_000)])
def test_all_models_have_about_as_many_weights_in_every_variant(profile, least, most):
    for core in memory.MODELS:
        for variant in memory._variants(core, profile):
            config = tuning.with_setting(memory._base(core, 1, profile), variant)
            assert least < base.parameters(base.model_of(config, 1171)) < most, (core, variant)


@pytest.mark.parametrize("profile", ["quick", "full"])
def test_all_are_searched_alike(profile):
    searches = memory.COMPARISON.searches(profile)
    *short, longest = memory.BUDGETS[profile]
    for updates in short:
        each = [searches[f"{core} {updates}"] for core in memory.MODELS]
        assert [(len(one["settings"]), one["keep"]) for one in each] == [(15, [[0.25, 8], [0.5, 4]])] * 4
    trained_longest = {label for label in searches if label.endswith(f" {longest}")}
    assert trained_longest == {f"{core} {longest}" for core in ("lstm", "gru")}
    assert all("waits_for" in searches[label] for label in trained_longest)
    for label, config in searches.items():
        if "recipe" in config:
            updates, recipe = int(label.split()[1]), config["recipe"]
            assert recipe["updates"] == updates and recipe["seq_len"] == 160
            words = updates * recipe["batch"] * 160
            assert (
                config["text"]["characters"] > words * stories.grammar().expected_length() / 142
            )  # none is read twice


def test_a_window_holds_a_story():
    assert stories.grammar().expected_words() < memory.SEQ_LEN


def test_the_longest_training_tries_the_finalists_of_the_one_before(monkeypatch):
    best = {"learning_rate": memory.RATES["gru"][1], "initialisation": "orthogonal"}
    second = {"learning_rate": memory.RATES["gru"][2], "initialisation": "uniform"}

    def found(name, label, config):
        if (name, label) != ("memory-tuning", "gru 2000"):
            return None
        places = [config["settings"].index(setting) for setting in (best, second)]
        return {
            "trial_updates": [2000 if place in places else 500 for place in range(len(config["settings"]))],
            "trial_nats": [float(place != places[0]) for place in range(len(config["settings"]))],
            "chosen": places[0],
        }

    monkeypatch.setattr(tuning, "found", found)
    search = memory.COMPARISON.searches("quick")["gru 8000"]
    assert search["settings"] == tuning.finalists([best, second]) and search["keep"] == [[0.5, 2]]
    contenders = memory.contenders(memory.COMPARISON, "quick")
    assert contenders["gru 2000"]["recipe"]["learning_rate"] == memory.RATES["gru"][1]
    assert contenders["gru 2000"]["model"]["options"]["cell_options"]["initialisation"] == "orthogonal"
    assert not contenders["gru 2000"]["story"]
    assert contenders["gru 8000"] == {"waits_for": "gru 8000 of memory-tuning"}


@pytest.mark.parametrize("core", memory.MODELS)
def test_each_model_is_asked_on_the_way_and_in_the_test_at_the_end(core, hold_out, tmp_path, monkeypatch):
    hold_out(40_000)
    config = copy.deepcopy(memory._base(core, 4, "quick"))
    options = config["model"]["options"]
    config["model"]["options"] = options | {name: size for name, size in SMALL.items() if name in options}
    config["text"]["characters"] = 400_000  # so that every name is known
    config["recipe"] |= {"batch": 2, "seq_len": 16}
    asked, ask = [], memory._ask
    monkeypatch.setattr(memory, "_ask", lambda *arguments: asked.append(arguments[2:]) or ask(*arguments))
    config |= {"points": [2, 4], "validations": 0, "story": True}
    measured = memory.measure(config, 0, tmp_path)
    contender = records.Contender(core, config, [measured], memory.axes(config))
    find("memory-by-lag").check(contender)
    (validation, test), read = reading.unseen_stories(), reading.encoded(config)
    assert [corpus for corpus, _ in asked] == [validation, validation, test]
    assert torch.equal(asked[0][1], read.held_out) and torch.equal(asked[2][1], read.test)
    assert contender["name_curve"].shape == (1, 2, 6) and contender["name"].shape == (1, 6)
    story = contender["story"][0].tolist()
    assert story in [stories.words(each.text) for each in test.stories] and measured["hero"] in story
    assert len(measured["chance"]) == len(story)
    assert ("unit_states" in measured) == (core != "transformer")
    assert ("unit_gates" in measured) == (core in ("lstm", "gru"))
    asked.clear()
    assert memory.measure(config, 0, tmp_path) == measured | {"seconds": pytest.approx(measured["seconds"])}
    assert len(asked) == 1  # what was asked on the way is kept
    assert "story" not in memory.measure(config | {"story": False}, 0, tmp_path)


def test_a_unit_that_holds_the_name_tells_all_of_it(monkeypatch):
    """A network whose unit 0 is the number of the last name, and whose unit 1 is the number of the last word."""
    corpus = stories.corpus(60_000, seed=3)
    values = stories.grammar().values["name"]
    read = reading.encoded({"text": reading.text("stories", 400_000, words=True)})

    def trace(network, tokens):
        words, last, states = read.vocabulary.decode(tokens.tolist()), 0, []
        for word, number in zip(words, tokens.tolist(), strict=True):
            last = values.index(word) if word in values else last
            states.append([float(last), float(number), 1.0])
        return torch.tensor(states), None

    monkeypatch.setattr(memory, "_trace", trace)
    alone = [story for story in corpus.stories if len({r.value for r in story.recalls if r.kind == "name"}) == 1]
    shares = memory.name_shares(None, read, stories.StoryCorpus(tuple(alone)))
    assert shares[0] > 0.9 and shares[1] < 0.6 and shares[2] == 0

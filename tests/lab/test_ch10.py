"""Chapter 10's experiments: gradients and answers checked by hand, and readers that are shared."""

import json

import pytest
import torch

from lab.ch10_depth_and_direction import (
    depth_width,
    layer_probes,
    pretraining,
    tagging,
    tagging_stopped,
)
from lab.ch10_depth_and_direction.pretrained import PretrainedTagger
from lab.ch10_depth_and_direction.window_tagger import WindowTagger
from lab.engine import training
from lab.engine.texts import Encoded, unseen_stories
from small_experiments import small
from unrolled.models import LanguageModel, load_model
from unrolled.text import TaggedCorpus, TaggedSentence, Vocabulary

# Depth against width


def test_the_gradient_of_a_layer_is_that_of_its_weights():
    torch.manual_seed(0)
    network = LanguageModel(5, hidden_size=6, num_layers=2, core="gru")
    read = Encoded(None, None, torch.randint(5, (4 * 9,)))
    norms = depth_width.by_layer(network, read, sequences=4, steps=8)
    rows = read.held_out.view(4, 9)
    logits, _ = network(rows[:, :-1])
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten()).backward()
    for cell, norm in zip(network.core.layers, norms, strict=True):
        flat = torch.cat([weight.grad.flatten() for weight in cell.parameters()])
        assert norm == pytest.approx(flat.square().mean().sqrt().item(), rel=1e-4)


# Tagging

CORPUS = TaggedCorpus(
    tuple(TaggedSentence(("the", "fish", "swim"), ("DET", "NOUN", "VERB")) for _ in range(6))
    + (TaggedSentence(("they", "fish"), ("PRON", "VERB")),) * 3,
    (TaggedSentence(("they", "swim"), ("PRON", "VERB")),) * 2,
    (
        TaggedSentence(("the", "fish"), ("DET", "NOUN")),
        TaggedSentence(("they", "fish", "eels"), ("PRON", "VERB", "NOUN")),
    ),
)


@pytest.fixture
def little(monkeypatch):
    """A corpus of a few sentences in place of both."""
    monkeypatch.setattr(tagging, "tagged", lambda corpus, characters: CORPUS)


def test_what_is_right_is_counted_by_hand():
    result = tagging.answers([("DET", "VERB"), ("PRON", "VERB", "DET")], CORPUS, {"by_sentence": True})
    assert result["accuracy"] == pytest.approx(3 / 5)
    assert (result["ambiguous"], result["ambiguous_asked"]) == (0.5, 2)  # fish, twice
    assert (result["unknown_right"], result["unknown_asked"]) == (0, 1)  # eels
    assert result["errors"] == [1, 1] and result["words"] == [2, 3] and result["wrong_at"] == "1 4"


@pytest.mark.parametrize("name", tagging.COUNTING)
def test_those_that_count_are_asked_the_same(little, tmp_path, name):
    measured = tagging.measure(tagging.COUNTED[name], 0, tmp_path)
    tagger = tagging.COUNTING[name](CORPUS.train)
    given = [tagger.tags(each.words) for each in CORPUS.test]
    wrong = [sum(map(str.__ne__, row, each.tags)) for row, each in zip(given, CORPUS.test, strict=True)]
    assert measured["errors"] == wrong and wrong[0] == 0 and "seconds" not in measured


# Tagging, stopped by validation


def test_a_trial_costs_what_its_best_weights_cost_and_each_stops_after_a_while(little, tmp_path):
    config = small("tagging-stopped-tuning", "both")
    config["recipe"] |= {"updates": 40, "patience": 2}
    config["space"] = config["space"] | {"learning_rate": {"log": [0.3, 3.0]}}  # so high that the loss goes up and down
    measured = tagging_stopped.draw(config | {"validations": 20}, 0, tmp_path)
    assert len(measured["trial_cost"]) >= 3
    assert {"learning_rate", "dropout", "initialisation"} == json.loads(measured["trial_setting"][0]).keys()
    given = tagging.answering(config)
    for number, cost in enumerate(measured["trial_cost"]):
        trained, *_ = load_model(tmp_path / f"trial-{number}.model")
        assert training.mean_loss(trained, given.held_out) == pytest.approx(cost, rel=1e-5)


def test_a_window_that_reaches_farther_has_as_many_weights():
    sizes = []
    for reach in tagging_stopped.REACH:
        tried = tagging_stopped.with_drawn(tagging_stopped.base("window"), {"reach": reach, "dropout": 0.1})
        sizes.append(training.parameters(training.model_of(tried, 800, 20)))
        assert tried["model"]["reach"] == reach
    assert max(sizes) / min(sizes) < 1.02


# Pre-training


def test_a_tagger_begins_with_readers_that_were_trained_once_for_all(little, tmp_path):
    config = small("pretraining", "trained models 50") | {"labelled": 4}
    config["language_model"]["recipe"] |= {"batch": 1, "seq_len": 4}
    place = tmp_path / "contender" / "seed"
    measured = pretraining.measure(config, 0, place)
    assert sum(measured["shares"]) == pytest.approx(1) and len(measured["shares"]) == 3
    model, *_ = load_model(place / f"rate-{measured['learning_rate']:g}.model")
    assert isinstance(model, PretrainedTagger)
    (shared,) = [path for path in tmp_path.glob("shared-*") if path.is_dir()]
    for side in ("from_left", "from_right"):
        trained, _ = load_model(shared / f"{side}.model")
        pairs = zip(model.readers[side].parameters(), trained.parameters(), strict=True)
        assert all(torch.equal(own, other) for own, other in pairs)
    made = (shared / "from_left.pt").stat().st_mtime_ns
    pretraining.measure(config | {"labelled": 5}, 0, place.with_name("other"))
    assert (shared / "from_left.pt").stat().st_mtime_ns == made


def test_a_reader_from_the_right_reads_each_sentence_from_its_end():
    left, _ = pretraining._lines(CORPUS, reverse=False)
    right, _ = pretraining._lines(CORPUS, reverse=True)
    assert left[:4] == ["the", "fish", "swim", "<unk>"] and right[:4] == ["swim", "fish", "the", "<unk>"]


@pytest.mark.parametrize("kind", ["from scratch", "trained models", "untrained models", "trained vectors"])
def test_what_a_language_model_has_is_taken_away_one_at_a_time(little, tmp_path, kind):
    config = small("pretraining", f"{kind} 50") | {"labelled": 4}
    if "language_model" in config:
        config["language_model"]["recipe"] |= {"batch": 1, "seq_len": 4}
    place = tmp_path / "contender" / "seed"
    measured = pretraining.measure(config, 0, place)
    rates, costs = config["learning_rates"], measured["validation"]
    assert len(costs) == len(rates) and costs[rates.index(measured["learning_rate"])] == min(costs)
    shares = {"from scratch": None, "trained vectors": 1}.get(kind, 3)
    assert (len(measured["shares"]) if "shares" in measured else None) == shares
    assert any(tmp_path.glob("shared-*")) == kind.startswith("trained")
    file = place / f"rate-{measured['learning_rate']:g}.model"
    tagger, *_ = load_model(file)
    assert pretraining.asked(tagger, config)["accuracy"] == measured["accuracy"]
    if kind == "trained vectors":  # and nothing of what the language models make of them
        sentence = torch.tensor([[1, 2]]), torch.tensor([2])
        before = tagger.eval()(*sentence)
        for reader in tagger.readers.values():
            reader.core.layers[0].W_hh.data.normal_()
        assert torch.equal(tagger(*sentence), before)


# Probes


def test_the_labels_of_letters_are_those_of_a_hand():
    text = "The fox met a dog. It ran\n"
    tags = ["other", "animal", "other", "other", "animal", "other", "other", "other", "other"]
    found = layer_probes.labelled(text, tags)
    place, sentence, kind = found.values()
    assert place.label[:9].tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 0]  # the blank belongs to the word before it
    assert [text[at] for at in range(len(text)) if not place.asked[at]] == [" "] * 6
    at = [text.index(word) for word in ("The", "fox", "met", "a", "dog", "It", "ran")]
    assert sentence.label[at].tolist() == [0, 0, 1, 1, 2, 0, 0]
    assert [at for at in range(len(text)) if kind.asked[at]] == [text.index("x"), text.index("g")]
    assert kind.label[text.index("x")] == kind.label[text.index("g")] != kind.label[text.index("m")]
    assert place.beginnings[4:7] == ["f", "fo", "fox"] and len(place.beginnings) == len(text)


def test_the_last_layer_that_is_probed_is_the_one_that_predicts():
    torch.manual_seed(0)
    network, tokens = LanguageModel(5, hidden_size=6, num_layers=2, core="gru", dropout=0.5), torch.randint(5, (2, 7))
    vectors, first, second = layer_probes.layers(network, tokens)
    assert network.training and first.shape == second.shape == (2, 7, 6)
    assert torch.equal(vectors, network.embedding(tokens))
    assert torch.allclose(network.output(second), network.eval()(tokens)[0], atol=1e-6)


def test_a_network_is_probed_by_one_half_of_its_windows_in_the_other(monkeypatch):
    asked = []

    def probe(fitted, labels, held_out, answers, *, penalty):
        asked.append((len(labels), len(answers), labels.tolist()))
        return float(len(asked))

    monkeypatch.setattr(layer_probes.probes, "linear_probe", probe)
    config = layer_probes.SHARED | {"windows": 4, "length": 32}
    vocabulary = Vocabulary(unseen_stories()[1].text)
    torch.manual_seed(0)
    network = LanguageModel(len(vocabulary), hidden_size=6, num_layers=2, core="gru")
    result = layer_probes.probed(network, vocabulary, config, seed=0)
    assert result["right"] == [[1, 2, 3], [7, 8, 9], [13, 14, 15]] and result["control"][0] == [4, 5, 6]
    assert all(0 < fitted <= 32 and 0 < held <= 32 for fitted, held, _ in asked)  # 16 of 32 letters, of two windows
    drawn = [labels for _, _, labels in asked]
    assert drawn[0] == drawn[2] != drawn[3] == drawn[5] and set(drawn[3]) <= set(drawn[0])


# A window


def test_a_window_ends_where_its_sentence_ends():
    tagger = WindowTagger(9, 4, reach=2).double()
    rows = torch.randint(8, (2, 6))
    logits = tagger(rows, torch.tensor([6, 3]))
    alone = tagger(rows[1:, :3], torch.tensor([3]))
    assert torch.allclose(alone[0], logits[1, :3], rtol=0, atol=1e-10)
    with pytest.raises(ValueError, match="lengths run from 0 to 2; a row has 1 to 6"):
        tagger(rows, torch.tensor([0, 2]))


def test_a_window_sees_so_far_and_no_further():
    tagger = WindowTagger(9, 4, reach=2).double()
    seen = []
    for place in range(7):
        tokens = torch.zeros(1, 7, dtype=torch.long)
        before = tagger(tokens, torch.tensor([7]))[0, 3]
        tokens[0, place] = 5
        seen.append(not torch.equal(tagger(tokens, torch.tensor([7]))[0, 3], before))
    assert seen == [False, True, True, True, True, True, False]
    with pytest.raises(ValueError, match="reach is -1"):
        WindowTagger(9, 4, reach=-1)

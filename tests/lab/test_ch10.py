"""Chapter 10's experiments: equal sizes and searches, gradients and answers checked by hand, and shared readers."""

import pytest
import torch

import lab
from lab.ch10_depth_and_direction import depth_width, pretraining, tagging
from lab.engine.search import search_answering, with_setting
from lab.engine.texts import Encoded
from lab.engine.training import mean_loss, model_of, parameters, recipe_of
from small_experiments import small
from unrolled.models import LanguageModel, PretrainedTagger, load_model
from unrolled.text import TaggedCorpus, TaggedSentence

# Depth against width


def test_deep_and_wide_networks_have_as_many_trials_and_weights_and_read_nothing_twice():
    for label, search in depth_width.BUDGETS.searches.items():
        config = search()
        expected = (6, [[0.5, 2]]) if label.endswith(" 1600") else (12, [[0.25, 6], [0.5, 3]])
        assert (len(config["grid"]), config["keep"]) == expected
        weights = {parameters(model_of(with_setting(config, setting), 59)) for setting in config["grid"]}
        assert [*weights] == pytest.approx([80_000], rel=0.015), label
        recipe = recipe_of(config)
        assert config["text"]["characters"] > recipe.updates * 2048 + recipe.batch and config["text"]["three_parts"]


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


@pytest.mark.parametrize("name", depth_width.SHAPES)
def test_the_gradient_of_every_layer_is_taken_before_and_after(name, hold_out, tmp_path):
    hold_out(20_000)
    measured = depth_width.measure(small("depth-against-width", f"{name} 100"), 0, tmp_path)
    before, after = measured["gradient_before"], measured["gradient_after"]
    assert len(before) == len(after) == depth_width.SHAPES[name][1] and before != after


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


@pytest.mark.parametrize("corpus, words, tags", [("atis", 864, 14), ("stories", 1166, 16)])
def test_all_taggers_have_as_many_trials_and_about_as_many_weights_in_each_of_them(corpus, words, tags):
    sizes = []
    for name in tagging.NETWORKS:
        for updates in (150, 600):
            config = tagging.BUDGETS.searches[f"{corpus}/{name} {updates}"]()
            assert (len(config["grid"]), config["keep"]) == (20, [[0.25, 10], [0.5, 5]])
            tried = [with_setting(config, setting) for setting in config["grid"]]
            sizes += [parameters(model_of(each, words, tags)) for each in tried]
    assert max(sizes) < 1.04 * min(sizes)


def test_what_is_right_is_counted_by_hand():
    result = tagging.answers([("DET", "VERB"), ("PRON", "VERB", "DET")], CORPUS, {"by_sentence": True})
    assert result["accuracy"] == pytest.approx(3 / 5)
    assert (result["ambiguous"], result["ambiguous_asked"]) == (0.5, 2)  # fish, twice
    assert (result["unknown_right"], result["unknown_asked"]) == (0, 1)  # eels
    assert result["errors"] == [1, 1] and result["words"] == [2, 3] and result["wrong_at"] == "1 4"


@pytest.mark.parametrize("name", tagging.NETWORKS)
def test_a_tagger_is_trained_asked_and_saved(little, tmp_path, name):
    config = small("tagging", f"atis/{name} 150") | {"by_sentence": True}
    measured = tagging.measure(config, 0, tmp_path)
    model, words, tags = load_model(tmp_path / "model.model")
    sentence = CORPUS.test[1]
    answers = model(words.encode(sentence.words)[None], torch.tensor([3]))[0].argmax(dim=1)
    assert measured["errors"][1] == sum(map(str.__ne__, tags.decode(answers), sentence.tags))
    assert tagging.measure(config, 0, tmp_path) == measured  # from what was kept


@pytest.mark.parametrize("name", tagging.COUNTING)
def test_those_that_count_are_asked_the_same(little, tmp_path, name):
    measured = tagging.measure(tagging.COUNTED[f"atis/{name}"], 0, tmp_path)
    tagger = tagging.COUNTING[name](CORPUS.train)
    given = [tagger.tags(each.words) for each in CORPUS.test]
    wrong = [sum(map(str.__ne__, row, each.tags)) for row, each in zip(given, CORPUS.test, strict=True)]
    assert measured["errors"] == wrong and wrong[0] == 0 and "seconds" not in measured


def test_a_search_of_answers_tries_every_setting_and_chooses_the_lowest(little, tmp_path):
    config = small("tagging-tuning", "atis/both 150")
    config |= {"grid": [{"learning_rate": rate} for rate in (1e-4, 0.05)], "keep": [[0.5, 1]]}
    config["recipe"]["updates"] = 8
    trials = search_answering(config, 0, tmp_path, tagging.answering)
    assert trials["chosen"] == 1 and trials["trial_updates"] == [4, 8]
    assert trials["trial_nats"][1] < trials["trial_nats"][0]
    model, *_ = load_model(tmp_path / "trial-1.model")
    assert mean_loss(model, tagging.answering(config).held_out) == pytest.approx(trials["trial_nats"][1])


# Pre-training


def test_a_tagger_begins_with_readers_that_were_trained_once_for_all(little, tmp_path):
    config = small("pretraining", "pretrained 50") | {"labelled": 4}
    config["language_model"]["recipe"] |= {"batch": 1, "seq_len": 4}
    place = tmp_path / "contender" / "seed"
    measured = pretraining.measure(config, 0, place)
    assert sum(measured["shares"]) == pytest.approx(1) and len(measured["shares"]) == 3
    model, *_ = load_model(place / "model.model")
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


def test_those_from_scratch_and_pre_trained_have_as_many_sentences_and_updates():
    experiment = lab.find("pretraining")
    for label, config in experiment.contenders.items():
        kind, count = label.split()
        assert config["labelled"] == int(count) and ("language_model" in config) == (kind == "pretrained")
    assert len({str(config["recipe"]) for config in experiment.contenders.values()}) == 1

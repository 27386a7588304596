"""Taggers compared: equal sizes and searches, what is counted of their answers, and pre-trained readers."""

import copy

import pytest
import torch
from unrolled.experiments import answering, base, find, pretraining, records, tagging, tuning

from unrolled.models import PretrainedTagger, Tagger, load_model
from unrolled.text import TaggedCorpus, TaggedSentence

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
def little(monkeypatch, tmp_path):
    """A corpus of a few sentences in place of both, and no record."""
    monkeypatch.setattr(tagging, "tagged", lambda corpus, characters: CORPUS)
    monkeypatch.setattr(records, "FOLDER", tmp_path / "measured")


def small(config, **changes):
    config = copy.deepcopy(config)
    config["recipe"] |= {"updates": 3, "batch": 2}
    return config | {"validations": 1} | changes


@pytest.mark.parametrize("corpus, words, tags", [("atis", 864, 14), ("stories", 1166, 16)])
def test_all_taggers_have_about_as_many_weights_in_every_variant(corpus, words, tags):
    sizes = {
        (name, number): base.parameters(base.model_of(tuning.with_setting(made, variant), words, tags))
        for name in tagging.NETWORKS
        for made in [tagging._base(f"{corpus}/{name}", 1, "quick")]
        for number, variant in enumerate(tagging.VARIANTS[name])
    }
    assert max(sizes.values()) < 1.04 * min(sizes.values()), sizes


def test_all_are_searched_alike():
    searches = tagging.COMPARISON.searches("quick")
    for updates in tagging.BUDGETS["quick"][:-1]:
        each = [searches[f"{label} {updates}"] for label in tagging.LABELS]
        assert {(len(one["settings"]), str(one["keep"])) for one in each} == {(20, "[[0.25, 10], [0.5, 5]]")}


def test_what_is_right_is_counted_by_hand(little):
    given = [("DET", "VERB"), ("PRON", "VERB", "DET")]
    found = tagging.answers(given, CORPUS, {"by_sentence": True})
    assert found["accuracy"] == pytest.approx(3 / 5)
    assert (found["ambiguous"], found["ambiguous_asked"]) == (0.5, 2)  # fish, twice
    assert (found["unknown_right"], found["unknown_asked"]) == (0, 1)  # eels
    assert found["errors"] == [1, 1] and found["words"] == [2, 3] and found["wrong_at"] == "1 4"


@pytest.mark.parametrize("name", tagging.NETWORKS)
def test_a_tagger_is_trained_asked_and_saved(little, tmp_path, name):
    config = small(tagging._base(f"atis/{name}", 3, "quick"), by_sentence=True)
    measured = tagging.measure(config, 0, tmp_path / "run")
    find("tagging").check(records.Contender(name, config, [measured], {}))
    model, words, tags = load_model(tmp_path / "run" / "model.model")
    sentence = CORPUS.test[1]
    chosen = model(words.encode(sentence.words)[None], torch.tensor([3]))[0].argmax(dim=1)
    wrong = [a != b for a, b in zip(tags.decode(chosen), sentence.tags, strict=True)]
    assert measured["errors"][1] == sum(wrong)
    assert tagging.measure(config, 0, tmp_path / "run") == measured  # from what was kept
    assert len(measured["curve"]) == 1 and measured["parameters"] == base.parameters(model)


@pytest.mark.parametrize("name", tagging.COUNTING)
def test_those_that_count_are_asked_the_same(little, tmp_path, name):
    config = tagging._contenders("quick")[f"atis/{name}"]
    measured = tagging.measure(config, 0, tmp_path)
    find("tagging").check(records.Contender(name, config, [measured], {}))
    tagger = tagging.COUNTING[name](CORPUS.train)
    given = [tagger.tags(each.words) for each in CORPUS.test]
    wrong = [sum(map(str.__ne__, row, each.tags)) for row, each in zip(given, CORPUS.test, strict=True)]
    assert measured["errors"] == wrong and wrong[0] == 0 and "seconds" not in measured


def test_a_search_tries_every_setting_and_chooses_the_lowest(little, tmp_path):
    config = small(tagging._base("atis/both", 4, "quick"), settings=[{"learning_rate": r} for r in (1e-4, 0.05)])
    config |= {"keep": [[0.5, 1]]}
    config["recipe"]["updates"] = 8
    found = answering.tune_answering(config, 0, tmp_path, tagging.answering)
    assert found["chosen"] == 1 and found["trial_updates"] == [4, 8]
    assert found["trial_nats"][1] < found["trial_nats"][0]
    model, *_ = load_model(tmp_path / "trial-1.model")
    assert answering.mean_loss(model, tagging.answering(config).held_out) == pytest.approx(found["trial_nats"][1])


def test_the_mean_loss_is_total_over_total():
    torch.manual_seed(0)
    model = Tagger(9, 4, hidden_size=4, dropout=0.5)
    pairs = [(torch.arange(n) % 9, torch.arange(n) % 4) for n in (1, 7, 3)]
    parts = [answering.Examples(pairs, size, answering_padded).once() for size in (1, 3)]
    assert (
        answering.mean_loss(model, parts[0]) == pytest.approx(answering.mean_loss(model, parts[1])) and model.training
    )


def answering_padded(pairs):
    from unrolled.text import pad_tagged

    return pad_tagged(pairs)


def test_a_tagger_begins_with_readers_that_were_trained_once_for_all(little, tmp_path):
    config = small(pretraining._contenders("quick")["pretrained 50"], labelled=4)
    reader = copy.deepcopy(config["language_model"])
    reader["recipe"] |= {"updates": 2, "batch": 1, "seq_len": 4}
    config["language_model"] = reader
    place = tmp_path / "runs" / "experiment" / "contender" / "seed"
    measured = pretraining.measure(config, 0, place)
    find("pretraining").check(records.Contender("pretrained", config, [measured], {}))
    assert sum(measured["shares"]) == pytest.approx(1) and len(measured["shares"]) == 3
    model, *_ = load_model(place / "model.model")
    assert isinstance(model, PretrainedTagger)
    (shared,) = [path for path in (tmp_path / "runs" / "experiment").glob("shared-*") if path.is_dir()]
    for side in ("from_left", "from_right"):
        trained, words = load_model(shared / f"{side}.model")
        pairs = zip(model.readers[side].parameters(), trained.parameters(), strict=True)
        assert all(torch.equal(own, other) for own, other in pairs)
    made = (shared / "from_left.pt").stat().st_mtime_ns
    pretraining.measure(config | {"labelled": 5}, 0, place.with_name("other"))
    assert (shared / "from_left.pt").stat().st_mtime_ns == made


def test_a_reader_from_the_right_reads_each_sentence_from_its_end():
    left, _ = pretraining._lines(CORPUS, reverse=False)
    right, _ = pretraining._lines(CORPUS, reverse=True)
    assert left[:4] == ["the", "fish", "swim", "<unk>"] and right[:4] == ["swim", "fish", "the", "<unk>"]


def test_a_tagger_from_scratch_has_no_readers(little, tmp_path):
    config = small(pretraining._contenders("quick")["scratch 50"], labelled=3)
    measured = pretraining.measure(config, 0, tmp_path / "a" / "b" / "c")
    assert "shares" not in measured and 0 <= measured["accuracy"] <= 1
    assert not list(tmp_path.rglob("shared-*"))

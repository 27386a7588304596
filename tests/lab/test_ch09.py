"""Chapter 9's experiments: the same beginnings for all, a judge with a text of its own, and remedies on a teacher."""

import numpy as np
import pytest
import torch

import lab
from lab.ch09_generating_text import decoding_ways, exposure, whose_story
from lab.ch09_generating_text.judge import Judge, beginnings
from lab.engine import training
from lab.engine.experiment import model
from lab.engine.texts import Encoded, encoded
from small_experiments import small, watch
from unrolled import decoding
from unrolled.measure import evaluate, token_nats
from unrolled.models import load_model
from unrolled.text import Vocabulary, stories
from unrolled.training import History

# The judge


def test_a_judge_prices_what_was_written_and_knows_words_where_they_begin():
    vocabulary = Vocabulary("the cat sat.\n")
    judge = Judge("the cat sat. the cat sat.\n", vocabulary, 3)
    prompts, written = (vocabulary.encode(part).view(1, -1) for part in ("the ca", "t tac sat"))
    marks = judge.strange(prompts, written)
    assert np.flatnonzero(~np.isnan(marks[0])).tolist() == [2]  # cat began before, sat may be cut off
    assert marks[0, 2] == 1
    both, prices = torch.cat([prompts, written], dim=1), judge.nats(prompts, written)
    assert prices.shape == (1, 9)
    assert prices[0] == pytest.approx(token_nats(judge.model, both[0], streams=1)[5:])
    assert prices[0, 0] < prices[0, 2]  # the cat, then ta


def test_beginnings_come_from_all_over_the_held_out_text():
    text = Encoded(None, None, torch.arange(100))
    prompts, rest = beginnings(text, {"texts": 3, "prompt": 2, "length": 3})
    assert prompts.tolist() == [[0, 1], [47, 48], [95, 96]]
    assert rest.tolist() == [[2, 3, 4], [49, 50, 51], [97, 98, 99]]


# Ways of decoding


def test_every_way_goes_on_from_the_same_beginnings_with_the_same_model(tmp_path, monkeypatch):
    asked, generate = [], decoding.generate
    monkeypatch.setattr(decoding, "generate", lambda *given, **how: asked.append(how) or generate(*given, **how))
    configs, ways = {}, decoding_ways.WAYS
    for label in lab.find("decoding-diversity").contenders:
        configs[label] = config = small("decoding-diversity", label, texts=3, length=60)
        config["writer"]["model"] = model("LanguageModel", core="gru", hidden_size=24)
        config["writer"]["recipe"] |= {"updates": 60, "learning_rate": 3e-2}  # enough to prefer one symbol to another
    metrics = {label: decoding_ways.measure(config, 2, tmp_path / label / "a") for label, config in configs.items()}
    assert {label: config["way"] for label, config in configs.items()} == ways
    steps = [{name: value for name, value in each.items() if name not in ("length", "seed")} for each in asked]
    assert steps == [way for label, way in ways.items() if label not in ("text", "beam")]
    assert {each["seed"] for each in asked} == {2 * 3}  # each row of each seed draws numbers of its own
    text = encoded(configs["text"])
    assert len(metrics["beam"]["sample"]) == 70 and metrics["text"]["sample"] in text.vocabulary.decode(text.held_out)
    for measured in metrics.values():
        assert 0 <= measured["repetition"][3] < 1 and 0 < measured["distinct"][0] <= 1
    own = {label: measured["own"] for label, measured in metrics.items()}
    assert own["greedy"] < own["plain"] < own["hot"] and own["beam"] <= own["greedy"]
    (trained,) = tmp_path.glob("shared-2-*/lstm.model")
    prompts, rest = beginnings(text, configs["text"])
    both = torch.cat([prompts, rest], dim=1)
    nats, _ = load_model(trained)[0].costs(both[:, :-1], both[:, 1:])
    assert own["text"] == pytest.approx(nats[:, 9:].mean().item())  # the prompts were not written
    judge = Judge(text.vocabulary.decode(text.training), text.vocabulary, 3)
    assert metrics["text"]["judged"] == pytest.approx(judge.nats(prompts, rest).mean())
    assert [label for label, measured in metrics.items() if "nats" in measured] == ["text"]


# Exposure bias


def test_means_are_by_distance():
    values = np.array([[1.0, 2.0, np.nan, 4.0], [3.0, 2.0, 5.0, np.nan]])
    assert exposure.by_distance(values, [0, 1, 3, 4]) == [2, 3, 4]


def test_each_contender_is_judged_by_one_who_read_other_stories(tmp_path, monkeypatch):
    heard, judge = [], exposure.Judge
    monkeypatch.setattr(exposure, "Judge", lambda text, *rest: heard.append(text) or judge(text, *rest))
    configs = {label: small("exposure-bias", label) for label in lab.find("exposure-bias").contenders}
    configs["own"] |= {"recipe": configs["own"]["recipe"] | {"updates": 2}}
    metrics, models, watched = {}, {}, watch(monkeypatch)
    for label, config in configs.items():
        metrics[label] = exposure.measure(config, 1, tmp_path / label / "seed-1")
        if label not in ("text", "teacher"):
            models[label], _ = load_model(tmp_path / label / "seed-1" / "model.model")
        if label == "scheduled":
            assert watched.models["model"].calls == 3
    assert {*heard} == {stories.corpus(20_000, seed=1).text}
    (teacher,) = tmp_path.glob("shared-1-*/teacher.model")
    models["teacher"], _ = load_model(teacher)
    text = encoded(configs["text"])
    for label, made in models.items():
        assert metrics[label]["nats"] == pytest.approx(evaluate(made, text.held_out).nats_per_symbol)
    assert len({metrics[label]["nats"] for label in ("teacher", "real", "own")}) == 3
    assert metrics["text"]["judged"][1] < metrics["teacher"]["judged"][1] and metrics["text"]["strange"][1] < 0.2
    starts = torch.full((10, 1), text.vocabulary["\n"])
    own = decoding.generate(models["teacher"], starts, length=200, seed=1 * 10)
    assert torch.equal(watched.read["model"], torch.cat(own)) and watched.recipes["model"].updates == 2
    assert exposure.measure(configs["own"], 1, tmp_path / "own" / "seed-1") == metrics["own"]


def test_training_further_begins_with_the_teachers_weights(tmp_path, monkeypatch):
    first = {}

    def train(model, tokens, recipe, *, checkpoint, **keywords):
        label = "teacher" if checkpoint.stem == "teacher" else checkpoint.parent.parent.name
        first[label] = (model.output.bias.detach().clone(), tokens)
        model.output.bias.data += 1 + len(first)
        return History(losses=[1.0], validated=[1], validation=[1.0])

    monkeypatch.setattr(training, "train", train)
    for label in ("scheduled", "real"):
        exposure.measure(small("exposure-bias", label), 0, tmp_path / label / "seed-0")
    (teacher,) = tmp_path.glob("shared-0-*/teacher.model")
    taught = load_model(teacher)[0].output.bias
    assert torch.equal(first["real"][0], taught) and not torch.equal(first["scheduled"][0], taught)
    assert torch.equal(first["real"][1], encoded(small("exposure-bias", "real")).training)


# Whose story


def test_cues_are_what_no_name_but_the_heros_follows():
    texts = ["Ada sat . said Ada . cried Leo .", "Leo ran . said Leo . cried Leo ."]
    assert whose_story.cues(text.split() for text in texts) == {"said"}


def test_a_name_is_asked_for_after_a_cue_and_compared_with_the_first_of_the_story():
    words = ["There", "was", "Ada", ".", "said", "Ada", ".", "cried", "Leo", ".", "said", "Leo"]
    assert whose_story.named_again(words, {"said", "was"}) == [True, False]
    assert whose_story.named_again(["said"], {"said"}) == []


def test_the_grammars_stories_stay_those_of_one_hero_and_every_writer_is_judged_by_the_same_cues(tmp_path, monkeypatch):
    seen, again = [], whose_story.named_again
    monkeypatch.setattr(whose_story, "named_again", lambda words, after: seen.append(after) or again(words, after))
    measured = {
        label: whose_story.measure(small("whose-story", label, mentions=3), 0, tmp_path / label)
        for label in ("the grammar", "n-grams", "gru")
    }
    assert all(after == seen[0] for after in seen) and "said" in seen[0] and "cried" not in seen[0]
    real = measured["the grammar"]
    assert real["same"] == [1.0, 1.0, 1.0] and real["to_the_end"] == 1.0 and real["names"] < 3
    assert real["asked"] == sorted(real["asked"], reverse=True) and real["asked"][0] == 12
    assert all("\n" not in story for each in measured.values() for story in each["story"]), "one story each"
    assert measured["n-grams"]["to_the_end"] < 1 and measured["gru"]["nats"] > measured["n-grams"]["nats"]


def test_each_writer_is_the_one_that_the_validation_prefers(tmp_path):
    config = small("whose-story", "gru") | {"learning_rates": [1e-3, 3e-2, 1e-1]}
    read = encoded(config)
    network, nats = whose_story.by_network(config, 0, tmp_path, read)
    rates = whose_story.at_each_rate(config, 0, tmp_path)["nats"]
    assert len(set(rates)) > 1 and nats == min(rates)
    assert evaluate(network, read.held_out).nats_per_symbol == pytest.approx(nats)
    ngram, paid = whose_story.by_counting(small("whose-story", "n-grams"), read)
    assert evaluate(ngram, read.held_out).nats_per_symbol == pytest.approx(paid)

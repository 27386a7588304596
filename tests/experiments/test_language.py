"""The experiments of chapter 7, on a few updates: what is trained, what is scored and under which name."""

import json
import math

import numpy as np
import pytest
import torch

from unrolled import decoding, experiments
from unrolled.experiments import base, comparison, language, writing
from unrolled.measure import breakdown, evaluate, token_nats
from unrolled.models import files
from unrolled.ngram import Counts, ModifiedKneserNey
from unrolled.text import Vocabulary, WordVocabulary, stories
from unrolled.training import History, Recipe

SMALL = {"corpus": "stories", "characters": 20_000, "symbols_per_update": 64, "updates": 3, "seq_len": 16}
NAMES = [one.name for module in (language, comparison, writing) for one in module.EXPERIMENTS]


def small(name, profile="quick", **changes):
    """Return an experiment's configuration with a little text, few updates and small models."""
    config = experiments.find(name).configs[profile] | SMALL | changes

    def shrunk(told):
        sizes = {"hidden_size": 4, "embedding_size": 4, "context": 16, "num_heads": 2}
        options = told["options"] | {what: size for what, size in sizes.items() if what in told["options"]}
        few = {"updates": 3, "seq_len": 16, "symbols_per_update": 64}
        return told | {
            "options": options,
            "recipe": told["recipe"] | {what: number for what, number in few.items() if what in told["recipe"]},
        }

    if "models" in config:
        config["models"] = {label: shrunk(told) for label, told in config["models"].items()}
    return config


class Watched:
    """A function that trains, and what it was told."""

    def __init__(self, train):
        self.train, self.recipes, self.models, self.read, self.losses = train, {}, {}, {}, {}

    def __call__(self, model, tokens, recipe, *, checkpoint, **how):
        label = checkpoint.stem
        self.recipes[label], self.models[label], self.read[label] = recipe, model, tokens
        self.how = how
        history = self.train(model, tokens, recipe, checkpoint=checkpoint, **how)
        self.losses[label] = history.losses
        return history


@pytest.fixture
def watched(monkeypatch):
    monkeypatch.setattr(base, "train", one := Watched(base.train))
    return one


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("profile", ["quick", "full"])
def test_every_configuration_can_be_trained(name, profile):
    config = experiments.find(name).configs[profile]
    assert json.loads(json.dumps(config, allow_nan=False)) == config
    for told in config["models"].values() if "models" in config else [config["model"]]:
        whole = config | told["recipe"]
        recipe = base.recipe_of(whole)
        assert recipe.batch * recipe.seq_len == whole["symbols_per_update"]
        if told["kind"] == "TransformerLM":
            assert recipe.seq_len == told["options"]["context"] and not recipe.carry
        if told["kind"] == "ScheduledSampling":
            assert told["options"]["ramp"] == recipe.updates  # the text is trusted least at the end, not before
        with torch.device("meta"):
            language.model_of(100, told)


def test_what_a_configuration_leaves_alone_is_as_in_every_recipe():
    told = SMALL | {"learning_rate": 0.1, "carry": True}
    assert base.recipe_of(told) == Recipe(updates=3, batch=4, seq_len=16, learning_rate=0.1)
    chosen = {"clip": None, "optimizer": "sgd", "schedule": "constant", "patience": 2}
    expected = Recipe(
        updates=3,
        batch=4,
        seq_len=16,
        learning_rate=0.1,
        clip=math.inf,
        optimizer="sgd",
        schedule="constant",
        patience=2,
    )
    assert base.recipe_of(told | chosen) == expected


def test_each_rung_of_the_ladder_adds_one_thing():
    models = experiments.find("stories-ablations").configs["quick"]["models"]
    rungs = ["bare", "forget-bias", "clipping", "schedule", "tying", "dropout"]

    def settings(label):
        told = models[label]
        options = told["options"] | told["options"]["cell_options"]
        return {what: value for what, value in (options | told["recipe"]).items() if what != "cell_options"}

    changes = {
        "forget-bias": {"forget_bias": 1.0},
        "clipping": {"clip": 0.25},
        "schedule": {"schedule": "cosine"},
        "tying": {"tied": True},
        "dropout": {"dropout": 0.2},
    }
    for below, rung in zip(rungs, rungs[1:], strict=False):
        assert settings(rung) == settings(below) | changes[rung]
    for left_out in rungs[1:-1]:
        lacking = settings(f"without-{left_out}")
        assert lacking | changes[left_out] == settings("dropout")
        assert all(lacking.get(what) == settings("bare").get(what) for what in changes[left_out])
    assert settings("variational") == settings("dropout") | {"variational": True}
    assert len(models) == 6 + 4 + 1


def test_the_ladder_is_trained_as_its_rungs_say(tmp_path, watched):
    metrics = language.measure_each(small("stories-ablations"), 0, tmp_path)
    assert math.isinf(watched.recipes["bare"].clip) and watched.recipes["clipping"].clip == 0.25
    assert watched.recipes["clipping"].schedule == "constant" and watched.recipes["schedule"].schedule == "cosine"
    assert watched.models["tying"].embedding.weight is watched.models["tying"].output.weight
    assert watched.models["variational"].dropout.variational and watched.models["dropout"].dropout.rate == 0.2
    for one, other in (
        ("bare", "forget-bias"),
        ("clipping", "schedule"),
        ("tying", "dropout"),
        ("dropout", "variational"),
    ):
        assert metrics[f"{one}-nats"] != metrics[f"{other}-nats"]
    assert metrics["tying-parameters"] == metrics["schedule-parameters"] - 4 * metrics["symbols"]


def test_each_model_is_scored_under_its_name_and_a_killed_run_goes_on(tmp_path, watched):
    config = small("tiny-shakespeare", **SMALL)
    metrics = language.measure_each(config, 1, tmp_path)
    text = base.encoded(config)
    for label in ("gru", "lstm", "transformer"):
        model, vocabulary = files.load_model(tmp_path / f"{label}.model")
        assert metrics[f"{label}-nats"] == pytest.approx(evaluate(model, text.held_out).nats_per_symbol)
        assert metrics[f"{label}-updates"] == [1, 2, 3] and len(metrics[f"{label}-curve"]) == 3
        assert metrics[f"{label}-bytes"] == 4 * metrics[f"{label}-parameters"]
        assert metrics[f"{label}-training-nats"] == watched.losses[label][-1]  # the last tenth of three
        told = {"prompt": "\n", "length": 400, "temperature": 0.8, "seed": 1}
        assert metrics[f"{label}-sample"] == decoding.sample(model, vocabulary, **told)
        assert vocabulary.symbols == text.vocabulary.symbols
        assert 0 < metrics[f"{label}-seconds"] < 60
    assert watched.recipes["transformer"] == Recipe(updates=3, batch=4, seq_len=16, learning_rate=2e-3, carry=False)
    assert watched.recipes["lstm"].carry and watched.models["lstm"].dropout.rate == 0.4
    (tmp_path / "lstm.json").unlink()
    watched.recipes.clear()
    again = language.measure_each(config, 1, tmp_path)
    assert again["lstm-nats"] == metrics["lstm-nats"] and list(watched.recipes) == ["lstm"]


def test_seconds_are_those_of_all_updates_that_the_log_tells_of(tmp_path):
    lines = [{"update": 2, "tokens_per_second": 64}, {"update": 3, "tokens_per_second": 32}]
    (tmp_path / "a.pt.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    told = SMALL | {"learning_rate": 0.1, "carry": True}
    assert base.training_seconds(told, tmp_path / "a.pt") == 2 + 2  # of 64 symbols each


def test_words_are_trained_scored_and_saved(tmp_path, watched, monkeypatch):
    words = ["the", "cat", "sat", "on", "a", "mat", "\n"]

    def text(number):
        return " ".join(np.random.default_rng(number).choice(words, 800))

    class Corpus:
        train, validation, test = text(0), text(1), text(2)

    for module in (base, language):
        monkeypatch.setattr(module.corpora, "load_corpus", lambda name: Corpus)
    config = small("wikitext-2-words", corpus="wikitext-2", words=5)
    metrics = language.measure_words(config, 0, tmp_path)
    model, vocabulary = files.load_model(tmp_path / "200.model")
    assert isinstance(vocabulary, WordVocabulary) and metrics["symbols"] == len(vocabulary) == 5
    for name, part in (("nats", Corpus.validation), ("test", Corpus.test)):
        tokens = vocabulary.encode(language.split_words(part))
        assert metrics[f"200-{name}"] == pytest.approx(evaluate(model, tokens).nats_per_symbol)
    recipe = watched.recipes["200"]
    assert (recipe.optimizer, recipe.learning_rate, recipe.clip) == ("sgd", 20.0, 0.25)
    assert len(metrics["200-sample"].split(" ")) >= language.SAMPLE
    for words in (None, 5):
        full = base.encoded(config | {"words": words})
        assert len(full.training) == len(language.split_words(Corpus.train))
        assert len(full.vocabulary) == (8 if words is None else 5)  # seven words and the unknown


def test_the_stories_are_compared_in_every_respect(tmp_path):
    config = small("stories-chars", asked=20_000, edges=[1, 50, 500], orders=[1, 3], positions=[0, 1, 2000])
    config |= {"sequences": 3, "steps": 6}
    metrics = comparison.measure_stories(config, 0, tmp_path)
    _, held_out = stories.corpus(20_000).split(0.9)
    text = base.encoded(config)
    assert metrics["floor"] == held_out.nats_per_character and metrics["characters"] == len(held_out.text)
    shares = breakdown.by_class(np.zeros(len(held_out.text)), held_out)
    assert metrics["class-words"] == [share.words for share in shares.values()] and metrics["classes"] == list(shares)
    counted = ModifiedKneserNey(Counts(text.training, len(text.vocabulary), 3))
    assert metrics["ngram-3-nats"] == pytest.approx(evaluate(counted, text.held_out).nats_per_symbol)
    assert metrics["ngram-1-bytes"] < metrics["ngram-3-bytes"] == counted.nbytes
    for label in ("window", "rnn", "gru", "lstm", "transformer"):
        model, vocabulary = files.load_model(tmp_path / f"{label}.model")
        nats = token_nats(model, text.held_out, start=vocabulary["\n"])
        assert sum(metrics[f"{label}-by-class"]) == pytest.approx(nats.sum())
        assert metrics[f"{label}-by-story"] == pytest.approx(breakdown.by_story(nats, held_out), abs=0.01)
        assert metrics[f"{label}-by-position"][0] == pytest.approx(
            breakdown.by_position(nats, held_out, [0, 1]).item(), rel=1e-4
        )
        assert metrics[f"{label}-pronoun-asked"][0] > 0
    assert {metric for metric in metrics if metric.endswith("-lag")} == {
        f"{label}-lag" for label in ("rnn", "gru", "lstm", "transformer")
    }
    assert metrics["lags"] == list(range(6)) and metrics["lstm-lag"][0] == 1 and len(metrics["lstm-lag"]) == 6
    lstm, _ = files.load_model(tmp_path / "lstm.model")
    held_out = comparison.windows_of(text.held_out, 3, 6)
    assert metrics["lstm-lag"] == pytest.approx(comparison.lag(lstm, held_out), rel=1e-4)


def test_the_lag_of_a_transformer_is_by_its_inputs():
    torch.manual_seed(0)
    model = language.model_of(7, language.attending(4, 2, (1, 8), {}, num_heads=2))
    tokens = torch.randint(7, (3, 6))
    inputs = model.embedding(tokens[:, :-1]).detach().requires_grad_()
    logits = model.output(model.attend(inputs)[:, -1])
    torch.nn.functional.cross_entropy(logits, tokens[:, -1], reduction="sum").backward()
    norms = inputs.grad.norm(dim=-1).flip(1)
    assert comparison.lag(model, tokens) == pytest.approx((norms / norms[:, :1]).median(0).values.tolist(), rel=1e-4)


def test_weights_that_are_not_trained_are_not_counted():
    told = language.recurrent("lstm", 4, 1e-2, embedding_size=3)
    weights = 7 * 3 + 4 * (4 * (3 + 4) + 4) + 7 * (4 + 1)  # embedding, cell, output; h_0 and c_0 stay zero
    assert language.sizes(language.model_of(7, told)) == {"parameters": weights, "bytes": 4 * weights}


def test_equally_many_weights_are_compared():
    models = experiments.find("stories-chars").configs["quick"]["models"]
    weights = [language.sizes(language.model_of(57, told))["parameters"] for told in models.values()]
    assert len(models) == 5 and min(weights) > 300_000 and max(weights) < 350_000


def test_every_cell_is_trained_at_every_rate(tmp_path, watched):
    config = small("learning-rates", rates=[1e-3, 0.5])
    metrics = comparison.measure_rates(config, 0, tmp_path)
    scored = {f"{cell}-{what}" for cell in ("rnn", "gru", "lstm") for what in ("nats", "training-nats", "lost")}
    assert set(metrics) == {"rates"} | scored and metrics["rates"] == [1e-3, 0.5]
    assert {label: recipe.learning_rate for label, recipe in watched.recipes.items()} == {
        f"{cell}-{rate:g}": rate for cell in ("rnn", "gru", "lstm") for rate in (1e-3, 0.5)
    }
    held_out = base.encoded(config).held_out
    for cell in ("rnn", "gru", "lstm"):
        for at, rate in enumerate(("0.001", "0.5")):
            model, _ = files.load_model(tmp_path / f"{cell}-{rate}.model")
            assert metrics[f"{cell}-nats"][at] == pytest.approx(evaluate(model, held_out).nats_per_symbol)
            kept = json.loads((tmp_path / f"{cell}-{rate}.json").read_text())
            assert metrics[f"{cell}-training-nats"][at] == kept["training-nats"]
            assert metrics[f"{cell}-lost"][at] == comparison.lost(model, base.encoded(config))


def test_a_stream_that_pays_more_than_twice_the_median_is_lost(monkeypatch):
    paid = np.repeat([1.0, 1.0, 3.0, 1.2], [5, 5, 5, 3])  # a text of 19 symbols in 4 streams
    monkeypatch.setattr(comparison, "token_nats", lambda model, tokens, streams: paid)
    text = base.Encoded(None, None, torch.zeros(19))
    assert comparison.lost(None, text, 4) == 1
    paid[15:] = 4.0  # of the streams at 1, 1, 3 and 4 the median is 2
    assert comparison.lost(None, text, 4) == 0
    paid[10:15] = 1.0
    assert comparison.lost(None, text, 4) == 1


def test_sizes_of_text_are_read_and_scored_apart(tmp_path, watched):
    config = small("corpus-size", sizes=[1000, 4000], orders=[2, 3], watched=500, scored=700, passes=1, patience=0)
    config |= {"updates": 40}
    metrics = comparison.measure_corpus_size(config, 1, tmp_path)
    text = base.encoded(config, 1)  # every seed has stories of its own
    scored = text.held_out[500:1200]
    assert {len(tokens) for tokens in watched.read.values()} == {1000, 4000}
    assert torch.equal(watched.read["gru-4000"], text.training[:4000])
    assert torch.equal(watched.how["validation"], text.held_out[:500])
    assert watched.recipes["lstm-1000"].updates == math.ceil(1000 / 64) and watched.recipes["gru-4000"].updates == 40
    for label in ("gru", "lstm"):
        for at, size in enumerate(config["sizes"]):
            model, _ = files.load_model(tmp_path / f"{label}-{size}.model")
            assert metrics[f"{label}-nats"][at] == pytest.approx(evaluate(model, scored).nats_per_symbol)
        assert metrics[f"{label}-updates"] == [16, 40] and len(set(metrics[f"{label}-bytes"])) == 1
    counted = ModifiedKneserNey(Counts(text.training[:4000], len(text.vocabulary), 3), 2)
    assert metrics["ngram-2-nats"][1] == pytest.approx(evaluate(counted, scored).nats_per_symbol)
    assert metrics["ngram-3-bytes"][0] < metrics["ngram-3-bytes"][1] and metrics["sizes"] == [1000, 4000]


def test_a_judge_prices_what_was_written_and_knows_words_where_they_begin():
    vocabulary = Vocabulary("the cat sat.\n")
    judge = writing.Judge("the cat sat. the cat sat.\n", vocabulary, 3)
    prompts, written = (vocabulary.encode(part).view(1, -1) for part in ("the ca", "t tac sat"))
    marks = judge.strange(prompts, written)
    assert np.flatnonzero(~np.isnan(marks[0])).tolist() == [2]  # cat began before, sat may be cut off
    assert marks[0, 2] == 1
    both = torch.cat([prompts, written], dim=1)
    prices = judge.nats(prompts, written)
    assert prices.shape == (1, 9)
    assert prices[0] == pytest.approx(token_nats(judge.model, both[0], streams=1)[5:])
    assert prices[0, 0] < prices[0, 2]  # the cat, then ta


def test_growth_is_by_distance():
    values = np.array([[1.0, 2.0, np.nan, 4.0], [3.0, 2.0, 5.0, np.nan]])
    assert writing.growth(values, [0, 1, 3, 4]) == [2, 3, 4]


def test_exposure_is_measured_on_each_model_and_a_killed_run_goes_on(tmp_path, watched, monkeypatch):
    heard, judge = [], writing.Judge
    monkeypatch.setattr(writing, "Judge", lambda text, *told: heard.append(text) or judge(text, *told))
    config = small("exposure-bias", own=800, rows=4, texts=3, prompt=10, edges=[0, 20, 60], judge=20_000, order=3)
    config |= {"tuning": {"updates": 2, "learning_rate": 1e-3}}
    metrics = writing.measure_exposure(config, 1, tmp_path)
    assert heard == [stories.corpus(20_000, seed=1).text]  # other stories than the models'
    assert list(watched.recipes) == ["teacher", "scheduled", "sparing", "real", "own"]
    assert type(watched.models["scheduled"]).__name__ == "ScheduledSampling"
    assert watched.models["scheduled"].calls == 3 and watched.recipes["own"].updates == 2
    text = base.encoded(config)
    starts = torch.full((4, 1), text.vocabulary["\n"])
    own = decoding.generate(files.load_model(tmp_path / "teacher.model")[0], starts, length=200, seed=1 * 4)
    assert torch.equal(watched.read["real"], text.training) and torch.equal(watched.read["own"], torch.cat(own))
    for label in ("teacher", "scheduled", "sparing", "real", "own"):
        model, _ = files.load_model(tmp_path / f"{label}.model")
        assert metrics[f"{label}-nats"] == pytest.approx(evaluate(model, text.held_out).nats_per_symbol)
        assert len(metrics[f"{label}-judged"]) == 2
    assert len({metrics[f"{label}-nats"] for label in ("teacher", "real", "own")}) == 3
    assert metrics["text-judged"][1] < metrics["teacher-judged"][1] and metrics["text-strange"][1] < 0.2
    for name in ("own.json", "text.json"):
        (tmp_path / name).unlink()
    watched.recipes.clear()
    assert writing.measure_exposure(config, 1, tmp_path) == metrics and list(watched.recipes) == ["own"]


def test_tuning_begins_with_the_teachers_weights(tmp_path, monkeypatch):
    first = {}

    def train(model, tokens, recipe, *, checkpoint, **how):
        first[checkpoint.stem] = model.output.bias.detach().clone()
        model.output.bias.data += 1 + len(first)
        return History(losses=[1.0], validated=[1], validation=[1.0])

    monkeypatch.setattr(base, "train", train)
    config = small("exposure-bias", own=800, rows=4, texts=3, prompt=10, edges=[0, 20, 60], judge=20_000, order=3)
    writing.measure_exposure(config, 0, tmp_path)
    taught = files.load_model(tmp_path / "teacher.model")[0].output.bias
    assert torch.equal(first["own"], taught) and torch.equal(first["real"], taught)
    assert not torch.equal(first["scheduled"], taught)


def test_every_way_to_decode_is_measured(tmp_path, monkeypatch):
    config = small("decoding-diversity", texts=3, prompt=10, length=60, order=3, updates=60)
    config["model"] = language.recurrent("gru", 24, 3e-2)
    asked, generate = [], writing.decoding.generate

    def watch(model, prompts, **how):
        asked.append(how)
        return generate(model, prompts, **how)

    monkeypatch.setattr(writing.decoding, "generate", watch)
    metrics = writing.measure_decoding(config, 2, tmp_path)
    assert [{what: value for what, value in how.items() if what not in ("length", "seed")} for how in asked] == [
        {"top_k": 1},
        {"temperature": 0.5},
        {},
        {"temperature": 1.5},
        {"top_k": 10},
        {"top_p": 0.9},
    ]
    assert {how["seed"] for how in asked} == {2 * 3}  # each row of each seed draws numbers of its own
    text = base.encoded(config)
    assert set(metrics["text-sample"]) <= set(text.vocabulary.symbols) and len(metrics["beam-sample"]) == 70
    for label in ("text", *config["ways"]):
        assert len(metrics[f"{label}-distinct"]) == len(metrics[f"{label}-repetition"]) == 4
        assert 0 <= metrics[f"{label}-repetition"][3] < 1 and 0 < metrics[f"{label}-distinct"][0] <= 1
    assert metrics["greedy-own"] < metrics["plain-own"] < metrics["hot-own"]
    assert metrics["beam-own"] <= metrics["greedy-own"] and metrics["text-strange"] < 0.2
    assert metrics["text-sample"] in text.vocabulary.decode(text.held_out)
    both = writing.windows_of(text.held_out, 3, 10 + 60 - 1)
    own, _ = files.load_model(tmp_path / "lstm.model")[0].costs(both[:, :-1], both[:, 1:])
    assert metrics["text-own"] == pytest.approx(own[:, 9:].mean().item())  # the prompts were not written
    judge = writing.Judge(text.vocabulary.decode(text.training), text.vocabulary, 3)
    assert metrics["text-judged"] == pytest.approx(judge.nats(*both.split([10, 60], dim=1)).mean())
    again = writing.measure_decoding(config, 2, tmp_path)
    assert again == metrics and len(asked) == 6

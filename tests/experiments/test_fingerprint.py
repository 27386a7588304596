"""Fingerprints: a change in how the library trains is noticed, also where no configuration names what has changed."""

import json

import pytest
import torch

from unrolled import experiments
from unrolled.cells import LSTMCell
from unrolled.experiments import RecordError, base, completing, reading, records, running
from unrolled.experiments.fingerprint import differences, fingerprint, training_of
from unrolled.training import Recipe, distributed, loop

RECORDED = [name for name in experiments.EXPERIMENTS if (records.FOLDER / f"{name}.json").exists()]


def config(kind: str = "LanguageModel", words: bool = False, **options) -> dict:
    """Return a configuration with a small model of a kind, and a recipe."""
    return {
        "text": reading.text("wikitext-2", words=True) if words else reading.text("stories", 20_000),
        "model": base.model(kind, **options),
        "recipe": base.recipe(updates=1000, seq_len=64, symbols_per_update=2048, learning_rate=1e-2),
    }


def networks(name: str) -> dict[str, str]:
    """Return the first contender of an experiment that trains each kind of model, by kind and core."""
    first = {}
    for label, contender in experiments.find(name).contenders["quick"].items():
        if training := training_of(contender):
            model = training["model"]
            first.setdefault(f"{model['kind']} {model['options'].get('core', '')}", label)
    return first


# The book's records


@pytest.mark.parametrize("name", [name for name in RECORDED if networks(name)])
def test_models_begin_to_learn_as_they_did_when_they_were_recorded(name):
    record = records.load_record(name)
    for label in networks(name).values():
        now = fingerprint(experiments.find(name).contenders[record.profile][label])
        for seed in record.seeds(label):
            changed = differences(record.parts[label, seed].fingerprint, now)
            assert not changed, (
                f"{name}, {label}, seed {seed}: {', '.join(changed)} of the first updates were "
                f"{record.parts[label, seed].fingerprint} and are {now}. The library trains otherwise than it did, by "
                "a default perhaps that no configuration names: take the change back, or measure again with "
                f"{records.command(name, record.profile, label)} --fresh"
            )


def test_every_part_that_trains_a_model_has_a_fingerprint():
    for name in RECORDED:
        record = records.load_record(name)
        lacking = [
            place
            for place, part in record.parts.items()
            if bool(part.fingerprint) != bool(training_of(record.configs[place[0]]))
        ]
        assert not lacking, f"{name}: {lacking}"


# What is noticed


def wider_tables(monkeypatch):
    """The transformer's tables begin with a spread of 0.03 in place of 0.02."""
    normal = torch.nn.init.normal_
    monkeypatch.setattr(
        torch.nn.init, "normal_", lambda w, mean=0.0, std=1.0: normal(w, mean, 0.03 if std == 0.02 else std)
    )
    return config("TransformerLM")


def more_bias(monkeypatch):
    """The forget gate's bias is a tenth above what the configuration says."""
    init, contender = LSTMCell.__init__, config(core="lstm")

    def more(cell, *sizes, forget_bias, **options):
        init(cell, *sizes, forget_bias=1.1 * forget_bias, **options)

    monkeypatch.setattr(LSTMCell, "__init__", more)
    return contender


def clipped_shorter(monkeypatch):
    """Gradients are clipped to nine tenths of what the recipe says."""
    clip = loop.clip_grad_norm_
    monkeypatch.setattr(loop, "clip_grad_norm_", lambda weights, norm: clip(weights, 0.9 * norm))
    return config()


def more_momentum(monkeypatch):
    """Adam's momentum is that of another default."""
    adam = torch.optim.Adam
    monkeypatch.setattr(
        "unrolled.training.recipe.OPTIMIZERS", {"adam": lambda *a, **b: adam(*a, **b, betas=(0.95, 0.999))}
    )
    return config()


def larger_scores(monkeypatch):
    """The loss is a sum over the batch in place of a mean."""
    entropy = loop.cross_entropy
    monkeypatch.setattr(loop, "cross_entropy", lambda logits, targets: 4 * entropy(logits, targets))
    return config("FixedWindowLM")


@pytest.mark.parametrize("plant", [wider_tables, more_bias, clipped_shorter, more_momentum, larger_scores])
def test_a_change_that_no_configuration_names_is_noticed(plant, monkeypatch):
    with monkeypatch.context() as patch:
        contender = plant(patch)
        planted = fingerprint(contender)
    assert differences(planted, fingerprint(contender))


def test_a_changed_default_is_noticed_by_its_name(monkeypatch):
    before = config(core="lstm")
    assert config(core="lstm") == before
    with monkeypatch.context() as patch:
        patch.setitem(LSTMCell.__init__.__kwdefaults__, "forget_bias", 1.1)
        assert config(core="lstm")["model"] != before["model"]
    with monkeypatch.context() as patch:
        defaults = {name: field.default for name, field in Recipe.__dataclass_fields__.items() if name != "updates"}
        patch.setattr(Recipe.__init__, "__defaults__", tuple((defaults | {"clip": 0.9}).values()))
        assert config(core="lstm")["recipe"] == before["recipe"] | {"clip": 0.9}


def test_a_rounding_is_not_a_change():
    one = {"losses": [4.1, 3.2], "weights": [12.0]}
    assert differences(one, {"losses": [4.1 * (1 + 9e-4), 3.2], "weights": [12.0]}) == []
    assert differences(one, {"losses": [4.1 * (1 + 2e-3), 3.2], "weights": [12.0]}) == ["losses"]
    assert differences(one, {"losses": [4.1], "weights": [12.0]}) == ["losses"]
    assert differences(one, {}) == differences({}, one) == ["losses", "weights"] and differences({}, {}) == []


# How it is taken


@pytest.mark.parametrize(
    "contender", [config("FixedWindowLM"), config(core="gru"), config(words=True), config("TransformerLM")]
)
def test_it_is_the_same_each_time_and_disturbs_nothing(contender, monkeypatch):
    monkeypatch.setenv("UNROLLED_MIRROR", "/nowhere")  # it reads no corpus
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first = fingerprint(contender)
    assert torch.equal(torch.rand(3), expected)
    torch.manual_seed(6)
    assert fingerprint(contender) == first == json.loads(json.dumps(first))
    assert list(first) == ["losses", "norms", "clipped", "weights"] and len(first["losses"]) == 3
    assert first["clipped"][0] == pytest.approx(min(1.0, first["norms"][-1]), rel=1e-3)


def test_a_training_is_found_where_it_is():
    training = config()
    assert fingerprint({"sides": 2, "teacher": training}) == fingerprint(training) != {}
    assert fingerprint({"recipe": training["recipe"], "text": training["text"]}) == {}
    awkward = training | {"recipe": base.recipe(updates=9, batch=1, seq_len=8, patience=2, precision="bf16", clip=None)}
    assert fingerprint(awkward)["clipped"] == pytest.approx(fingerprint(awkward)["norms"][-1:], rel=1e-3)


def test_one_process_of_several_takes_it_alone(monkeypatch):
    expected = fingerprint(config())
    monkeypatch.setattr(distributed.dist, "is_initialized", lambda: True)
    monkeypatch.setattr(distributed.dist, "get_world_size", lambda: 3)
    assert distributed.count() == 3
    assert fingerprint(config()) == expected and distributed.count() == 3


def test_a_part_has_the_fingerprint_of_when_it_began(monkeypatch, tmp_path):
    """One that was stopped and goes on with another library is not taken for one of the new library."""

    def measure(config, seed, folder):
        if not (folder / "begun").exists():
            (folder / "begun").touch()
            raise KeyboardInterrupt
        return {"nats": 1.0}

    one = experiments.Experiment("one", "One", {"nats": base.NATS}, {"quick": {"a": config()}}, measure, seeds=2)
    monkeypatch.setitem(experiments.EXPERIMENTS, "one", one)
    monkeypatch.setattr(records, "FOLDER", tmp_path / "measured")
    monkeypatch.setenv("UNROLLED_PROFILE", "quick")
    began = fingerprint(config())
    for seed in range(2):
        with pytest.raises(KeyboardInterrupt):
            experiments.run("one", seeds=[seed], folder=tmp_path, record=True)
        monkeypatch.setattr(running, "fingerprint", lambda config: {"losses": [1.0]})
    experiments.run("one", folder=tmp_path, record=True)
    parts = completing.recorded("one").parts
    assert parts["a", 0].fingerprint == began and parts["a", 1].fingerprint == {"losses": [1.0]}
    path = records.FOLDER / "one.json"
    path.write_text(path.read_text().replace('"losses": [1.0]', '"losses": [1.1]'))
    with pytest.raises(RecordError, match="the part 'a' of seed 1 is not as it was measured"):
        records.load_record("one")

"""What is it in a language model that helps a tagger: its training, its vectors, or only its many units (chapter 10)?

Beside the tagger of two trained language models, and the one from scratch, stand two controls: the same language models
as they were drawn, and the trained ones of which only the vectors of the words are shown. Each has the best of several
rates, by the validation, for each number of tagged sentences.
"""

from pathlib import Path

from lab.ch10_depth_and_direction import pretraining
from lab.engine.experiment import Config, Experiment, Metric, at
from lab.engine.search import with_setting

FEW, MANY = [1.25e-4, 2.5e-4, 5e-4, 1e-3, 2e-3, 4e-3, 8e-3], [1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2, 3.2e-2]  # tags


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train a tagger at each rate, and ask the one that the validation prefers for the tags of the test."""
    taggers, costs = {}, {}
    for rate in config["learning_rates"]:
        tried = with_setting(config, {"learning_rate": rate})
        taggers[rate], costs[rate] = pretraining.learn(tried, seed, folder, name=f"rate-{rate:g}")
    best = min(costs, key=costs.get)
    asked = pretraining.asked(taggers[best], config)
    return asked | {"learning_rate": best, "validation": list(costs.values())}


METRICS = pretraining.METRICS | {
    "learning_rate": Metric("", "the one that was best"),
    "validation": Metric("nats per word", "what a tag of the validation cost with each rate", ("rate",)),
}


def _contenders() -> dict[str, Config]:
    """Return every kind of tagger with every number of tagged sentences."""
    before = pretraining.contenders()
    kinds = {f"from scratch {count}": before[f"scratch {count}"] for count in pretraining.LABELLED}
    for count in pretraining.LABELLED:
        whole = before[f"pretrained {count}"]
        drawn = {name: part for name, part in whole.items() if name != "language_model"}
        kinds[f"trained models {count}"] = whole
        kinds[f"untrained models {count}"] = drawn
        kinds[f"trained vectors {count}"] = whole | {"model": whole["model"] | {"shown": 1}}
    return {
        label: config | {"learning_rates": MANY if config["labelled"] == pretraining.LABELLED[-1] else FEW}
        for label, config in kinds.items()
    }


EXPERIMENTS = (
    Experiment(
        "pretraining-apart",
        "ATIS: taggers of trained language models, of untrained ones, of their vectors alone, and from scratch",
        METRICS,
        _contenders(),
        measure,
        at(rate="learning_rates"),
        seeds=5,
        small={"learning_rates": [1e-3, 1e-2]},
    ),
)

"""What is each part of a recipe worth (chapter 7)?

A ladder of LSTMs: each rung adds one thing to those before it. Then each is left out of the whole, since what helps the
bare model may not help the good one.
"""

from __future__ import annotations

from unrolled.experiments.base import Configuration, Experiment, model, recipe
from unrolled.experiments.reading import text
from unrolled.experiments.scoring import SCORES, measure

RUNGS = {  # what each changes, and where
    "forget-bias": ("cell", {"forget_bias": 1.0}),
    "clipping": ("recipe", {"clip": 0.25}),  # as for the words of `real_texts`
    "schedule": ("recipe", {"schedule": "cosine"}),
    "tying": ("model", {"tied": True}),
    "dropout": ("model", {"dropout": 0.2}),
}


def with_rungs(characters: int, updates: int, *rungs: str, **options) -> Configuration:
    """Return the configuration of the bare LSTM with some rungs added.

    Args:
        characters: of stories.
        updates: of the training.
        *rungs: names of `RUNGS`.
        **options: other options of the model.
    """
    parts = {"cell": {"forget_bias": 0.0}, "model": options, "recipe": {"clip": None, "schedule": "constant"}}
    for part, changes in map(RUNGS.get, rungs):
        parts[part] |= changes
    sizes = {"core": "lstm", "hidden_size": 128, "embedding_size": 128}
    steps = {"updates": updates, "symbols_per_update": 2048, "seq_len": 64, "learning_rate": 2e-2}
    return {
        "text": text("stories", characters),
        "model": model("LanguageModel", **sizes, cell_options=parts["cell"], **parts["model"]),
        "recipe": recipe(**steps, **parts["recipe"]),
    }


def _contenders(characters: int, updates: int) -> dict[str, Configuration]:
    names, size = list(RUNGS), (characters, updates)
    return {
        "bare": with_rungs(*size),
        **{rung: with_rungs(*size, *names[: place + 1]) for place, rung in enumerate(names)},
        **{f"without-{rung}": with_rungs(*size, *(name for name in names if name != rung)) for rung in names[:-1]},
        "variational": with_rungs(*size, *names, variational=True),
    }


EXPERIMENTS = (
    Experiment(
        "stories-ablations",
        "Stories: the LSTM with forget bias, clipping, schedule, tying and dropout added one by one, and each left out",
        SCORES,
        {
            # little enough text to be read 45 times over, so that there is something to overfit
            "quick": _contenders(100_000, 2000),
            "full": _contenders(2_000_000, 20_000),
        },
        measure,
        seeds=2,
    ),
)

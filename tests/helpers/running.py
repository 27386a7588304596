"""The networks of demonstrations in a browser: the engine in a blank page, and what Python says of the same weights."""

from __future__ import annotations

import json
import math
from pathlib import Path

import torch

import unrolled
from unrolled import cells
from unrolled.figures.weights import weights_script
from unrolled.models import EncoderDecoder, LanguageModel
from unrolled.text import Vocabulary, WordVocabulary

FOLDER = Path(unrolled.__file__).parent / "figures" / "browser"
LETTERS = Vocabulary("\nabcdefghijklmnopqrstuvwxyz .,")
READ = """([numbers]) => {
    const model = Unrolled.load(...unrolledWeights.test);
    return model.read(numbers).map(({ state, logits }) => ({
        layers: state.map((values) => Object.fromEntries(Object.entries(values).map(([k, v]) => [k, Array.from(v)]))),
        p: Array.from(Unrolled.softmax(logits)),
    }));
}"""


def lively(core: str, std: float = 0.6, **options) -> LanguageModel:
    """Return a small model whose gates open and shut: its weights are rounded to 16 bits, and it computes in 64."""
    torch.manual_seed(0)
    model = LanguageModel(len(LETTERS), core=core, **{"embedding_size": 8, "hidden_size": 12} | options)
    for weights in model.parameters():
        torch.nn.init.normal_(weights, std=std)
    return model.half().double().eval()


SOURCES, TARGETS = Vocabulary("abcdefghij "), WordVocabulary.of(["<start>", "<stop>", *"0123456789-"])
REWRITE = """([source, target]) => {
    const model = Unrolled.load(...unrolledWeights.test);
    let state = model.encode(source);
    return target.map((number) => {
        const step = model.step(number, state);
        state = step.state;
        const kept = model.cell.state.flatMap((name) => [...state.state[name]]);
        return [...Unrolled.softmax(step.logits), ...(step.weights ?? []), ...kept];
    });
}"""


def rewriter(core: str, **options) -> EncoderDecoder:
    """Return a small encoder–decoder with attention, as `lively` makes a language model."""
    torch.manual_seed(0)
    options = {"direction": "both", "attention": "scaled", "embedding_size": 5, "hidden_size": 7} | options
    model = EncoderDecoder(len(SOURCES), len(TARGETS), core=core, **options)
    for weights in model.parameters():
        torch.nn.init.normal_(weights, std=0.6)
    return model.half().double().eval()


@torch.no_grad()
def rewritten(model: EncoderDecoder, source: torch.Tensor, target: torch.Tensor) -> list[list[float]]:
    """Return what `REWRITE` does, from the library: after each symbol of a target p of the next, α, and the state."""
    state, steps = model.encode(source[None], torch.tensor([len(source)])), []
    for number in target:
        seen, state, alpha = model.look(number[None, None], state)
        core = state if alpha is None else state[0]
        parts = core if isinstance(core, tuple) else (core,)
        looked = [] if alpha is None else [alpha[0, 0]]
        values = [model.output(seen)[0, 0].softmax(dim=0), *looked, *(part[0] for part in parts)]
        steps.append(torch.cat(values).tolist())
    return steps


def source(name: str) -> str:
    """Return a script of the folder."""
    return (FOLDER / f"{name}.js").read_text(encoding="utf8")


def in_browser(
    browser, model: LanguageModel, numbers: torch.Tensor, engine: str = source("engine"), bits: int = 16
) -> list[dict]:
    """Return what the engine says after each symbol: every value of each layer's step, and the probabilities."""
    page = browser.new_page()
    page.add_script_tag(content=engine)
    page.add_script_tag(content=weights_script("test", model, LETTERS, bits=bits))
    read = page.evaluate(READ, [numbers.tolist()])
    page.close()
    return read


@torch.no_grad()
def in_python(model: LanguageModel, numbers: torch.Tensor) -> list[dict]:
    """Return the same as `in_browser`, from the library's cells."""
    layers = list(model.core.layers)
    state = model.initial_state(1)
    states = (state,) if len(layers) == 1 else state
    inputs, traced = model.embed(numbers[None]), []
    for cell, before in zip(layers, states, strict=True):
        traced.append(cells.trace(cell, inputs, before))
        inputs = traced[-1]["h"]
    p = model.output(inputs).softmax(dim=-1)[0]
    return [
        {
            "layers": [{name: values[0, t].tolist() for name, values in layer.items()} for layer in traced],
            "p": p[t].tolist(),
        }
        for t in range(len(numbers))
    ]


def half_lives(reading: list[dict]) -> torch.Tensor:
    """Return each unit's half-life by the mean of its gate over what `in_python` has read after a line break."""
    layers = [step["layers"][-1] for step in reading[1:]]
    kept = torch.tensor([of["f"] if "f" in of else [1 - z for z in of["z"]] for of in layers], dtype=torch.float64)
    return -math.log(2) / kept.mean(dim=0).log()


def sign_changes(reading: list[dict]) -> list[list[int]]:
    """Return, for each unit, the places of the symbols after the line break at which its state changes sign."""
    states = [of["c"] if "c" in of else of["h"] for of in (step["layers"][-1] for step in reading)]
    turned = torch.tensor(states[1:]) * torch.tensor(states[:-1]) < 0  # (time, hidden)
    return [unit.nonzero().flatten().tolist() for unit in turned.T]


@torch.no_grad()
def influence(model: LanguageModel, numbers: torch.Tensor) -> torch.Tensor:
    """Return how much of the prediction after symbol t moves if symbol s is the next of the vocabulary, (t, s)."""
    changed = numbers.repeat(len(numbers), 1)  # (s, time)
    changed.diagonal().add_(1).remainder_(model.output.out_features)
    p = model(torch.cat([numbers[None], changed]))[0].softmax(dim=-1)
    return (p[1:] - p[0]).abs().sum(dim=-1).T / 2


def largest_difference(ours: list[dict], theirs: list[dict]) -> float:
    """Return the largest difference between two readings; they must name the same values in the same order."""

    def flat(reading: list[dict]) -> tuple[list[str], torch.Tensor]:
        names = [name for step in reading for layer in step["layers"] for name in layer]
        parts = [[*(v for layer in step["layers"] for v in layer.values()), step["p"]] for step in reading]
        return names, torch.tensor([x for step in parts for vector in step for x in vector], dtype=torch.float64)

    (names, values), (other_names, other_values) = flat(ours), flat(theirs)
    assert names == other_names, (json.dumps(names[:8]), json.dumps(other_names[:8]))
    return float((values - other_values).abs().max())

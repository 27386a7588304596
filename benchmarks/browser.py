"""The networks of the page *Playground*, a step at a time: JavaScript in Chromium against PyTorch."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import torch

import unrolled
from pairs import Pair
from unrolled.figures.weights import weights_script
from unrolled.models import LanguageModel
from unrolled.text import WordVocabulary

STEPS = 100  # of a reading that is timed: the way into the browser and back is shared among them
WORDS = 1171  # as the stories have them
MODELS = {  # those of the page, and the largest that it takes
    "RNN of the page": {"core": "rnn", "embedding_size": 64, "hidden_size": 280},
    "LSTM of the page": {"core": "lstm", "embedding_size": 64, "hidden_size": 192},
    "GRU of the page": {"core": "gru", "embedding_size": 64, "hidden_size": 212},
    "LSTM, a million weights": {"core": "lstm", "embedding_size": 128, "hidden_size": 295},
}
READ = """([name, numbers]) => {
    const model = ready[name] ??= Unrolled.load(...unrolledWeights[name]);
    let step = { state: model.initialState() };
    for (const number of numbers) {
        step = model.step(number, step.state);
        Unrolled.softmax(step.logits);
    }
    return step.state[0].h.reduce((sum, value) => sum + Math.abs(value), 0) / model.hiddenSize;
}"""


@contextmanager
def rows() -> Iterator[list[Pair | str]]:
    """Yield the comparisons, while the browser is open; a line in their place where there is none."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if not chromium:
        yield [
            "Chromium is left out: it, or Playwright, is not installed; apt install chromium, pip install playwright"
        ]
        return
    with ExitStack() as open_now:
        playwright = open_now.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        open_now.callback(browser.close)
        page = browser.new_page()
        page.add_script_tag(content="const ready = {};")
        page.add_script_tag(path=Path(unrolled.__file__).parent / "figures" / "browser" / "engine.js")
        yield [pair(page, name, options) for name, options in MODELS.items()]


def pair(page, name: str, options: dict) -> Pair:
    """Return a model in the page and in PyTorch, reading the same words one at a time."""
    torch.manual_seed(0)
    model = LanguageModel(WORDS, **options).half().float().eval()
    page.add_script_tag(content=weights_script(name, model, WordVocabulary.of([str(word) for word in range(WORDS)])))
    tokens = torch.randint(WORDS, (STEPS, 1, 1))
    numbers = tokens.flatten().tolist()
    return Pair(
        f"{name}, {STEPS} steps",
        lambda: page.evaluate(READ, [name, numbers]),
        lambda: by_torch(model, tokens),
        within=1e-4,
    )


@torch.no_grad()
def by_torch(model: LanguageModel, tokens: torch.Tensor) -> float:
    """Return the mean size of an element of the last hidden state, after words that are read one at a time."""
    state = None
    for token in tokens:
        logits, state = model(token, state)
        logits.softmax(dim=-1)
    return (state[0] if isinstance(state, tuple) else state).abs().mean().item()

"""Let a trained network answer in the reader's page: one of the book's, or the reader's own below a cell.

What runs there is in the folder ``playground`` beside this file: the book's networks once more, in plain JavaScript,
what shows them, and, in ``playgrounds.toml``, what each playground asks of which networks. It asks no server for
anything.
"""

from __future__ import annotations

import html
import json
import os
import tomllib
from importlib import resources
from typing import Any

from torch import nn

from unrolled.figures.weights import core_of, weights_script

SCRIPTS = ("engine", "encoder_decoder", "symbols", "elements")  # of all playgrounds, in the order of use
HEIGHT = 640  # pixels, until the page inside has measured itself


class Playground:
    """Networks that answer: Jupyter and Colab show them below the cell whose last expression this is.

    In a page of the book the networks are not part of the page, but are loaded when they come into sight.

    Attributes:
        page: a page of its own, HTML that needs nothing beside it.
        name: of the book's playground; None of one that shows the reader's network.
    """

    def __init__(self, page: str, name: str | None = None):
        self.page, self.name = page, name

    def __repr__(self) -> str:
        return f"Playground({self.name or 'your network'!r})"

    def _repr_html_(self) -> str:
        if self.name and os.environ.get("UNROLLED_FIGURES"):  # the book is being made
            return figure(self.name, root="../")
        style = f"width: 100%; height: {HEIGHT}px; border: 0"
        return f'<iframe title="playground" style="{style}" srcdoc="{html.escape(self.page)}"></iframe>'


def playground(model: nn.Module | str, vocabulary: Any = None) -> Playground:
    """Show a trained network that the reader can talk to; make this the last expression of its cell.

    Args:
        model: a `LanguageModel` with the book's own RNN, LSTM or GRU, of at most a million weights; or an
            `EncoderDecoder` of them with one layer and scaled attention; or the name of one of the book's playgrounds,
            such as ``"expects"``, with the book's own networks.
        vocabulary: the symbols that it was trained on; of an encoder–decoder the pair of those of sources and targets;
            nothing for a playground of the book.

    Returns:
        What Jupyter and Colab display: what the network expects, what its gates do, and what it writes; of an
        encoder–decoder, what it writes and where it looks.

    Raises:
        ValueError: the model is of another kind or too large, the vocabulary is not the model's, a weight is beyond
            what 16 bits can hold, or the book has no such playground.

    Example:
        >>> from unrolled.models import LanguageModel
        >>> from unrolled.text import Vocabulary
        >>> shown = playground(LanguageModel(3, hidden_size=4, core="lstm"), Vocabulary("abc"))
        >>> shown._repr_html_()[:8], "Unrolled.expects" in shown.page
        ('<iframe ', True)
        >>> playground("remembers")
        Playground('remembers')
    """
    if isinstance(model, str):
        networks = described(model)["networks"]
        return Playground(_page([model], figure(model), [_file("models", f"{name}.js") for name in networks]), model)
    weights = weights_script("your", model, vocabulary)
    if type(model).__name__ == "EncoderDecoder":
        names = ["looks"]
    else:
        names = ["expects", "writes"] + (["gates"] if core_of(model) != "rnn" else [])
    shown = [f'<figure class="playground" data-show="{name}" data-models="your"></figure>' for name in names]
    return Playground(_page(names, "\n".join(shown), [weights]))


def playgrounds() -> list[str]:
    """Return the names of the book's playgrounds, in the order of the page *Playground*."""
    return list(_descriptions())


def figure(name: str, root: str = "") -> str:
    """Return a playground of the book as a page has it: a picture, which a network replaces when it comes into sight.

    Args:
        name: one of `playgrounds`.
        root: the way from the page to the root of the site, such as ``"../"``.

    Raises:
        ValueError: the book has no such playground.

    Example:
        >>> figure("writes", root="../").splitlines()[1][:38]
        '<img src="../playground/writes.png" al'
    """
    told = described(name)
    data = json.dumps(told["data"], ensure_ascii=False).replace("<", "\\u003c")
    return "\n".join(
        (
            f'<figure class="playground" data-show="{name}" data-models="{" ".join(told["networks"])}">',
            f'<img src="{root}playground/{name}.png" alt="{html.escape(told["alt"])}">',
            f'<script type="application/json">{data}</script>',
            f"<figcaption>{html.escape(told['caption'], quote=False)}</figcaption>",
            "</figure>",
            f'<script defer src="{root}playground/page.js"></script>',
        )
    )


def described(name: str) -> dict[str, Any]:
    """Return what ``playgrounds.toml`` says of a playground: ``networks``, ``alt``, ``caption`` and ``data``.

    Raises:
        ValueError: the book has no such playground.
    """
    if name not in _descriptions():
        raise ValueError(f"the book has no playground {name!r}; it has {', '.join(_descriptions())}")
    return _descriptions()[name]


def _descriptions() -> dict[str, dict[str, Any]]:
    return tomllib.loads(_file("playgrounds.toml"))


def _page(names: list[str], figures: str, weights: list[str]) -> str:
    """Return a page of its own with some playgrounds and all that they need."""
    scripts = [_file(f"{name}.js") for name in (*SCRIPTS, *names)] + weights + [_file("page.js")]
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>playground</title>\n'
        f"<style>\n{_file('playground.css')}</style>\n{_without_files(figures)}\n"
        + "".join(f"<script>\n{script}</script>\n" for script in scripts)
    )


def _without_files(figures: str) -> str:
    """Return figures without the lines that ask for a file: their picture, and the script that loads the others."""
    return "\n".join(line for line in figures.splitlines() if not line.startswith(("<img ", "<script defer ")))


def _file(*names: str) -> str:
    return resources.files(__package__).joinpath("playground", *names).read_text(encoding="utf8")

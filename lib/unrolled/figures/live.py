"""Let a trained network answer in the reader's page: one of the book's, or the reader's own below a cell.

What runs there is in the folder ``browser`` beside this file: the book's networks once more, in plain JavaScript, what
shows them, and, in ``demonstrations.toml``, what each demonstration asks of which networks. It asks no server for
anything.
"""

import html
import json
import os
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

from torch import nn

from unrolled.figures.weights import layers_of, weights_script

SCRIPTS = ("engine", "encoder_decoder", "symbols", "elements")  # of all networks, in the order of use
HEIGHT = 640  # pixels, until the page inside has measured itself


class Demonstration:
    """Networks that answer: Jupyter and Colab show them below the cell whose last expression this is.

    In a page of the book the networks are not part of the page, but are loaded when they come into sight.

    Attributes:
        page: a page of its own, HTML that needs nothing beside it.
        name: of the book's demonstration; None of one that shows the reader's network.
        data: what a chapter has given it.
    """

    def __init__(self, page: str, name: str | None = None, data: dict[str, Any] | None = None):
        self.page, self.name, self.data = page, name, data or {}

    def __repr__(self) -> str:
        return f"Demonstration({self.name or 'your network'!r})"

    def _repr_html_(self) -> str:
        if self.name and os.environ.get("UNROLLED_FIGURES"):  # the book is being made
            return figure(self.name, root="../", **self.data)
        style = f"width: 100%; height: {HEIGHT}px; border: 0"
        return f'<iframe title="demonstration" style="{style}" srcdoc="{html.escape(self.page)}"></iframe>'


def demonstration(model: nn.Module | str, vocabulary: Any = None, **data: Any) -> Demonstration:
    """Show a trained network that the reader can talk to; make this the last expression of its cell.

    Args:
        model: a `LanguageModel` with the book's own RNN, LSTM or GRU, of at most a million weights; or an
            `EncoderDecoder` of them with one layer and scaled attention, or none; or the name of one of the book's
            demonstrations, such as ``"expects"``, with the book's own networks.
        vocabulary: the symbols that it was trained on; of an encoder–decoder the pair of those of sources and targets;
            nothing for a demonstration of the book.
        **data: what a demonstration of the book is given by its chapter: the text from which one ``"learns"``, or the
            settings with which one ``"latches"``.

    Returns:
        What Jupyter and Colab display: what the network expects, what its gates do, and what it writes; of an
        encoder–decoder, what it writes and, with attention, where it looks.

    Raises:
        ValueError: the model is of another kind or too large, the vocabulary is not the model's, a weight is beyond
            what 16 bits can hold, or the book has no such demonstration.

    Example:
        >>> from unrolled.models import LanguageModel
        >>> from unrolled.text import Vocabulary
        >>> yours = demonstration(LanguageModel(3, hidden_size=4, core="lstm"), Vocabulary("abc"))
        >>> yours._repr_html_()[:8], "Unrolled.expects" in yours.page
        ('<iframe ', True)
        >>> demonstration("remembers")
        Demonstration('remembers')
    """
    if isinstance(model, str):
        shown, description = figure(model, **data), descriptions()[model]
        networks = [_file("models", f"{name}.js") for name in description["networks"]]
        return Demonstration(_page([model], shown, networks, description.get("parts")), model, data)
    weights = weights_script("your", model, vocabulary)
    if type(model).__name__ == "EncoderDecoder":
        names = ["answers"] if model.score is None else ["looks"]
    else:
        gated = type(layers_of(model)[0]).__name__ != "RNNCell"
        names = ["expects", "writes"] + (["gates"] if gated else [])
    shown = [f'<figure class="demonstration" data-show="{name}" data-models="your"></figure>' for name in names]
    return Demonstration(_page(names, "\n".join(shown), [weights]))


@cache
def descriptions() -> dict[str, dict[str, Any]]:
    """Return the book's demonstrations by name, in the order of the page *Playground*, and then those of chapters.

    Each has its ``networks``, if any, its ``caption``, the text for its picture, ``alt``, and what it shows first,
    ``data``. One that has ``parts``, the scripts that it asks for, stands in a chapter in the place of a figure,
    whose caption and text it has; the chapter may give it more data.
    """
    return tomllib.loads(_file("demonstrations.toml"))


def with_pictures() -> list[str]:
    """Return the names of those of `descriptions` that need no chapter: the page *Playground* has them all."""
    return [name for name, description in descriptions().items() if "parts" not in description]


def figure(name: str, root: str = "", **data: Any) -> str:
    """Return a demonstration as a page has it: a picture, which the networks replace when it comes into sight.

    Args:
        name: one of `descriptions`.
        root: the way from the page to the root of the site, such as ``"../"``.
        **data: what is added to its data.

    Raises:
        ValueError: the book has no such demonstration.

    Example:
        >>> figure("writes", root="../").splitlines()[1][:38]
        '<img src="../browser/writes.png" alt="'
    """
    if name not in descriptions():
        raise ValueError(f"the book has no demonstration {name!r}; it has {', '.join(descriptions())}")
    description = descriptions()[name]
    content = description["data"] | data
    shown = json.dumps(content, ensure_ascii=False).replace("<", "\\u003c")
    asked = f'data-show="{name}" data-models="{" ".join(description["networks"])}"'
    lines = [f'<script type="application/json">{shown}</script>']
    if "parts" in description:
        asked += f' data-parts="{" ".join(description["parts"])}"'
    else:
        still = f'<img src="{root}browser/{name}.png" alt="{html.escape(description["alt"])}">'
        lines = [still, *([_without_scripts(content["pieces"])] if "pieces" in content else []), *lines]
        lines.append(f"<figcaption>{html.escape(description['caption'], quote=False)}</figcaption>")
    head, script = f'<figure class="demonstration" {asked}>', f'<script defer src="{root}browser/page.js"></script>'
    return "\n".join((head, *lines, "</figure>", script))


def _without_scripts(pieces: list[str]) -> str:
    """Return a text with a gap where each piece but the first begins, and below it the letters to unfold."""
    gapped = html.escape("_".join([pieces[0], *(piece[1:] for piece in pieces[1:])]), quote=False)
    letters = html.escape(", ".join(piece[0] for piece in pieces[1:]), quote=False)
    return f"<noscript><p>{gapped}</p><details><summary>The letters</summary>{letters}</details></noscript>"


def _page(names: list[str], figures: str, weights: list[str], parts: Sequence[str] | None = None) -> str:
    """Return a page of its own with some demonstrations and all that they need; it asks for no other file."""
    figures = "\n".join(line for line in figures.splitlines() if not line.startswith(("<img ", "<script defer ")))
    parts = parts or (SCRIPTS if weights else ("elements",))
    scripts = [_file(f"{name}.js") for name in (*parts, *names)] + weights + [_file("page.js")]
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>demonstration</title>\n'
        f"<style>\n{_file('page.css')}</style>\n{figures}\n"
        + "".join(f"<script>\n{script}</script>\n" for script in scripts)
    )


def _file(*names: str) -> str:
    return resources.files(__package__).joinpath("browser", *names).read_text(encoding="utf8")

"""Let a trained network answer in the reader's page: one of the book's, or the reader's own below a cell.

What runs there is in the folder ``browser`` beside this file: the book's networks once more, in plain JavaScript, what
shows them, and, in ``demonstrations.toml``, what each demonstration shows of which network. It asks no server for
anything.
"""

import html
import json
import os
import tomllib
from functools import cache
from importlib import resources
from typing import Any

from torch import nn

from unrolled.figures.weights import weights_script

HEIGHT = 640  # pixels, until the page inside has measured itself


class Demonstration:
    """What Jupyter and Colab show below the cell whose last expression this is.

    In a page of the book the network is not part of the page, but is loaded when it comes into sight.

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
    """Show a trained network that writes for the reader; make this the last expression of its cell.

    Args:
        model: a `LanguageModel` with the book's own RNN, LSTM or GRU, of at most a million weights; or an
            `EncoderDecoder` of them with one layer and scaled attention; or the name of one of the book's
            demonstrations, such as ``"writes"``.
        vocabulary: the symbols that it was trained on; of an encoder–decoder the pair of those of sources and targets;
            nothing for a demonstration of the book.
        **data: what a demonstration of the book is given by its chapter: the text from which one ``"learns"``, or the
            settings with which one ``"latches"``.

    Returns:
        What Jupyter and Colab display: how the network writes; of an encoder–decoder, where it looks.

    Example:
        >>> from unrolled.models import LanguageModel
        >>> from unrolled.text import Vocabulary
        >>> yours = demonstration(LanguageModel(3, hidden_size=4, core="lstm"), Vocabulary("abc"))
        >>> yours._repr_html_()[:8], "Unrolled.writes" in yours.page
        ('<iframe ', True)
        >>> demonstration("writes")
        Demonstration('writes')
    """
    if isinstance(model, str):
        shown, name = figure(model, **data), model
        weights = [_file("models", f"{each}.js") for each in [descriptions()[name].get("model")] if each]
    else:
        name = "looks" if type(model).__name__ == "EncoderDecoder" else "writes"
        shown, weights = _figure(name, {}, "your"), [weights_script("your", model, vocabulary)]
    scripts = [*(_file(f"{part}.js") for part in (*descriptions()[name]["parts"], name)), *weights, _file("page.js")]
    lines = [line for line in shown.splitlines() if not line.startswith(("<img ", "<script defer "))]
    page = (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>demonstration</title>\n'
        f"<style>\n{_file('page.css')}</style>\n" + "\n".join(lines) + "\n"
    )
    page += "".join(f"<script>\n{script}</script>\n" for script in scripts)
    return Demonstration(page, name if isinstance(model, str) else None, data)


@cache
def descriptions() -> dict[str, dict[str, Any]]:
    """Return the book's demonstrations by name, in the order of the page *Playground*, and then those of chapters.

    Each has the scripts that it asks for, ``parts``, what it shows first, ``data``, and perhaps the network that
    answers, ``model``. One that has a ``caption`` and a text for its picture, ``alt``, stands on its own; another one
    stands in a chapter in the place of a figure, whose caption and text it has, and the chapter may give it more data.
    """
    known = tomllib.loads(_file("demonstrations.toml"))
    known["race"]["data"] |= json.loads(_file("race.json"))
    return known


def with_pictures() -> list[str]:
    """Return the names of those of `descriptions` that need no chapter: the page *Playground* has them all."""
    return [name for name, description in descriptions().items() if "caption" in description]


def figure(name: str, root: str = "", **data: Any) -> str:
    """Return a demonstration as a page has it: a picture, which comes to life when it comes into sight.

    Args:
        name: one of `descriptions`.
        root: the way from the page to the root of the site, such as ``"../"``.
        **data: what is added to its data.

    Example:
        >>> figure("writes", root="../").splitlines()[1][:38]
        '<img src="../browser/writes.png" alt="'
    """
    if name not in descriptions():
        raise ValueError(f"the book has no demonstration {name!r}; it has {', '.join(descriptions())}")
    description = descriptions()[name]
    content = description["data"] | data
    before, after = [], []
    if "caption" in description:
        before = [f'<img src="{root}browser/{name}.png" alt="{html.escape(description["alt"])}" loading="lazy">']
        after = [f"<figcaption>{html.escape(description['caption'], quote=False)}</figcaption>"]
    if "pieces" in content:
        before.append(_without_scripts(content["pieces"]))
    shown = _figure(name, content, description.get("model"), "\n".join(before), "\n".join(after))
    return f'{shown}\n<script defer src="{root}browser/page.js"></script>'


def _figure(name: str, data: dict[str, Any], model: str | None, before: str = "", after: str = "") -> str:
    """Return the element that ``page.js`` brings to life."""
    asked = f'data-show="{name}" data-parts="{" ".join(descriptions()[name]["parts"])}"'
    asked += f' data-model="{model}"' if model else ""
    shown = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    lines = (before, f'<script type="application/json">{shown}</script>', after)
    return "\n".join((f'<figure class="demonstration" {asked}>', *filter(None, lines), "</figure>"))


def _without_scripts(pieces: list[str]) -> str:
    """Return a text with a gap where each piece but the first begins, and below it the letters to unfold."""
    gapped = html.escape("_".join([pieces[0], *(piece[1:] for piece in pieces[1:])]), quote=False)
    letters = html.escape(", ".join(piece[0] for piece in pieces[1:]), quote=False)
    return f"<noscript><p>{gapped}</p><details><summary>The letters</summary>{letters}</details></noscript>"


def _file(*names: str) -> str:
    return resources.files(__package__).joinpath("browser", *names).read_text(encoding="utf8")

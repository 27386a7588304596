"""Let a trained network run in the reader's page: its weights as a script, and a page of its own around it.

What runs there is in the folder ``playground`` beside this file: the book's cells once more, in plain JavaScript, and
what shows them. It asks no server for anything.
"""

from __future__ import annotations

import base64
import html
import json
import zlib
from collections.abc import Iterable
from importlib import resources
from typing import Any

import torch
from torch import nn

LARGEST = 1_000_000  # weights: more would make a notebook of many megabytes, and a page that lags behind the typing
CORES = {"RNNCell": "rnn", "LSTMCell": "lstm", "GRUCell": "gru"}
SCRIPTS = ("engine", "symbols", "elements", "expects", "remembers", "gates", "writes", "page")  # in the order of use
HEIGHT = 640  # pixels, until the page inside has measured itself


class Playground:
    """A page in which a network answers; Jupyter and Colab show it below the cell whose last expression it is.

    Attributes:
        page: the whole page, HTML that needs nothing beside it.
    """

    def __init__(self, page: str):
        self.page = page

    def _repr_html_(self) -> str:
        style = f"width: 100%; height: {HEIGHT}px; border: 0"
        return f'<iframe title="playground" style="{style}" srcdoc="{html.escape(self.page)}"></iframe>'


def playground(model: nn.Module, vocabulary: Any) -> Playground:
    """Show a trained network that the reader can talk to; make this the last expression of its cell.

    Args:
        model: a `LanguageModel` with the book's own RNN, LSTM or GRU, of at most a million weights.
        vocabulary: the symbols that it was trained on.

    Returns:
        What Jupyter and Colab display: what the network expects, what its gates do, and what it writes.

    Raises:
        ValueError: the model is of another kind or too large, the vocabulary is not the model's, or a weight is beyond
            what 16 bits can hold.

    Example:
        >>> from unrolled.models import LanguageModel
        >>> from unrolled.text import Vocabulary
        >>> shown = playground(LanguageModel(3, hidden_size=4, core="lstm"), Vocabulary("abc"))
        >>> shown._repr_html_()[:8], "Unrolled.expects" in shown.page
        ('<iframe ', True)
    """
    scripts = [_file(f"{name}.js") for name in SCRIPTS] + [weights_script("your", model, vocabulary)]
    widgets = ["expects", "writes"] + (["gates"] if _cells(model)[0] != "rnn" else [])
    figures = "\n".join(
        f'<figure class="playground" data-show="{name}" data-models="your"></figure>' for name in widgets
    )
    return Playground(
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>playground</title>\n'
        f"<style>\n{_file('playground.css')}</style>\n{figures}\n"
        + "".join(f"<script>\n{script}</script>\n" for script in scripts)
    )


def _file(name: str) -> str:
    return resources.files(__package__).joinpath("playground", name).read_text(encoding="utf8")


def weights_script(name: str, model: nn.Module, vocabulary: Any, **about: Any) -> str:
    """Return a script that brings a model's weights into a page, 16 bits each, with all that is needed to run it.

    Args:
        name: what pages call the model.
        model: as for `playground`.
        vocabulary: the symbols that it was trained on.
        **about: what else the page may know of it: numbers and texts.

    Raises:
        ValueError: as `playground` raises it.

    Example:
        >>> from unrolled.models import LanguageModel
        >>> from unrolled.text import Vocabulary
        >>> script = weights_script("small", LanguageModel(3, hidden_size=4), Vocabulary("abc"))
        >>> script.splitlines()[0]
        'window.unrolledWeights = window.unrolledWeights || {};'
    """
    core, cells = _cells(model)
    if len(vocabulary) != model.vocab_size:
        raise ValueError(
            f"the vocabulary has {len(vocabulary)} symbols and the model {model.vocab_size}; "
            "give the vocabulary that the model was trained on"
        )
    matrices = _matrices(model, cells)
    size = sum(matrix.numel() for matrix in matrices.values())
    if size > LARGEST:
        raise ValueError(f"the model has {size:,} weights; a page takes {LARGEST:,} at most: train a smaller one")
    head = {
        "name": name,
        "core": core,
        "layers": len(cells),
        "options": cells[0].options(),
        "words": hasattr(vocabulary, "unknown"),
        "symbols": vocabulary.symbols,
        "shapes": {name: list(matrix.shape) for name, matrix in matrices.items()},
        **about,
    }
    content = json.dumps(head), base64.b64encode(_bits(matrices.values())).decode()
    digest = f"{zlib.crc32(''.join(content).encode()):08x}"
    told = json.dumps([*content, digest]).replace("<", "\\u003c")  # no symbol may end the script
    return f"window.unrolledWeights = window.unrolledWeights || {{}};\nunrolledWeights[{json.dumps(name)}] = {told};\n"


def _cells(model: nn.Module) -> tuple[str, list[nn.Module]]:
    """Return the name of a model's core and its cells, from the bottom to the top."""
    core = getattr(model, "core", None)
    layers = [core.cell] if hasattr(core, "cell") else list(getattr(core, "cells", getattr(core, "layers", [])))
    cells = [getattr(layer, "cell", layer) for layer in layers]
    kinds = {type(cell).__name__ for cell in cells}
    remedy = "make it with core='rnn', 'lstm' or 'gru', the book's own cells"
    if len(kinds) != 1 or not kinds <= set(CORES):
        known = ", ".join(sorted(kinds)) or type(model).__name__
        raise ValueError(
            f"the playground runs a LanguageModel of RNN, LSTM or GRU cells, and this is {known}; {remedy}"
        )
    options = cells[0].options()
    if options.get("reset", "before") != "before":
        raise ValueError("the GRU resets after the product; the playground runs the book's, with reset='before'")
    if options.get("nonlinearity", "tanh") not in ("tanh", "relu"):
        raise ValueError(f"nonlinearity is {options['nonlinearity']!r}; the playground runs 'tanh' and 'relu'")
    return CORES[kinds.pop()], cells


def _matrices(model: nn.Module, cells: list[nn.Module]) -> dict[str, torch.Tensor]:
    """Return all that a step needs, by the names of the engine: a layer's weights have its number before them."""
    matrices = {"E": model.embedding_scale * model.embedding.weight}
    for number, cell in enumerate(cells):
        matrices |= {f"{number}.{name}": getattr(cell, name) for name in ("W_xh", "W_hh", "b_h")}
        for name in cell.state_names:  # h_0, and c_0 of an LSTM: (h,), or (layers, h)
            matrices[f"{number}.{name}_0"] = getattr(model, f"{name}_0").view(-1, cell.hidden_size)[number]
    return matrices | {"W_hy": model.output.weight, "b_y": model.output.bias}


def _bits(matrices: Iterable[torch.Tensor]) -> bytes:
    """Return matrices in half precision, row after row: the low byte of every number, then every high byte.

    Signs and exponents are much alike, so that what is sent to a browser is a little shorter in this order.
    """
    whole = torch.cat([matrix.detach().flatten() for matrix in matrices]).cpu()
    if not whole.half().isfinite().all():
        raise ValueError(f"a weight is {whole.abs().max():.3g}; 16 bits hold 65,504 at most: train with a smaller rate")
    return whole.half().numpy().astype("<f2").view("u1").reshape(-1, 2).T.tobytes()

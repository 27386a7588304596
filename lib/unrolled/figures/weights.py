"""The weights of a trained network as a script that brings them into a page, 16 bits each (see `live`)."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

LARGEST = 1_000_000  # weights: more would make a notebook of many megabytes, and a page that lags behind the typing
CORES = {"RNNCell": "rnn", "LSTMCell": "lstm", "GRUCell": "gru"}
RUNS = "the playground runs a LanguageModel or an EncoderDecoder of RNN, LSTM or GRU cells"
REMEDY = "make it with core='rnn', 'lstm' or 'gru', the book's own cells"


def weights_script(name: str, model: nn.Module, vocabulary: Any, **about: Any) -> str:
    """Return a script that brings a model's weights into a page, 16 bits each, with all that is needed to run it.

    Args:
        name: what pages call the model.
        model: as for `playground`.
        vocabulary: the symbols that it was trained on; of an encoder–decoder the pair of those of sources and targets.
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
    kind = type(model).__name__  # not what inherits from it, as `ResidualLM`, whose steps are others
    if kind == "LanguageModel":
        core, options, layers, matrices = _language_model(model)
        _check_size("vocabulary", len(vocabulary), model.vocab_size)
    elif kind == "EncoderDecoder":
        core, options, layers, matrices = _encoder_decoder(model)
        sources, vocabulary = _pair(vocabulary)
        about = {"sources": sources.symbols, "sides": [*model.encoder.sides]} | about
        _check_size("vocabulary of the sources", len(sources), model.source_embedding.num_embeddings)
        _check_size("vocabulary of the targets", len(vocabulary), model.vocab_size)
    else:
        raise ValueError(f"{RUNS}, and this is {kind}; {REMEDY}")
    size = sum(matrix.numel() for matrix in matrices.values())
    if size > LARGEST:
        raise ValueError(f"the model has {size:,} weights; a page takes {LARGEST:,} at most: train a smaller one")
    head = {
        "name": name,
        "core": core,
        "layers": layers,
        "options": options,
        "words": hasattr(vocabulary, "unknown"),
        "symbols": vocabulary.symbols,
        "shapes": {name: list(matrix.shape) for name, matrix in matrices.items()},
        **about,
    }
    content = json.dumps(head), base64.b64encode(_bits(matrices.values())).decode()
    digest = f"{zlib.crc32(''.join(content).encode()):08x}"
    told = json.dumps([*content, digest]).replace("<", "\\u003c")  # no symbol may end the script
    return f"window.unrolledWeights = window.unrolledWeights || {{}};\nunrolledWeights[{json.dumps(name)}] = {told};\n"


def core_of(model: nn.Module) -> str:
    """Return what the engine calls the core of a `LanguageModel`: ``"rnn"``, ``"lstm"`` or ``"gru"``."""
    return _language_model(model)[0]


def _check_size(what: str, symbols: int, expected: int) -> None:
    """Raise ValueError unless a vocabulary has as many symbols as the model that it is given with."""
    if symbols != expected:
        raise ValueError(
            f"the {what} has {symbols} symbols and the model {expected}; give the vocabulary that the model was "
            "trained on"
        )


def _pair(vocabulary: Any) -> tuple[Any, Any]:
    if not isinstance(vocabulary, tuple | list) or len(vocabulary) != 2:
        raise ValueError(
            f"an encoder–decoder needs two vocabularies, and this is {type(vocabulary).__name__}; "
            "give the pair (sources, targets)"
        )
    return vocabulary[0], vocabulary[1]


def _cells(*cells: nn.Module) -> tuple[str, dict, tuple[nn.Module, ...]]:
    """Return the name of the core that some cells belong to, its options, and the cells."""
    kinds = {("nn." if isinstance(cell, nn.RNNBase) else "") + type(cell).__name__ for cell in cells}
    if len(kinds) != 1 or not kinds <= set(CORES):
        raise ValueError(f"{RUNS}, and this has {', '.join(sorted(kinds))}; {REMEDY}")
    options = cells[0].options()
    if options.get("reset", "before") != "before":
        raise ValueError("the GRU resets after the product; the playground runs the book's, with reset='before'")
    if options.get("nonlinearity", "tanh") not in ("tanh", "relu"):
        raise ValueError(f"nonlinearity is {options['nonlinearity']!r}; the playground runs 'tanh' and 'relu'")
    return CORES[kinds.pop()], options, cells


def _of_cell(name: str, cell: nn.Module) -> dict[str, torch.Tensor]:
    return {f"{name}.{each}": getattr(cell, each) for each in ("W_xh", "W_hh", "b_h")}


# Of each kind of model: its core and the options of that, the number of its layers, and all matrices that a step needs,
# by the names of the engine; a layer's weights have its number before them, an encoder's the side that it reads from.
Parts = tuple[str, dict, int, dict[str, torch.Tensor]]


def _language_model(model: nn.Module) -> Parts:
    core, options, cells = _cells(*model.core.layers)
    matrices = {"E": model.embedding_scale * model.embedding.weight}
    for number, cell in enumerate(cells):
        matrices |= _of_cell(str(number), cell)
        for name in cell.state_names:  # h_0, and c_0 of an LSTM: (h,), or (layers, h)
            matrices[f"{number}.{name}_0"] = getattr(model, f"{name}_0").view(-1, cell.hidden_size)[number]
    return core, options, len(cells), matrices | {"W_hy": model.output.weight, "b_y": model.output.bias}


def _encoder_decoder(model: nn.Module) -> Parts:
    if model.num_layers != 1:
        raise ValueError(f"num_layers is {model.num_layers}; the playground runs an encoder–decoder of one layer")
    if type(model.score).__name__ != "ProductScore" or model.score.scale == 1:
        raise ValueError("the attention is not scaled; the playground runs a model that has attention='scaled'")
    (readers,) = model.encoder.layers
    core, options, (cell, *_) = _cells(*model.core.layers, *readers.values())
    matrices = {"E": model.embedding.weight, "E_x": model.source_embedding.weight} | _of_cell("0", cell)
    for side, reader in readers.items():
        matrices |= _of_cell(side, reader)
    matrices |= {"W_b": model.bridge.weight, "b_b": model.bridge.bias}
    matrices |= {"W_q": model.score.query.weight, "W_k": model.score.key.weight}
    matrices |= {"W_a": model.combine.weight, "b_a": model.combine.bias}
    return core, options, 1, matrices | {"W_sy": model.output.weight, "b_y": model.output.bias}


def _bits(matrices: Iterable[torch.Tensor]) -> bytes:
    """Return matrices in half precision, row after row: the low byte of every number, then every high byte.

    Signs and exponents are much alike, so that what is sent to a browser is a little shorter in this order.
    """
    whole = torch.cat([matrix.detach().flatten() for matrix in matrices]).cpu()
    if not whole.half().isfinite().all():
        raise ValueError(f"a weight is {whole.abs().max():.3g}; 16 bits hold 65,504 at most: train with a smaller rate")
    return whole.half().numpy().astype("<f2").view("u1").reshape(-1, 2).T.tobytes()

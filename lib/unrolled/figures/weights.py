"""The weights of a trained network as a script that brings them into a page, 16 or 8 bits each (see `live`)."""

import base64
import json
import zlib
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

LARGEST = 1_000_000  # weights: more would make a notebook of many megabytes, and a page that lags behind the typing
CORES = {"RNNCell": "rnn", "LSTMCell": "lstm", "GRUCell": "gru"}
RUNS = "a page runs a LanguageModel, or an EncoderDecoder of one layer with scaled attention, of RNN, LSTM or GRU cells"
SIGNIFICANT, WHOLE = 8, 127  # bits of a scale of 8-bit weights, and the largest of their whole numbers
REMEDY = "make it with core='rnn', 'lstm' or 'gru', the book's own cells"


def weights_script(name: str, model: nn.Module, vocabulary: Any, *, bits: int = 16) -> str:
    """Return a script that brings a model's weights into a page, with all that is needed to run it.

    Args:
        name: what pages call the model.
        model: as for `demonstration`.
        vocabulary: the symbols that it was trained on; of an encoder–decoder the pair of those of sources and targets.
        bits: of each weight: 16; or 8, where the rows are as `eight_bits` rounds them.

    Example:
        >>> from unrolled.models import LanguageModel
        >>> from unrolled.text import Vocabulary
        >>> script = weights_script("small", LanguageModel(3, hidden_size=4), Vocabulary("abc"))
        >>> script.splitlines()[0]
        'window.unrolledWeights = window.unrolledWeights || {};'
    """
    kind, about = type(model).__name__, {}  # not what inherits from it, as `ResidualLM`, whose steps are others
    if kind == "LanguageModel":
        cells, matrices = _language_model(model)
        sizes = [(vocabulary, model.vocab_size)]
    elif kind == "EncoderDecoder" and getattr(model.score, "scale", 1) != 1 and model.num_layers == 1:
        cells, matrices = _encoder_decoder(model)
        sources, vocabulary = vocabulary
        about = {"sources": sources.symbols, "sides": [*model.encoder.sides]}
        sizes = [(sources, model.source_embedding.num_embeddings), (vocabulary, model.vocab_size)]
    else:
        raise ValueError(f"{RUNS}, and this {kind} is none; {REMEDY}")
    for symbols, expected in sizes:
        if len(symbols) != expected:
            raise ValueError(
                f"the vocabulary has {len(symbols)} symbols and the model {expected}; give the one it was trained on"
            )
    size = sum(matrix.numel() for matrix in matrices.values())
    if size > LARGEST:
        raise ValueError(f"the model has {size:,} weights; a page takes {LARGEST:,} at most: train a smaller one")
    head = {
        "name": name,
        "core": CORES[type(cells[0]).__name__],
        "layers": len(cells),
        "options": cells[0].options(),
        "words": hasattr(vocabulary, "unknown"),
        "symbols": vocabulary.symbols,
        "shapes": {name: list(matrix.shape) for name, matrix in matrices.items()},
        **about,
    }
    if bits == 8:
        head["bits"] = 8
    encoded = _whole_numbers(matrices) if bits == 8 else _half_precision(matrices)
    content = json.dumps(head), base64.b64encode(encoded).decode()
    digest = f"{zlib.crc32(''.join(content).encode()):08x}"
    parts = json.dumps([*content, digest]).replace("<", "\\u003c")  # no symbol may end the script
    return f"window.unrolledWeights = window.unrolledWeights || {{}};\nunrolledWeights[{json.dumps(name)}] = {parts};\n"


def _cells_of(cells: Iterable[nn.Module]) -> list[nn.Module]:
    """Return the cells; raise ValueError unless all are of one kind that a page runs."""
    cells = list(cells)
    kinds = {("nn." if isinstance(cell, nn.RNNBase) else "") + type(cell).__name__ for cell in cells}
    if len(kinds) != 1 or not kinds <= set(CORES):
        raise ValueError(f"{RUNS}, and this has {', '.join(sorted(kinds))}; {REMEDY}")
    options = cells[0].options()
    if options.get("reset", "before") != "before" or options.get("nonlinearity", "tanh") not in ("tanh", "relu"):
        raise ValueError(f"the cells have {options}; a page runs a GRU with reset='before', an RNN with tanh or relu")
    return cells


# Of each kind of model: the cell of each layer, and all matrices that a step needs, by the names of the engine; a
# layer's weights have its number before them, an encoder's the side that it reads from.


def _weights_of(cell: nn.Module, prefix: str) -> dict[str, torch.Tensor]:
    return {f"{prefix}.{name}": getattr(cell, name) for name in ("W_xh", "W_hh", "b_h")}


def _language_model(model: nn.Module) -> tuple[list[nn.Module], dict[str, torch.Tensor]]:
    cells = _cells_of(model.core.layers)
    matrices = {"E": model.embedding_scale * model.embedding.weight}
    for number, cell in enumerate(cells):
        matrices |= _weights_of(cell, str(number))
        for name in cell.state_names:  # h_0, and c_0 of an LSTM: (h,), or (layers, h)
            matrices[f"{number}.{name}_0"] = getattr(model, f"{name}_0").view(-1, cell.hidden_size)[number]
    return cells, matrices | {"W_hy": model.output.weight, "b_y": model.output.bias}


def _encoder_decoder(model: nn.Module) -> tuple[list[nn.Module], dict[str, torch.Tensor]]:
    (readers,) = model.encoder.layers
    cell, *_ = _cells_of([*model.core.layers, *readers.values()])
    matrices = {"E": model.embedding.weight, "E_x": model.source_embedding.weight} | _weights_of(cell, "0")
    for side, reader in readers.items():
        matrices |= _weights_of(reader, side)
    matrices |= {"W_b": model.bridge.weight, "b_b": model.bridge.bias}
    matrices |= {"W_q": model.score.query.weight, "W_k": model.score.key.weight}
    matrices |= {"W_a": model.combine.weight, "b_a": model.combine.bias}
    return [cell], matrices | {"W_sy": model.output.weight, "b_y": model.output.bias}


def eight_bits(weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the scale of each row of a matrix, and the nearest whole multiples of it, from −127 to 127.

    The scale is a 127th of the row's largest weight, rounded to 8 significant bits: products with it are exact, and
    what has been rounded once is found again.

    Args:
        weights: (rows, columns), or one row, (columns,).

    Returns:
        The scales, (rows, 1) or (1,), and whole numbers of the shape of the weights; their product is what a page has.

    Example:
        >>> scale, whole = eight_bits(torch.tensor([[0.5, -1.0, 0.1], [0.0, 0.0, 0.0]]))
        >>> whole.tolist()
        [[64, -127, 13], [0, 0, 0]]
    """
    significand, exponent = (weights.abs().amax(dim=-1, keepdim=True).float() / WHOLE).frexp()  # from ½ to 1
    scale = torch.ldexp((significand * 2**SIGNIFICANT).round(), exponent - SIGNIFICANT)
    whole = (weights / scale.clamp(min=torch.finfo(torch.float32).tiny)).round().clamp(-WHOLE, WHOLE)
    return scale, whole.to(torch.int8)


def _whole_numbers(matrices: dict[str, torch.Tensor]) -> bytes:
    """Return matrices in 8 bits: the scale of every row, 32 bits each, then all whole numbers, row after row."""
    rounded = [eight_bits(matrix.detach().cpu()) for matrix in matrices.values()]
    scales, whole = (torch.cat([part.flatten() for part in parts]) for parts in zip(*rounded, strict=True))
    return scales.numpy().astype("<f4").tobytes() + whole.numpy().tobytes()


def _half_precision(matrices: dict[str, torch.Tensor]) -> bytes:
    """Return matrices in 16 bits, row after row: the low byte of every number, then every high byte.

    Signs and exponents are much alike, so that what is sent to a browser is a little shorter in this order.
    """
    numbers = torch.cat([matrix.detach().flatten() for matrix in matrices.values()]).cpu()
    if not numbers.half().isfinite().all():
        largest = numbers.abs().max()
        raise ValueError(f"a weight is {largest:.3g}; 16 bits hold 65,504 at most: train with a smaller rate")
    return numbers.half().numpy().astype("<f2").view("u1").reshape(-1, 2).T.tobytes()

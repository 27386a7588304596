"""What does a longer text cost: in training, in writing, and where activations are computed again (chapters 12, 13)?"""

from collections.abc import Callable, Mapping
from functools import partial
from math import isqrt
from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import linear, scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint

from lab.experiment import Config, Experiment, Metric, at
from lab.timing import medians
from unrolled import cells, settings
from unrolled.measure.memory import Kept, pass_through

Configs = Mapping[str, Config]
Sequences = Callable[[torch.Tensor], torch.Tensor]


def transformer_layer(config: Config) -> nn.TransformerEncoderLayer:
    """Return a layer of a transformer with norms in front, as `models.TransformerLM` has them, without dropout."""
    size, options = config["hidden_size"], {"batch_first": True, "norm_first": True, "activation": "gelu"}
    return nn.TransformerEncoderLayer(size, config["heads"], 4 * size, 0.0, **options).to(settings.device())


def causal(layer: nn.TransformerEncoderLayer, inputs: torch.Tensor, *, alone: bool = False) -> torch.Tensor:
    """Return what a layer makes of a sequence in which each symbol looks at itself and those before it.

    PyTorch asks for a mask but does not read it: its kernel knows what is ahead. So a single zero stands for all.

    Args:
        layer: the layer.
        inputs: (batch, time, hidden_size).
        alone: attention alone, without norms and feed-forward part.
    """
    mask = inputs.new_zeros(1, 1).expand(inputs.shape[1], inputs.shape[1])  # (time, time), of one number
    if alone:
        return layer.self_attn(inputs, inputs, inputs, attn_mask=mask, is_causal=True, need_weights=False)[0]
    return layer(inputs, mask, is_causal=True)


def sequence_layer(config: Config, dtype: torch.dtype = torch.float32) -> Sequences:
    """Return the layer of a configuration, from (batch, time, hidden_size) to the same shape."""
    kind, size = config["layer"], config["hidden_size"]
    if kind in ("attention", "transformer"):
        return partial(causal, transformer_layer(config).to(dtype), alone=kind == "attention")
    cell = cells.CELLS[kind.removeprefix("torch-")]
    if kind.startswith("torch-"):
        theirs = cell.torch_layer(size, size, batch_first=True).to(settings.device(), dtype)
        return lambda inputs: theirs(inputs)[0]
    ours = cell(size, size).to(settings.device(), dtype)
    return lambda inputs: cells.unroll(ours, inputs, plain=kind in ("lstm", "gru"))[0]  # step by step, beside PyTorch's


def cached_step(layer: nn.TransformerEncoderLayer, x: torch.Tensor, cache: torch.Tensor, position: int) -> torch.Tensor:
    """Return what a layer makes of one more symbol, whose key and value it adds to its cache.

    Args:
        layer: the layer.
        x: the symbol's vector, (batch, 1, hidden_size).
        cache: keys and values, (2, batch, heads, length, hidden_size / heads); those up to the position are read.
        position: the symbol's place, counted from 0.
    """
    attention = layer.self_attn
    projected = linear(layer.norm1(x), attention.in_proj_weight, attention.in_proj_bias)
    query, *new = projected.unflatten(2, (3, attention.num_heads, -1)).permute(2, 0, 3, 1, 4)  # (batch, heads, 1, size)
    cache[:, :, :, position] = torch.stack(new).squeeze(3)
    keys, values = cache[:, :, :, : position + 1]
    heads = scaled_dot_product_attention(query, keys, values)  # (batch, heads, 1, size)
    x = x + attention.out_proj(heads.transpose(1, 2).flatten(2))  # (batch, 1, hidden_size)
    return x + layer.linear2(layer.activation(layer.linear1(layer.norm2(x))))


@torch.no_grad()
def measure_generation(configs: Configs, seed: int, folder: Path) -> dict[str, dict]:
    """Time one more symbol after so many others, and count the bytes that had to be carried to it."""
    shared, *_ = configs.values()
    torch.manual_seed(seed)
    device, batch, size, longest = settings.device(), shared["batch"], shared["hidden_size"], max(shared["lengths"])
    texts = torch.randn(batch, longest, size, device=device)
    layer, recurrent = transformer_layer(shared), {}
    cache = torch.randn(2, batch, shared["heads"], longest, size // shared["heads"], device=device)
    for label, config in configs.items():
        if config["layer"] != "transformer":
            recurrent[label] = cells.CELLS[config["layer"]](size, size).to(device)
    metrics = {label: {"microseconds": [], "state_bytes": []} for label in configs}
    for length in shared["lengths"]:
        symbol, works = texts[:, length - 1 : length], {}
        for label in configs:
            if label in recurrent:
                _, state = cells.unroll(recurrent[label], texts[:, :length])
                works[label] = partial(cells.unroll, recurrent[label], symbol, state)
                carried = sum(part.nbytes for part in (state if isinstance(state, tuple) else (state,)))
            else:
                works[label] = partial(cached_step, layer, symbol, cache, length - 1)
                carried = cache[:, :, :, :length].nbytes
            metrics[label]["state_bytes"].append(carried)
        for label, taken in medians(works, shared).items():
            metrics[label]["microseconds"].append(1e6 * taken)
    return metrics


GENERATION = {
    "microseconds": Metric("microseconds", "the time of one more symbol of all texts", ("length",)),
    "state_bytes": Metric(
        "bytes", "what was carried to it: a state, or the keys and values of all symbols", ("length",)
    ),
}


def training_pass(config: Config, length: int) -> tuple[dict[str, Callable[[], None]], list[torch.Tensor]]:
    """Return how to go forward and backward through a window, by the way it is done, and the weights.

    The recurrent layers compute segments of √length steps again, the layers of a transformer each layer.
    """
    shape = config["batch"], length, config["hidden_size"]
    inputs = torch.randn(shape, device=settings.device(), requires_grad=True)
    if config["layer"] != "transformer":
        cell = cells.CELLS[config["layer"]](config["hidden_size"], config["hidden_size"]).to(settings.device())
        ways = {way: partial(pass_through, cell, inputs, way, isqrt(length)) for way in ("whole", "recomputed")}
        return ways, list(cell.parameters())
    layers = nn.ModuleList(transformer_layer(config) for _ in range(config["num_layers"]))

    def through(again: bool) -> None:
        x = inputs
        for layer in layers:
            x = checkpoint(causal, layer, x, use_reentrant=True) if again else causal(layer, x)
        x.sum().backward()

    return {"whole": partial(through, False), "recomputed": partial(through, True)}, list(layers.parameters())


def measure_recomputing(configs: Configs, seed: int, folder: Path) -> dict[str, dict]:
    """Time training with all activations kept and with most of them computed again; count what autograd keeps."""
    shared, *_ = configs.values()
    torch.manual_seed(seed)
    names = [f"{way}_{what}" for way in ("whole", "recomputed") for what in ("microseconds", "bytes")]
    metrics = {label: {name: [] for name in names} for label in configs}
    for length in shared["lengths"]:
        works = {}
        for label, config in configs.items():
            ways, weights = training_pass(config, length)
            for way, work in ways.items():
                works[label, way] = work
                with Kept(without=weights) as kept:
                    work()
                metrics[label][f"{way}_bytes"].append(kept.most)
        for (label, way), taken in medians(works, shared).items():
            metrics[label][f"{way}_microseconds"].append(1e6 * taken / (shared["batch"] * length))
    return metrics


RECOMPUTING = {
    "whole_microseconds": Metric("microseconds", "the time of a symbol, everything kept", ("length",)),
    "whole_bytes": Metric("bytes", "the most that autograd kept at a time, everything kept", ("length",)),
    "recomputed_microseconds": Metric("microseconds", "the time of a symbol, most computed again", ("length",)),
    "recomputed_bytes": Metric("bytes", "the most that autograd kept at a time, most computed again", ("length",)),
}


RECOMPUTED = ("gru", "lstm", "transformer")
SQUARES = [4**power for power in range(3, 7)]  # 64 to 4096, each the square of a whole number
SHARED = {"hidden_size": 128, "heads": 4, "lengths": SQUARES, "batch": 8, "num_layers": 4, "warm_up": 1, "rounds": 7}

EXPERIMENTS = (
    Experiment(
        "recomputing-time",
        "Bytes that autograd keeps, and time of a symbol, with all activations kept and with most computed again",
        RECOMPUTING,
        {layer: {"layer": layer} | SHARED for layer in RECOMPUTED},
        measure_recomputing,
        at(length="lengths"),  # symbols
        together=True,
        small={"warm_up": 1, "rounds": 2, "lengths": [4, 16]},
    ),
)

"""The recipe of the book: one way to begin and to train every network, and the few settings that are tried.

    optimiser   Adam with β₂ 0.99; the gradient is scaled down to norm 1; the rate rises for a tenth of the updates and
                falls along a cosine
    text        32 streams of 64 symbols, the state carried from window to window and never reset; no symbol read twice
    start       recurrent matrices orthogonal (Saxe et al. 2014), input matrices normal with variance 1/d (LeCun et al.
                1998), biases zero; PyTorch's own input matrices are three times smaller, and gates hardly hear them
    tried       a peak rate of `RATES`, with bias 1 of the gate that keeps (Gers et al. 2000; Jozefowicz et al. 2015),
                and at the middle rate bias 0, too (in spelling, where it is better there, also at the highest); at
                full length and full size, by the validation text

So a gated cell has four trials (in spelling five) and every other network three. Where the lag of a task is known, the
gates begin at the biases of the rule: a forget gate at ln n and an input gate at −ln n, a GRU's update gate at −ln n,
which keeps for about n steps (Tallec & Ollivier 2018 draw such biases at random).
"""

import math
from collections.abc import Sequence

import torch
from torch import nn

from lab.experiment import Config, Setting
from lab.tasks import stick
from lab.training import model_of
from unrolled import cells
from unrolled.models import NeuralModel

RATES = (0.002, 0.005, 0.01)
KEEPING = {"lstm": ("f", 1), "gru": ("z", -1), "mingru": ("z", -1)}  # the gate that keeps, and the sign that opens it
TRAINING = {"batch": 32, "seq_len": 64, "beta2": 0.99, "clip": 1.0, "warm_up": 0.1, "schedule": "cosine"}
BLOCKS = {"batch": 8, "seq_len": 256, "carry": False}  # of a transformer, which carries no state: as many symbols
SYMBOLS = 2048  # of an update
START = {"initialisation": "orthogonal"}  # of every cell, before `begin`


def trials(core: str, unbiased: Sequence[float] = RATES[1:2]) -> list[Setting]:
    """Return the settings that are tried of a network: rates, and biases where it has a gate that keeps.

    With bias 1 the gate keeps 0.73 of the state at first, with bias 0 half of it.

    Args:
        core: its kind.
        unbiased: the rates at which bias 0 is tried, too.
    """
    if core not in KEEPING:
        return [{"rate": rate} for rate in RATES]
    return [{"rate": rate, "bias": 1} for rate in RATES] + [{"rate": rate, "bias": 0} for rate in unbiased]


def put(config: Config, setting: Setting) -> Config:
    """Return a configuration with a setting of `trials`."""
    return config | setting


def training(config: Config, updates: int) -> Config:
    """Return the recipe of a training, as `lab.training` reads it."""
    blocks = BLOCKS if config["model"]["kind"] == "TransformerLM" else {}
    return TRAINING | blocks | {"updates": updates, "learning_rate": config["rate"]}


def begun(config: Config, vocab_size: int) -> NeuralModel:
    """Return the untrained network of a configuration, as the recipe begins it; its gates under ``stuck`` are stuck."""
    network, core = model_of(config, vocab_size), config["model"].get("core")
    if core:
        for cell in network.core.layers:
            begin(cell, core, config.get("bias"))
            stick(cell, config.get("stuck", {}))
    return network


@torch.no_grad()
def begin(cell: cells.Cell, core: str, bias: float | None = None) -> None:
    """Set the bias of the gate that keeps.

    Args:
        cell: it has the `START`, and is changed in place.
        core: its kind.
        bias: what an LSTM's forget gate begins with; a GRU's update gate begins with the negative. None leaves it.
    """
    if bias is not None:
        gate, sign = KEEPING[core]
        nn.init.constant_(cell.block(gate).b_h, sign * bias)


@torch.no_grad()
def begin_for_lag(cell: cells.Cell, core: str, lag: int) -> None:
    """Begin as `begin` does, with the biases that keep for `lag` steps: ln n, and −ln n for the gate that writes."""
    begin(cell, core, math.log(lag) if core in KEEPING else None)
    if core == "lstm":
        nn.init.constant_(cell.block("i").b_h, -math.log(lag))

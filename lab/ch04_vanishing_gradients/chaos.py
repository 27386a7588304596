"""At which size of its weights does a random network begin to amplify small differences (chapter 4)?"""

from pathlib import Path

import torch

from lab.engine.experiment import Config, Experiment, Metric, at
from unrolled import cells

RADII = [round(0.6 + 0.1 * step, 1) for step in range(15)]  # 0.6 … 2.0
DRIVES = {"no input": 0.0, "with input": 0.5}  # the standard deviation of what enters a unit


def exponent(W: torch.Tensor, drive: float, steps: int, generator: torch.Generator) -> float:
    """Return the largest Lyapunov exponent of h_t = tanh(W h_{t−1} + noise), nats a step.

    A small difference v is carried along, and rescaled to length 1 after each step. The first half of the steps is not
    counted: there the network settles, and v turns towards the direction that grows fastest.

    Args:
        W: the recurrent weights, (units, units).
        drive: the standard deviation of the noise, independent in every unit and at every step.
        steps: how many are made.
        generator: draws the first state, the noise and v.
    """
    state, v = torch.randn(2, len(W), generator=generator, dtype=W.dtype)
    total = 0.0
    for step in range(steps):
        noise = drive * torch.randn(len(W), generator=generator, dtype=W.dtype)
        state = torch.tanh(W @ state + noise)
        v = (1 - state**2) * (W @ v)
        length = v.norm()
        v = v / length
        if step >= steps // 2:
            total += length.log().item()
    return total / (steps - steps // 2)


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Draw one matrix; measure the exponent at every radius that it is scaled to."""
    generator = torch.Generator().manual_seed(seed)
    cell = cells.RNNCell(1, config["units"])
    W = cells.initialise(cell, "gaussian", 1.0, generator).W_hh.detach().double()
    found = [exponent(radius * W, config["drive"], config["steps"], generator) for radius in config["radii"]]
    return {"lyapunov": found}


EXPERIMENTS = (
    Experiment(
        "random-networks",
        "Random tanh networks of three sizes: the largest Lyapunov exponent by spectral radius, with and without input",
        {"lyapunov": Metric("nats a step", "the largest Lyapunov exponent", ("radius",))},
        {
            f"{label}, {units} units": {"units": units, "drive": drive, "radii": RADII, "steps": 2000}
            for label, drive in DRIVES.items()
            for units in (32, 128, 512)
        },
        measure,
        at(radius="radii"),
        seeds=10,
        small={"units": 4, "radii": [0.5, 1.5], "steps": 20},
    ),
)

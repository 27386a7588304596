"""The cells whose backward passes are written by hand, random networks of them, and what judges their gradients."""

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from unrolled import bptt
from unrolled.bptt import complex_step, relative_error

CELLS = ["rnn", "lstm", "gru before", "gru after"]
MODULES = {"rnn": bptt.rnn, "lstm": bptt.lstm, "gru before": bptt.gru, "gru after": bptt.gru}
STATES = {cell: ["h_0", "c_0"] if cell == "lstm" else ["h_0"] for cell in CELLS}
OPTIONS = {"rnn": {}, "lstm": {}, "gru before": {"reset": "before"}, "gru after": {"reset": "after"}}


def case(cell, seed, h, d, V, T, lead=()):
    """Return random parameters, inputs, targets and first states, so small that no gate or prediction is certain."""
    random = np.random.default_rng(seed)
    shapes = {"W_xh": (h, d), "W_hh": (h, h), "W_hy": (V, h), "b_y": (V,)}
    weights = {
        name: random.normal(size=shapes.get(name, (h, h + d) if name[0] == "W" else (h,))) / (1 + (name[0] == "W"))
        for name in MODULES[cell].Parameters._fields
        if (cell, name) != ("gru before", "b_hh")
    }
    if cell == "rnn":  # no gate keeps its states and gradients from running away
        weights["W_hh"] *= 0.9 / np.linalg.norm(weights["W_hh"], 2)
    data = random.normal(size=(*lead, T, d)), random.integers(0, V, size=(*lead, T))
    return MODULES[cell].Parameters(**weights), *data, *(random.normal(size=(*lead, h)) for _ in STATES[cell])


def gradients(cell, network, module=None, truncate=None, **options):
    """Return the gradients by hand, with the options of the forward pass."""
    module = module or MODULES[cell]
    _, trace = module.forward(*network, **OPTIONS[cell], **options)
    return module.backward(trace) if truncate is None else module.backward(trace, truncate)


def tensors(parameters, *arrays):
    """Return the weights as tensors by their names, and the arrays as tensors, all with gradients."""
    weights = {name: w for name, w in parameters._asdict().items() if w is not None}
    weights = {name: torch.tensor(w, requires_grad=True) for name, w in weights.items()}
    return weights, *(torch.tensor(array, requires_grad=True) for array in arrays)


def torch_step(cell, w, x, state):
    """Return the next states from the last, one step in PyTorch's own operations, from the book's equations."""
    h = state[0]
    if cell == "rnn":
        return (torch.tanh(x @ w["W_xh"].T + h @ w["W_hh"].T + w["b_h"]),)
    pair, size = torch.cat([h, x], -1), h.shape[-1]
    if cell == "lstm":
        f, i, o = (torch.sigmoid(pair @ w[f"W_{g}"].T + w[f"b_{g}"]) for g in "fio")
        c = f * state[1] + i * torch.tanh(pair @ w["W_c"].T + w["b_c"])
        return o * torch.tanh(c), c
    z, r = (torch.sigmoid(pair @ w[f"W_{g}"].T + w[f"b_{g}"]) for g in "zr")
    if cell == "gru before":
        candidate = torch.tanh(torch.cat([r * h, x], -1) @ w["W_h"].T + w["b_h"])
    else:
        product = h @ w["W_h"][:, :size].T + w["b_hh"]
        candidate = torch.tanh(x @ w["W_h"][:, size:].T + w["b_h"] + r * product)
    return ((1 - z) * h + z * candidate,)


def torch_loss(w, states, targets, step_weights=None):
    """Return the loss of states (…, time, hidden)."""
    logits = states @ w["W_hy"].T + w["b_y"]
    losses = cross_entropy(logits.flatten(0, -2), torch.tensor(targets).flatten(), reduction="none")
    T = targets.shape[-1]
    step_weights = torch.full((T,), 1 / T, dtype=torch.float64) if step_weights is None else torch.tensor(step_weights)
    return (losses.reshape(targets.shape) @ step_weights).mean()


def by_torch(cell, network, step_weights=None, windows=None):
    """Return the loss and its gradients by autograd, with the state detached between windows of this many steps.

    Those by step are (time, …, size).
    """
    parameters, inputs, targets, *first = network
    w, x, *state = tensors(parameters, np.moveaxis(inputs, -2, 0), *first)
    leaves, visited = list(state), []
    for step, x_t in enumerate(x):
        if windows and step and step % windows == 0:
            state = [part.detach() for part in state]
        state = torch_step(cell, w, x_t, state)
        for part in state:
            part.retain_grad()
        visited.append(state)
    loss = torch_loss(w, torch.stack([state[0] for state in visited], -2), targets, step_weights)
    loss.backward()
    expected = {name: weight.grad.numpy() for name, weight in w.items()} | {"x": x.grad.numpy()}
    expected |= {name: part.grad.numpy() for name, part in zip(STATES[cell], leaves, strict=True)}
    for name, parts in zip("hc", zip(*visited, strict=True), strict=False):
        expected[name] = np.stack([np.zeros(part.shape) if part.grad is None else part.grad for part in parts])
    return loss.item(), expected


def by_differences(cell, network, **options):
    """Return the gradient of each weight, input and first state, the loss differentiated entry by entry."""
    module, (parameters, inputs, targets, *first) = MODULES[cell], network
    weights = {name: w for name, w in parameters._asdict().items() if w is not None}
    leaves = weights | {"x": np.moveaxis(inputs, -2, 0)} | dict(zip(STATES[cell], first, strict=True))

    def loss(name, value):
        moved = leaves | {name: value}
        changed = module.Parameters(**{name: moved[name] for name in weights})
        states = [moved[state] for state in STATES[cell]]
        return module.forward(changed, np.moveaxis(moved["x"], 0, -2), targets, *states, **OPTIONS[cell], **options)[0]

    return {name: complex_step(lambda value, name=name: loss(name, value), leaf) for name, leaf in leaves.items()}


def worst(actual, expected):
    """Return the largest relative error of a gradient, the expected ones being given by name, from step 1 on."""
    gradients = {name: getattr(actual, name)[1:] if name in "xhc" else getattr(actual, name) for name in expected}
    return max(relative_error(gradients[name], value) for name, value in expected.items())

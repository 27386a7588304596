"""Chapter 7: two ways to let a trained model profit from what it has just read: a cache, and further steps.

Neither changes how the model was trained. Each prices a text in one pass, every symbol before it is read, so the
product of the prices is a probability of the text.
"""

import copy

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from unrolled.cells import detach
from unrolled.models import LanguageModel, TransformerLM, evaluating

STRETCH = 128  # symbols that are read at once
Reader = LanguageModel | TransformerLM


@torch.no_grad()
def states_and_nats(model: Reader, tokens: torch.Tensor) -> tuple[torch.Tensor, np.ndarray]:
    """Read a text as one stream; return the top hidden states and what each symbol but the first costs.

    Args:
        model: a trained model.
        tokens: symbol numbers, (length,).

    Returns:
        The states before each symbol but the first, (length − 1, hidden_size), and nats, (length − 1,).
    """
    states, nats, state, tokens = [], [], None, tokens.to(model.device)
    with evaluating(model):
        for inputs, targets in zip(tokens[:-1].split(STRETCH), tokens[1:].split(STRETCH), strict=True):
            hidden, state = model.hidden_states(inputs[None], state)  # (1, time, hidden)
            states.append(hidden[0])
            nats.append(cross_entropy(model.output(hidden[0]), targets, reduction="none"))
    return torch.cat(states), torch.cat(nats).double().cpu().numpy()


@torch.no_grad()
def cached_nats(states: torch.Tensor, tokens: torch.Tensor, *, window: int, flatness: float) -> np.ndarray:
    """Return what each symbol but the first costs a cache of the last symbols (Grave et al. 2017).

        p(w) ∝ Σ_i exp(θ h_t · h_i) [w_{i+1} = w]         over the last places i

    Args:
        states: the hidden states of `states_and_nats`, (length − 1, hidden_size).
        tokens: the text, (length,).
        window: how many places it looks back.
        flatness: θ; with 0 all places count alike.

    Returns:
        Nats, (length − 1,); infinity where the symbol is not among those in the cache.
    """
    targets, prices = tokens[1:].to(states.device), np.full(len(states), np.inf)
    for start in range(0, len(states), STRETCH):
        first, end = max(0, start - window), min(start + STRETCH, len(states))
        places = torch.arange(first, end, device=states.device)
        now, past = places[start - first :, None], places[None]  # (now, 1), (1, past)
        near = (past < now) & (past >= now - window)
        scores = (flatness * states[start:end] @ states[first:end].T).masked_fill(~near, -torch.inf)
        same = targets[first:end][None] == targets[start:end][:, None]
        right = scores.masked_fill(~same, -torch.inf).logsumexp(dim=1) - scores.logsumexp(dim=1)
        prices[start:end] = -right.nan_to_num(nan=-torch.inf).double().cpu().numpy()
    return prices


def dynamic_nats(model: Reader, tokens: torch.Tensor, *, rate: float, stretch: int = 20) -> np.ndarray:
    """Return what each symbol but the first costs a model that goes on learning from what it has read (Krause 2018).

    After every stretch a copy of the model takes one step of plain gradient descent on what it has just paid for.

    Args:
        model: a trained model; it is left as it is.
        tokens: symbol numbers, (length,).
        rate: of the descent.
        stretch: symbols from step to step.

    Returns:
        Nats, (length − 1,); infinity from where the descent diverged.
    """
    learner, state, nats, tokens = copy.deepcopy(model), None, [], tokens.to(model.device)
    for part in learner.modules():  # nothing is dropped; but cuDNN differentiates only what is in training
        part.train(isinstance(part, torch.nn.RNNBase))
    optimizer = torch.optim.SGD(learner.parameters(), lr=rate)
    for inputs, targets in zip(tokens[:-1].split(stretch), tokens[1:].split(stretch), strict=True):
        logits, state = learner(inputs[None], None if state is None else detach(state))
        costs = cross_entropy(logits[0], targets, reduction="none")  # (time,)
        optimizer.zero_grad()
        costs.mean().backward()
        optimizer.step()
        nats.append(costs.detach())
    return torch.cat(nats).nan_to_num(nan=torch.inf).double().cpu().numpy()

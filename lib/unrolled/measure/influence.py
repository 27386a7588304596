"""Find what each prediction of a language model depends on, by changing one token at a time."""

import torch

from unrolled.decoding.sampling import Model
from unrolled.models import evaluating
from unrolled.text import check_range, symbol_numbers


@torch.no_grad()
def symbol_influence(model: Model, tokens: torch.Tensor) -> torch.Tensor:
    """Return how much each prediction changes when one token is replaced.

        influence[t, s] = max_v |ln p_t(v) − ln p̃_t(v)|

    Here p_t is the prediction after token t of the text, and p̃_t the same prediction with token s replaced. A language
    model must not look ahead, so the entries above the diagonal are rounding errors, about 1e-6 in float32. Those below
    it show how far back the model looks. The model is in evaluation mode for the duration.

    Args:
        model: any language model, or a function that maps tokens, (batch, time), to logits and a state.
        tokens: a text, (time,). Token v is replaced by v + 1, and the last one of the vocabulary by 0.

    Returns:
        The influence in nats, float64, (time, time).

    Example:
        >>> table = torch.tensor([[0.5, 0.5], [0.9, 0.1]]).log()  # a bigram model looks at one token
        >>> symbol_influence(lambda tokens: (table[tokens], None), torch.tensor([0, 1])).round(decimals=2).tolist()
        [[1.61, 0.0], [0.0, 1.61]]
    """
    tokens = symbol_numbers(tokens, ("time",))
    with evaluating(model):
        vocab_size = model(tokens[None, :1])[0].shape[-1]
        check_range(tokens, vocab_size)
        changed = tokens.repeat(len(tokens), 1)  # (time, time): in row s, token s is replaced
        changed.diagonal().add_(1).remainder_(vocab_size)
        logits, _ = model(torch.cat([tokens[None], changed]))  # (1 + time, time, vocab): one batch, so rounded alike
    log_p = torch.log_softmax(logits.double().cpu(), dim=-1)
    return (log_p[1:] - log_p[0]).abs().amax(dim=-1).T

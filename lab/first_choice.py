"""Ask a model of words what it expects where a story mentions something again, by the distance to its last mention."""

from collections.abc import Sequence

import numpy as np
import torch

from unrolled.measure.recall import mean_by_lag
from unrolled.models import NeuralModel, evaluating
from unrolled.text import WordVocabulary, stories


def first_choice_by_lag(
    model: NeuralModel,
    vocabulary: WordVocabulary,
    corpus: stories.StoryCorpus,
    kind: str,
    edges: Sequence[int],
) -> tuple[np.ndarray, np.ndarray]:
    """Ask a model of words what it expects where a story mentions something again, and count how often it is right.

    Somebody called Ada was introduced; now her name comes again. Of all the grammar's names, is hers the one that the
    model gives the highest probability? A reader without memory is right once in as many times as there are names.

    Args:
        model: the model; its state is carried through the text.
        vocabulary: the words that it was trained on.
        corpus: stories that it has not seen.
        kind: what is recalled, one of the grammar's lists of values: ``"name"``, ``"animal"``, ``"place"``, …
        edges: limits of the bins of lag, in characters since the last mention, (bins + 1,).

    Returns:
        The share of right answers in each bin (NaN if the bin is empty), and the number of questions in it, both
        (bins,).

    Example:
        >>> from unrolled.models import LanguageModel
        >>> from unrolled.text import stories
        >>> corpus = stories.corpus(10_000)
        >>> vocabulary = WordVocabulary(stories.words(stories.corpus(300_000).text))
        >>> model = LanguageModel(len(vocabulary), hidden_size=8)
        >>> shares, counts = first_choice_by_lag(model, vocabulary, corpus, "name", [0, 100, 1000])
        >>> shares.shape, bool(counts.sum() > 50)
        ((2,), True)
    """
    values = stories.grammar().values.get(kind, ())
    recalls = [recall for recall in corpus.recalls if recall.kind == kind and recall.value in values]
    if not recalls:
        raise ValueError(f"kind is {kind!r}; this corpus recalls no such list of values")
    if unknown := [value for value in values if vocabulary[value] == vocabulary.unknown]:
        raise ValueError(f"{unknown[0]!r} is not a word that the model knows; take another kind than {kind!r}")
    candidates = torch.tensor([vocabulary[value] for value in values])
    at = {place: index for index, place in enumerate(stories.word_positions(corpus.text))}
    asked = torch.tensor([at[recall.position] for recall in recalls])
    tokens = vocabulary.encode(stories.words(corpus.text))
    right = torch.tensor([values.index(recall.value) for recall in recalls])
    logits = _logits(model, tokens, vocabulary["\n"], candidates)[asked]  # (questions, values)
    if logits.isnan().any():
        raise ValueError("some of the model's logits are not numbers; train it again, with a smaller learning rate")
    points = logits.argmax(dim=1) == right
    return mean_by_lag(points.numpy(), recalls, edges)


@torch.no_grad()
def _logits(
    model: NeuralModel, tokens: torch.Tensor, start: int, candidates: torch.Tensor, streams: int = 32
) -> torch.Tensor:
    """Return the logits of some symbols at the place of every symbol of a text, (length, candidates), on the CPU."""
    length = -(-len(tokens) // streams)
    before = torch.cat([tokens.new_tensor([start]), tokens, tokens.new_zeros(streams * length)])
    rows = before[: streams * length].view(streams, length)
    state, parts = None, []
    with evaluating(model):
        for part in rows.split(128, dim=1):
            logits, state = model(part, state)  # (streams, time, vocab)
            parts.append(logits[..., candidates.to(logits.device)].cpu())
    return torch.cat(parts, dim=1).flatten(0, 1)[: len(tokens)]  # (streams, length, candidates) → (length, candidates)

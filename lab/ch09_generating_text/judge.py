"""How good is a text that a model wrote? N-grams of another text price it, and a lexicon says which words there are."""

import numpy as np
import torch

from lab.ch04_vanishing_gradients.gradients import windows_of
from lab.engine.experiment import Config
from lab.engine.texts import Encoded
from unrolled.ngram import Counts, ModifiedKneserNey
from unrolled.text import Vocabulary, stories


class Judge:
    """Say how good a written text is, by what another text is like.

    Args:
        text: what the judge has read.
        vocabulary: its symbols.
        order: of the n-grams.
    """

    def __init__(self, text: str, vocabulary: Vocabulary, order: int):
        self.vocabulary, self.lexicon = vocabulary, set(stories.words(text))
        self.model = ModifiedKneserNey(Counts(vocabulary.encode(text), len(vocabulary), order))

    def nats(self, prompts: torch.Tensor, written: torch.Tensor) -> np.ndarray:
        """Return what each character of the written texts costs after its prompt, (texts, length).

        Args:
            prompts: symbol numbers, (texts, time).
            written: what follows them, (texts, length).
        """
        both = torch.cat([prompts, written], dim=1)
        nats, _ = self.model.costs(both[:, :-1], both[:, 1:])
        return nats[:, prompts.shape[1] - 1 :].numpy()

    def strange(self, prompts: torch.Tensor, written: torch.Tensor) -> np.ndarray:
        """Return for each character where a word begins 1 if the lexicon lacks it, else 0; elsewhere NaN.

        The last word may be cut off, and does not count. Takes and returns the shapes that `nats` does.
        """
        marks = np.full(written.shape, np.nan)
        for row, (before, after) in enumerate(zip(prompts, written, strict=True)):
            text, at = self.vocabulary.decode(torch.cat([before, after])), 0
            for word in stories.words(text)[:-1]:
                at = text.index(word, at)
                if at >= len(before):
                    marks[row, at - len(before)] = word not in self.lexicon
                at += len(word)
        return marks


def beginnings(text: Encoded, config: Config) -> tuple[torch.Tensor, torch.Tensor]:
    """Return prompts from all over the held-out text, (texts, prompt), and how they really go on, (texts, length).

    Args:
        text: the text.
        config: says how many ``texts``, how long the ``prompt`` is, and at which ``length`` the rest is cut off.
    """
    windows = windows_of(text.held_out, config["texts"], config["prompt"] + config["length"] - 1)
    prompts, rest = windows.split([config["prompt"], config["length"]], dim=1)
    return prompts, rest

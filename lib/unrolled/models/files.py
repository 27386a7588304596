"""Save a trained model with its vocabulary in one file, and make both again from it."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import torch

from unrolled.models.base import NeuralModel
from unrolled.models.recurrent import LanguageModel
from unrolled.models.scheduled_sampling import ScheduledSampling
from unrolled.models.transformer import TransformerLM
from unrolled.models.window import FixedWindowLM
from unrolled.text import Vocabulary, WordVocabulary

KINDS = {kind.__name__: kind for kind in (LanguageModel, ScheduledSampling, FixedWindowLM, TransformerLM)}


def save_model(path: Path, model: NeuralModel, vocabulary: Vocabulary | WordVocabulary) -> None:
    """Write a model and its vocabulary to a file, which is there whole or not at all.

    Args:
        path: the file; what it was before is replaced.
        model: the model. It is made again from its arguments and its weights: nothing else about it may have changed.
        vocabulary: the symbols that it was trained on.

    Raises:
        OSError: the file cannot be written.
    """
    content = {
        "model": type(model).__name__,
        "arguments": model.arguments,
        "weights": model.state_dict(),
        "vocabulary": type(vocabulary).__name__,
        "symbols": vocabulary.symbols,
    }
    part = path.with_name(path.name + ".part")
    torch.save(content, part)
    os.replace(part, path)


def load_model(path: Path) -> tuple[NeuralModel, Vocabulary | WordVocabulary]:
    """Return the model that was saved in a file, on the CPU and ready to be asked, and its vocabulary.

    Raises:
        ValueError: there is no such file, or it is damaged or of another version.
    """
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        by_place, by_name = content["arguments"]
        model = KINDS[content["model"]](*by_place, **by_name)
        model.load_state_dict(content["weights"])
        symbols = content["symbols"]
        words = content["vocabulary"] == WordVocabulary.__name__
    except (OSError, RuntimeError, EOFError, LookupError, ValueError, TypeError, pickle.UnpicklingError) as error:
        raise ValueError(f"{path} holds no model that can be read ({error}); train it again") from error
    return model.eval(), WordVocabulary.of(symbols) if words else Vocabulary("".join(symbols))

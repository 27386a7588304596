"""Save a trained model and its vocabularies in one file, and load them again."""

import os
import pickle
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import torch

from unrolled.models.base import Network
from unrolled.models.encoder import Tagger
from unrolled.models.encoder_decoder import EncoderDecoder
from unrolled.models.recurrent import LanguageModel, ResidualLM
from unrolled.models.transformer import TransformerLM
from unrolled.models.window import FixedWindowLM
from unrolled.text import Vocabulary, WordVocabulary

_KINDS = (LanguageModel, ResidualLM, FixedWindowLM, TransformerLM, Tagger, EncoderDecoder)
KINDS = {kind.__name__: kind for kind in _KINDS}
"""What `load_model` can make, by name; a model that is defined elsewhere is added there."""
DAMAGED = OSError, zipfile.BadZipFile, pickle.UnpicklingError, LookupError, TypeError, ValueError, RuntimeError
VOCABULARIES = {"Vocabulary": lambda symbols: Vocabulary("".join(symbols)), "WordVocabulary": WordVocabulary.of}


def save_model(path: Path | str, model: Network, *vocabularies: Vocabulary | WordVocabulary) -> None:
    """Save a model and its vocabularies in a file, whole or not at all.

    `load_model` makes the model again from its arguments and its weights, so nothing else about it may have changed.

    Args:
        path: the file.
        model: the model.
        vocabularies: the symbols that it was trained on: one for a language model; for a tagger, words and tags; for
            an encoder–decoder, those of the sources and those of the targets.

    Example:
        >>> import tempfile
        >>> model = LanguageModel(3, hidden_size=4)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_model(Path(folder, "small.model"), model, Vocabulary("abc"))
        ...     loaded, vocabulary = load_model(Path(folder, "small.model"))
        >>> torch.equal(loaded.output.weight, model.output.weight), loaded.training, vocabulary.symbols
        (True, False, ('a', 'b', 'c'))
    """
    content = {
        "model": type(model).__name__,
        "arguments": model.arguments,
        "weights": model.state_dict(),
        "vocabularies": [(type(vocabulary).__name__, vocabulary.symbols) for vocabulary in vocabularies],
    }
    part = Path(f"{path}.part")
    torch.save(content, part)
    os.replace(part, path)


def read_archive(file: BinaryIO, device: torch.device | str = "cpu") -> Any:
    """Return what ``torch.save`` put into a file, with every byte checked, which ``torch.load`` alone does not do."""
    with zipfile.ZipFile(file) as archive:
        if damaged := archive.testzip():
            raise ValueError(f"its part {damaged} was altered")
    file.seek(0)
    return torch.load(file, map_location=device, weights_only=True)


def load_model(path: Path | str) -> tuple[Network, *tuple[Vocabulary | WordVocabulary, ...]]:
    """Return the model of a file that `save_model` wrote, on the CPU and in evaluation mode, and its vocabularies."""
    try:
        with open(path, "rb") as file:
            content = read_archive(file)
        positional, keywords = content["arguments"]
        model = KINDS[content["model"]](*positional, **keywords)
        model.load_state_dict(content["weights"])
        vocabularies = [VOCABULARIES[kind](symbols) for kind, symbols in content["vocabularies"]]
    except DAMAGED as error:
        cause = " ".join(str(error).split())  # PyTorch may take several lines
        remedy = "give a file that save_model wrote, or train the model again"
        raise ValueError(f"{path} holds no model that can be read ({cause}); {remedy}") from error
    return model.eval(), *vocabularies

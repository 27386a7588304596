"""Save a trained model and its vocabulary in one file, and load both again."""

import os
import pickle
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import torch

from unrolled.models.base import Network
from unrolled.models.encoder_decoder import EncoderDecoder
from unrolled.models.recurrent import LanguageModel, ResidualLM
from unrolled.models.tagger import Tagger
from unrolled.models.transformer import TransformerLM
from unrolled.models.window import FixedWindowLM
from unrolled.text import Vocabulary, WordVocabulary

_KINDS = (LanguageModel, ResidualLM, FixedWindowLM, TransformerLM, Tagger, EncoderDecoder)
KINDS = {kind.__name__: kind for kind in _KINDS}
"""What `load_model` can make, by name; a model that is defined elsewhere is added there."""
VOCABULARIES = {"Vocabulary": lambda symbols: Vocabulary("".join(symbols)), "WordVocabulary": WordVocabulary.of}


def save_model(path: Path, model: Network, *vocabularies: Vocabulary | WordVocabulary) -> None:
    """Save a model and its vocabulary, or its vocabularies, in a file, in place of what was there.

    `load_model` makes the model again from its arguments and its weights, so nothing else about it may have changed.

    Args:
        path: the file; a reader finds the old content or the new, never half of it.
        model: the model.
        vocabularies: the symbols that it was trained on: one for a language model; for a tagger, words and tags; for
            an encoder–decoder, those of the sources and those of the targets.

    Raises:
        OSError: the file cannot be written.
        TypeError: there is no vocabulary.

    Example:
        >>> import tempfile
        >>> model = LanguageModel(3, hidden_size=4)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_model(Path(folder, "small.model"), model, Vocabulary("abc"))
        ...     loaded, vocabulary = load_model(Path(folder, "small.model"))
        >>> torch.equal(loaded.output.weight, model.output.weight), loaded.training, vocabulary.symbols
        (True, False, ('a', 'b', 'c'))
    """
    if not vocabularies:
        raise TypeError("there is no vocabulary; give the symbols that the model was trained on")
    content = {
        "model": type(model).__name__,
        "arguments": model.arguments,
        "weights": model.state_dict(),
        "vocabularies": [(type(vocabulary).__name__, vocabulary.symbols) for vocabulary in vocabularies],
    }
    part = path.with_name(f"{path.name}.part")
    torch.save(content, part)
    os.replace(part, path)


def read_archive(file: BinaryIO, device: torch.device | str) -> Any:
    """Return what ``torch.save`` put into a file, with every byte checked, which ``torch.load`` alone does not do.

    Args:
        file: the file, opened in binary mode.
        device: where its tensors shall be.

    Raises:
        ValueError: the file is no such archive, or something in it was altered.
        pickle.UnpicklingError: it holds something else than numbers, texts and tensors.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            damaged = archive.testzip()
    except zipfile.BadZipFile as error:
        raise ValueError(f"it is no archive of PyTorch's: {error}") from error
    if damaged:
        raise ValueError(f"its part {damaged} was altered")
    file.seek(0)
    return torch.load(file, map_location=device, weights_only=True)


def load_model(path: Path) -> tuple[Network, *tuple[Vocabulary | WordVocabulary, ...]]:
    """Return the model that `save_model` put into a file, on the CPU and in evaluation mode, and its vocabularies.

    The example of `save_model` shows both.

    Raises:
        ValueError: there is no such file, or it is damaged or of another version.
    """
    try:
        with path.open("rb") as file:
            content = read_archive(file, "cpu")
        positional, keywords = content["arguments"]
        model = KINDS[content["model"]](*positional, **keywords)
        model.load_state_dict(content["weights"])
        vocabularies = [VOCABULARIES[kind](symbols) for kind, symbols in content["vocabularies"]]
    except (OSError, RuntimeError, EOFError, LookupError, ValueError, TypeError, pickle.UnpicklingError) as error:
        cause = " ".join(str(error).split())  # PyTorch may take several lines
        raise ValueError(f"{path} holds no model that can be read ({cause}); train it again") from error
    return model.eval(), *vocabularies

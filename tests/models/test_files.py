"""A model in a file: made again as it was, whole or not at all; refused where something is missing or altered."""

import pickle
from pathlib import Path

import pytest
import torch

from unrolled.models import EncoderDecoder, LanguageModel, TaggingNetwork, files
from unrolled.text import Vocabulary, WordVocabulary

KINDS = [kind for kind in files.KINDS.values() if kind.__module__.startswith("unrolled.")]  # the laboratory adds some
TWO_VOCABULARIES = [kind for kind in KINDS if issubclass(kind, (TaggingNetwork, EncoderDecoder))]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in TWO_VOCABULARIES])
def test_every_kind_of_language_model_is_made_again(kind, tmp_path):
    vocabulary = Vocabulary("abc")
    model = kind(len(vocabulary), hidden_size=8).eval()
    files.save_model(tmp_path / "a.model", model, vocabulary)
    again, symbols = files.load_model(tmp_path / "a.model")
    tokens = symbols.encode("abcab")[None]
    assert type(again) is kind and not again.training and torch.equal(again(tokens)[0], model(tokens)[0])


@pytest.mark.parametrize("kind", TWO_VOCABULARIES)
def test_every_kind_of_model_with_two_vocabularies_is_made_again(kind, tmp_path):
    own = {"attention": "dot", "core": "gru", "num_layers": 2, "direction": "both"} if kind is EncoderDecoder else {}
    model, letters, sounds = kind(3, 4, hidden_size=8, **own), Vocabulary("abc"), WordVocabulary.of(["<unk>", *"uvw"])
    files.save_model(tmp_path / "a.model", model, letters, sounds)
    again, read, written = files.load_model(tmp_path / "a.model")
    assert type(again) is kind and not again.training and repr(again) == repr(model)
    assert (read.symbols, written.symbols) == (letters.symbols, sounds.symbols)
    weights = again.state_dict()
    assert weights.keys() == model.state_dict().keys()
    assert all(torch.equal(weights[name], weight) for name, weight in model.state_dict().items())
    with pytest.raises(TypeError, match="there is no vocabulary"):
        files.save_model(tmp_path / "a.model", model)


def test_words_are_kept_as_words(tmp_path):
    vocabulary = WordVocabulary(["the", "cat", "sat", "on", "the", "mat", "\n"])
    files.save_model(tmp_path / "a.model", LanguageModel(len(vocabulary), hidden_size=4), vocabulary)
    _, words = files.load_model(tmp_path / "a.model")
    assert words.symbols == vocabulary.symbols
    assert words["the"] == vocabulary["the"] and words["dog"] == words.unknown


def test_a_model_is_saved_whole_or_not_at_all(tmp_path, monkeypatch):
    def cut_off(_, path):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.torch, "save", cut_off)
    with pytest.raises(OSError, match="No space left"):
        files.save_model(tmp_path / "a.model", LanguageModel(3, hidden_size=4), Vocabulary("abc"))
    assert not (tmp_path / "a.model").exists()


class Harmful:
    """What would make a file if it were unpickled without care."""

    def __init__(self, made: Path):
        self.made = made

    def __reduce__(self):
        return Path.touch, (self.made,)


def test_a_file_that_would_execute_code_is_refused_and_does_not(tmp_path):
    file, made = tmp_path / "harmful.model", tmp_path / "made"
    torch.save({"weights": Harmful(made)}, file)
    for read in (files.load_model, lambda file: files.read_archive(file.open("rb"), "cpu")):
        with pytest.raises((ValueError, pickle.UnpicklingError)):
            read(file)
        assert not made.exists()
    torch.load(file, weights_only=False)
    assert made.exists(), "the file does no harm, so that the test shows nothing"


def test_a_single_altered_weight_of_a_model_is_noticed(tmp_path):
    model, path = LanguageModel(3, hidden_size=4), tmp_path / "a.model"
    files.save_model(path, model, Vocabulary("abc"))
    content = path.read_bytes()
    place = content.index(model.output.weight.detach().numpy().tobytes())
    path.write_bytes(content[:place] + bytes(8) + content[place + 8 :])
    with pytest.raises(ValueError, match=r"a.model holds no model that can be read \(its part .* was altered\)"):
        files.load_model(path)


@pytest.mark.parametrize(
    "change",
    [{"vocabularies": None}, {"vocabularies": [("Vocabulary", None)]}, {"vocabularies": [("Vocabulary", [])]}]
    + [{"weights": {}}],
)
def test_a_model_without_its_parts_is_refused_in_a_line(tmp_path, change):
    path = tmp_path / "a.model"
    files.save_model(path, LanguageModel(3, hidden_size=4), Vocabulary("abc"))
    torch.save(torch.load(path, weights_only=True) | change, path)
    with pytest.raises(ValueError, match="a.model holds no model that can be read .*; train it again") as refused:
        files.load_model(path)
    assert "\n" not in str(refused.value)

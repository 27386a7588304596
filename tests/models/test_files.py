"""A model in a file: made again as it was, whole or not at all; refused where something is missing or altered."""

from pathlib import Path

import pytest
import torch

from unrolled.models import LanguageModel, files
from unrolled.text import Vocabulary, WordVocabulary

KINDS = [kind for kind in files.KINDS.values() if kind.__module__.startswith("unrolled.")]  # the laboratory adds some
OWN = {"EncoderDecoder": {"attention": "dot", "core": "gru", "num_layers": 2, "direction": "both"}}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model_is_made_again(kind, tmp_path):
    sizes = (3, 4) if kind.__name__ in ("Tagger", "EncoderDecoder") else (3,)
    vocabularies = Vocabulary("abc"), WordVocabulary.of(["<unk>", "the", "cat", "sat"])
    model = kind(*sizes, hidden_size=8, **OWN.get(kind.__name__, {}))
    files.save_model(tmp_path / "a.model", model, *vocabularies[: len(sizes)])
    again, *symbols = files.load_model(tmp_path / "a.model")
    assert type(again) is kind and not again.training and repr(again) == repr(model.eval())
    assert [each.symbols for each in symbols] == [each.symbols for each in vocabularies[: len(sizes)]]
    weights = again.state_dict()
    assert weights.keys() == model.state_dict().keys()
    assert all(torch.equal(weights[name], weight) for name, weight in model.state_dict().items())
    if len(sizes) > 1:
        assert symbols[1]["cat"] == 2 and symbols[1]["dog"] == symbols[1].unknown


@pytest.fixture
def path(tmp_path):
    files.save_model(f"{tmp_path}/a.model", LanguageModel(3, hidden_size=4), Vocabulary("abc"))  # also by its name
    return tmp_path / "a.model"


def test_a_model_is_saved_whole_or_not_at_all(path, monkeypatch):
    def cut_off(_, file):
        file.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.torch, "save", cut_off)
    with pytest.raises(OSError, match="No space left"):
        files.save_model(path, LanguageModel(3, hidden_size=4), Vocabulary("xyz"))
    assert files.load_model(str(path))[1].symbols == ("a", "b", "c")


class Harmful:
    """What would make a file if it were unpickled without care."""

    def __init__(self, made: Path):
        self.made = made

    def __reduce__(self):
        return Path.touch, (self.made,)


def test_a_file_that_would_execute_code_is_refused_and_does_not(tmp_path):
    file, made = tmp_path / "harmful.model", tmp_path / "made"
    torch.save({"weights": Harmful(made)}, file)
    with pytest.raises(ValueError, match="harmful.model holds no model that can be read"):
        files.load_model(file)
    assert not made.exists()
    torch.load(file, weights_only=False)
    assert made.exists(), "the file does no harm, so that the test shows nothing"


def test_a_single_altered_weight_is_noticed(path):
    content, weight = path.read_bytes(), files.load_model(path)[0].output.weight.detach().numpy().tobytes()
    place = content.index(weight)
    path.write_bytes(content[:place] + bytes(8) + content[place + 8 :])
    with pytest.raises(ValueError, match=r"a.model holds no model that can be read \(its part .* was altered\)"):
        files.load_model(path)


@pytest.mark.parametrize(
    "change",
    [
        {"vocabularies": None},
        {"vocabularies": [("Vocabulary", [])]},
        {"weights": {}},
        {"model": "Other"},
        b"",
        b"half",
        None,
    ],
)
def test_a_damaged_file_is_refused_by_name_in_a_line(path, change):
    if change is None:
        path.unlink()
    elif isinstance(change, bytes):
        path.write_bytes(change)
    else:
        torch.save(torch.load(path, weights_only=True) | change, path)
    with pytest.raises(ValueError, match="a.model holds no model that can be read .*; give a file") as refused:
        files.load_model(path)
    assert "\n" not in str(refused.value)

"""The command line: what is run, resumed, begun again and sampled; what is suggested; and the exit codes."""

import errno
import inspect
import itertools
import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from unrolled.experiments import Experiment, Metric, base, reading, running

import unrolled
from unrolled import decoding, experiments, settings
from unrolled.__main__ import main, parser
from unrolled.measure import evaluate
from unrolled.models import EncoderDecoder, LanguageModel, PretrainedTagger, ScheduledSampling, TaggingNetwork, files
from unrolled.text import Vocabulary, WordVocabulary
from unrolled.training import distributed

RECIPE = {"symbols_per_update": 64, "seq_len": 16, "learning_rate": 1e-2}
MODELS = {
    "gru": base.model("LanguageModel", hidden_size=8, core="gru"),
    "window": base.model("FixedWindowLM", window=3, hidden_size=8),
}


def contenders(updates: int) -> dict:
    recipe = base.recipe(updates=updates, **RECIPE)
    return {
        label: {"text": reading.text("stories", 20_000), "model": model, "recipe": recipe}
        for label, model in MODELS.items()
    }


def measure(config: dict, seed: int, folder: Path) -> dict:
    model, text, *_ = base.fit(config, seed, folder)
    return {"nats": evaluate(model, text.held_out).nats_per_symbol}


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """An experiment that trains two small models, and the arguments that name it and its folder."""
    profiles = {"quick": contenders(40), "full": contenders(20)}
    experiment = Experiment("tiny", "Train a little", {"nats": base.NATS}, profiles, measure)
    monkeypatch.setitem(experiments.EXPERIMENTS, "tiny", experiment)
    monkeypatch.setenv("UNROLLED_PROFILE", "quick")
    monkeypatch.delenv("UNROLLED_DEVICE", raising=False)
    return ["tiny", "--folder", str(tmp_path / "runs")]


def breaking(error: BaseException, at: int):
    """Return `base.train` with a watcher that raises an error after an update of the second model."""
    train, trainings = base.train, itertools.count(1)

    def broken(model, *given, **told):
        second = next(trainings) == 2

        def watch(done):
            if second and done == at:
                raise error

        return train(model, *given, watch=watch, checkpoint_every=10, **told)

    return broken


def test_a_model_continues_a_prompt(tiny, capsys):
    assert main(["run", *tiny, "--seeds", "2"]) == 0
    assert {path.parent.name[:7] for path in experiments.models("tiny", tiny[2]).values()} == {"seed-0-"}
    capsys.readouterr()

    def sample(*told) -> str:
        assert main(["sample", *tiny, "--prompt", "The ", "--length", "30", *told]) == 0
        written = capsys.readouterr().out
        assert len(written) == len("The ") + 30 + 1 and written.startswith("The ")
        return written

    assert sample() == sample("--model", "gru", "--temperature", "1") != sample("--model", "window")
    assert sample("--seed", "1") != sample() and sample("--temperature", "0.3") != sample()
    greedy = sample("--top-k", "1", "--seed", "1")
    assert greedy == sample("--top-k", "1", "--seed", "2") == sample("--top-p", "1e-9")
    assert main(["sample", *tiny]) == 0
    out, err = capsys.readouterr()
    assert (
        out.startswith("\n") and len(out) == 402 and err == "unrolled: gru writes; --model can be one of gru, window\n"
    )


def test_what_a_sample_cannot_do_is_said(tiny, monkeypatch, capsys):
    def told(*asked) -> str:
        assert main(["sample", *tiny, *asked]) == 2
        return capsys.readouterr().err

    assert "trained no model" in (err := told()) and err.endswith("run tiny --profile quick --seeds 1\n")
    assert main(["run", *tiny, "--seeds", "1"]) == 0
    assert "tiny --profile full --seeds 1" in told("--profile", "full")
    monkeypatch.setenv("UNROLLED_PROFILE", "quick")
    assert "'tiny' has no model 'windows'; did you mean 'window'?" in told("--model", "windows")
    assert "'tiny' has no model 'x'; there are gru, window" in told("--model", "x")
    assert "'¶' at position 0 is not among" in told("--prompt", "¶")
    for temperature in ("0", "inf", "nan"):
        assert f"temperature is {float(temperature)}; it must be above 0" in told("--temperature", temperature)
    for seed in ("-1", str(2**64)):
        assert f"seed is {seed}; it must be from 0 to " in told("--seed", seed)
    gru = experiments.models("tiny", tiny[2])["gru"]
    gru.write_bytes(gru.read_bytes()[:100])
    assert "model.model holds no model that can be read" in told()
    counting = {profile: {"count": {"a": 1}} for profile in settings.PROFILES}
    counted = Experiment("tiny", "Count", {"n": Metric("", "a number")}, counting, lambda *_: {"n": 1})
    monkeypatch.setitem(experiments.EXPERIMENTS, "tiny", counted)
    assert main(["run", *tiny, "--seeds", "1"]) == 0
    assert "'tiny' keeps no language model that could write; take one of window-initialisation, " in told()


def results(printed: str) -> list[str]:
    """Return the lines that tell what was measured, and not when."""
    return [line for line in printed.splitlines() if line.startswith(" ")]


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), MemoryError()]
)
def test_out_of_memory_says_what_to_lower_and_leaves_the_checkpoint(tiny, monkeypatch, capsys, error):
    with monkeypatch.context() as broken:
        broken.setattr(base, "train", breaking(error, at=15))
        assert main(["run", *tiny, "--seeds", "1", "--profile", "full"]) == 1
    err = capsys.readouterr().err
    assert "unrolled: out of memory; " in err and err.endswith("; the last checkpoint stays as it was\n")
    assert "lower batch (now 4) or seq_len (now 16) in the experiment's configuration" in err
    assert "take --profile quick" in err
    (kept,) = Path(tiny[2]).glob("tiny-full/window/seed-0-*/model.pt")
    assert torch.load(kept, weights_only=True)["done"] == 10
    monkeypatch.setenv("UNROLLED_PROFILE", "quick")
    with monkeypatch.context() as broken:
        broken.setattr(base, "train", breaking(RuntimeError("DefaultCPUAllocator: can't allocate memory"), at=15))
        assert main(["run", *tiny, "--seeds", "1"]) == 1
    err = capsys.readouterr().err
    assert "out of memory" in err and "--profile" not in err
    assert main(["run", *tiny, "--seeds", "1"]) == 0

    def lacking(*_, **__):
        raise error

    monkeypatch.setattr(decoding, "sample", lacking)
    assert main(["sample", *tiny]) == 1
    assert capsys.readouterr().err.endswith("unrolled: out of memory; close other programs\n")


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_run_says_how_to_go_on_and_does(tiny, monkeypatch, capsys, number, code):
    assert main(["run", *tiny, "--seeds", "1"]) == 0
    whole, train = results(capsys.readouterr().out), base.train

    def stopped(model, *given, **told):
        return train(model, *given, watch=lambda done: done == 15 and signal.raise_signal(number), **told)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # even where the tests run in the background
    with monkeypatch.context() as broken:
        broken.setattr(base, "train", stopped)
        assert main(["run", *tiny, "--seeds", "1", "--fresh"]) == code
    signal.signal(signal.SIGINT, before)
    again = f"run tiny --folder {tiny[2]} --seeds 1 --resume"
    assert capsys.readouterr().err.splitlines()[-1] == f"unrolled: stopped; go on with: python -m unrolled {again}"
    (kept,) = Path(tiny[2]).glob("tiny-quick/gru/seed-0-*/*.pt")
    assert torch.load(kept, weights_only=True)["done"] == 15
    assert main(again.split()) == 0
    assert results(capsys.readouterr().out) == whole


def test_several_processes_are_told_to_go_on_together(tiny, monkeypatch, capsys):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(distributed, "launched", lambda: True)
    monkeypatch.setattr(distributed, "together", lambda device: nullcontext())
    monkeypatch.setattr(experiments, "run", stopped)
    assert main(["run", *tiny, "--fresh"]) == 130
    again = f"go on with: torchrun … -m unrolled run tiny --folder {tiny[2]} --resume"
    assert capsys.readouterr().err == f"\nunrolled: stopped; {again}\n"


def test_fresh_begins_again_and_resume_never_begins(tiny, capsys):
    assert main(["run", *tiny, "--seeds", "1", "--resume"]) == 2
    assert "there is nothing to resume: " in capsys.readouterr().err
    runs = Path(tiny[2])
    assert not runs.exists()
    for count, again in enumerate(("--fresh", "--fresh", "--fresh", "--resume")):
        assert main(["run", *tiny, "--seeds", "1", again]) == 0
        (place,) = runs.glob("tiny-quick/gru/seed-0-*")
        assert (place / "count").exists() == (again == "--resume")
        (place / "count").write_text(str(count))
    aside = {
        path.parent.name[len(place.name) :]: path.read_text() for path in runs.glob("aside/tiny-quick/gru/*/count")
    }
    assert aside == {"-1": "0", "-2": "1"} and len(list(runs.glob("aside/**/*.model"))) == 4


def test_two_runs_never_share_a_place(tiny, monkeypatch, capsys):
    codes, train = [], base.train

    def meanwhile(*given, **told):
        with monkeypatch.context() as usual:
            usual.setattr(base, "train", train)
            for way in ([], ["--fresh"], ["--resume"], ["--profile", "full"]):
                codes.append(main(["run", *tiny, "--seeds", "1", *way]))
        monkeypatch.setattr(base, "train", train)
        return train(*given, **told)

    monkeypatch.setattr(base, "train", meanwhile)
    assert main(["run", *tiny, "--seeds", "1"]) == 0
    assert codes == [1, 1, 1, 0]
    assert capsys.readouterr().err.count("another run is at work in") == 3
    assert not Path(tiny[2], "aside").exists()
    monkeypatch.setenv("UNROLLED_PROFILE", "quick")
    assert main(["run", *tiny, "--seeds", "1", "--fresh"]) == 0  # it is over


@pytest.mark.parametrize(
    "wrong, said",
    [
        (["rnu", "tiny"], "invalid choice: 'rnu' .*; did you mean 'run'?"),
        (["run", "tiny", "--profile", "quack"], "invalid choice: 'quack' .*; did you mean 'quick'?"),
        (["run", "tiny", "--profile", "x"], r"invalid choice: 'x' \(choose from [^;]*\)\n"),
        (["run", "tiny", "--device", "tpu"], "argument --device: invalid choice: 'tpu'"),
        (["run", "tiny", "--resume", "--fresh"], "not allowed with"),
        (["run", "tiny", "--seed", "3", "--seeds", "2"], "not allowed with"),
        (["run", "tiny", "--recor"], "unrecognized arguments: --recor"),  # not taken for --record
        ([], "required: COMMAND"),
    ],
)
def test_wrong_use_is_told_with_what_was_meant(capsys, wrong, said):
    with pytest.raises(SystemExit) as stop:
        main(wrong)
    err = capsys.readouterr().err
    assert stop.value.code == 2 and re.search(said.replace("?", r"\?"), err)


def test_a_wrong_switch_is_told_in_a_line(tiny, monkeypatch, capsys):
    for variable in ("UNROLLED_PROFILE", "UNROLLED_DEVICE"):
        with monkeypatch.context() as wrong:
            wrong.setenv(variable, "fast")
            assert main(["run", *tiny]) == 2
        assert capsys.readouterr().err.startswith(f"unrolled: {variable} is 'fast'; ")


def test_a_device_is_taken_where_it_is_asked_for(tiny, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.setenv("UNROLLED_DEVICE", "cuda")
    assert settings.devices() == ["cuda", "cpu"] and settings.device() == torch.device("cuda")
    asked = []

    def run(*_, **__):
        asked.append(settings.device())
        raise KeyboardInterrupt

    monkeypatch.setattr(experiments, "run", run)
    assert main(["run", *tiny, "--seeds", "1", "--device", "cpu"]) == 130
    assert asked == [settings.device()] == [torch.device("cpu")]
    monkeypatch.delenv("UNROLLED_DEVICE")
    assert settings.device() == torch.device("cpu")
    monkeypatch.setenv("UNROLLED_PROFILE", "full")
    assert settings.device() == torch.device("cuda")


@pytest.mark.parametrize("command", [[], ["run"], ["records"], ["sample"], ["score"]])
def test_help_has_examples_that_parse(capsys, command):
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    _, taught = capsys.readouterr().out.split("examples:")
    examples = re.findall(r"-m unrolled (.*?)(?:  |\n|$)", taught)
    assert len(examples) >= 2
    for example in examples:
        words = shlex.split(example)
        if "cuda" in words:  # where there is one
            words[words.index("cuda")] = "cpu"
        told = parser().parse_args(words)
        if told.command in ("run", "show", "sample"):
            experiments.find(told.name)


def test_words_are_written_as_words(tmp_path):
    vocabulary = WordVocabulary(["the", "cat", "sat", "on", "the", "mat", "\n"])
    model = LanguageModel(len(vocabulary), hidden_size=4, core="torch-lstm", num_layers=2)
    files.save_model(tmp_path / "a.model", model, vocabulary)
    again, words = files.load_model(tmp_path / "a.model")
    assert type(again) is LanguageModel and not again.training and words.symbols == vocabulary.symbols
    assert words["the"] == vocabulary["the"] and words["dog"] == words.unknown
    tokens = vocabulary.encode(["the", "cat"])[None]
    assert torch.equal(again(tokens)[0], model(tokens)[0])


def test_a_model_is_saved_whole_or_not_at_all(tmp_path, monkeypatch):
    def cut_off(_, file):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.torch, "save", cut_off)
    with pytest.raises(OSError, match="No space left"):
        files.save_model(tmp_path / "a.model", LanguageModel(3, hidden_size=4), Vocabulary("abc"))
    assert not (tmp_path / "a.model").exists()


def test_a_single_altered_weight_of_a_model_is_noticed(tmp_path):
    model, path = LanguageModel(3, hidden_size=4), tmp_path / "a.model"
    files.save_model(path, model, Vocabulary("abc"))
    content = path.read_bytes()
    place = content.index(model.output.weight.detach().numpy().tobytes())
    path.write_bytes(content[:place] + bytes(8) + content[place + 8 :])
    with pytest.raises(ValueError, match=r"a.model holds no model that can be read \(its part .* was altered\)"):
        files.load_model(path)


TWO_VOCABULARIES = [kind for kind in files.KINDS.values() if issubclass(kind, (TaggingNetwork, EncoderDecoder))]


@pytest.mark.parametrize("kind", [kind for kind in files.KINDS.values() if kind not in TWO_VOCABULARIES])
def test_every_kind_of_language_model_is_made_again(kind, tmp_path):
    vocabulary = Vocabulary("abc")
    own = {"least": 0.5, "ramp": 2} if kind is ScheduledSampling else {}
    model = kind(len(vocabulary), hidden_size=8, **own).eval()
    files.save_model(tmp_path / "a.model", model, vocabulary)
    again, symbols = files.load_model(tmp_path / "a.model")
    tokens = symbols.encode("abcab")[None]
    assert type(again) is kind and torch.equal(again(tokens)[0], model(tokens)[0])


@pytest.mark.parametrize("kind", TWO_VOCABULARIES)
def test_every_kind_of_model_with_two_vocabularies_is_made_again(kind, tmp_path):
    own = {"language_model": {"hidden_size": 8, "embedding_size": 4}} if kind is PretrainedTagger else {}
    model = kind(3, 4, hidden_size=8, **own).eval()
    files.save_model(tmp_path / "a.model", model, Vocabulary("abc"), Vocabulary("uvwx"))
    again, read, written = files.load_model(tmp_path / "a.model")
    assert type(again) is kind and (read.symbols, written.symbols) == (tuple("abc"), tuple("uvwx"))
    weights = again.state_dict()
    assert weights.keys() == model.state_dict().keys()
    assert all(torch.equal(weights[name], weight) for name, weight in model.state_dict().items())


def test_a_wrong_name_suggests_the_right_one(tiny, capsys):
    assert main(["run", "tin"]) == 2
    assert "there is no experiment 'tin'; did you mean 'tiny'?" in capsys.readouterr().err
    assert main(["run", *tiny, "--seeds", "0"]) == 2
    assert "seeds is 0; it must be 1 or more" in capsys.readouterr().err
    assert main(["run", *tiny, "--contender", "grue"]) == 2
    assert "tiny has no contender 'grue'; it has gru, window" in capsys.readouterr().err


def test_list_names_every_experiment(capsys):
    assert main(["list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(experiments.EXPERIMENTS)


def test_only_what_can_write_is_suggested_for_a_sample(capsys):
    assert main(["sample", "gradient-lag"]) == 2
    said = capsys.readouterr().err
    assert "'gradient-lag' keeps no language model that could write; take one of window-initialisation, " in said
    assert "gradient-histogram" not in said and "ngram-" not in said and "-time" not in said
    assert main(["sample", "ngram-word"]) == 2
    assert "there is no experiment 'ngram-word'; " in (said := capsys.readouterr().err) and "'ngram-words'?" not in said


def test_every_experiment_that_saves_a_model_can_write():
    for name, experiment in experiments.EXPERIMENTS.items():
        source = inspect.getsource(inspect.getmodule(inspect.unwrap(experiment.measure)))
        fits = "fit(" in source or "scoring" in source
        assert (name in running.writers()) == fits, name


def test_a_seed_of_no_generator_is_refused(tiny, monkeypatch, capsys):
    assert main(["run", *tiny, "--seed", str(2**64)]) == 2
    assert f"seeds are [{2**64}]; at least one is needed, from 0 to {2**32 - 1}" in capsys.readouterr().err
    monkeypatch.setenv("UNROLLED_SEED", str(2**32))
    with pytest.raises(ValueError, match=f"UNROLLED_SEED is '{2**32}'; it must be an integer, 0 or more, and at most"):
        settings.begin()


@pytest.mark.parametrize("code, said", [(errno.EROFS, "make .* writable"), (errno.ENOSPC, "make room there")])
def test_a_run_that_cannot_be_kept_names_the_place(tiny, monkeypatch, capsys, code, said):
    def refused(self, *_, **__):
        raise OSError(code, os.strerror(code), str(self))

    with monkeypatch.context() as broken:
        broken.setattr(Path, "mkdir", refused)
        assert main(["run", *tiny, "--seeds", "1"]) == 1
    expected = rf"unrolled: .*tiny-quick/gru/seed-0-\w+ cannot be written \(.*\); {said}, or choose another folder\n"
    assert re.fullmatch(expected, capsys.readouterr().err)


def test_a_reader_who_has_read_enough_is_told_nothing():
    command = [sys.executable, "-m", "unrolled", "list"]
    reader, writer = os.pipe()
    os.close(reader)
    told = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (told.returncode, told.stderr) == (141, "")


def test_ctrl_c_while_importing_ends_quietly(tmp_path):
    """PyTorch takes seconds to import; a module in its place takes longer, and says when it begins."""
    (tmp_path / "torch.py").write_text("import time; print('importing', flush=True); time.sleep(60)")
    places = os.pathsep.join([str(tmp_path), str(Path(unrolled.__file__).parent.parent)])
    command = [sys.executable, "-c", "import signal, runpy; signal.signal(2, signal.default_int_handler);"]
    command[-1] += "runpy.run_module('unrolled', run_name='__main__')"
    told = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=os.environ | {"PYTHONPATH": places}, **told) as process:
        assert process.stdout.readline() == "importing\n"
        process.send_signal(signal.SIGINT)
        assert (process.wait(30), process.stderr.read()) == (130, "")


@pytest.mark.parametrize(
    "change",
    [{"vocabularies": None}, {"vocabularies": [("Vocabulary", None)]}, {"vocabularies": [("Vocabulary", [])]}]
    + [{"weights": {}}],
)
def test_a_model_without_its_parts_is_told_in_a_line(tmp_path, change):
    path = tmp_path / "a.model"
    files.save_model(path, LanguageModel(3, hidden_size=4), Vocabulary("abc"))
    torch.save(torch.load(path, weights_only=True) | change, path)
    with pytest.raises(ValueError, match="a.model holds no model that can be read .*; train it again") as told:
        files.load_model(path)
    assert "\n" not in str(told.value)


# Models of one's own

OWN = """
import numpy as np
symbols = "ab"
training = "abba" * 40
test = "aabb" * 10
def predict(text):
    return np.full((len(text), 2), 0.5)
"""


def test_a_model_of_ones_own_is_scored_beside_an_n_gram(tmp_path, capsys):
    file, kept = tmp_path / "own.py", tmp_path / "kept.txt"
    file.write_text(OWN, encoding="utf8")
    kept.write_text("ab" * 8, encoding="utf8")
    assert main(["score", str(file), "--ngram", "3"]) == 0
    own, beside, time = capsys.readouterr().out.splitlines()
    assert "own.py: 0.6931 nats per character, 1.0000 bits, perplexity 2.000, over 40 characters" in own
    assert beside.startswith("3-gram: ") and "over 40 characters" in beside and "s of CPU" in time
    assert main(["score", str(file), "--test", str(kept)]) == 0
    assert "over 16 characters" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        (("np.full((len(text), 2), 0.5)", "np.full((len(text), 2), 0.6)"), 2, "sum to 1.2"),
        (("test = ", "held_out = "), 2, "own.py does not define test;"),
        (('"aabb" * 10', '"abba" * 20'), 2, "50 characters in a row"),
        (("symbols =", "symbols +="), 1, "own.py could not be run; the lines above say where"),
    ],
)
def test_a_model_of_ones_own_is_refused_in_a_line(tmp_path, capsys, change, code, said):
    file = tmp_path / "own.py"
    file.write_text(OWN.replace(*change), encoding="utf8")
    assert main(["score", str(file)]) == code
    err = capsys.readouterr().err
    assert err.splitlines()[-1].startswith("unrolled: ") and said in err


def test_a_file_that_is_not_there_is_named(capsys):
    assert main(["score", "nowhere.py"]) == 1
    assert "nowhere.py" in capsys.readouterr().err

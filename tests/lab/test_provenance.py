"""Where a number came from: every commit that it was measured with is named, and nobody else's."""

import shutil
import subprocess

import pytest
import torch

from lab.__main__ import main
from lab.engine import provenance
from lab.engine.experiment import Experiment, model, recipe, text
from lab.engine.run import run
from lab.engine.store import shared_folder
from lab.engine.training import fit
from places import ROOT
from unrolled import records
from unrolled.records import Metric

HEADS = {"heads": Metric("throws", "how often it fell")}
LITTLE = {
    "text": text("stories", 20_000),
    "model": model("LanguageModel", hidden_size=8),
    "recipe": recipe(updates=20, batch=4, seq_len=16, learning_rate=1e-2),
}


def experiment(measure) -> Experiment:
    """Return an experiment with the contenders a and b."""
    return Experiment("two", "Two", HEADS, {"a": {"sides": 0}, "b": {"sides": 1}}, measure)


def at(monkeypatch, commit: str) -> None:
    """Let the checkout be of this commit from here on."""
    monkeypatch.setattr(provenance, "commit", lambda: commit)


def test_a_run_that_goes_on_with_another_library_names_both_commits(monkeypatch, tmp_path):
    def measure(config, seed, folder):
        begun = len(list(folder.glob("begun-*")))
        (folder / f"begun-{begun}").touch()
        if begun < 2:
            raise KeyboardInterrupt
        return {"heads": seed}

    for commit in ("first", "second"):
        at(monkeypatch, commit)
        with pytest.raises(KeyboardInterrupt):
            run(experiment(measure), [0], tmp_path, contenders=["a"])
    record, _ = run(experiment(measure), [0], tmp_path, contenders=["a"])
    assert record.circumstances("commit") == "first then second"
    assert "torch" in record.circumstances("versions") and " then " not in record.circumstances("versions")
    at(monkeypatch, "third")
    assert run(experiment(measure), [0], tmp_path, contenders=["a"])[0] == record  # measured is measured


def test_a_shared_training_names_its_commit_in_every_part(monkeypatch, tmp_path):
    def measure(config, seed, folder):
        fit(LITTLE, seed, shared_folder(folder, LITTLE, seed))
        return {"heads": seed}

    at(monkeypatch, "first")
    run(experiment(measure), [0], tmp_path, contenders=["a"])
    at(monkeypatch, "second")
    record, _ = run(experiment(measure), [0], tmp_path)
    assert record["a"].parts[0]["circumstances"]["commit"] == "first"
    assert record["b"].parts[0]["circumstances"]["commit"] == "first then second"
    assert record.circumstances("commit") == "first and first then second"


def test_the_days_are_the_first_and_the_last(coin, monkeypatch, tmp_path):
    for seed, day in enumerate(("2026-08-03 then 2026-08-04", "2026-08-01", "2026-08-02")):
        where = {"hardware": "abacus", "versions": "1", "commit": "a", "date": day}
        monkeypatch.setattr(provenance, "history", lambda folder, where=where: where)
        run(coin, [seed], tmp_path, contenders=["fair"], record=True)
    line = records.load("coin", complete=False).provenance()
    assert line == "Record: coin (3 seeds, 0 s on abacus, 2026-08-01 to 2026-08-04)"


@pytest.mark.parametrize("damage", ["", "{", "{}", "[{}]", "null", "[null]"])
def test_a_damaged_list_of_starts_says_so(add, tmp_path, capsys, damage):
    run(add(experiment(lambda config, seed, folder: {"heads": seed})), [0], tmp_path, contenders=["a"])
    (result,) = tmp_path.glob("two/a/seed-0-*/result.json")
    result.unlink()
    result.with_name("starts.json").write_text(damage)
    command = ["run", "two", "--seeds", "1", "--folder", str(tmp_path)]
    assert main(command) == 1
    message = capsys.readouterr().err
    assert "starts.json is damaged (" in message and message.endswith("; begin again with --fresh\n")
    assert message.count("\n") == 1 and main([*command, "--fresh"]) == 0


def test_the_hardware_tells_the_threads(monkeypatch):
    for count, threads in ((1, "CPU, 1 thread"), (2, "CPU, 2 threads")):
        monkeypatch.setattr(torch, "get_num_threads", lambda count=count: count)
        assert provenance.circumstances(torch.device("cpu"))["hardware"].endswith(threads)


@pytest.fixture
def repository(monkeypatch, tmp_path):
    """A function that runs git in a new repository with this module in its place, outside which git finds none."""
    home = tmp_path / "lab" / "engine"
    home.mkdir(parents=True)
    copy = shutil.copy(provenance.__file__, home)
    monkeypatch.setattr(provenance, "__file__", copy)
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))

    def git(*arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        command = ["git", "-C", str(tmp_path), *who, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    return git


def test_a_commit_is_named_and_marked_where_the_code_has_changed(tmp_path, repository):
    record = tmp_path / "lib" / "unrolled" / "records" / "coin.json"
    record.parent.mkdir(parents=True)
    for path in (record, record.parent.parent / "settings.py", tmp_path / "README.md"):
        path.write_text("once")
    assert provenance.commit() == "unknown"
    repository("init", "--quiet")
    assert provenance.commit() == "unknown"
    repository("add", ".")
    repository("commit", "--quiet", "--message", "one")
    head = repository("rev-parse", "HEAD")[:12]
    assert provenance.commit() == head
    record.write_text("twice")  # as each part does that is added on the way
    (tmp_path / "README.md").write_text("twice")
    assert provenance.commit() == head
    (record.parent.parent / "settings.py").write_text("twice")
    assert provenance.commit() == f"{head}+"


@pytest.mark.parametrize("tracked", [False, True])
def test_an_archive_in_somebody_elses_repository_does_not_name_their_commit(monkeypatch, tmp_path, repository, tracked):
    repository("init", "--quiet")
    (tmp_path / "thesis.tex").write_text("once")
    monkeypatch.setattr(provenance, "ROOT", tmp_path / "lab")  # unpacked into a folder of theirs
    repository("add", "." if tracked else "thesis.tex")
    repository("commit", "--quiet", "--message", "theirs")
    assert repository("rev-parse", "HEAD") and provenance.commit() == "unknown"


def test_this_checkout_is_the_projects_own():
    """Where the tests run from a checkout, its commit is named; from an unpacked archive, none is."""
    known = (ROOT / ".git").exists() and bool(shutil.which("git"))
    assert (provenance.commit() != "unknown") == known

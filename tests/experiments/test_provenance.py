"""Where a number came from: every commit that it was measured with is named, and nobody else's."""

import shutil
import subprocess
from pathlib import Path

import pytest
import torch

from unrolled import experiments
from unrolled.__main__ import main
from unrolled.experiments import Experiment, Metric, base, provenance, reading
from unrolled.experiments.provenance import Provenance

HEADS = {"heads": Metric("throws", "how often it fell")}
LITTLE = {
    "text": reading.text("stories", 20_000),
    "model": base.model("LanguageModel", hidden_size=8),
    "recipe": base.recipe(updates=20, batch=4, seq_len=16, learning_rate=1e-2),
}


def add(monkeypatch, measure, *labels):
    """Add an experiment ``one`` with these contenders."""
    contenders = {"quick": {label: {"sides": number} for number, label in enumerate(labels)}}
    monkeypatch.setitem(experiments.EXPERIMENTS, "one", Experiment("one", "One", HEADS, contenders, measure))
    monkeypatch.setenv("UNROLLED_PROFILE", "quick")


def at(monkeypatch, commit: str) -> None:
    """Let the library be of this commit from here on."""
    monkeypatch.setattr(provenance, "commit", lambda: commit)


def test_a_run_that_goes_on_with_another_library_names_both_commits(monkeypatch, tmp_path):
    def measure(config, seed, folder):
        begun = len(list(folder.glob("begun-*")))
        (folder / f"begun-{begun}").touch()
        if begun < 2:
            raise KeyboardInterrupt
        return {"heads": seed}

    add(monkeypatch, measure, "a")
    for commit in ("first", "second"):
        at(monkeypatch, commit)
        with pytest.raises(KeyboardInterrupt):
            experiments.run("one", seeds=[0], folder=tmp_path)
    record = experiments.run("one", seeds=[0], folder=tmp_path)
    assert record.parts["a", 0].circumstances["commit"] == "first then second"
    assert "\ncommit first then second, configuration " in record.details()
    assert "torch" in record.parts["a", 0].circumstances["versions"]
    assert " then " not in record.parts["a", 0].circumstances["versions"] + record.provenance()
    at(monkeypatch, "third")
    assert experiments.run("one", seeds=[0], folder=tmp_path).parts == record.parts  # measured is measured


def test_a_shared_training_names_its_commit_in_every_part(monkeypatch, tmp_path):
    def measure(config, seed, folder):
        base.fit(LITTLE, seed, base.shared_folder(folder, LITTLE, seed))
        return {"heads": seed}

    add(monkeypatch, measure, "a", "b")
    at(monkeypatch, "first")
    experiments.run("one", seeds=[0], folder=tmp_path, contenders=["a"])
    at(monkeypatch, "second")
    parts = experiments.run("one", seeds=[0], folder=tmp_path).parts
    assert [part.circumstances["commit"] for part in parts.values()] == ["first", "first then second"]


def test_the_days_are_the_first_and_the_last(coin, monkeypatch, tmp_path):
    for seed, day in enumerate(("2026-08-03 then 2026-08-04", "2026-08-01", "2026-08-02")):
        where = {"hardware": "abacus", "versions": "1", "commit": "a", "date": day}
        monkeypatch.setattr(provenance, "history", lambda folder, where=where: where)
        experiments.run("coin", seeds=[seed], folder=tmp_path, contenders=["fair"], record=True)
    line = experiments.records.load_record("coin").provenance()
    assert line == "Record: coin (quick, 3 seeds, 0 s on abacus, 2026-08-01 to 2026-08-04)"


DAMAGES = ["", "{", "{}", "[{}]", "null", "[null]"]


@pytest.mark.parametrize(
    "file, damage",
    [*(("starts.json", damage) for damage in DAMAGES), *(("fingerprints.json", damage) for damage in [*DAMAGES, "[]"])],
)
def test_a_damaged_list_says_so(monkeypatch, tmp_path, capsys, file, damage):
    add(monkeypatch, lambda config, seed, folder: {"heads": seed}, "a")
    experiments.run("one", seeds=[0], folder=tmp_path)
    (result,) = tmp_path.glob("one-quick/a/seed-0-*/result.json")
    result.unlink()
    result.with_name(file).write_text(damage)
    run = ["run", "one", "--seeds", "1", "--folder", str(tmp_path)]
    assert main(run) == 1
    said = capsys.readouterr().err
    assert f"{file} is damaged (" in said and said.endswith("; begin again with --fresh\n") and said.count("\n") == 1
    assert main([*run, "--fresh"]) == 0


def test_the_line_is_plain_where_printed_and_leads_to_the_page_where_displayed():
    line = Provenance("coin", "quick, 3 seeds, 1 s on a <machine>")
    assert str(line) == repr(line) == "Record: coin (quick, 3 seeds, 1 s on a <machine>)"
    assert line._repr_html_() == (
        '<p class="provenance">Record: <a href="../pages/records.html#record-coin">coin</a> '
        "(quick, 3 seeds, 1 s on a &lt;machine&gt;)</p>"
    )


def test_the_hardware_tells_the_threads(monkeypatch):
    for count, said in ((1, "CPU, 1 thread"), (2, "CPU, 2 threads")):
        monkeypatch.setattr(torch, "get_num_threads", lambda count=count: count)
        assert provenance.circumstances(torch.device("cpu"))["hardware"].endswith(said)


# The commit


@pytest.fixture
def repository(monkeypatch, tmp_path):
    """A function that runs git in a new repository, outside which git finds none."""

    def git(*arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        command = ["git", "-C", str(tmp_path), *who, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    return git


def installed(monkeypatch, folder: Path) -> Path:
    """Put a copy of this module there, let it be the one that is asked, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    copy = Path(shutil.copy(provenance.__file__, folder))
    monkeypatch.setattr(provenance, "__file__", str(copy))
    return copy


def test_a_commit_is_named_and_marked_where_the_code_has_changed(monkeypatch, tmp_path, repository):
    home = tmp_path / "lib" / "unrolled" / "experiments"
    installed(monkeypatch, home)
    (home / "measured").mkdir()
    (home / "measured" / "coin.json").write_text("{}")
    (home.parent / "settings.py").write_text("once")
    (tmp_path / "README.md").write_text("once")
    assert provenance.commit() == "unknown"
    repository("init", "--quiet")
    assert provenance.commit() == "unknown"
    repository("add", ".")
    repository("commit", "--quiet", "--message", "one")
    head = repository("rev-parse", "HEAD")[:12]
    assert provenance.commit() == head
    (home / "measured" / "coin.json").write_text("[]")  # as each part does that is added on the way
    (tmp_path / "README.md").write_text("twice")
    assert provenance.commit() == head
    (home.parent / "settings.py").write_text("twice")
    assert provenance.commit() == f"{head}+"


@pytest.mark.parametrize("kept", ["ignored", "untracked", "tracked"])
def test_a_package_in_somebody_elses_repository_does_not_name_their_commit(monkeypatch, tmp_path, repository, kept):
    """Installed into an environment inside it, or even added to it, at another place than in the project."""
    repository("init", "--quiet")
    (tmp_path / ".gitignore").write_text(".venv\n" if kept == "ignored" else "")
    (tmp_path / "thesis.tex").write_text("once")
    installed(monkeypatch, tmp_path / ".venv" / "lib" / "unrolled" / "experiments")
    repository("add", "." if kept == "tracked" else "thesis.tex")
    repository("commit", "--quiet", "--message", "theirs")
    assert repository("rev-parse", "HEAD") and provenance.commit() == "unknown"


def test_this_checkout_is_the_projects_own():
    """Where the tests run from a checkout, its commit is named; from an unpacked archive, none is."""
    root = Path(provenance.__file__).parents[3]
    known = (root / ".git").exists() and bool(shutil.which("git"))
    assert (provenance.commit() != "unknown") == known

"""The room of the records, alone: what a file holds, and what is refused."""

import json

import numpy as np
import pytest

from unrolled import records
from unrolled.records import Provenance, RecordError, digest


def run(label: str, seed: int, heads: float, **more) -> dict:
    where = {"hardware": "abacus & <beads>", "versions": "1", "commit": "abc", "date": f"2026-08-0{seed + 1}"}
    line = {"label": label, "seed": seed, "config": {"sides": 2}, "axes": {"place": [10, 20]}, "seconds": 30.0}
    line |= {"metrics": {"heads": heads, "curve": [heads, heads + 1], "text": "coin"}, "environment": where} | more
    return line | {"digest": digest(line)}


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Return a function that writes the record of a coin: its first line, and runs."""
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    metrics = {
        "heads": ["throws", "how often it fell", []],
        "curve": ["", "two", ["place"]],
        "text": ["", "a word", []],
    }
    head = {"name": "coin", "title": "Toss a coin", "seeds": 2, "metrics": metrics}

    def put(*runs: dict) -> None:
        (tmp_path / "coin.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in [head, *runs]))

    return put


def test_a_record_is_read_as_it_was_written(write):
    write(run("fair", 0, 0.5), run("fair", 1, 2.5), run("bent", 0, 7.5, trial={"bend": 1}), run("bent", 0, 6.5))
    record = records.load("coin")
    assert records.names() == ["coin"] and record.title == "Toss a coin" and list(record) == ["fair", "bent"]
    assert record["fair"]["heads"].tolist() == [0.5, 2.5] and record["fair"]["curve"].shape == (2, 2)
    assert record["fair"].config == {"sides": 2} and record["fair"]["text"].tolist() == ["coin", "coin"]
    assert record["bent"]["heads"].tolist() == [6.5] and record["bent"].trials[0]["trial"] == {"bend": 1}
    assert record.metrics["curve"] == ("", "two", ("place",)) and record.axis("place").tolist() == [10, 20]
    assert record.each({"A": "fair"}, "heads")["A"].tolist() == [0.5, 2.5]


def test_seeds_that_stopped_at_different_lengths_are_lists(write):
    longer = run("fair", 1, 1.0, metrics={"curve": [1, 2, 3]})
    write(run("fair", 0, 0.5, metrics={"curve": [1, 2]}), longer)
    curves = records.load("coin")["fair"]["curve"]
    assert curves.dtype == object and [np.shape(each) for each in curves] == [(2,), (3,)]


def test_where_numbers_come_from_is_a_line_with_a_link(write):
    write(run("fair", 0, 0.5), run("fair", 1, 2.5))
    line = records.load("coin").provenance()
    assert str(line) == "Record: coin (2 seeds, 60 s on abacus & <beads>, 2026-08-01 to 2026-08-02)"
    assert '<a href="../pages/records.html#record-coin">coin</a>' in line._repr_html_()
    assert "abacus &amp; &lt;beads&gt;" in line._repr_html_() and isinstance(line, Provenance)
    write(run("fair", 0, 0.5, seconds=None))
    assert "1 seed, several runs" in records.load("coin").provenance()


@pytest.mark.parametrize("damage", ["not json", '{"label": "fair"}', json.dumps(run("fair", 1, 1.0) | {"seconds": 1})])
def test_a_damaged_line_is_named_with_the_remedy(write, damage, tmp_path):
    write(run("fair", 0, 0.5))
    with (tmp_path / "coin.jsonl").open("a") as file:
        file.write(f"{damage}\n")
    with pytest.raises(RecordError, match="line 3 of the record .*coin.jsonl is damaged or was changed by hand"):
        records.load("coin")


def test_what_is_not_there_is_named(write):
    write(run("fair", 0, 0.5))
    record = records.load("coin")
    with pytest.raises(RecordError, match="there is no record .*dice.jsonl"):
        records.load("dice")
    with pytest.raises(KeyError, match="coin has no 'bent'; it has fair"):
        record["bent"]
    with pytest.raises(KeyError, match="fair has no 'tails'; it has heads, curve, text"):
        record["fair"]["tails"]
    with pytest.raises(KeyError, match="coin has 0 axes 'time'"):
        record.axis("time")


@pytest.mark.parametrize("name", records.names())
def test_every_record_of_the_book_can_be_read(name):
    record = records.load(name)
    assert record and all(len(result[metric]) for result in record.values() for metric in result)
    assert "?" not in record.provenance()

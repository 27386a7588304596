"""The room of the records, alone: what a file holds, and what is refused."""

import json
import re

import pytest

from unrolled import records
from unrolled.records import RecordError, digest


def part(heads: float, seed: int) -> dict:
    where = {"hardware": "abacus & <beads>", "versions": "1", "commit": "abc", "date": f"2026-08-0{seed + 1}"}
    metrics = {"heads": heads, "curve": [heads, heads + 1], "text": "coin"}
    return {"metrics": metrics, "seconds": 30.0, "circumstances": where, "data": ""}


@pytest.fixture
def content() -> dict:
    """What the file of a record holds, without its digest: two contenders with two seeds each."""
    contenders = {
        label: {
            "config": {"sides": sides},
            "axes": {"place": [10, 20], "side": [sides]},
            "parts": {str(seed): part(sides * seed + 0.5, seed) for seed in range(2)},
        }
        for label, sides in {"fair": 2, "loaded": 6}.items()
    }
    metrics = {
        "heads": ["throws", "how often it fell", []],
        "curve": ["", "two", ["place"]],
        "text": ["", "a word", []],
    }
    return {"name": "coin", "title": "Toss a coin", "seeds": 2, "metrics": metrics, "contenders": contenders}


@pytest.fixture
def write(content, monkeypatch, tmp_path):
    """Return a function that writes the record, whole or as it is told, and with the digest of what is given it."""
    monkeypatch.setattr(records, "FOLDER", tmp_path)

    def put(text: str | None = None, sealed: dict = content) -> None:
        whole = json.dumps({"digest": digest(sealed)} | content)
        (tmp_path / "coin.json").write_text(whole if text is None else text, encoding="utf8")

    return put


def test_a_record_is_read_as_it_was_written(write):
    write()
    record = records.load("coin")
    assert records.names() == ["coin"] and record.title == "Toss a coin" and not record.missing
    assert list(record) == ["fair", "loaded"] and list(record["loaded"]) == ["heads", "curve", "text"]
    assert record["loaded"]["heads"].tolist() == [0.5, 6.5] and record["fair"]["curve"].shape == (2, 2)
    assert record["fair"].config == {"sides": 2} and record["fair"]["text"].tolist() == ["coin", "coin"]
    assert record.metrics["curve"] == ("", "two", ("place",))
    assert record.each({"A": "fair", "B": "loaded"}, "heads")["B"].tolist() == [0.5, 6.5]
    assert record.axis("place").tolist() == [10, 20]


@pytest.mark.parametrize(
    "ask, message",
    [
        (lambda record: record["bent"], "coin has no contender 'bent'; it has fair, loaded"),
        (lambda record: record["fair"]["tails"], "fair has no 'tails'; it has heads, curve, text"),
        (lambda record: record.each({"A": "fair"}, "tails"), "fair has no 'tails'"),
        (lambda record: record.axis("side"), "coin has 2 axes 'side'; each contender's are in record"),
        (lambda record: record.axis("lag"), "coin has 0 axes 'lag'"),
    ],
)
def test_what_is_not_there_is_named_with_what_is(write, ask, message):
    write()
    with pytest.raises(KeyError, match=re.escape(message)):
        ask(records.load("coin"))


def test_the_line_below_a_figure_says_where_numbers_came_from_and_leads_there(write):
    write()
    line, facts = records.load("coin").provenance(), "2 seeds, 2 min on abacus & <beads>, 2026-08-01 to 2026-08-02"
    assert line == repr(line) == f"Record: coin ({facts})"
    escaped = facts.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    link = r'<a href="\.\./\S*records\.html#record-coin">coin</a>'
    shown = rf'<p class="provenance">Record: {link} \({re.escape(escaped)}\)</p>'
    assert re.fullmatch(shown, line._repr_html_())


@pytest.mark.parametrize("damage", ["", "{", "[]", "null", '{"digest": 1}', '{"name": "coin"}'])
def test_what_is_damaged_is_refused(write, damage):
    write(damage)
    remedy = "restore it, or delete it and measure it, in a clone of the book, with: python -m lab run coin --record"
    with pytest.raises(RecordError, match=f"coin.json is damaged .*; {remedy}"):
        records.load("coin")


@pytest.mark.parametrize("edit", [{"name": "dice"}, {"title": "Toss two"}, {"metrics": {}}, {"seeds": 1}])
def test_what_was_changed_by_hand_is_refused(write, content, edit):
    write(sealed=content | edit)
    with pytest.raises(RecordError, match="coin.json is not as it was measured: .* changed by hand; take the change"):
        records.load("coin")


def test_a_file_with_another_name_is_refused(write, content):
    content["name"] = "dice"
    write()  # with the right digest
    with pytest.raises(RecordError, match="coin.json is not as it was measured"):
        records.load("coin")


def test_what_is_missing_is_named(write, content):
    with pytest.raises(RecordError, match="there is no record of 'coin'; measure it, .*: python -m lab run coin"):
        records.load("coin")
    del content["contenders"]["fair"]["parts"]["1"]
    content["contenders"]["loaded"]["parts"].clear()
    write()
    lacking = "lacks fair (seed 1), loaded (seed 0), loaded (seed 1); measure it"
    with pytest.raises(RecordError, match=re.escape(f"the record of 'coin' {lacking}")):
        records.load("coin")
    assert list(records.load("coin", complete=False)) == ["fair"]

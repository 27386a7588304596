"""The page of the recipe's knobs: what it says follows from the records, and its figure is there."""

import pytest

from extensions import knobs
from unrolled import records

pytestmark = pytest.mark.book
SMALL = {
    "No warm-up", "No clipping", "Windows of 128 characters, not 64", "Windows of 32 characters", "State never reset",
    "Embedding that begins at 0.3 of its size",
}  # fmt: skip


@pytest.fixture(scope="module")
def means() -> dict[str, dict[str, float]]:
    return {row: {cell: of.mean() for cell, of in cells.items()} for row, cells in knobs.ratios().items()}


def test_every_knob_has_a_row_and_the_base_is_one():
    rows = knobs.ratios()
    assert set(rows) == {*knobs.KNOBS, "Learning rate: half", "Learning rate: twice", knobs.OTHER_SEED}
    assert all(len(of) == 3 for row in knobs.KNOBS for of in rows[row].values())
    assert all(of.mean() == pytest.approx(1) and len(of) == 5 for of in rows[knobs.OTHER_SEED].values())


def test_too_large_an_embedding_costs_most(means):
    assert next(iter(means)) == "Embedding of 128 numbers"
    assert all(1.4 < of < 1.7 for of in means["Embedding of 128 numbers"].values())
    assert all(of < 1.1 for of in means["Embedding of 8 numbers, not 32"].values())


def test_the_start_matters_to_the_lstm_alone(means):
    start = means["The other start, uniform or orthogonal"]
    assert min(start["LSTM"], means["Forget bias 1, not −1"]["LSTM"]) > 1.3 and abs(start["GRU"] - 1) < 0.05


def test_the_rate_matters_and_that_it_falls(means):
    assert min(means["Learning rate: twice"].values()) > 1.33
    assert all(1.1 < of < 1.33 for of in means["Learning rate: half"].values())
    assert all(1.18 < of < 1.3 for of in means["Constant rate, no decay"].values())
    record = records.load(knobs.RECORD)
    for cell in knobs.CELLS.values():
        base, constant = (record[f"{cell}: {factor}"] for factor in ("base", "constant rate"))
        best = [of["learning_rate"][0, of["best"][0]] for of in (base, constant)]
        assert best[1] == best[0] / 2


def test_beta_2_is_worth_a_look_with_gates_alone(means):
    assert all(0.92 < of < 0.97 for of in means["Adam's β₂ 0.99, not 0.999"].values())
    assert all(0.87 < of < 0.94 for of in means["Adam's β₂ 0.9"].values())
    for cell in ("lstm", "gru"):
        assert knobs.nats_of(f"{cell}: β₂ 0.5").min() > knobs.nats_of(f"{cell}: base").max()
    ratios = knobs.beta2_ratios()
    assert [of.mean() for of in ratios["GRU"]] == pytest.approx(
        [means[row]["GRU"] for row in ("Adam's β₂ 0.99, not 0.999", "Adam's β₂ 0.9")]
    )
    assert all(of.mean() > 0.98 for name in ("RNN", "transformer") for of in ratios[name])


def test_clipping_did_nothing_for_the_lstm():
    record = records.load(knobs.RECORD)
    assert (record["lstm: no clipping"]["nats"] == record["lstm: base"]["nats"]).all()


def test_large_updates_cost_the_lstm_and_small_ones_gain_little(means):
    assert 1.05 < means["Updates twice as large, half as many"]["LSTM"] < 1.15
    assert all(0.9 < of < 1.01 for of in means["Updates half as large, twice as many"].values())


@pytest.mark.parametrize("row", sorted(SMALL))
def test_the_rest_is_small(means, row):
    assert all(abs(of - 1) < 0.1 for of in means[row].values())


def test_the_page_shows_the_figure(html):
    page = (html / "pages" / "knobs.html").read_text(encoding="utf8")
    assert "Too large an embedding costs most" in page and 'src="../_images/knobs.svg"' in page
    assert f"{knobs.beta2_ratios()['transformer'][1].mean():.2f} (" in page
    assert "Embedding of 128 numbers" in (html / "_images" / "knobs.svg").read_text(encoding="utf8")

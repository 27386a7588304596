"""The page of the library's speed: it has what was measured, and what it says follows from that."""

import json

import pytest

import run as benchmark
from places import ROOT

pytestmark = pytest.mark.book
WRITTEN = json.loads((ROOT / "data" / "speed.json").read_text(encoding="utf8"))


def medians(subject: str, *words: str) -> dict[str, float]:
    """Return the medians of the rows of a subject that have all these words in their names or above them."""
    tables = WRITTEN[subject]["tables"]
    rows = {f"{title}: {name}": ratios[1] for title, rows in tables.items() for name, ratios in rows.items()}
    found = {name: ratio for name, ratio in rows.items() if all(word in name for word in words)}
    assert found, f"nothing of {subject} is called {words}"
    return found


def test_the_page_has_every_row_of_every_subject(html):
    page = (html / "pages" / "speed.html").read_text(encoding="utf8").replace("’", "'")
    assert set(WRITTEN) == set(benchmark.SUBJECTS) - {"pages"}
    for of in WRITTEN.values():
        assert of["hardware"].endswith("1 thread") and of["commit"].rstrip("+") in page
        for title, rows in of["tables"].items():
            assert page.count(title) == 1
            assert all(
                f'<td class="text-right"><p>{ratio:.2f}' in page for _, ratio, _ in rows.values() if ratio >= 0.1
            )


def test_batches_take_as_long_as_with_torch():
    batches = medians("cells", "B=64") | medians("cells", "B=32")
    assert all(0.85 < ratio < 1.1 for name, ratio in batches.items() if "d=h=128, ÷" not in name)
    rungs = medians("cells", "LSTM, B=64 T=128 d=h=128, ÷").values()
    naive, _, fused, default, _ = rungs
    assert 1.4 < naive < 1.6 and 1.1 < fused < 1.3 and default < 1.1
    assert all(1.35 < ratio < 1.65 for ratio in medians("cells", "GRU", "single steps").values())


def test_attention_is_nearly_as_fast_but_for_several_heads_over_many_places():
    slow = medians("attention", "4 heads, B=8 T=256")
    assert all(1.2 < ratio < 1.45 for ratio in slow.values())
    assert all(ratio < 1.2 for name, ratio in medians("attention", "PyTorch's").items() if name not in slow)


def test_a_scan_gains_with_length_and_linear_attention_does_not():
    gains = list(medians("scans", "÷ a loop").values())
    assert gains == sorted(gains, reverse=True) and gains[0] < 1
    assert all(ratio > 0.95 for ratio in medians("scans", "linear").values())


def test_counting_is_far_ahead_of_python_and_behind_c():
    assert all(ratio < 0.1 for ratio in medians("ngrams", "dictionaries").values())
    assert all(ratio < 1 / 80 for ratio in medians("ngrams", "NLTK").values())
    assert all(1.4 < ratio < 2.5 for ratio in medians("ngrams", "KenLM").values())


def test_training_takes_as_long_as_by_the_example():
    assert all(0.8 < ratio < 1.15 for ratio in medians("training", "ours ÷").values())


def test_an_adaptive_softmax_makes_an_update_take_less_than_a_quarter_of_the_time():
    (update,) = medians("softmax", "layers").values()
    assert update < 0.25


def test_the_browser_takes_two_to_four_times_as_long():
    assert all(2 < ratio < 4 for ratio in medians("browser").values())

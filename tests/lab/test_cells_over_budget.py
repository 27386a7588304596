"""Cells over budget: equal sizes, equal searches, and what is measured of each."""

import pytest
from unrolled.experiments import base, cells_over_budget, find, reading, records, tuning


@pytest.fixture(autouse=True)
def no_record(monkeypatch, tmp_path):
    monkeypatch.setattr(records, "FOLDER", tmp_path / "measured")


def weights(config: dict) -> int:
    return base.parameters(base.model_of(config, 59))


@pytest.mark.parametrize("size", cells_over_budget.UNITS)
def test_at_every_size_all_cells_have_about_as_many_weights(size):
    for name, units in cells_over_budget.UNITS[size].items():
        assert weights(cells_over_budget.configuration(name, 1, units)) == pytest.approx(size, rel=0.02), name


@pytest.mark.parametrize("profile, size", [("quick", 80_000), ("full", 1_000_000)])
def test_every_setting_fits_its_cell_and_changes_no_size(profile, size):
    searches = cells_over_budget.COMPARISON.searches(profile)
    shortest = cells_over_budget.BUDGETS[profile][0]
    for name in cells_over_budget.CELLS:
        config = searches[f"{name} {shortest}"]
        assert len(config["settings"]) == 20 and config["keep"] == [[0.25, 8], [0.5, 4]]
        for setting in config["settings"]:
            assert weights(tuning.with_setting(config, setting)) == pytest.approx(size, rel=0.02)


def test_no_character_is_read_twice():
    for label, config in cells_over_budget.COMPARISON.searches("quick").items():
        if "recipe" in config:
            recipe = config["recipe"]
            assert recipe["batch"] * recipe["seq_len"] == 2048, label
            assert config["text"]["characters"] > 2048 * recipe["updates"] + recipe["batch"]
            assert config["text"]["three_parts"] and recipe["reset"] == 0.05


@pytest.mark.parametrize("name", cells_over_budget.CELLS)
def test_each_cell_is_scored_and_questioned_in_the_test(name, tmp_path, monkeypatch, hold_out):
    hold_out(20_000)
    config = cells_over_budget.configuration(name, 2, 4, characters_per_update=512)
    config["text"]["characters"] = 30_000
    asked, recall = [], cells_over_budget.recall_by_lag
    monkeypatch.setattr(
        cells_over_budget, "recall_by_lag", lambda *arguments: asked.append(arguments[2]) or recall(*arguments)
    )
    measured = cells_over_budget.measure(config | {"by_story": True}, 0, tmp_path)
    total = sum(measured["by_story"]) / sum(measured["story_symbols"])
    assert total == pytest.approx(measured["nats"], rel=0.01) and sum(measured["story_symbols"]) >= 20_000
    find("cells-over-budget").check(records.Contender(name, config, [measured], cells_over_budget.axes(config)))
    assert "by_story" not in cells_over_budget.measure(config, 0, tmp_path)
    assert asked[:1] == [reading.unseen_stories()[1]] and measured["updates"] == [1, 2]


def test_other_sizes_have_the_settings_of_as_many_updates(monkeypatch):
    rates = {500: 1e-2, 2000: 8e-3, 8000: 4e-3}
    monkeypatch.setattr(tuning.Comparison, "chosen", lambda self, name, updates, _: {"learning_rate": rates[updates]})
    contenders = find("cells-by-size").contenders["quick"]
    assert len(contenders) == 9
    for label, config in contenders.items():
        name, size, updates = label.split()
        assert weights(config) == pytest.approx(int(size), rel=0.02), label
        assert config["recipe"]["updates"] == int(updates)
        assert config["recipe"]["learning_rate"] == rates[int(updates)]
        assert config["model"]["options"]["core"] == name

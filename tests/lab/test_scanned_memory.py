"""minGRU and minLSTM on the stories: the sizes and the searches of `memory`, and layers that can be asked."""

import copy

import pytest
from unrolled.experiments import base, find, memory, records, scanned_memory, tuning

CORES = scanned_memory.UNITS["quick"]


@pytest.fixture(autouse=True)
def no_record(monkeypatch, tmp_path):
    monkeypatch.setattr(records, "FOLDER", tmp_path / "measured")


@pytest.mark.parametrize("profile, least, most", [("quick", 480_000, 530_000), ("full", 2_040_000, 2_140_000)])
def test_all_have_as_many_weights_as_the_models_they_stand_beside(profile, least, most):
    for core in CORES:
        for variant in scanned_memory._variants(core, profile):
            config = tuning.with_setting(scanned_memory._base(core, 1, profile), variant)
            assert least < base.parameters(base.model_of(config, 1171)) < most, (core, variant)


@pytest.mark.parametrize("profile", ["quick", "full"])
def test_the_searches_are_as_large_and_read_the_same_text(profile):
    ours, theirs = (module.COMPARISON.searches(profile) for module in (scanned_memory, memory))
    for updates in memory.BUDGETS[profile][:-1]:
        for core in CORES:
            mine, beside = ours[f"{core} {updates}"], theirs[f"gru {updates}"]
            assert len(mine["settings"]) == len(beside["settings"]) and mine["keep"] == beside["keep"]
            assert mine["text"] == beside["text"]
            fields = {name for name, value in mine["recipe"].items() if value != beside["recipe"][name]}
            assert fields <= {"learning_rate"}


@pytest.mark.parametrize("core", CORES)
def test_layers_are_asked_for_names_and_for_no_single_units(core, hold_out, tmp_path):
    hold_out(40_000)
    config = copy.deepcopy(scanned_memory._base(core, 4, "quick"))
    config["model"]["options"] |= {"hidden_size": 8, "embedding_size": 8}
    config["text"]["characters"] = 400_000  # so that every name is known
    config["recipe"] |= {"batch": 2, "seq_len": 16}
    config |= {"points": [2, 4], "validations": 0, "story": True}
    measured = memory.measure(config, 0, tmp_path)
    contender = records.Contender(core, config, [measured], memory.axes(config))
    find("scanned-memory").check(contender)
    assert contender["name_curve"].shape == (1, 2, 6)
    assert "chance" in measured and "unit_states" not in measured

"""The switches: profile, budget, seed, threads, device."""

import numpy as np
import pytest
import torch

from unrolled import settings


def test_the_default_profile_is_quick_and_budgets_follow_it(monkeypatch):
    monkeypatch.delenv("UNROLLED_PROFILE", raising=False)
    assert settings.profile() == "quick" and settings.budget(3, 30) == 3
    assert settings.device() == torch.device("cpu")
    monkeypatch.setenv("UNROLLED_PROFILE", "full")
    assert settings.profile() == "full" and settings.budget(3, 30) == 30


def test_an_unknown_profile_is_named(monkeypatch):
    monkeypatch.setenv("UNROLLED_PROFILE", "fast")
    with pytest.raises(ValueError, match="'fast'; it can be one of quick, full"):
        settings.profile()


def test_the_seed_decides_every_generator(monkeypatch):
    monkeypatch.setenv("UNROLLED_SEED", "7")
    draws = []
    for _ in range(2):
        assert settings.begin() == 7
        draws.append((np.random.rand(), torch.rand(1).item()))
    monkeypatch.setenv("UNROLLED_SEED", "8")
    assert settings.begin() == 8
    assert draws[0] == draws[1] != (np.random.rand(), torch.rand(1).item())


@pytest.mark.parametrize(
    "variable, value", [("UNROLLED_SEED", "-1"), ("UNROLLED_THREADS", "0"), ("UNROLLED_SEED", "x")]
)
def test_a_bad_number_is_named(monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    with pytest.raises(ValueError, match=f"{variable} is '{value}'"):
        settings.begin()


def test_threads_are_set(monkeypatch):
    before = torch.get_num_threads()
    monkeypatch.setenv("UNROLLED_THREADS", "1")
    settings.begin()
    assert torch.get_num_threads() == 1
    torch.set_num_threads(before)

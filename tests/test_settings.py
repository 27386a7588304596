"""The switches: profile, device, seed."""

import random

import numpy as np
import pytest
import torch

from unrolled import settings


def test_the_default_profile_is_quick_and_budgets_and_devices_follow_it(monkeypatch):
    monkeypatch.delenv("UNROLLED_PROFILE", raising=False)
    monkeypatch.delenv("UNROLLED_DEVICE", raising=False)
    monkeypatch.setattr(settings, "devices", lambda: ["cuda", "cpu"])
    assert settings.budget(3, 30) == 3 and settings.device() == torch.device("cpu")
    monkeypatch.setenv("UNROLLED_PROFILE", "full")
    assert settings.budget(3, 30) == 30 and settings.device() == torch.device("cuda")
    monkeypatch.setenv("UNROLLED_DEVICE", "cpu")
    assert settings.device() == torch.device("cpu")


def test_the_seed_decides_every_generator(monkeypatch):
    def draws(seed):
        monkeypatch.setenv("UNROLLED_SEED", seed)
        assert settings.begin() == int(seed)
        return random.random(), np.random.rand(), torch.rand(1).item()

    assert draws("7") == draws("7")
    assert all(one != other for one, other in zip(draws("7"), draws("8"), strict=True))


@pytest.mark.parametrize(
    "variable, value, says",
    [
        ("UNROLLED_PROFILE", "fast", "it can be one of quick, full"),
        ("UNROLLED_DEVICE", "abacus", "on this machine it can be one of .*cpu"),
        ("UNROLLED_SEED", "-1", "it must be an integer from 0 to 4294967295"),
        ("UNROLLED_SEED", "4294967296", "it must be an integer"),
        ("UNROLLED_SEED", "x", "it must be an integer"),
    ],
)
def test_an_unknown_value_is_named(monkeypatch, variable, value, says):
    monkeypatch.setenv(variable, value)
    with pytest.raises(ValueError, match=f"^{variable} is '{value}'; {says}"):
        settings.device(), settings.begin()

"""Probes: what is there is found, what is not there is not, and what is learned by heart shows in the control."""

import pytest
import torch

from unrolled.measure import probes


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def halves(states, labels):
    cut = len(states) // 2
    return states[:cut], labels[:cut], states[cut:], labels[cut:]


def test_what_lies_on_a_line_is_found_and_noise_is_not():
    labels = torch.randint(3, (900,))
    direction = torch.nn.functional.one_hot(labels, 3).float() @ torch.randn(3, 8)
    assert probes.linear_probe(*halves(5 * direction + torch.randn(900, 8), labels)) > 0.95
    assert probes.linear_probe(*halves(torch.randn(900, 8), labels)) == pytest.approx(1 / 3, abs=0.07)


def test_a_large_penalty_leaves_the_most_frequent_label():
    labels = (torch.arange(400) % 4 == 0).long()
    states = labels[:, None] + 0.1 * torch.randn(400, 2)
    assert probes.linear_probe(*halves(states, labels)) == 1
    assert probes.linear_probe(*halves(states, labels), penalty=1e4) == 0.75


def test_what_takes_more_than_a_line_is_not_found():
    bits = torch.randint(2, (800, 2))
    exclusive = bits.sum(dim=1) % 2
    states = bits + 0.05 * torch.randn(800, 2)
    assert probes.linear_probe(*halves(states, exclusive)) < 0.65
    products = torch.cat([states, (states[:, :1] - 0.5) * (states[:, 1:] - 0.5)], dim=1)
    assert probes.linear_probe(*halves(products, exclusive)) > 0.99


def test_the_scale_of_a_unit_and_a_dead_unit_change_nothing():
    labels = torch.randint(3, (400,))
    states = torch.nn.functional.one_hot(labels, 5).float() + 0.5 * torch.randn(400, 5)
    plain = probes.linear_probe(*halves(states, labels))
    scaled = torch.cat([states * torch.tensor([1e3, 1.0, 1e-3, 1.0, 1.0]) + 7, torch.ones(400, 1)], dim=1)
    assert probes.linear_probe(*halves(scaled, labels)) == pytest.approx(plain, abs=0.01)


def test_nothing_flows_back_into_the_states():
    states = torch.randn(20, 3, requires_grad=True)
    with torch.no_grad():
        probes.linear_probe(*halves(states, torch.arange(20) % 2))
    assert states.grad is None

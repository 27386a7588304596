"""Chapter 4's experiments: how every network begins, how its rate is chosen, and gradients checked by other ways."""

import math

import pytest
import torch
from torch.nn.functional import cross_entropy

import lab
from lab.ch04_vanishing_gradients import chaos, copy_adding, gradients, input_gradient, plain_descent, success_by_lag
from lab.engine import tasks as engine_tasks
from lab.engine.experiment import model, recipe, text
from lab.engine.tasks import ending, initialised_cell
from lab.engine.texts import Encoded, encoded
from small_experiments import small
from unrolled import cells, tasks
from unrolled.cells import initialise
from unrolled.models import LanguageModel
from unrolled.tasks import Adding, Outcome

# Copying and adding

SEARCHES, SEARCH = copy_adding.SEARCHES, lab.find("copy-adding-tuning").measure
LABEL = "adding 100: lstm, bias 1"


def shares(*losses: float) -> dict:
    return {"updates": 2, "scores": [Adding.trivial * loss for loss in losses]}


def test_remedies_and_biases_are_on_both_tasks_and_trials_as_many_for_each():
    names = {label: {each.split(": ")[1] for each in SEARCHES if each.startswith(label)} for label in copy_adding.TASKS}
    assert names["copy 10"] == names["adding 100"]
    assert names["adding 160"] == {"irnn"}
    assert all([each["learning_rate"] for each in config["grid"]] == copy_adding.RATES for config in SEARCHES.values())


@pytest.mark.parametrize("label", SEARCHES)
def test_a_network_begins_as_its_label_says(label):
    config, name = SEARCHES[label], label.split(": ")[1]
    torch.manual_seed(0)
    cell = initialised_cell(config, 3)
    assert config["clip"] == (None if "not clipped" in name else 1)
    eye, blocks = torch.eye(cell.hidden_size), [cell.block(each) for each in cell.blocks]
    orthogonal = all(torch.allclose(block.W_hh @ block.W_hh.T, eye, atol=1e-5) for block in blocks)
    assert orthogonal == (name != "tanh")
    if name.startswith("irnn"):
        assert torch.equal(cell.W_hh, eye) and cell.nonlinearity == "relu"
    if name.startswith("lstm, bias"):
        assert (cell.block("f").b_h == float(name.removeprefix("lstm, bias "))).all()
    if name.startswith("lstm-1997"):
        assert (cell.block("i").b_h == (-3 if "bias" in name else 0)).all()
    if "chrono" in name:
        kept = cell.block("f").b_h if isinstance(cell, cells.LSTMCell) else -cell.block("z").b_h
        steps = copy_adding.task_of(config).batch(1, torch.Generator())[0].shape[1]
        assert (kept >= 0).all() and (kept.exp() <= steps - 1 + 1e-3).all() and config["cell"]["t_max"] == steps


@pytest.fixture
def outcomes(monkeypatch):
    """The outcome of every training by its learning rate, in place of the training."""
    by_rate = {}
    monkeypatch.setattr(tasks, "solve", lambda model, task, *, learning_rate, **options: by_rate[learning_rate])
    return by_rate


def test_the_rate_that_solves_soonest_is_chosen_or_else_the_lowest_loss(outcomes, tmp_path):
    config = SEARCHES[LABEL] | copy_adding.SMALL
    low, lower, *_, soon, sooner = copy_adding.RATES
    outcomes |= dict.fromkeys(copy_adding.RATES, Outcome(**shares(0.95))) | {
        low: Outcome(**shares(0.9)),
        lower: Outcome(**shares(0.2)),
        soon: Outcome(success=True, **shares(0.05)),
        sooner: Outcome(success=True, **shares(0.04) | {"updates": 1}),
    }
    trials = SEARCH(config, 0, tmp_path / "all")
    assert trials["chosen"] == 6 and trials["trial_loss"] == pytest.approx([0.9, 0.2, *[0.95] * 3, 0.05, 0.04])
    assert trials["trial_updates"] == [*[2] * 6, 1]
    outcomes |= {soon: Outcome(diverged=True, **shares(0.1)), sooner: Outcome(**shares(0.3))}
    assert SEARCH(config, 0, tmp_path / "none")["chosen"] == 1
    assert SEARCH(config, 0, tmp_path / "all") == trials  # it was kept


def test_trials_have_a_quarter_of_the_updates(monkeypatch, tmp_path):
    given, outcome = [], (None, Outcome(**shares(1)))
    monkeypatch.setattr(engine_tasks, "attempt", lambda config, *rest: given.append(config["updates"]) or outcome)
    SEARCH(SEARCHES[LABEL], 0, tmp_path)
    assert given == [2500] * len(copy_adding.RATES)


def test_a_curve_ends_where_the_task_is_solved(outcomes, tmp_path):
    config = SEARCHES[LABEL] | copy_adding.SMALL | {"learning_rate": 5e-3}
    outcomes[5e-3] = Outcome(success=True, updates=4, scores=[Adding.trivial, Adding.trivial / 100])
    curve = copy_adding.measure(config, 0, tmp_path)["curve"]
    assert curve[:2] == pytest.approx([1, 0.01]) and len(curve) == 4 and all(map(math.isnan, curve[2:]))
    assert list(copy_adding.axes(config)["score"]) == [2, 4, 6, 8]


def test_the_loss_is_the_last_finite_one_as_a_share_of_the_trivial_one():
    solved = Outcome(success=True, updates=9, scores=[Adding.trivial, Adding.trivial / 2, math.inf])
    assert ending(solved, Adding(4)) == {"success": 1, "diverged": 0, "updates": 9, "loss": pytest.approx(0.5)}
    unscored = Outcome(diverged=True, updates=3, losses=[1.0] * 3)
    assert ending(unscored, Adding(4)) == {"success": 0, "diverged": 1, "updates": 3, "loss": 1.0}


def test_subnormal_numbers_are_flushed_and_afterwards_as_they_were():
    can = torch.set_flush_denormal(True)
    torch.set_flush_denormal(False)
    with engine_tasks.flushing():
        assert (torch.tensor(1e-30) * torch.tensor(1e-10)).item() == (0 if can else pytest.approx(1e-40))
    assert torch.tensor(1e-30) * torch.tensor(1e-10) > 0


# The gradient of a vanilla language model


def vanilla(nonlinearity: str, initialisation: str | None) -> LanguageModel:
    cell = {"nonlinearity": nonlinearity}
    config = {"model": model("LanguageModel", hidden_size=5, cell_options=cell), "initialisation": initialisation}
    return gradients.untrained(config, 7)


def histogram(seq_len: int) -> dict:
    config = small("gradient-histogram", "16") | {"sequences": 3, "bins": 10, "longest": 8}
    return config | {"text": text("stories", 3000), "recipe": config["recipe"] | {"updates": 4, "seq_len": seq_len}}


def test_a_linear_cell_that_halves_keeps_half_a_step():
    network = vanilla("identity", None)
    initialise(network.core.layers[0], "identity", 0.5)
    probed = gradients.probe(network, torch.randint(7, (3, 6)))
    assert probed["lag"] == pytest.approx([0.5**lag for lag in range(6)])
    assert probed["lyapunov"] == pytest.approx(math.log(0.5))
    assert probed["slope"] == 1 and probed["log_slope"] == 0


def test_windows_come_from_all_over_the_text():
    windows = gradients.windows_of(torch.arange(100), sequences=3, steps=4)
    assert windows.tolist() == [[0, 1, 2, 3, 4], [47, 48, 49, 50, 51], [95, 96, 97, 98, 99]]


def test_the_histogram_counts_every_entry_and_the_whole_window_is_the_longest(tmp_path):
    axes = gradients.histogram_axes(histogram(4))
    assert axes["steps"] == [1, 2, 4, 8] and len(axes["bin"]) == 10 and axes["bin"][-1] == 0.03
    measured = {seq_len: gradients.measure_histogram(histogram(seq_len), 0, tmp_path) for seq_len in (4, 8)}
    for metrics in measured.values():
        assert sum(metrics["counts"]) == 16 * 16 and len(metrics["counts"]) == 10 and 0 < metrics["loss"] < 10
    # eight steps from an empty state are all there is; four are fewer
    assert measured[8]["by_steps"][-1] == pytest.approx(measured[8]["spread"], rel=1e-5)
    assert measured[4]["by_steps"][-1] != pytest.approx(measured[4]["spread"], rel=1e-5)


# Gradients by input

STEPS = 6


@pytest.fixture
def network():
    torch.manual_seed(0)
    return LanguageModel(5, core="gru", hidden_size=4, embedding_size=3, embedding_scale=2.0).double()


def drawn(sequences: int, steps: int = STEPS, seed: int = 0) -> torch.Tensor:
    return torch.randint(5, (sequences, steps + 1), generator=torch.Generator().manual_seed(seed))


def test_the_terms_of_all_lags_add_up_to_the_gradient_of_the_embedding(network):
    tokens = drawn(7)
    _, mean = input_gradient.terms(network, tokens)
    logits, _ = network(tokens[:, :-1])
    cross_entropy(logits[:, -1], tokens[:, -1]).backward()
    torch.testing.assert_close(mean.sum(dim=0), network.embedding.weight.grad)
    assert mean.shape == (STEPS, 5, 3)


def test_the_term_of_a_lag_is_that_of_the_symbols_read_then(network):
    tokens = torch.tensor([[0, 0, 0, 1, 0, 0, 2]])  # symbol 1 two steps before the last input
    medians, mean = input_gradient.terms(network, tokens)
    assert [bool(term[1].any()) for term in mean] == [lag == 2 for lag in range(STEPS)]
    assert not mean[:, 2:].any() and medians[0] == 1 and (medians > 0).all()


def test_noise_falls_with_the_root_of_the_batch_and_is_none_where_minibatches_are_equal(network):
    few, many = (input_gradient.noise(network, drawn(200 * batch, seed=batch), 200) for batch in (4, 64))
    assert few / many == pytest.approx(4, rel=0.15)
    assert input_gradient.noise(network, drawn(8).repeat(5, 1), 5) == pytest.approx(0, abs=1e-15)


def test_a_signal_is_what_both_halves_agree_on(network, monkeypatch):
    """The norm of a mean of random vectors is never zero; the product of two such means is, on average."""
    read = Encoded(None, drawn(1, 400)[0], drawn(1, 400, seed=1)[0])
    steps = recipe(updates=1, symbols_per_update=32, seq_len=8, learning_rate=1.0)
    config = {"recipe": steps, "sequences": 20, "steps": STEPS, "minibatches": 3}
    agreed, halves = torch.randn(STEPS, 5, 3), []

    def terms(network, tokens):
        halves.append(tokens)
        return torch.ones(STEPS), agreed * (-1) ** (len(halves) > 1 and opposed)

    monkeypatch.setattr(input_gradient, "terms", terms)
    opposed = False
    signal = input_gradient.probe(network, read, config)["signal"]
    torch.testing.assert_close(torch.tensor(signal), agreed.flatten(1).norm(dim=1))
    assert torch.equal(torch.stack(halves, dim=1).flatten(0, 1), gradients.windows_of(read.held_out, 20, STEPS))
    halves.clear()
    opposed = True
    assert not any(input_gradient.probe(network, read, config)["signal"])


# Random networks, plain descent, success by lag


def test_a_silent_network_has_the_exponent_of_its_radius_and_a_driven_one_less():
    generator = torch.Generator().manual_seed(0)
    cell = initialise(cells.RNNCell(1, 16), "gaussian", 0.5, generator)
    W = cell.W_hh.detach().double()
    silent, driven = (chaos.exponent(W, drive, 400, torch.Generator().manual_seed(1)) for drive in (0.0, 1.0))
    assert silent == pytest.approx(math.log(0.5), abs=0.02) and driven < silent - 0.1


def test_descent_ends_where_the_loss_is_not_finite_and_clipping_holds_it():
    free, clipped = (small("plain-descent", f"irnn{how}") | {"updates": 12} for how in ("", ", clipped"))
    read = encoded(free)
    ended, held = (plain_descent.descend(config, 0, read, rate=1e3) for config in (free, clipped))
    assert ended["updates"] < 12 and math.isfinite(ended["norm"])
    assert held["updates"] >= ended["updates"]


def test_small_inputs_are_as_small_as_their_authors_draw_them():
    torch.manual_seed(0)
    drawn, usual = (
        gradients.untrained(small("plain-descent", name), 50).core.layers[0].W_xh
        for name in ("irnn, small inputs", "irnn")
    )
    assert drawn.std().item() == pytest.approx(1e-3, rel=0.3) and usual.std().item() > 0.05


def test_what_failed_at_50_is_searched_at_20_and_what_did_not_at_200(monkeypatch):
    monkeypatch.setattr(success_by_lag, "solves", lambda task, lag, name: name == "lstm")
    searched = {
        name: [lag for lag in (20, 50, 200) if success_by_lag.is_searched("adding", lag, name)]
        for name in ("lstm", "tanh")
    }
    assert searched == {"lstm": [50, 200], "tanh": [20, 50]}
    asked = {
        name: [lag for lag in success_by_lag.LAGS if success_by_lag.is_asked("adding", lag, name)] for name in searched
    }
    assert asked == {"lstm": [20, 50, 100, 200], "tanh": [20, 50, 100]}

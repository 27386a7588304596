"""What learns in the page learns as in Python: gradients, Adam, whole trainings, and what counting pays beside them."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy, one_hot
from torch.nn.utils import clip_grad_norm_

from running import source
from unrolled import cells, ngram
from unrolled.measure import token_nats
from unrolled.tasks import FlipFlop, SequenceModel
from unrolled.text import Streams, Vocabulary, stories
from unrolled.training import Recipe

CLOSE = 1e-5  # relative; both compute in 64 bits, so that nothing but the order of the sums differs
SCRIPTS = ("engine", "learning", "counting", "lessons")
KINDS = {"rnn": cells.RNNCell, "lstm": cells.LSTMCell}
SIZES = {"inputs": 7, "units": 6, "outputs": 5}
TEACH = """({ core, sizes, weights, steps, batch, priced, batches, recipe }) => {
    const { learning } = Unrolled;
    const finish = (passes) => { for (;;) { const { done, value } = passes.next(); if (done) return value; } };
    const network = learning.network(core, sizes.inputs, sizes.units, sizes.outputs);
    for (const [name, values] of Object.entries(weights)) network.W[name].set(values);
    const room = learning.room(network, steps, batch, priced);
    const losses = [], gradients = [];
    batches.forEach(({ inputs, targets }, n) => {
        learning.begin(room, sizes.units, n > 0 && recipe.carry);
        losses.push(finish(learning.update(network, room, Int32Array.from(inputs), Int32Array.from(targets), recipe)));
        gradients.push(Object.fromEntries(Object.entries(network.G).map(([name, g]) => [name, [...g]])));
    });
    return { losses, gradients, weights: Object.fromEntries(Object.entries(network.W).map(([n, w]) => [n, [...w]])) };
}"""


def page_with(browser, **changes: str):
    """Return a blank page with the scripts, some of them changed."""
    page = browser.new_page()
    for name in SCRIPTS:
        page.add_script_tag(content=changes.get(name, source(name)))
    return page


@pytest.fixture(scope="module")
def page(browser):
    """A blank page with the scripts."""
    page = page_with(browser)
    yield page
    page.close()


def teacher(core: str) -> SequenceModel:
    """Return a small model whose gates open and shut, in 64 bits."""
    torch.manual_seed(0)
    model = SequenceModel(KINDS[core](SIZES["inputs"], SIZES["units"]), SIZES["outputs"]).double()
    for weights in model.parameters():
        torch.nn.init.normal_(weights, std=0.6)
    return model


def named(model: SequenceModel) -> dict[str, torch.nn.Parameter]:
    """Return a model's weights by their names in the page."""
    own = {name: getattr(model.cell, name) for name in ("W_xh", "W_hh", "b_h")}
    return own | {"W_hy": model.output.weight, "b_y": model.output.bias}


def numbers(weights: dict[str, torch.Tensor]) -> dict[str, list[float]]:
    return {name: each.detach().flatten().tolist() for name, each in weights.items()}


def drawn(count: int, steps: int, batch: int, priced: int, unasked: int = 0) -> list[dict]:
    """Return batches of columns that are one, two a step, and of targets, of which some are not asked for."""
    rng = np.random.default_rng(1)
    batches = []
    for _ in range(count):
        inputs = np.stack([rng.integers(4, size=(steps, batch)), rng.integers(4, 7, size=(steps, batch))], axis=2)
        targets = rng.integers(SIZES["outputs"], size=(priced, batch))
        targets.flat[:unasked] = -1
        batches.append({"inputs": inputs, "targets": targets})
    return batches


def in_page(page, core: str, model: SequenceModel, batches: list[dict], **recipe) -> dict:
    """Return the losses, gradients and last weights of one update for each batch, as the page computes them."""
    steps, batch, _ = batches[0]["inputs"].shape
    flat = [{name: each.flatten().tolist() for name, each in one.items()} for one in batches]
    sizes = {"steps": steps, "batch": batch, "priced": len(batches[0]["targets"])}
    recipe = {"rate": 0.01, "limit": 1e9, "carry": False} | recipe
    weights = numbers(named(model))
    return page.evaluate(
        TEACH, {"core": core, "sizes": SIZES, "weights": weights, "batches": flat, "recipe": recipe, **sizes}
    )


def in_torch(model: SequenceModel, batches: list[dict], rate=0.01, limit=1e9, carry=False) -> dict:
    """Return the same from autograd and PyTorch's own clipping and Adam."""
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    losses, gradients, state = [], [], None
    for each in batches:
        inputs = one_hot(torch.from_numpy(each["inputs"]), SIZES["inputs"]).sum(dim=2).double().transpose(0, 1)
        states, state = cells.unroll(model.cell, inputs, state if carry else None)
        state = tuple(part.detach() for part in state) if isinstance(state, tuple) else state.detach()
        targets = torch.from_numpy(each["targets"]).T
        logits = model.output(states)[:, -targets.shape[1] :]
        loss = cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(model.parameters(), limit)
        gradients.append(numbers({name: weights.grad for name, weights in named(model).items()}))
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "gradients": gradients, "weights": numbers(named(model))}


def difference(ours, theirs) -> float:
    """Return the largest difference of two arrays, as a share of the largest number in the second."""
    ours, theirs = np.array(ours), np.array(theirs)
    return float(np.abs(ours - theirs).max() / (np.abs(theirs).max() or 1))


PLANS = {  # 37 steps are two spans of sixteen and a rest; 3 and 5 sequences leave some rows over
    "every step is asked": (37, 5, 37, 0),
    "only the last step is asked": (20, 3, 1, 0),
    "some steps are not asked": (5, 4, 3, 4),
    "one sequence of one step": (1, 1, 1, 0),
}


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("core", KINDS)
def test_the_gradient_is_that_of_autograd(page, core, plan):
    steps, batch, priced, unasked = PLANS[plan]
    batches = drawn(1, steps, batch, priced, unasked)
    ours, theirs = in_page(page, core, teacher(core), batches), in_torch(teacher(core), batches)
    assert difference(ours["losses"], theirs["losses"]) < CLOSE
    for name, gradient in theirs["gradients"][0].items():
        assert difference(ours["gradients"][0][name], gradient) < CLOSE, name


@pytest.mark.parametrize("limit", [1e9, 0.05])
@pytest.mark.parametrize("core", KINDS)
def test_three_updates_are_those_of_clipping_and_adam(page, core, limit):
    batches = drawn(3, steps=6, batch=4, priced=6)
    ours = in_page(page, core, teacher(core), batches, limit=limit)
    theirs = in_torch(teacher(core), batches, limit=limit)
    for name, weights in theirs["weights"].items():
        assert difference(ours["weights"][name], weights) < CLOSE, name


@pytest.mark.parametrize("core", KINDS)
def test_twenty_updates_with_a_carried_state_have_the_losses_of_python(page, core):
    batches, recipe = drawn(20, steps=16, batch=4, priced=16), {"rate": 0.02, "limit": 1.0, "carry": True}
    ours, theirs = in_page(page, core, teacher(core), batches, **recipe), in_torch(teacher(core), batches, **recipe)
    assert difference(ours["losses"], theirs["losses"]) < CLOSE
    assert theirs["losses"][-1] < theirs["losses"][0]


MISTAKES = {
    "the forget gate's derivative without the old cell state": ("lstm", "dc * c[before + at] * f", "dc * f"),
    "nothing goes back along the cell state": ("lstm", "d_c[at] = f * dc", "d_c[at] = 0"),
    "no derivative of the tanh": ("rnn", "(1 - a_t[k] * a_t[k]) * d_h[k]", "d_h[k]"),
    "the state after a step for the one before": ("rnn", "transpose(spare, h.subarray(before)", "transpose(spare, h"),
    "the mean of squares is not corrected": ("rnn", "/ correction", ""),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_noticed(browser, name):
    core, right, wrong = MISTAKES[name]
    assert source("learning").count(right) == 1
    page = page_with(browser, learning=source("learning").replace(right, wrong))
    batches = drawn(2, steps=20, batch=4, priced=20)
    ours, theirs = in_page(page, core, teacher(core), batches), in_torch(teacher(core), batches)
    page.close()
    assert max(difference(ours["weights"][each], theirs["weights"][each]) for each in theirs["weights"]) > 100 * CLOSE


# The rate, the first weights, the task


@pytest.mark.parametrize("updates", [1, 7, 600])
def test_the_rate_is_that_of_the_recipe(page, updates):
    rates = page.evaluate(
        """([updates]) => {
        const lessons = Unrolled.makeLessons(Unrolled.learning);
        return Array.from({ length: updates }, (_, update) => lessons.cosine(0.02, update, updates));
    }""",
        [updates],
    )
    recipe = Recipe(updates, learning_rate=0.02)
    assert np.allclose(rates, [recipe.rate(update) for update in range(updates)], rtol=1e-9, atol=1e-15)


def test_first_weights_are_drawn_as_the_library_draws_them(page):
    drawn = page.evaluate("""() => {
        const lessons = Unrolled.makeLessons(Unrolled.learning);
        const draw = (core, start) => {
            const network = Unrolled.learning.network(core, 11, 40, 8);
            lessons.initialise(network, Unrolled.generator(1), start);
            return Object.fromEntries(Object.entries(network.W).map(([name, w]) => [name, [...w]]));
        };
        return {
            tanh: draw("rnn", { initialisation: "orthogonal" }),
            lstm: draw("lstm", { initialisation: "uniform", forget_bias: 6.1, input_bias: -6.7 }),
        };
    }""")
    tanh, lstm = ({name: np.array(w) for name, w in each.items()} for each in drawn.values())
    rotation = tanh["W_hh"].reshape(40, 40)
    assert np.allclose(rotation @ rotation.T, np.eye(40)) and not tanh["b_h"].any()
    assert abs(tanh["W_xh"].std() * 11**0.5 - 1) < 0.15  # of 440 normal numbers
    bound = 40**-0.5
    assert np.abs(lstm["W_hh"]).max() < bound and lstm["W_hh"].std() > 0.55 * bound  # uniform: 1/√3
    forget, write, *others = lstm["b_h"].reshape(4, 40)
    assert (forget == 6.1).all() and (write == -6.7).all() and np.abs(others).max() < bound


def test_the_task_is_to_hold_what_was_written_last(page):
    lag, batch = 20, 500
    drawn = page.evaluate(
        """([lag, batch]) => {
        const inputs = new Int32Array(2 * (10 + lag) * batch), targets = new Int32Array(batch);
        Unrolled.makeLessons(Unrolled.learning).drawBatch(Unrolled.generator(1), lag, inputs, targets);
        return [[...inputs], [...targets]];
    }""",
        [lag, batch],
    )
    symbols, instructions = np.array(drawn[0]).reshape(10 + lag, batch, 2).transpose(2, 0, 1)
    targets, instructions = np.array(drawn[1]), instructions - 8
    assert set(symbols.flat) == set(range(8)) and set(instructions.flat) == {0, 1, 2}
    assert (instructions[-1] == 2).all() and (instructions[10:-1] == 1).all() and not instructions[[0, 9]].any()
    assert (targets == symbols[9]).all() and ((instructions[:10] == 0).sum(axis=0) >= 3).all()
    writes = (instructions[1:9] == 0).mean()
    assert abs(writes - (1 / 8 + 7 / 8 / 2)) < 0.03  # one at least, and half of the others


LESSON = """({ text, settings }) => {
    const { learning } = Unrolled;
    let first = null;
    const spied = { ...learning, room: (network, ...sizes) => {
        first ??= { symbols: network.inputs, network };
        return learning.room(network, ...sizes);
    } };
    const lessons = Unrolled.makeLessons(spied, Unrolled.makeCounting(), Unrolled.generator, Unrolled.draw);
    const reports = [];
    let weights = null;
    for (const report of lessons.letters({ ...settings, text })) {
        if (!report) continue;
        weights ??= Object.fromEntries(Object.entries(first.network.W).map(([name, w]) => [name, [...w]]));
        reports.push(report);
    }
    return { weights, reports };
}"""


def test_the_letters_of_a_text_are_learned_as_in_python(page):
    """The same streams, first weights, recipe and held-out tenth: the same losses, and the same price at the end."""
    text, units, batch, steps = stories.corpus(3_000, seed=0).text, 10, 4, 16
    settings = {"units": units, "batch": batch, "steps": steps, "rate": 0.02, "limit": 1.0, "updates": 60}
    settings |= {"every": 60, "order": 3, "symbols": 120, "sample": 20, "seed": 1}
    done = page.evaluate(LESSON, {"text": text, "settings": settings})
    often = {letter: text.count(letter) for letter in dict.fromkeys(text)}
    vocabulary = sorted(often, key=often.get, reverse=True)
    tokens = torch.tensor([vocabulary.index(letter) for letter in text])
    cut = int(0.9 * len(tokens))
    model = SequenceModel(cells.RNNCell(len(vocabulary), units), len(vocabulary)).double()
    with torch.no_grad():
        for name, weights in named(model).items():
            weights.copy_(torch.tensor(done["weights"][name], dtype=torch.float64).view_as(weights))
    recipe = Recipe(60, batch, steps, learning_rate=0.02)
    streams, state, losses = Streams(tokens[:cut], batch, steps), None, []
    optimizer = torch.optim.Adam(model.parameters())
    for update in range(60):
        inputs, targets, fresh = streams.window(update)
        states, state = cells.unroll(
            model.cell, one_hot(inputs, len(vocabulary)).double(), None if fresh else state.detach()
        )
        loss = cross_entropy(model.output(states).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.param_groups[0]["lr"] = recipe.rate(update)
        optimizer.step()
        losses.append(loss.item())
    start, *updates = done["reports"]
    assert difference([report["loss"] for report in updates], losses) < CLOSE
    held = (len(tokens) - cut) // batch
    rows = [tokens[cut + b * held - steps - 1 : cut + (b + 1) * held] for b in range(batch)]
    read = torch.stack(rows)
    logits = model(one_hot(read[:, :-1], len(vocabulary)).double())[:, -held:]
    price = cross_entropy(logits.flatten(0, 1), read[:, -held:].flatten()).item()
    assert abs(updates[-1]["heldOut"] - price) < CLOSE
    counts = ngram.KneserNey(ngram.Counts(tokens[:cut], len(vocabulary), 3))
    paid = token_nats(counts, tokens[: cut + batch * held], streams=1)[-batch * held :]
    assert abs(start["counted"] - paid.mean()) < CLOSE
    assert (start["length"], start["held"], start["symbols"]) == (len(text), batch * held, len(vocabulary))


def test_rare_symbols_share_a_number_where_there_are_too_many(page):
    text = "".join(chr(0x4E00 + n % 300) for n in range(2_500)) + "".join(chr(0x4E00 + n % 40) for n in range(2_000))
    settings = {"units": 4, "batch": 2, "steps": 8, "rate": 0.02, "limit": 1.0, "updates": 1, "every": 1}
    done = page.evaluate(
        LESSON, {"text": text, "settings": settings | {"order": 2, "symbols": 50, "sample": 500, "seed": 1}}
    )
    assert done["reports"][0]["symbols"] == 50 and "□" in done["reports"][0]["sample"]


LATCH = """(settings) => {
    const { learning } = Unrolled;
    const done = { batches: [], scores: [], losses: [] };
    const spied = { ...learning, *update(network, kept, inputs, targets, recipe) {
        done.weights ??= Object.fromEntries(Object.entries(network.W).map(([name, w]) => [name, [...w]]));
        done.batches.push([[...inputs], [...targets]]);
        return yield* learning.update(network, kept, inputs, targets, recipe);
    } };
    const lessons = Unrolled.makeLessons(spied, Unrolled.makeCounting(), Unrolled.generator, Unrolled.draw);
    for (const report of lessons.latch(settings)) if (report?.loss) done.losses.push(report.loss);
    return done;
}"""


@pytest.mark.parametrize("core", KINDS)
def test_write_ignore_read_is_learned_as_in_python(page, core):
    """The task's own loss on the same sequences, from the same first weights: the same losses."""
    lag, batch, units = 6, 8, 7
    settings = {"lag": lag, "core": core, "units": units, "rate": 0.02, "start": {"initialisation": "orthogonal"}}
    settings |= {"seed": 1, "batch": batch, "limit": 1.0, "updates": 20, "every": 10, "scored": 2}
    done = page.evaluate(LATCH, settings)
    task = FlipFlop(lag)
    model = SequenceModel(KINDS[core](task.input_size, units), task.output_size).double()
    with torch.no_grad():
        for name, weights in named(model).items():
            weights.copy_(torch.tensor(done["weights"][name], dtype=torch.float64).view_as(weights))
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=0.02), []
    for inputs, targets in done["batches"]:
        columns = torch.tensor(inputs).view(10 + lag, batch, 2).transpose(0, 1)
        ones = one_hot(columns, task.input_size).sum(dim=2).double()
        loss = task.loss(model(ones), torch.tensor(targets))
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    assert difference(done["losses"], losses) < CLOSE


# Counting


@pytest.mark.parametrize("order", [1, 2, 6])
def test_counting_pays_what_kneser_ney_pays_in_the_library(page, order):
    text = stories.corpus(6_000, seed=0).text
    cut, vocabulary = 5_000, Vocabulary(text)
    tokens = vocabulary.encode(text)
    paid = page.evaluate(
        """([tokens, cut, symbols, order]) => {
        const pricing = Unrolled.makeCounting().price(Int32Array.from(tokens), cut, symbols, order);
        for (;;) { const { done, value } = pricing.next(); if (done) return [...value]; }
    }""",
        [tokens.tolist(), cut, len(vocabulary), order],
    )
    model = ngram.KneserNey(ngram.Counts(tokens[:cut], len(vocabulary), order), order)
    before = token_nats(model, tokens, streams=1)[-len(paid) :]
    assert len(paid) == len(tokens) - cut and difference(paid, before) < 1e-9

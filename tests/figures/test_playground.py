"""What demonstrations compute, under Node, is what the library computes from the same weights and numbers."""

import itertools
import json
import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy, one_hot

import unrolled
from lab.names import told
from unrolled import cells, decoding, records
from unrolled.figures import demonstration, live
from unrolled.figures.weights import eight_bits, weights_script
from unrolled.measure import token_nats
from unrolled.models import EncoderDecoder, LanguageModel, ResidualLM
from unrolled.ngram import Counts, KneserNey
from unrolled.text import Vocabulary, WordVocabulary, stories
from unrolled.training import Recipe

BROWSER = Path(unrolled.__file__).parent / "figures" / "browser"
LETTERS = Vocabulary("\nabcdefghijklmnopqrstuvwxyz .,")
SOURCES, TARGETS = Vocabulary("abcdefghij "), WordVocabulary.of(["<start>", "<stop>", *"0123456789-"])
HELPERS = """
globalThis.window = globalThis;
const load = (name = "test") => Unrolled.load(...unrolledWeights[name]);
const finish = (lesson) => {
    for (let step = lesson.next(); ; step = lesson.next()) if (step.done) return step.value;
};"""


def in_node(function: str, *arguments, before: str = ""):
    """Return what a function of JavaScript returns, after the scripts of all demonstrations, and what comes before."""
    if not (node := shutil.which("node")):
        pytest.skip("Node is not installed, and nothing else here runs JavaScript so quickly (apt install nodejs)")
    names = dict.fromkeys(["engine", *(part for each in live.descriptions().values() for part in each["parts"])])
    scripts = [(BROWSER / f"{name}.js").read_text(encoding="utf8") for name in (*names, *live.descriptions())]
    plain = "(_, value) => (ArrayBuffer.isView(value) ? Array.from(value) : value)"
    given = ", ".join(json.dumps(argument) for argument in arguments)
    write = f"process.stdout.write(JSON.stringify(({function})({given}), {plain}));"
    program = "\n".join([HELPERS, *scripts, before, write])
    done = subprocess.run([node, "-"], input=program, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def lively(model: torch.nn.Module) -> torch.nn.Module:
    """Return a model whose gates open and shut: its weights are rounded to 16 bits, and it computes in 64."""
    torch.manual_seed(0)
    for weights in model.parameters():
        torch.nn.init.normal_(weights, std=0.6)
    return model.half().double().eval()


def language_model(core: str, **options) -> LanguageModel:
    return lively(LanguageModel(len(LETTERS), core=core, hidden_size=12, **options))


RELU, TIED = {"cell_options": {"nonlinearity": "relu"}}, {"tied": True, "embedding_size": 12}


@pytest.mark.parametrize("core, options", [("rnn", {}), ("rnn", RELU), ("lstm", {"num_layers": 2}), ("gru", TIED)])
def test_a_language_model_predicts_as_in_python(core, options):
    model, numbers = language_model(core, **options), LETTERS.encode("once upon a time\nthere")
    with torch.no_grad():
        expected = model(numbers[None])[0][0].softmax(dim=-1)
    read = """(numbers) => {
        let step = { state: load().initialState() };
        return numbers.map((number) => Unrolled.softmax((step = load().step(number, step.state)).logits));
    }"""
    script = weights_script("test", model, LETTERS)
    np.testing.assert_allclose(in_node(read, numbers.tolist(), before=script), expected, atol=1e-12)


def test_weights_of_16_and_of_8_bits_arrive_as_they_were_rounded():
    model = language_model("gru").float()
    model.output.bias.data[:6] = torch.tensor([6e-8, -3e-5, 0.0, 65504, -1.5, 1 / 3])  # two without a leading one
    sixteen, eight = (
        in_node("() => load().weights", before=weights_script("test", model, LETTERS, bits=bits)) for bits in (16, 8)
    )
    assert sixteen["b_y"] == model.output.bias.half().tolist()
    for name, weights in {"W_hy": model.output.weight, "b_y": model.output.bias, "E": model.embedding.weight}.items():
        ours = torch.tensor(eight[name]).view(weights.shape)
        scale, whole = eight_bits(weights)
        assert torch.equal(ours, scale * whole)
        assert ((ours - weights).abs() <= scale * 0.76).all()  # half a step, and the rounding of the scale


@pytest.mark.parametrize("core, direction", [("gru", "both"), ("lstm", "both"), ("rnn", "backward")])
def test_an_encoder_decoder_looks_and_writes_as_in_python(core, direction):
    sizes = {"embedding_size": 5, "hidden_size": 7, "core": core, "direction": direction}
    model = lively(EncoderDecoder(len(SOURCES), len(TARGETS), attention="scaled", **sizes))
    source, target = SOURCES.encode("badge h j"), torch.tensor([0, 4, 7, 12, 3])
    with torch.no_grad():
        state = model.encode(source[None], torch.tensor([len(source)]))
        read, _, weights = model.look(target[None], state)
        expected = torch.cat([model.output(read).softmax(dim=-1), weights], dim=-1)[0]
    rewrite = """(source, target) => {
        let step = { state: load().encode(source) };
        return target.map((number) => {
            step = load().step(number, step.state);
            return [...Unrolled.softmax(step.logits), ...step.weights];
        });
    }"""
    script = weights_script("test", model, (SOURCES, TARGETS))
    np.testing.assert_allclose(in_node(rewrite, source.tolist(), target.tolist(), before=script), expected, atol=1e-12)


ABC = Vocabulary("abc")
REFUSED = {
    "this ResidualLM is none": (ResidualLM(3, core="mingru", hidden_size=4), ABC),
    "this has nn.LSTM": (LanguageModel(3, core="torch-lstm", hidden_size=4), ABC),
    "reset='before'": (LanguageModel(3, core="gru", hidden_size=4, cell_options={"reset": "after"}), ABC),
    "with scaled attention": (EncoderDecoder(3, 3, hidden_size=4), (ABC, ABC)),
    "has 3 symbols and the model 4": (LanguageModel(4, hidden_size=4), ABC),
    "train a smaller one": (LanguageModel(3, hidden_size=600, core="lstm"), ABC),
    "has no demonstration 'expects'; it has race": ("expects", None),
}


@pytest.mark.parametrize("told", REFUSED)
def test_what_a_page_cannot_run_is_refused(told):
    with pytest.raises(ValueError, match=told):
        demonstration(*REFUSED[told])


@pytest.mark.parametrize("options", [{}, {"topK": 3}, {"topP": 0.6}, {"temperature": 1.7, "topK": 8, "topP": 0.8}])
def test_symbols_are_drawn_with_the_probabilities_of_the_library(options):
    logits = 3 * torch.randn(30, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    names = {"temperature": "temperature", "topK": "top_k", "topP": "top_p"}
    expected = decoding.distribution(logits, **{names[name]: value for name, value in options.items()})
    draw = """(logits, options) => {
        const [p, random] = [Unrolled.distribution(Float64Array.from(logits), options), Unrolled.generator(1)];
        const counts = new Float64Array(p.length);
        for (let n = 0; n < 20000; n++) counts[Unrolled.draw(p, random())] += 1 / 20000;
        return [p, counts];
    }"""
    p, counts = in_node(draw, logits.tolist(), options)
    np.testing.assert_allclose(p, expected, atol=1e-12)
    np.testing.assert_allclose(counts, expected, atol=0.02)
    assert all(count == 0 for count, probability in zip(counts, p, strict=True) if probability == 0)


def test_a_beam_finds_what_the_library_finds():
    model, start = language_model("lstm"), LETTERS.encode("\n")
    (best,) = decoding.beam_search(model, start[None], length=6, width=3, alpha=0)
    find = "(start) => Unrolled.beam(load(), load().step(start, load().initialState()), 6, 3)[0].numbers"
    assert in_node(find, int(start), before=weights_script("test", model, LETTERS)) == best.tokens.tolist()


def test_words_are_split_as_the_stories_are_and_written_as_they_were():
    texts = [story.text for story in stories.corpus(20_000).stories]
    both = """(texts) => {
        const model = { head: { words: true }, number: new Map() };
        const words = texts.map((text) => Unrolled.split(model, text).map((each) => each.text));
        return [words, words.map((each) => Unrolled.spaced(model, each).join(""))];
    }"""
    words, written = in_node(both, texts)
    assert words == [stories.words(text) for text in texts] and written == texts


UPDATES = """(core, sizes, weights, batches, recipe) => {
    const network = Unrolled.learning.network(core, ...sizes);
    for (const [name, values] of Object.entries(weights)) network.W[name].set(values);
    let state;
    return batches.map(([inputs, targets]) => {
        const read = finish(Unrolled.learning.update(network, inputs, targets, { batch: 3, ones: 2 }, recipe, state));
        state = read.state;
        return [read.nats, network.gradient.slice(), network.weights.slice()];
    });
}"""


@pytest.mark.parametrize("core, priced", [("rnn", 5), ("rnn", 1), ("lstm", 5), ("lstm", 2)])
def test_an_update_is_the_one_that_autograd_and_pytorch_make(core, priced):
    steps, batch, inputs, units, outputs = 5, 3, 7, 6, 4
    torch.manual_seed(0)
    cell = {"rnn": cells.RNNCell, "lstm": cells.LSTMCell}[core](inputs, units).double()
    output = torch.nn.Linear(units, outputs).double()
    parameters = [cell.W_xh, cell.W_hh, cell.b_h, output.weight, output.bias]
    for each in parameters:
        torch.nn.init.normal_(each, std=0.5)
    names = ("W_xh", "W_hh", "b_h", "W_hy", "b_y")
    weights = {name: each.detach().flatten().tolist() for name, each in zip(names, parameters, strict=True)}
    optimizer = torch.optim.Adam(parameters, lr=0.01)
    batches, expected, state = [], [], None
    for _ in range(3):
        ones = torch.stack([torch.randint(4, (steps, batch)), torch.randint(4, 7, (steps, batch))], dim=2)
        targets = torch.randint(outputs, (priced, batch))
        batches.append([ones.flatten().tolist(), targets.flatten().tolist()])
        states, state = cells.unroll(cell, one_hot(ones, inputs).sum(dim=2).double().transpose(0, 1), state)
        state = cells.detach(state)
        loss = cross_entropy(output(states)[:, -priced:].flatten(0, 1), targets.T.flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 0.4)
        gradient = torch.cat([each.grad.flatten() for each in parameters])
        optimizer.step()
        expected.append([loss.item(), gradient, torch.cat([each.detach().flatten() for each in parameters])])
    made = in_node(UPDATES, core, [inputs, units, outputs], weights, batches, {"rate": 0.01, "limit": 0.4})
    for ours, theirs in zip(made, expected, strict=True):
        for mine, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine, other, atol=1e-8)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_counting_is_that_of_the_library(order):
    numbers = torch.randint(6, (400,), generator=torch.Generator().manual_seed(0)) ** 2 % 7
    cut, text = 300, "".join(chr(97 + number) for number in numbers)
    logits, _ = KneserNey(Counts(numbers[:cut], 7, order))(numbers[None, :-1])
    expected = -logits[0, cut - 1 :].gather(1, numbers[cut:, None])[:, 0]
    paid = in_node("(...given) => finish(Unrolled.count(...given))", text, cut, 7, order)
    np.testing.assert_allclose(paid, expected, atol=1e-12)


def test_the_rate_is_that_of_the_recipe_and_the_first_weights_are_those_of_the_library():
    recipe = Recipe(50, 8, 32, learning_rate=0.3)
    rates = in_node("() => Array.from({ length: 50 }, (_, n) => Unrolled.lessons.cosine(0.3, n, 50))")
    np.testing.assert_allclose(rates, [recipe.rate(update) for update in range(50)])
    begin = """(how) => {
        const network = Unrolled.learning.network("lstm", 11, 20, 8);
        Unrolled.lessons.initialise(network, Unrolled.generator(3), how);
        return network.W;
    }"""
    uniform = in_node(begin, {"forget_bias": 6.1, "input_bias": -6.7})
    assert 0.95 < 20**0.5 * np.abs(uniform["W_hh"]).max() < 1 and abs(np.mean(uniform["W_hh"])) < 0.02
    assert set(uniform["b_h"][:20]) == {6.1} and set(uniform["b_h"][20:40]) == {-6.7}
    orthogonal = in_node(begin, {"initialisation": "orthogonal"})
    for block in np.reshape(orthogonal["W_hh"], (4, 20, 20)):
        np.testing.assert_allclose(block @ block.T, np.eye(20), atol=1e-12)
    assert np.std(orthogonal["W_xh"]) == pytest.approx(11**-0.5, rel=0.1) and not any(orthogonal["b_h"])


def test_what_was_written_last_is_asked_for():
    inputs, targets, _ = in_node("() => Unrolled.lessons.drawBatch(Unrolled.generator(1), 5, 200)")
    symbols, instructions = np.reshape(inputs, (15, 200, 2)).transpose(2, 0, 1)
    writes = instructions == 8
    assert (writes.sum(axis=0) >= 3).all() and writes[[0, 9]].all() and not writes[10:].any()
    assert (instructions[10:14] == 9).all() and (instructions[14] == 10).all() and (symbols[9] == targets).all()
    assert set(symbols.flatten()) == set(range(8)) and 0.4 < writes[1:9].mean() < 0.7


def test_a_network_learns_letters_and_another_to_keep_a_symbol():
    learn = "(name, settings) => [...Unrolled.lessons[name](settings)].filter(Boolean)"
    letters = {"text": "abcab\n" * 400, "units": 12, "batch": 4, "steps": 8, "updates": 120, "every": 60, "order": 3}
    letters |= {"rate": 0.02, "limit": 1, "symbols": 3, "sample": 30, "seed": 1}
    reports = in_node(learn, "letters", letters)
    assert [report["update"] for report in reports] == [0, 60, 120] and reports[0]["symbols"] == 3
    assert reports[0]["counted"] < 0.3 and reports[0]["heldOut"] > 1 and reports[-1]["heldOut"] < 0.25
    assert "ab□ab" in reports[-1]["sample"]  # of four kinds two have to share a number
    reports = in_node(learn, "letters", letters | {"text": "abc" * 600 + "cba" * 67})  # what is held out is unlike it
    assert reports[-1]["heldOut"] > 1 and reports[0]["counted"] > 1
    latch = {"core": "lstm", "units": 24, "rate": 0.02, "start": {"forget_bias": 3}, "batch": 16, "limit": 1}
    reports = in_node(learn, "latch", latch | {"lag": 1, "updates": 500, "every": 50, "scored": 8, "seed": 1})
    assert reports[0]["right"] < 0.3 and max(report["right"] for report in reports) > 0.9


def test_an_eigenvalue_carries_a_state_forth_and_a_gradient_back():
    states, gradients = in_node("() => Unrolled.carried(0.9, 30, 6)")
    cosine, sine = math.cos(math.pi / 6), math.sin(math.pi / 6)
    W = 0.9 * np.array([[cosine, -sine], [sine, cosine]])
    np.testing.assert_allclose(states, [np.linalg.matrix_power(W, k)[:, 0] for k in range(7)], atol=1e-12)
    np.testing.assert_allclose(gradients, [np.linalg.matrix_power(W.T, k)[:, 0] for k in range(7)], atol=1e-12)


def test_a_reader_pays_as_a_model_that_is_as_often_right():
    paid = in_node("(shares) => shares.map((share) => Unrolled.price(share, 59))", [0, 0.4, 1])
    assert paid == pytest.approx([math.log(58), -0.4 * math.log(0.4) - 0.6 * math.log(0.6 / 58), 0])


def test_the_game_asks_for_ten_letters_of_a_story_that_was_held_out_and_counting_pays_what_it_says():
    data, (counted, held_out) = live.descriptions()["guesses"]["data"], stories.corpus(1_000_000, seed=0).split(0.9)
    text, places = "".join(data["pieces"]), list(itertools.accumulate(map(len, data["pieces"][:-1])))
    assert text in {story.text for story in held_out.stories} - {story.text for story in counted.stories}
    assert len(places) == 10 and text.startswith(data["hero"], places[-1])
    vocabulary = Vocabulary(counted.text)
    counts = Counts(vocabulary.encode(counted.text), len(vocabulary), order=12)
    for each in data["counting"]:
        model, read = KneserNey(counts, each["order"]), vocabulary.encode(text)
        nats = token_nats(model, read, start=vocabulary["\n"], streams=1)[places]
        expected = [nats.mean(), np.exp(nats.mean()), nats[-1]]
        assert [each[name] for name in ("nats", "perplexity", "last")] == [round(float(n), 2) for n in expected]
    assert data["symbols"] == len(vocabulary)


def test_the_race_is_that_of_the_record():
    race, record = live.descriptions()["race"]["data"], records.load("recall-of-names")
    places = [at for at, word in enumerate(race["words"]) if "{hero}" in word]
    assert sum(at - before >= race["late"] for before, at in itertools.pairwise(places)) == 3
    for hero, of in race["heroes"].items():
        assert [word.strip().format(**of["forms"]) for word in race["words"]] == told(hero)
        for kind, chances in of["chances"].items():
            best = min(record[kind].trials, key=lambda run: run["metrics"]["validation"])
            row = best["metrics"]["race"][best["axes"]["hero"].index(hero)]
            np.testing.assert_allclose(np.array(chances) / 10_000, row, atol=1e-4)
            late = [row[at] for before, at in itertools.pairwise(places) if at - before >= race["late"]]
            assert max(late) < 0.1 if kind == "rnn" else min(late) > 0.5  # as the caption says


def test_the_networks_of_the_page_are_those_that_were_measured_and_the_dates_come_right():
    shown = [each["model"] for each in live.descriptions().values() if "model" in each]
    assert {path.stem for path in (BROWSER / "models").iterdir()} == set(shown)
    for label in shown:
        script = (BROWSER / "models" / f"{label}.js").read_text("utf8")
        assert script.rstrip().endswith(f'"{records.load("playground")[label]["digest"][0]}"];')
    write = """(texts) => {
        const model = load("gru-dates");
        const write = (text) => model.write(Array.from(text, (letter) => model.number.get(letter)), 40);
        return texts.map((text) => write(text).map(({ number }) => model.symbols[number]).slice(0, -1).join(""));
    }"""
    data = live.descriptions()["looks"]["data"]
    assert in_node(write, [data["text"], *data["examples"][:5]], before=script) == ["1987-06-24"] * 6

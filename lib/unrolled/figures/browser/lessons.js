// What a network is taught in the page, update by update: the letters of a text, or to write, ignore and read.
//
// A lesson is a generator. Where it yields nothing the page may take a breath; where it yields something, that is a
// report, and an update is done. All of it is one function, whose text a worker can be made of.
"use strict";

globalThis.Unrolled ??= {};

Unrolled.makeLessons = (learning, counting, generator, draw) => {
  // First weights, and the rate

  /** Return a number from the standard normal distribution: Box and Muller. */
  const normal = (random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

  /** Draw the first weights as `cells.initialise` does: "uniform" or "orthogonal"; an LSTM's gates may have a bias. */
  function initialise({ core, inputs, units, W }, random, { initialisation = "uniform", ...biases } = {}) {
    const bound = units ** -0.5;
    const uniform = () => bound * (2 * random() - 1);
    for (const w of Object.values(W)) for (let k = 0; k < w.length; k++) w[k] = uniform();
    if (initialisation === "orthogonal") {
      for (let k = 0; k < W.W_xh.length; k++) W.W_xh[k] = normal(random) / Math.sqrt(inputs);
      for (let from = 0; from < W.W_hh.length; from += units * units)
        orthogonal(W.W_hh.subarray(from, from + units * units), units, random);
      W.b_h.fill(0);
    }
    learning.BLOCKS[core].forEach((name, block) => {
      const bias = { f: biases.forget_bias, i: biases.input_bias }[name];
      if (bias !== undefined) W.b_h.fill(bias, block * units, (block + 1) * units);
    });
  }

  /** Fill a square matrix with a random orthogonal one: Gram and Schmidt, on rows of normal numbers. */
  function orthogonal(Q, n, random) {
    for (let k = 0; k < Q.length; k++) Q[k] = normal(random);
    const dot = (u, v) => u.reduce((sum, value, k) => sum + value * v[k], 0);
    const rows = Array.from({ length: n }, (_, r) => Q.subarray(r * n, (r + 1) * n));
    rows.forEach((row, r) => {
      for (const before of rows.slice(0, r)) {
        const share = dot(row, before);
        for (let k = 0; k < n; k++) row[k] -= share * before[k];
      }
      const length = Math.sqrt(dot(row, row));
      for (let k = 0; k < n; k++) row[k] /= length;
    });
  }

  /** Return the rate of an update as the book's recipe has it: a warm-up, then half a cosine (`Recipe.rate`). */
  function cosine(peak, update, updates) {
    const rise = Math.max(1, Math.floor(0.1 * updates));
    if (update < rise) return (peak * (update + 1)) / rise;
    return 0.5 * peak * (1 + Math.cos((Math.PI * (update - rise)) / (updates - rise)));
  }

  // The letters of a text

  const STAND_IN = "\u25a1"; // for all symbols that are too rare to have a number of their own

  /** Return the most frequent symbols of a text, so many at most, and the text in numbers. */
  function numbered(text, most) {
    const letters = Array.from(text);
    const often = new Map();
    for (const letter of letters) often.set(letter, (often.get(letter) ?? 0) + 1);
    let symbols = [...often.keys()].sort((a, b) => often.get(b) - often.get(a));
    if (symbols.length > most) symbols = [...symbols.slice(0, most - 1), STAND_IN];
    const number = new Map(symbols.map((symbol, n) => [symbol, n]));
    return { symbols, numbers: Int32Array.from(letters, (letter) => number.get(letter) ?? symbols.length - 1) };
  }

  /** Copy a window of some streams of a text: inputs and the symbols after them, (steps, streams) each. */
  function fill(numbers, starts, at, steps, inputs, targets, priced = () => true) {
    for (let t = 0; t < steps; t++)
      starts.forEach((start, b) => {
        const place = start + at + t;
        inputs[t * starts.length + b] = numbers[place];
        targets[t * starts.length + b] = priced(at + t) ? numbers[place + 1] : -1;
      });
  }

  /**
   * Teach a network the letters of a text; the last tenth is held out, and a table of counts is asked to predict it too.
   *
   * @param {object} settings text; seed; units, batch, steps, rate, limit, updates, every, order, symbols: all numbers.
   *   `stepping` may be set while it goes on: then each report says what it has come to.
   */
  function* letters(settings) {
    const { text, units, batch, steps, limit, updates, every } = settings;
    const random = generator(settings.seed);
    const { symbols, numbers } = numbered(text, settings.symbols);
    const cut = Math.floor(0.9 * numbers.length);
    const held = Math.floor((numbers.length - cut) / batch); // letters of each stream of what is held out
    const paid = yield* counting.price(numbers.subarray(0, cut + held * batch), cut, symbols.length, settings.order);
    const counted = paid.reduce((a, b) => a + b) / paid.length;

    const network = learning.network("rnn", symbols.length, units, symbols.length);
    initialise(network, random);
    const kept = learning.room(network, steps, batch);
    const asked = learning.room(network, steps, batch);
    const one = learning.room(network, 1, 1);
    const [inputs, targets] = [new Int32Array(steps * batch), new Int32Array(steps * batch)];

    /** Return the mean price of the held-out letters; each stream has read `steps` letters before its first. */
    function* score() {
      const starts = Array.from({ length: batch }, (_, b) => cut + b * held - steps - 1);
      let [nats, count] = [0, 0];
      learning.begin(asked, units, false);
      for (let at = 0; at < held + steps; at += steps) {
        fill(numbers, starts, at, steps, inputs, targets, (step) => step >= steps && step < held + steps);
        const read = yield* learning.forward(network, asked, inputs, targets);
        nats += read.nats;
        count += read.asked;
        learning.begin(asked, units, true);
      }
      return nats / count;
    }

    /** Return what the network writes on its own, a line break before it, at a temperature of 0.7. */
    function* write(length) {
      learning.begin(one, units, false);
      let [number, written] = [Math.max(0, symbols.indexOf("\n")), ""];
      while (written.length < length) {
        yield* learning.forward(network, one, [number], [-1]);
        learning.begin(one, units, true);
        const powers = one.p.map((p) => p ** (1 / 0.7));
        const total = powers.reduce((a, b) => a + b);
        number = draw(
          powers.map((power) => power / total),
          random(),
        );
        written += symbols[number];
      }
      return written;
    }

    const about = { counted, symbols: symbols.length, length: numbers.length, held: held * batch };
    yield { update: 0, ...about, heldOut: yield* score(), sample: yield* write(settings.sample) };
    const whole = Math.floor((cut - 1) / batch); // letters of a stream
    const starts = Array.from({ length: batch }, (_, b) => b * whole);
    const windows = Math.max(1, Math.floor(whole / steps));
    for (let update = 0; update < updates; update++) {
      const window = update % windows;
      learning.begin(kept, units, window > 0);
      fill(numbers, starts, window * steps, steps, inputs, targets);
      const rate = cosine(settings.rate, update, updates);
      const report = { update: update + 1 };
      report.loss = yield* learning.update(network, kept, inputs, targets, { rate, limit });
      if ((update + 1) % every === 0 || settings.stepping) {
        report.heldOut = yield* score();
        report.sample = yield* write(settings.sample);
      }
      yield report;
    }
  }

  // Write, ignore, read: `unrolled.tasks.FlipFlop`

  const [SYMBOLS, WRITING] = [8, 10]; // symbols; steps of which some write, the first and the last among them

  /** Draw a batch: at each step a symbol and an instruction, write, ignore or read; the target is what was written last. */
  function drawBatch(random, lag, inputs, targets) {
    const batch = targets.length;
    for (let b = 0; b < batch; b++) {
      const third = 1 + Math.floor(random() * (WRITING - 2));
      for (let t = 0; t < WRITING + lag; t++) {
        const symbol = Math.floor(random() * SYMBOLS);
        const surely = t === 0 || t === third || t === WRITING - 1;
        const writes = t < WRITING && (random() < 0.5 || surely);
        const instruction = t === WRITING + lag - 1 ? 2 : writes ? 0 : 1;
        inputs.set([symbol, SYMBOLS + instruction], 2 * (t * batch + b));
        if (t === WRITING - 1) targets[b] = symbol;
      }
    }
  }

  /**
   * Teach a network to write, ignore and read, until 99 of 100 new sequences are answered rightly.
   *
   * @param {object} settings lag; core, units, start (of the weights), rate; seed, batch, limit, updates, every; scored,
   *   how many batches of new sequences are asked for a score.
   */
  function* latch(settings) {
    const { lag, core, units, batch, limit, updates, every } = settings;
    const [weights, data, asked] = [0, 1, 2].map((n) => generator(3 * settings.seed + n));
    const network = learning.network(core, SYMBOLS + 3, units, SYMBOLS);
    initialise(network, weights, settings.start);
    const kept = learning.room(network, WRITING + lag, batch, 1);
    const inputs = new Int32Array(2 * (WRITING + lag) * batch);
    const targets = new Int32Array(batch);

    /** Return the share of right answers to new sequences. */
    function* score() {
      let right = 0;
      for (let n = 0; n < settings.scored; n++) {
        drawBatch(asked, lag, inputs, targets);
        yield* learning.forward(network, kept, inputs, targets);
        targets.forEach((target, b) => {
          const p = kept.p.subarray(b * SYMBOLS, (b + 1) * SYMBOLS);
          right += p.every((each) => each <= p[target]);
        });
      }
      return right / (settings.scored * batch);
    }

    yield { update: 0, right: yield* score() };
    for (let update = 1; update <= updates; update++) {
      drawBatch(data, lag, inputs, targets);
      const report = { update };
      report.loss = yield* learning.update(network, kept, inputs, targets, { rate: settings.rate, limit });
      if (update % every === 0) report.right = yield* score();
      yield report;
      if (report.right > 0.99) return;
    }
  }

  return { cosine, drawBatch, initialise, latch, letters };
};

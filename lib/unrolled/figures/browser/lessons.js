// What a network is taught in the page, update by update: the letters of a text, or to write, ignore and read.
//
// A lesson is a generator. Where it yields nothing the page may take a breath; what else it yields is a report.
"use strict";

Unrolled.lessons = (() => {
  const { learning, generator, draw } = Unrolled;

  // First weights, and the rate

  /** Return a number from the standard normal distribution: Box and Muller. */
  const normal = (random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

  /** Draw the first weights as `cells.initialise` does: "uniform" or "orthogonal"; an LSTM's gates may have a bias. */
  function initialise({ core, inputs, units, W }, random, { initialisation = "uniform", ...biases } = {}) {
    const bound = units ** -0.5;
    for (const w of Object.values(W)) for (let k = 0; k < w.length; k++) w[k] = bound * (2 * random() - 1);
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
    const dot = (u, v) => u.reduce((sum, value, k) => sum + value * v[k], 0);
    for (let r = 0; r < n; r++) {
      const row = Q.subarray(r * n, (r + 1) * n).map(() => normal(random));
      for (let before = 0; before < r; before++) {
        const other = Q.subarray(before * n, (before + 1) * n);
        const share = dot(row, other);
        for (let k = 0; k < n; k++) row[k] -= share * other[k];
      }
      const length = Math.sqrt(dot(row, row));
      for (let k = 0; k < n; k++) Q[r * n + k] = row[k] / length;
    }
  }

  /** Return the rate of an update as the book's recipe has it: a warm-up, then half a cosine (`Recipe.rate`). */
  function cosine(peak, update, updates) {
    const rise = Math.max(1, Math.floor(0.1 * updates));
    if (update < rise) return (peak * (update + 1)) / rise;
    return 0.5 * peak * (1 + Math.cos((Math.PI * (update - rise)) / (updates - rise)));
  }

  // The letters of a text

  /** Return the most frequent symbols of a text, so many at most, and the text in numbers. */
  function numbered(text, most) {
    const letters = Array.from(text);
    const often = new Map();
    for (const letter of letters) often.set(letter, (often.get(letter) ?? 0) + 1);
    let symbols = [...often.keys()].sort((a, b) => often.get(b) - often.get(a));
    if (symbols.length > most) symbols = [...symbols.slice(0, most - 1), "□"]; // one for all that are rarer
    const number = new Map(symbols.map((symbol, n) => [symbol, n]));
    return { symbols, numbers: Int32Array.from(letters, (letter) => number.get(letter) ?? symbols.length - 1) };
  }

  /**
   * Teach a network the letters of a text; the last tenth is held out, and a table of counts is asked to predict it too.
   *
   * @param {object} settings text; seed; units, batch, steps, rate, limit, updates, every, order, symbols, sample, how
   *   many letters it writes: all numbers.
   */
  function* letters(settings) {
    const { batch, steps, limit, updates, every, order } = settings;
    const random = generator(settings.seed);
    const { symbols, numbers } = numbered(settings.text, settings.symbols);
    const cut = Math.floor(0.9 * numbers.length);
    const as = Array.from(numbers, (number) => String.fromCharCode(256 + number)).join("");
    const paid = yield* Unrolled.count(as, cut, symbols.length, order);
    const counted = paid.reduce((a, b) => a + b) / paid.length;
    const network = learning.network("rnn", symbols.length, settings.units, symbols.length);
    initialise(network, random);

    /** Return a window of `batch` streams of the text, each so long from `first` on, and the symbols after it. */
    function window(first, length, at) {
      const size = Math.min(steps, length - at);
      const place = (n) => first + (n % batch) * length + at + Math.floor(n / batch);
      const inputs = Int32Array.from({ length: size * batch }, (_, n) => numbers[place(n)]);
      return [inputs, inputs.map((_, n) => numbers[place(n) + 1]), { batch, ones: 1 }];
    }

    /** Return the mean price of the held-out letters. */
    function* score() {
      const held = Math.floor((numbers.length - cut) / batch);
      let [nats, state] = [0, undefined];
      for (let at = 0; at < held; at += steps) {
        const asked = window(cut - 1, held, at);
        const read = yield* learning.forward(network, ...asked, state);
        nats += (read.nats * asked[1].length) / (batch * held);
        state = read.state;
      }
      return nats;
    }

    /** Return what the network writes on its own, a line break before it, at a temperature of 0.7. */
    function* write(length) {
      let [number, written, state] = [Math.max(0, symbols.indexOf("\n")), "", undefined];
      while (written.length < length) {
        const read = yield* learning.forward(network, [number], [0], { batch: 1, ones: 1 }, state);
        const powers = read.p.map((p) => p ** (1 / 0.7));
        const total = powers.reduce((a, b) => a + b);
        number = draw(powers, total * random());
        written += symbols[number];
        state = read.state;
      }
      return written;
    }

    const about = { counted, symbols: symbols.length, length: numbers.length, held: numbers.length - cut };
    yield { update: 0, ...about, heldOut: yield* score(), sample: yield* write(settings.sample) };
    const stream = Math.floor((cut - 1) / batch); // letters of a stream
    const windows = Math.max(1, Math.floor(stream / steps));
    let state;
    for (let update = 0; update < updates; update++) {
      const at = update % windows;
      const rate = cosine(settings.rate, update, updates);
      const asked = window(0, stream, at * steps);
      ({ state } = yield* learning.update(network, ...asked, { rate, limit }, at > 0 ? state : undefined));
      if ((update + 1) % every === 0)
        yield { update: update + 1, heldOut: yield* score(), sample: yield* write(settings.sample) };
    }
  }

  // Write, ignore, read: `unrolled.tasks.FlipFlop`

  const [SYMBOLS, WRITING] = [8, 10]; // symbols; steps of which some write, the first and the last among them

  /** Draw a batch: at each step a symbol and an instruction, write, ignore or read; the target is what was written last. */
  function drawBatch(random, lag, batch) {
    const inputs = new Int32Array(2 * (WRITING + lag) * batch);
    const targets = new Int32Array(batch);
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
    return [inputs, targets, { batch, ones: 2 }];
  }

  /**
   * Teach a network to write, ignore and read, until 99 of 100 new sequences are answered rightly.
   *
   * @param {object} settings lag; core, units, start (of the weights), rate; seed, batch, limit, updates, every; scored,
   *   how many batches of new sequences are asked for a score.
   */
  function* latch({ lag, core, units, start, rate, seed, batch, limit, updates, every, scored }) {
    const [weights, data, asked] = [0, 1, 2].map((n) => generator(3 * seed + n));
    const network = learning.network(core, SYMBOLS + 3, units, SYMBOLS);
    initialise(network, weights, start);

    /** Return the share of right answers to new sequences. */
    function* score() {
      let right = 0;
      for (let n = 0; n < scored; n++) {
        const batchOf = drawBatch(asked, lag, batch);
        const { p } = yield* learning.forward(network, ...batchOf);
        batchOf[1].forEach((target, b) => {
          const answer = p.subarray(b * SYMBOLS, (b + 1) * SYMBOLS);
          right += answer.every((each) => each <= answer[target]);
        });
      }
      return right / (scored * batch);
    }

    yield { update: 0, right: yield* score() };
    for (let update = 1; update <= updates; update++) {
      yield* learning.update(network, ...drawBatch(data, lag, batch), { rate, limit });
      if (update % every) continue;
      const right = yield* score();
      yield { update, right };
      if (right > 0.99) return;
    }
  }

  /**
   * Return the buttons Train or Pause, Step and Start again for lessons that go on side by side, in moments short enough
   * for the page to stay awake.
   *
   * Nothing is begun before it is asked for. What goes on rests while `place` is out of sight or its page is hidden. A
   * step is one report of each lesson.
   *
   * @param {function} begin returns fresh lessons, each {lesson, told}, which is given its reports.
   * @param {function} changed is told whether all is to begin afresh, when a training begins afresh, pauses or ends.
   */
  function practice(place, begin, changed) {
    const MOMENT = 25; // milliseconds
    const { button, controls } = Unrolled.elements;
    let lessons = null;
    let turn = 0; // whose it is
    let waiting = false; // for its next moment
    let left = 0; // reports until it pauses
    let inSight = true;
    let able = true;

    function work() {
      waiting = false;
      const until = performance.now() + MOMENT;
      while (left > 0 && performance.now() < until) {
        turn = (turn + 1) % lessons.length;
        const { lesson, told } = lessons[turn];
        const { done, value } = lesson.next();
        if (done) lessons.splice(turn, 1);
        if (!lessons.length && place.dispatchEvent(new Event("over", { bubbles: true }))) left = 0;
        if (!value) continue;
        left -= 1;
        told(value);
      }
      if (!left) changed(false);
      obey();
    }
    function obey() {
      run.textContent = left > 0 ? "Pause" : "Train";
      run.disabled = once.disabled = !able || lessons?.length === 0;
      if (waiting || left === 0 || !inSight || document.hidden) return;
      waiting = true;
      setTimeout(work);
    }
    function go(reports) {
      left = reports;
      obey();
    }
    function restart(allowed = able) {
      [lessons, left, able] = [null, 0, allowed];
      obey();
      changed(true);
    }
    const run = button("Train", () => {
      lessons ??= begin();
      go(left ? 0 : Infinity);
      if (!left) changed(false);
    });
    const once = button("Step", () => {
      lessons ??= begin();
      go(lessons.length);
    });
    const again = button("Start again", () => restart());
    const box = controls(run, once, again);
    new IntersectionObserver((entries) => {
      inSight = entries.at(-1).isIntersecting;
      obey();
    }).observe(place);
    document.addEventListener("visibilitychange", obey);
    return { box, restart, going: () => left > 0 };
  }

  return { cosine, drawBatch, initialise, latch, letters, practice };
})();

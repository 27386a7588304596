// The book's networks in plain JavaScript, so that they run in a reader's page.
//
// Read it beside the Python: the order is that of the equations, and the names are those of lib/unrolled/cells, models
// and decoding. A vector is a Float64Array. A matrix is a Float32Array, row after row, which holds weights of 16 or 8
// bits exactly.
"use strict";

globalThis.Unrolled = (() => {
  // Vectors and matrices

  /** Return W v for rows `from` to `to` of W: (to − from,). */
  function product(W, v, from = 0, to = W.length / v.length) {
    const columns = v.length;
    const out = new Float64Array(to - from);
    for (let row = from; row < to; row++) {
      let sum = 0;
      for (let column = 0, at = row * columns; column < columns; column++, at++) sum += W[at] * v[column];
      out[row - from] = sum;
    }
    return out;
  }

  /** Return the sum of some vectors. */
  function sum(first, ...others) {
    const out = new Float64Array(first);
    for (const v of others) for (let k = 0; k < out.length; k++) out[k] += v[k];
    return out;
  }

  const times = (u, v) => u.map((value, k) => value * v[k]);
  const sigmoid = (a) => 1 / (1 + Math.exp(-a));
  const row = (W, size, n) => Float64Array.from(W.subarray(n * size, (n + 1) * size));
  const rows = (v, size) => Array.from({ length: v.length / size }, (_, n) => row(v, size, n));
  const joined = (...vectors) => Float64Array.from(vectors.flatMap((v) => [...v]));

  /** Return softmax(logits), eq-output; less the largest, so that none overflows. */
  function softmax(logits) {
    const largest = Math.max(...logits);
    const powers = logits.map((logit) => Math.exp(logit - largest));
    const total = powers.reduce((a, b) => a + b, 0);
    return powers.map((power) => power / total);
  }

  // Cells: a step maps the weights, the input x_t and the state before to every value of the step; h, and c of an LSTM,
  // are the state after it. `hold` may change a gate.

  const PHI = { tanh: Math.tanh, relu: (a) => Math.max(a, 0) };
  const free = (_, gate) => gate;

  const CELLS = {
    rnn: {
      state: ["h"],
      step({ W_xh, W_hh, b_h }, x, { h }, { nonlinearity }) {
        const a = sum(product(W_xh, x), product(W_hh, h), b_h);
        return { h: a.map(PHI[nonlinearity]) }; // eq-rnn
      },
    },

    lstm: {
      state: ["h", "c"],
      step({ W_xh, W_hh, b_h }, x, { h, c }, { hold = free }) {
        const a = sum(product(W_xh, x), product(W_hh, h), b_h);
        const [a_f, a_i, a_candidate, a_o] = rows(a, h.length);
        const f = hold("f", a_f.map(sigmoid)); // eq-lstm-forget
        const i = hold("i", a_i.map(sigmoid)); // eq-lstm-input
        const candidate = a_candidate.map(Math.tanh); // eq-lstm-candidate
        const c_t = sum(times(f, c), times(i, candidate)); // eq-lstm-cell
        const o = hold("o", a_o.map(sigmoid)); // eq-lstm-output
        const h_t = times(o, c_t.map(Math.tanh));
        return { f, i, candidate, c: c_t, o, h: h_t };
      },
    },

    gru: {
      state: ["h"],
      step({ W_xh, W_hh, b_h }, x, { h }) {
        const n = h.length;
        const [p_z, p_r, p_candidate] = rows(sum(product(W_xh, x), b_h), n);
        const z = sum(p_z, product(W_hh, h, 0, n)).map(sigmoid); // eq-gru-update
        const r = sum(p_r, product(W_hh, h, n, 2 * n)).map(sigmoid); // eq-gru-reset
        const a = sum(p_candidate, product(W_hh, times(r, h), 2 * n, 3 * n));
        const candidate = a.map(Math.tanh); // eq-gru-state
        const h_t = h.map((value, k) => (1 - z[k]) * value + z[k] * candidate[k]);
        return { z, r, candidate, h: h_t };
      },
    },
  };

  // Models

  /** What the two kinds have in common: `head` is what the script says, `weights` a Float32Array for each name in it. */
  class Model {
    constructor(head, weights) {
      this.head = head;
      this.weights = weights;
      this.cell = CELLS[head.core];
      this.symbols = head.symbols;
      this.number = new Map((head.sources ?? head.symbols).map((symbol, number) => [symbol, number])); // of what is read
    }

    /** Take a step of the cell whose weights have a name: a layer's number, or the side that an encoder reads from. */
    move(name, x, before) {
      const [W_xh, W_hh, b_h] = ["W_xh", "W_hh", "b_h"].map((each) => this.weights[`${name}.${each}`]);
      return this.cell.step({ W_xh, W_hh, b_h }, x, before, this.head.options);
    }

    /** Return the vector of a symbol from a matrix of them: eq-embedding. */
    embed(name, number) {
      return row(this.weights[name], this.head.shapes[name][1], number);
    }

    /** Return a state whose parts are given by their names. */
    state(part) {
      return Object.fromEntries(this.cell.state.map((name, n) => [name, part(name, n)]));
    }
  }

  /** Predict the next symbol from all so far: embedding → layers of cells → logits. */
  class LanguageModel extends Model {
    /** Return the state before the first symbol: each layer's h_0, and any c_0. */
    initialState() {
      const layer = (_, n) => this.state((name) => Float64Array.from(this.weights[`${n}.${name}_0`]));
      return Array.from({ length: this.head.layers }, layer);
    }

    /** Read a symbol; return the layers' values, which are the next state, and the logits: eq-output. */
    step(number, state) {
      let x = this.embed("E", number);
      const next = state.map((before, n) => {
        const values = this.move(n, x, before);
        x = values.h;
        return values;
      });
      return { state: next, logits: sum(product(this.weights.W_hy, x), this.weights.b_y) };
    }
  }

  /** Read a source from both sides, and write its target, looking at all of the source at every step: eq-attention. */
  class EncoderDecoder extends Model {
    start = 0; // of the symbols of the target
    stop = 1;

    /** Read a source; return the state before the first symbol of the target, and the memory that each step looks at. */
    encode(numbers) {
      const { W_b, b_b, W_k } = this.weights;
      const inputs = numbers.map((number) => this.embed("E_x", number));
      const size = this.head.shapes["0.W_hh"][1];
      const sides = this.head.sides.map((side) => {
        const turned = (list) => (side === "from_left" ? list : list.toReversed());
        let values = this.state(() => new Float64Array(size));
        const states = turned(inputs).map((x) => {
          values = this.move(side, x, values);
          return values.h;
        });
        return { states: turned(states), last: values.h };
      });
      const memory = inputs.map((_, j) => joined(...sides.map(({ states }) => states[j])));
      const both = joined(...sides.map(({ last }) => last));
      const parts = rows(sum(product(W_b, both), b_b).map(Math.tanh), size);
      return { state: this.state((_, n) => parts[n]), memory, keys: memory.map((m) => product(W_k, m)) };
    }

    /**
     * Write a symbol down; return the next state, the logits of the symbol after it, and the weights of the places.
     *
     * @param {function} change may change the weights before the mean is taken.
     */
    step(number, { state, memory, keys }, change = (weights) => weights) {
      const { W_q, W_a, b_a, W_sy, b_y } = this.weights;
      const next = this.move("0", this.embed("E", number), state); // s_t
      const query = product(W_q, next.h);
      const scores = keys.map((key) => product(key, query)[0] / Math.sqrt(query.length)); // eq-scaled-dot-product
      const weights = change(softmax(Float64Array.from(scores)));
      const mean = sum(...memory.map((m, t) => m.map((value) => weights[t] * value)));
      const a = sum(product(W_a, joined(mean, next.h)), b_a).map(Math.tanh);
      return { state: { state: next, memory, keys }, logits: sum(product(W_sy, a), b_y), weights };
    }

    /** Return a step for each symbol of the target that the model finds most probable, to the stop symbol. */
    write(numbers, most, change = undefined) {
      const steps = [];
      let number = this.start;
      let state = this.encode(numbers);
      while (steps.length < most && number !== this.stop) {
        const step = this.step(number, state, change);
        [number] = ranked(step.logits);
        state = step.state;
        steps.push({ number, weights: step.weights, p: softmax(step.logits) });
      }
      return steps;
    }
  }

  // Writing, as in unrolled.decoding: temperature, then top-k, then the nucleus

  /** Return the symbols' numbers, the most probable first; of equals, the lower. */
  const ranked = (values) => Array.from(values.keys()).sort((a, b) => values[b] - values[a] || a - b);

  /** Return the probabilities with which the next symbol is drawn. */
  function distribution(logits, { temperature = 1, topK = Infinity, topP = 1 } = {}) {
    const keep = (values, kept) => values.map((value, number) => (kept.has(number) ? value : -Infinity));
    const scaled = logits.map((logit) => logit / temperature);
    const best = keep(scaled, new Set(ranked(scaled).slice(0, topK)));
    const probabilities = softmax(best);
    if (topP >= 1) return probabilities;
    const nucleus = new Set();
    let before = 0;
    for (const number of ranked(best)) {
      if (before >= topP) break;
      nucleus.add(number);
      before += probabilities[number];
    }
    return softmax(keep(best, nucleus));
  }

  /** Return a generator of random numbers from 0 to 1: Tommy Ettinger's mulberry32. */
  function generator(seed) {
    let state = seed >>> 0;
    return () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = Math.imul(state ^ (state >>> 15), state | 1);
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
      return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
    };
  }

  /** Return the first symbol whose cumulative probability is above a random number. */
  function draw(probabilities, random) {
    let cumulative = 0;
    let last = 0;
    for (let number = 0; number < probabilities.length; number++) {
      if (probabilities[number] === 0) continue;
      cumulative += probabilities[number];
      last = number;
      if (random < cumulative) return number;
    }
    return last; // the sum was rounded to less than 1
  }

  /** Return the most probable continuations that a beam finds, the best first. */
  function beam(model, step, length, width) {
    let hypotheses = [{ numbers: [], nats: 0, step }];
    for (let n = 0; n < length; n++) {
      const extended = hypotheses.flatMap(({ numbers, nats, step }) => {
        const p = softmax(step.logits);
        const likely = ranked(p).slice(0, width);
        return likely.map((number) => ({ numbers: [...numbers, number], nats: nats - Math.log(p[number]), step }));
      });
      hypotheses = extended.sort((a, b) => a.nats - b.nats).slice(0, width);
      for (const each of hypotheses) each.step = model.step(each.numbers.at(-1), each.step.state);
    }
    return hypotheses.map(({ numbers, nats }) => ({ numbers, nats }));
  }

  // Weights, as unrolled.figures.weights writes them: 16 or 8 bits each

  /** Return weights of 16 bits, a sign, an exponent, a fraction; the low bytes come first: so they compress better. */
  function halves(bytes) {
    const count = bytes.length / 2;
    return Float32Array.from({ length: count }, (_, k) => {
      const high = bytes[count + k];
      const exponent = (high >> 2) & 31;
      const fraction = (((high & 3) << 8) | bytes[k]) / 1024;
      return (high & 128 ? -1 : 1) * (exponent ? 2 ** (exponent - 15) * (1 + fraction) : 2 ** -14 * fraction);
    });
  }

  /** Return weights of 8 bits: a scale for each row, then whole numbers to scale. */
  function scaled(bytes, shapes) {
    const columns = shapes.flatMap((shape) => Array(shape.length > 1 ? shape[0] : 1).fill(shape.at(-1))); // of each row
    const scales = new DataView(bytes.buffer);
    const numbers = Float32Array.from(new Int8Array(bytes.buffer, 4 * columns.length));
    let at = 0;
    columns.forEach((count, row) => {
      const scale = scales.getFloat32(4 * row, true);
      for (const end = at + count; at < end; at++) numbers[at] *= scale;
    });
    return numbers;
  }

  /**
   * Return the model of a script of weights.
   *
   * @param {string} head what the model is, as JSON.
   * @param {string} weights all matrices one after the other, in base64.
   */
  function load(head, weights) {
    const what = JSON.parse(head);
    const bytes = Uint8Array.from(atob(weights), (letter) => letter.charCodeAt(0));
    const numbers = what.bits === 8 ? scaled(bytes, Object.values(what.shapes)) : halves(bytes);
    const matrices = {};
    let at = 0;
    for (const [name, shape] of Object.entries(what.shapes)) {
      const size = shape.reduce((a, b) => a * b);
      matrices[name] = numbers.subarray(at, at + size);
      at += size;
    }
    return new (what.sources ? EncoderDecoder : LanguageModel)(what, matrices);
  }

  return { ...globalThis.Unrolled, CELLS, beam, distribution, draw, generator, load, ranked, softmax };
})();

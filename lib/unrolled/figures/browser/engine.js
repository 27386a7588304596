// The book's networks in plain JavaScript, so that they run in a reader's page.
//
// Read it beside the Python: the order is that of the equations, and the names are
// those of lib/unrolled/cells, models and decoding. A vector is a Float64Array. A
// matrix is a Float32Array, row after row, which holds weights of 16 or 8 bits exactly.
"use strict";

globalThis.Unrolled = (() => {
  // Vectors and matrices

  /** Return W v for rows `from` to `to` of W: (to − from,). */
  function product(W, v, from = 0, to = W.length / v.length) {
    const columns = v.length;
    const out = new Float64Array(to - from);
    for (let row = from; row < to; row++) {
      let sum = 0;
      for (let column = 0, at = row * columns; column < columns; column++, at++)
        sum += W[at] * v[column];
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
  const slice = (v, size, n) => v.subarray(n * size, (n + 1) * size);
  const slices = (v, size) =>
    Array.from({ length: v.length / size }, (_, n) => slice(v, size, n));

  /** Return softmax(logits), eq-output; less the largest, so that none overflows. */
  function softmax(logits) {
    const largest = logits.reduce((a, b) => Math.max(a, b), -Infinity);
    const powers = logits.map((logit) => Math.exp(logit - largest));
    const total = powers.reduce((a, b) => a + b, 0);
    return powers.map((power) => power / total);
  }

  /** Return the mean of values, weighted by how keys fit the query; and weights. */
  function attention(query, keys, values, change = (weights) => weights) {
    const scores = keys.map((key) => product(key, query)[0] / Math.sqrt(query.length));
    const weights = change(softmax(Float64Array.from(scores))); // eq-scaled-dot-product
    const parts = values.map((value, t) => value.map((v) => weights[t] * v));
    return { mean: sum(...parts), weights };
  }

  // Cells: a step maps the weights, the input x_t and the state before to every value
  // of the step; h, and c of an LSTM, are the state after it. `hold` may change a gate.

  const PHI = { tanh: Math.tanh, relu: (a) => Math.max(a, 0) };

  const CELLS = {
    rnn: {
      gates: [],
      state: ["h"],
      step({ W_xh, W_hh, b_h }, x, { h }, _hold, { nonlinearity }) {
        const a = sum(product(W_xh, x), product(W_hh, h), b_h);
        return { h: a.map(PHI[nonlinearity]) }; // eq-rnn
      },
    },

    lstm: {
      gates: ["f", "i", "o"],
      state: ["h", "c"],
      step({ W_xh, W_hh, b_h }, x, { h, c }, hold) {
        const a = sum(product(W_xh, x), product(W_hh, h), b_h);
        const [a_f, a_i, a_candidate, a_o] = slices(a, h.length);
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
      gates: ["z", "r"],
      state: ["h"],
      step({ W_xh, W_hh, b_h }, x, { h }, hold) {
        const n = h.length;
        const [p_z, p_r, p_candidate] = slices(sum(product(W_xh, x), b_h), n);
        const a_z = sum(p_z, product(W_hh, h, 0, n));
        const z = hold("z", a_z.map(sigmoid)); // eq-gru-update
        const a_r = sum(p_r, product(W_hh, h, n, 2 * n));
        const r = hold("r", a_r.map(sigmoid)); // eq-gru-reset
        const a = sum(p_candidate, product(W_hh, times(r, h), 2 * n, 3 * n));
        const candidate = a.map(Math.tanh); // eq-gru-state
        const h_t = h.map((value, k) => (1 - z[k]) * value + z[k] * candidate[k]);
        return { z, r, candidate, h: h_t };
      },
    },
  };

  // The language model

  /** Predict the next symbol from all so far: embedding → layers of cells → logits. */
  class LanguageModel {
    /**
     * @param {object} head what the script says: core, symbols, shapes and more.
     * @param {object} weights a Float32Array for each name in head.shapes.
     */
    constructor(head, weights) {
      this.head = head;
      this.weights = weights;
      this.cell = CELLS[head.core];
      this.layers = head.layers;
      this.hiddenSize = head.shapes["0.h_0"][0];
      this.embeddingSize = head.shapes.E[1];
      this.symbols = head.symbols;
      this.number = new Map(this.symbols.map((symbol, number) => [symbol, number]));
    }

    /** Return the weights of one layer by their names in the cells. */
    layer(n) {
      const [W_xh, W_hh, b_h] = ["W_xh", "W_hh", "b_h"].map(
        (w) => this.weights[`${n}.${w}`],
      );
      return { W_xh, W_hh, b_h };
    }

    /** Return the state before the first symbol: each layer's h_0, and any c_0. */
    initialState() {
      const vector = (name) => Float64Array.from(this.weights[name]);
      const parts = (n) =>
        this.cell.state.map((name) => [name, vector(`${n}.${name}_0`)]);
      return Array.from({ length: this.layers }, (_, n) =>
        Object.fromEntries(parts(n)),
      );
    }

    /** Read a symbol; return the layers' values, which are the next state. */
    carry(number, state, hold = (_, gate) => gate) {
      const { E } = this.weights;
      const { options } = this.head;
      let x = Float64Array.from(slice(E, this.embeddingSize, number)); // eq-embedding
      return state.map((before, n) => {
        const values = this.cell.step(this.layer(n), x, before, hold, options);
        x = values.h;
        return values;
      });
    }

    /** Return the logits of the next symbol from the last layer's h: eq-output. */
    predict(h) {
      return sum(product(this.weights.W_hy, h), this.weights.b_y);
    }

    /** Read a symbol; return the next state, and the logits. */
    step(number, state, hold) {
      const next = this.carry(number, state, hold);
      return { state: next, logits: this.predict(next.at(-1).h) };
    }

    /** Read several symbols; return a step for each of them. */
    read(numbers, state = this.initialState(), hold = undefined) {
      return numbers.map((number) => {
        const done = this.step(number, state, hold);
        state = done.state;
        return done;
      });
    }
  }

  // Writing, as in unrolled.decoding: temperature, then top-k, then the nucleus

  /** Return the symbols' numbers, the most probable first; of equals, the lower. */
  const ranked = (values) =>
    Array.from(values.keys()).sort((a, b) => values[b] - values[a] || a - b);

  /** Return logits with −∞ for all but the k most probable symbols. */
  function keepTopK(logits, k) {
    const kept = new Set(ranked(logits).slice(0, k));
    return logits.map((logit, number) => (kept.has(number) ? logit : -Infinity));
  }

  /** Return logits with −∞ outside the fewest symbols that have probability p. */
  function keepNucleus(logits, p) {
    if (p >= 1) return logits;
    const probabilities = softmax(logits);
    const kept = new Set();
    let before = 0;
    for (const number of ranked(logits)) {
      if (before >= p) break;
      kept.add(number);
      before += probabilities[number];
    }
    return logits.map((logit, number) => (kept.has(number) ? logit : -Infinity));
  }

  /** Return the probabilities with which the next symbol is drawn. */
  function distribution(logits, { temperature = 1, topK = Infinity, topP = 1 } = {}) {
    const scaled = logits.map((logit) => logit / temperature);
    return softmax(keepNucleus(keepTopK(scaled, topK), topP));
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

  /**
   * Return the numbers of the symbols that a model writes after a step.
   *
   * @param {function} random gives the next random number from 0 to 1.
   * @param {object} options temperature, topK, topP; hold, as in the cells.
   */
  function write(model, { state, logits }, length, random, options = {}) {
    const written = [];
    while (written.length < length) {
      const number = draw(distribution(logits, options), random());
      written.push(number);
      ({ state, logits } = model.step(number, state, options.hold));
    }
    return written;
  }

  /** Return the most probable continuations that a beam finds, the best first. */
  function beam(model, step, length, width) {
    let hypotheses = [{ numbers: [], nats: 0, step }];
    for (let n = 0; n < length; n++) {
      const extended = hypotheses.flatMap((hypothesis) => {
        const p = softmax(hypothesis.step.logits);
        const extend = (number) => ({
          numbers: [...hypothesis.numbers, number],
          nats: hypothesis.nats - Math.log(p[number]),
          state: hypothesis.step.state,
        });
        return ranked(p).slice(0, width).map(extend);
      });
      const best = extended.sort((a, b) => a.nats - b.nats).slice(0, width);
      hypotheses = best.map(({ numbers, nats, state }) => {
        return { numbers, nats, step: model.step(numbers.at(-1), state) };
      });
    }
    return hypotheses.map(({ numbers, nats }) => ({ numbers, nats }));
  }

  // Weights, as unrolled.figures.weights writes them: 16 or 8 bits each; a checksum

  /** Return the number that 16 bits stand for: a sign, an exponent, a fraction. */
  function half(bits) {
    const sign = bits & 0x8000 ? -1 : 1;
    const exponent = (bits >> 10) & 31;
    const fraction = (bits & 1023) / 1024;
    if (exponent === 0) return sign * 2 ** -14 * fraction;
    return sign * 2 ** (exponent - 15) * (1 + fraction);
  }

  /** Return weights of 16 bits; the low bytes come first: so they compress better. */
  function halves(bytes) {
    const count = bytes.length / 2;
    return Float32Array.from({ length: count }, (_, k) =>
      half(bytes[k] | (bytes[count + k] << 8)),
    );
  }

  /** Return weights of 8 bits: a scale for each row, then whole numbers to scale. */
  function scaled(bytes, shapes) {
    const rows = shapes.flatMap((shape) => {
      const columns = shape.at(-1);
      return Array(shape.reduce((a, b) => a * b) / columns).fill(columns);
    });
    const scales = new DataView(bytes.buffer);
    const whole = new Int8Array(bytes.buffer, 4 * rows.length);
    const numbers = Float32Array.from(whole);
    let at = 0;
    rows.forEach((columns, row) => {
      const scale = scales.getFloat32(4 * row, true);
      for (const end = at + columns; at < end; at++) numbers[at] *= scale;
    });
    return numbers;
  }

  /** Return the CRC-32 of some bytes, as zlib counts it, in hexadecimal digits. */
  function checksum(bytes) {
    let crc = ~0;
    for (const byte of bytes) {
      crc ^= byte;
      for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return (~crc >>> 0).toString(16).padStart(8, "0");
  }

  /**
   * Return the model of a script of weights.
   *
   * @param {string} head what the model is, as JSON.
   * @param {string} weights all matrices one after the other, in base64.
   * @param {string} digest the checksum of both.
   * @throws {Error} they are not as they were written.
   */
  function load(head, weights, digest) {
    const computed = checksum(new TextEncoder().encode(head + weights));
    if (computed !== digest) {
      throw new Error(
        "These weights are not the ones that were written: " +
          `their checksum is ${computed}, not ${digest}.`,
      );
    }
    const what = JSON.parse(head);
    const bytes = Uint8Array.from(atob(weights), (letter) => letter.charCodeAt(0));
    const shapes = Object.values(what.shapes);
    const numbers = what.bits === 8 ? scaled(bytes, shapes) : halves(bytes);
    const matrices = {};
    let at = 0;
    for (const [name, shape] of Object.entries(what.shapes)) {
      const size = shape.reduce((a, b) => a * b);
      matrices[name] = numbers.subarray(at, at + size);
      at += size;
    }
    const kind = what.sources ? Unrolled.EncoderDecoder : LanguageModel;
    return new kind(what, matrices);
  }

  return {
    ...globalThis.Unrolled, // what has come before it
    CELLS,
    attention,
    beam,
    distribution,
    draw,
    generator,
    half,
    load,
    product,
    ranked,
    slice,
    softmax,
    sum,
    write,
  };
})();

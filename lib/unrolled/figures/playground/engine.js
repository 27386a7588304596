// The book's networks in plain JavaScript, so that they run in a reader's page: read it beside the Python.
//
// The order is that of the equations, and the names are those of lib/unrolled/cells, models and decoding. A vector is a
// Float64Array. A matrix is a Float32Array, row after row, which holds the 16-bit weights exactly. What is said of
// shapes stands behind the code: h is the hidden size, d the length of a symbol's vector, V the number of symbols.
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

  const sum = (first, ...others) => Float64Array.from(first, (value, k) => others.reduce((s, v) => s + v[k], value));
  const times = (u, v) => u.map((value, k) => value * v[k]);
  const sigmoid = (a) => 1 / (1 + Math.exp(-a));
  const slices = (v, size) => Array.from({ length: v.length / size }, (_, n) => v.subarray(n * size, (n + 1) * size));

  /** Return softmax(logits), shifted by the largest so that nothing overflows (eq-output). */
  function softmax(logits) {
    const largest = logits.reduce((a, b) => Math.max(a, b), -Infinity);
    const powers = logits.map((logit) => Math.exp(logit - largest));
    const total = powers.reduce((a, b) => a + b, 0);
    return powers.map((power) => power / total);
  }

  /** Return the mean of the values, weighted by how well their keys fit the query, and the weights. */
  function attention(query, keys, values) {
    const weights = softmax(Float64Array.from(keys, (key) => product(key, query)[0] / Math.sqrt(query.length)));
    const mean = values[0].map((_, k) => values.reduce((s, value, t) => s + weights[t] * value[k], 0));
    return { mean, weights };
  }

  // Cells: a step maps the weights, the input x_t and the state to every value of the step; h, and c of an LSTM, are
  // the state that the next step begins with. `hold` may put another value in the place of a gate's.

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
        const [a_f, a_i, a_candidate, a_o] = slices(sum(product(W_xh, x), product(W_hh, h), b_h), h.length); // (h,) each
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
        const size = h.length;
        const [p_z, p_r, p_candidate] = slices(sum(product(W_xh, x), b_h), size); // W_xh x + b_h
        const z = hold("z", sum(p_z, product(W_hh, h, 0, size)).map(sigmoid)); // eq-gru-update
        const r = hold("r", sum(p_r, product(W_hh, h, size, 2 * size)).map(sigmoid)); // eq-gru-reset
        const candidate = sum(p_candidate, product(W_hh, times(r, h), 2 * size, 3 * size)).map(Math.tanh); // eq-gru-state
        const h_t = h.map((value, k) => (1 - z[k]) * value + z[k] * candidate[k]);
        return { z, r, candidate, h: h_t };
      },
    },
  };

  // The language model

  /** Predict the next symbol from all symbols so far: embedding → cells, one above the other → logits. */
  class LanguageModel {
    /**
     * @param {object} head what the script of the weights says: name, core, options, vocabulary, shapes.
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
      const names = ["W_xh", "W_hh", "b_h"];
      return Object.fromEntries(names.map((name) => [name, this.weights[`${n}.${name}`]]));
    }

    /** Return the state before the first symbol: h_0, and c_0 of an LSTM, of each layer. */
    initialState() {
      const part = (n, name) => [name, Float64Array.from(this.weights[`${n}.${name}_0`])];
      return Array.from({ length: this.layers }, (_, n) =>
        Object.fromEntries(this.cell.state.map((name) => part(n, name))),
      );
    }

    /** Read a symbol: return every value of the step of each layer, which is also the next state, and the logits. */
    step(number, state, hold = (_, gate) => gate) {
      const { E, W_hy, b_y } = this.weights;
      let x = Float64Array.from(E.subarray(number * this.embeddingSize, (number + 1) * this.embeddingSize)); // eq-embedding
      const next = state.map((before, n) => {
        const values = this.cell.step(this.layer(n), x, before, hold, this.head.options);
        x = values.h;
        return values;
      });
      return { state: next, logits: sum(product(W_hy, x), b_y) }; // eq-output
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

  /** Return the symbols' numbers, the most probable first; of equals, the first in the vocabulary. */
  const ranked = (values) => Array.from(values.keys()).sort((a, b) => values[b] - values[a] || a - b);

  /** Return logits with −∞ for all but the k most probable symbols. */
  function keepTopK(logits, k) {
    const kept = new Set(ranked(logits).slice(0, k));
    return logits.map((logit, number) => (kept.has(number) ? logit : -Infinity));
  }

  /** Return logits with −∞ outside the smallest set of most probable symbols that have probability p together. */
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

  /** Return a generator of random numbers from 0 to 1, the same ones for the same seed: Tommy Ettinger's mulberry32. */
  function generator(seed) {
    let state = seed >>> 0;
    return () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = Math.imul(state ^ (state >>> 15), state | 1);
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
      return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
    };
  }

  /** Return the number of the symbol that a random number falls on: the first whose cumulative probability is above it. */
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
   * @param {object} options temperature, topK and topP; stop, the number of a symbol to end with; hold, as in the cells.
   */
  function write(model, { state, logits }, length, random, options = {}) {
    const written = [];
    while (written.length < length) {
      const number = draw(distribution(logits, options), random());
      written.push(number);
      if (number === options.stop) break;
      ({ state, logits } = model.step(number, state, options.hold));
    }
    return written;
  }

  /** Return the most probable continuations of one length that a beam finds, the best first, as {numbers, nats}. */
  function beam(model, step, length, width) {
    let hypotheses = [{ numbers: [], nats: 0, step }];
    for (let n = 0; n < length; n++) {
      const extended = hypotheses.flatMap(({ numbers, nats, step: { state, logits } }) => {
        const p = softmax(logits);
        const likely = ranked(p).slice(0, width);
        return likely.map((number) => ({ numbers: [...numbers, number], nats: nats - Math.log(p[number]), state }));
      });
      const best = extended.sort((a, b) => a.nats - b.nats).slice(0, width);
      hypotheses = best.map(({ numbers, nats, state }) => ({ numbers, nats, step: model.step(numbers.at(-1), state) }));
    }
    return hypotheses.map(({ numbers, nats }) => ({ numbers, nats }));
  }

  // Weights, as `unrolled.figures.live` writes them: 16 bits each, in base64, with a checksum

  /** Return the number that 16 bits stand for, half precision of IEEE 754: a sign, 5 bits of exponent, 10 of fraction. */
  function half(bits) {
    const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 31, (bits & 1023) / 1024];
    return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction) : 2 ** -14 * fraction);
  }

  /** Return the CRC-32 of some bytes, as zlib counts it, in eight hexadecimal digits. */
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
    const found = checksum(new TextEncoder().encode(head + weights));
    if (found !== digest) {
      throw new Error(`These weights are not the ones that were written: their checksum is ${found}, not ${digest}.`);
    }
    const what = JSON.parse(head);
    const bytes = Uint8Array.from(atob(weights), (letter) => letter.charCodeAt(0));
    const count = bytes.length / 2; // first the low byte of every number, then every high byte: so they compress better
    const numbers = Float32Array.from({ length: count }, (_, k) => half(bytes[k] | (bytes[count + k] << 8)));
    const matrices = {};
    let at = 0;
    for (const [name, shape] of Object.entries(what.shapes)) {
      const size = shape.reduce((a, b) => a * b);
      matrices[name] = numbers.subarray(at, at + size);
      at += size;
    }
    return new LanguageModel(what, matrices);
  }

  return {
    CELLS,
    LanguageModel,
    attention,
    beam,
    checksum,
    distribution,
    draw,
    generator,
    half,
    load,
    product,
    ranked,
    softmax,
    write,
  };
})();

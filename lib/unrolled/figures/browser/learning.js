// Learning in plain JavaScript: the forward and the backward pass of chapters 2, 3 and 5, clipping, and Adam.
//
// Read it beside lib/unrolled/bptt: the order is that of the equations. A matrix is a Float64Array, row after row; what
// has a row for each step has time first: step t of a batch of B sequences begins at row t · B. Inputs are one-hot, or
// several ones at once, so that W_xh x_t is a sum of columns. The passes are generators that pause at each step, so that
// the page can breathe.
"use strict";

Unrolled.learning = (() => {
  const BLOCKS = { rnn: ["h"], lstm: ["f", "i", "c", "o"] }; // of W_xh, W_hh and b_h, one under the other
  const sigmoid = (a) => 1 / (1 + Math.exp(-a));

  // Matrices

  /** Add A Bᵀ to out: A has rows of `inner` numbers, B has `columns` of them; four rows at once, for speed. */
  function addProduct(out, A, B, rows, inner, columns) {
    for (let r = 0; r < rows; r += 4) {
      const a0 = r * inner;
      const a1 = Math.min(r + 1, rows - 1) * inner;
      const a2 = Math.min(r + 2, rows - 1) * inner;
      const a3 = Math.min(r + 3, rows - 1) * inner;
      for (let c = 0, at = r * columns; c < columns; c++, at++) {
        let s0 = 0;
        let s1 = 0;
        let s2 = 0;
        let s3 = 0;
        for (let k = 0, b = c * inner; k < inner; k++, b++) {
          s0 += A[a0 + k] * B[b];
          s1 += A[a1 + k] * B[b];
          s2 += A[a2 + k] * B[b];
          s3 += A[a3 + k] * B[b];
        }
        out[at] += s0;
        if (r + 1 < rows) out[at + columns] += s1;
        if (r + 2 < rows) out[at + 2 * columns] += s2;
        if (r + 3 < rows) out[at + 3 * columns] += s3;
      }
    }
  }

  /** Return the transpose of A, of so many rows and columns. */
  function transpose(out, A, rows, columns) {
    for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) out[c * rows + r] = A[r * columns + c];
    return out;
  }

  // Networks

  /** Return a network of one recurrent layer: all weights in one array, all gradients in another, and views of both. */
  function network(core, inputs, units, outputs) {
    const stacked = BLOCKS[core].length * units;
    const sizes = { W_xh: stacked * inputs, W_hh: stacked * units, b_h: stacked, W_hy: outputs * units, b_y: outputs };
    const count = Object.values(sizes).reduce((a, b) => a + b);
    const views = (all) => {
      let at = 0;
      const parts = Object.entries(sizes).map(([name, size]) => {
        at += size;
        return [name, all.subarray(at - size, at)];
      });
      return Object.fromEntries(parts);
    };
    const [weights, gradient, mean, square] = Array.from({ length: 4 }, () => new Float64Array(count));
    const moments = { mean, square, updates: 0 };
    const kept = new Map(); // arrays that the passes fill anew each time
    const zeros = (name, size) => {
      const key = `${name} ${size}`;
      if (!kept.has(key)) kept.set(key, new Float64Array(size));
      return kept.get(key).fill(0);
    };
    const own = { core, inputs, units, outputs, stacked, weights, gradient, moments, zeros };
    return { ...own, W: views(weights), G: views(gradient) };
  }

  /** Do something with every 1 of the inputs at step t: it is given the row of the batch and the column. */
  function eachOne(inputs, t, batch, ones, work) {
    for (let b = 0; b < batch; b++) for (let one = 0; one < ones; one++) work(b, inputs[(t * batch + b) * ones + one]);
  }

  /**
   * Read a batch, and price its predictions; return what `backward` needs, the last state, and the mean of −ln p.
   *
   * @param {Int32Array} inputs the columns that are 1 at each step, (steps, batch, ones).
   * @param {Int32Array} targets at each of the last steps, (priced steps, batch).
   * @param {object} sizes batch, and how many ones there are at a step.
   * @param {object} state h, and c of an LSTM, (batch, units) each; zeros if it is not given.
   */
  function* forward(network, inputs, targets, { batch, ones }, state = {}) {
    const { core, units, stacked, outputs, W, zeros } = network;
    const width = network.inputs;
    const steps = inputs.length / (batch * ones);
    const size = batch * units;
    const [h, c] = [zeros("h", (steps + 1) * size), zeros("c", (steps + 1) * size)]; // h_0, c_0 come first
    h.set(state.h ?? []);
    c.set(state.c ?? []);
    const a = zeros("a", steps * batch * stacked); // W_hh h + W_xh x + b, then gates and candidate, at last δ
    for (let t = 0; t < steps; t++) {
      const a_t = a.subarray(t * batch * stacked, (t + 1) * batch * stacked);
      for (let b = 0; b < batch; b++) a_t.set(W.b_h, b * stacked);
      eachOne(inputs, t, batch, ones, (b, column) => {
        for (let k = 0, at = b * stacked; k < stacked; k++, at++) a_t[at] += W.W_xh[k * width + column];
      });
      addProduct(a_t, h.subarray(t * size), W.W_hh, batch, units, stacked);
      const now = (t + 1) * size;
      if (core === "rnn")
        for (let k = 0; k < size; k++) h[now + k] = a_t[k] = Math.tanh(a_t[k]); // eq-rnn
      else
        for (let b = 0; b < batch; b++)
          for (let k = b * units, f = b * stacked; k < (b + 1) * units; k++, f++) {
            const i = f + units;
            const candidate = i + units;
            const o = candidate + units;
            a_t[f] = sigmoid(a_t[f]); // eq-lstm-forget
            a_t[i] = sigmoid(a_t[i]); // eq-lstm-input
            a_t[candidate] = Math.tanh(a_t[candidate]); // eq-lstm-candidate
            c[now + k] = a_t[f] * c[now - size + k] + a_t[i] * a_t[candidate]; // eq-lstm-cell
            a_t[o] = sigmoid(a_t[o]); // eq-lstm-output
            h[now + k] = a_t[o] * Math.tanh(c[now + k]);
          }
      yield;
    }
    const rows = targets.length; // of predictions
    const p = zeros("p", rows * outputs); // ŷ, eq-output, then e
    for (let row = 0; row < rows; row++) p.set(W.b_y, row * outputs);
    addProduct(p, h.subarray(h.length - rows * units), W.W_hy, rows, units, outputs);
    let nats = 0;
    for (let row = 0; row < rows; row++) {
      const y = p.subarray(row * outputs, (row + 1) * outputs);
      const largest = Math.max(...y);
      let total = 0;
      for (let k = 0; k < outputs; k++) total += y[k] = Math.exp(y[k] - largest);
      for (let k = 0; k < outputs; k++) y[k] /= total;
      nats -= Math.log(y[targets[row]]) / rows;
    }
    yield;
    return { h, c, a, p, steps, state: { h: h.slice(-size), c: c.slice(-size) }, nats };
  }

  /** Carry the derivative of the mean loss back through time, after `forward`; the network's gradient is made anew. */
  function* backward(network, { h, c, a, p, steps }, inputs, targets, { batch, ones }) {
    const { core, units, stacked, outputs, gradient, W, G, zeros } = network;
    const width = network.inputs;
    const turned = (name, A, rows, columns) => transpose(zeros(name, rows * columns), A, rows, columns);
    const [size, rows] = [batch * units, targets.length];
    gradient.fill(0);
    for (let row = 0; row < rows; row++) p[row * outputs + targets[row]] -= 1;
    for (let k = 0; k < p.length; k++) G.b_y[k % outputs] += p[k] /= rows; // eq-bptt-output, eq-gradients
    const asking = turned("asking", h.subarray(h.length - rows * units), rows, units);
    addProduct(G.W_hy, turned("e", p, rows, outputs), asking, outputs, rows, units); // eq-gradients
    const [W_hhT, W_hyT] = [turned("W_hh", W.W_hh, stacked, units), turned("W_hy", W.W_hy, outputs, units)];
    const d_c = zeros("d_c", size); // f_{t+1} ⊙ ∂L/∂c_{t+1}
    yield;
    for (let t = steps - 1; t >= 0; t--) {
      const a_t = a.subarray(t * batch * stacked, (t + 1) * batch * stacked);
      const [before, now] = [t * size, (t + 1) * size];
      const asked = t - (steps - rows / batch);
      const d_h = zeros("d_h", size);
      if (asked >= 0) addProduct(d_h, p.subarray(asked * batch * outputs), W_hyT, batch, outputs, units);
      if (t < steps - 1) addProduct(d_h, a.subarray((t + 1) * batch * stacked), W_hhT, batch, stacked, units);
      if (core === "rnn")
        for (let k = 0; k < size; k++) a_t[k] = (1 - a_t[k] * a_t[k]) * d_h[k]; // eq-delta
      else
        for (let b = 0; b < batch; b++)
          for (let k = b * units, at = b * stacked; k < (b + 1) * units; k++, at++) {
            const f = a_t[at];
            const i = a_t[at + units];
            const candidate = a_t[at + 2 * units];
            const o = a_t[at + 3 * units];
            const shown = Math.tanh(c[now + k]);
            const dc = d_h[k] * o * (1 - shown * shown) + d_c[k]; // eq-lstm-delta-cell
            a_t[at] = dc * c[before + k] * f * (1 - f); // eq-lstm-delta-forget
            a_t[at + units] = dc * candidate * i * (1 - i); // eq-lstm-delta-input
            a_t[at + 2 * units] = dc * i * (1 - candidate * candidate); // eq-lstm-delta-candidate
            a_t[at + 3 * units] = d_h[k] * shown * o * (1 - o); // eq-lstm-delta-output
            d_c[k] = f * dc;
          }
      for (let b = 0, at = 0; b < batch; b++) for (let k = 0; k < stacked; k++, at++) G.b_h[k] += a_t[at];
      eachOne(inputs, t, batch, ones, (b, column) => {
        for (let k = 0, at = b * stacked; k < stacked; k++, at++) G.W_xh[k * width + column] += a_t[at];
      });
      yield;
    }
    const all = steps * batch;
    addProduct(G.W_hh, turned("δ", a, all, stacked), turned("hᵀ", h, all, units), stacked, all, units); // eq-grad-W-hh
    yield;
  }

  /** Scale a gradient down to a norm that it exceeds, as torch.nn.utils.clip_grad_norm_ does. */
  function clip(gradient, limit) {
    const norm = Math.sqrt(gradient.reduce((sum, value) => sum + value * value, 0));
    const factor = Math.min(1, limit / (norm + 1e-6));
    for (let k = 0; k < gradient.length; k++) gradient[k] *= factor;
  }

  /** Move all weights by one update of Adam, eq-adam. */
  function adam({ weights, gradient, moments }, rate) {
    const [BETA1, BETA2, EPSILON] = [0.9, 0.999, 1e-8];
    moments.updates += 1;
    const { mean, square, updates } = moments;
    const [step, correction] = [rate / (1 - BETA1 ** updates), Math.sqrt(1 - BETA2 ** updates)];
    for (let k = 0; k < weights.length; k++) {
      mean[k] = BETA1 * mean[k] + (1 - BETA1) * gradient[k];
      square[k] = BETA2 * square[k] + (1 - BETA2) * gradient[k] * gradient[k];
      weights[k] -= (step * mean[k]) / (Math.sqrt(square[k]) / correction + EPSILON);
    }
  }

  /** Read, carry back, clip and move: one update; return what was read. */
  function* update(network, inputs, targets, sizes, { rate, limit }, state = undefined) {
    const read = yield* forward(network, inputs, targets, sizes, state);
    yield* backward(network, read, inputs, targets, sizes);
    clip(network.gradient, limit);
    adam(network, rate);
    yield;
    return read;
  }

  return { BLOCKS, forward, network, update };
})();

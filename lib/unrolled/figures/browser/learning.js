// Learning in plain JavaScript: the forward and the backward pass of chapters 2, 3 and 5, clipping, and Adam.
//
// Read it beside lib/unrolled/bptt: the order is that of the equations. A matrix is a Float64Array, row after row; what
// has a row for each step has time first: step t of a batch of B sequences begins at row t · B. Inputs are one-hot, or
// several ones at once, so that W_xh x_t is a sum of columns. The two passes are generators that pause at each step:
// whoever runs them may let the page breathe. All of it is one function, whose text a worker can be made of.
"use strict";

globalThis.Unrolled ??= {};

Unrolled.makeLearning = () => {
  const BLOCKS = { rnn: ["h"], lstm: ["f", "i", "c", "o"] }; // of W_xh, W_hh and b_h, one under the other
  const SPAN = 16; // steps whose share of ∂L/∂W_hh is taken in one product
  const sigmoid = (a) => 1 / (1 + Math.exp(-a));

  // Matrices

  /** Add A Bᵀ to out: A has rows of `inner` numbers, B has `columns` of them; four by two at once, for speed. */
  function addProduct(out, A, B, rows, inner, columns) {
    const tall = rows - (rows % 4);
    const wide = columns - (columns % 2);
    for (let r = 0; r < tall; r += 4) {
      const a0 = r * inner;
      const a1 = a0 + inner;
      const a2 = a1 + inner;
      const a3 = a2 + inner;
      for (let c = 0, at = r * columns; c < wide; c += 2, at += 2) {
        const b0 = c * inner;
        const b1 = b0 + inner;
        let s00 = 0;
        let s01 = 0;
        let s10 = 0;
        let s11 = 0;
        let s20 = 0;
        let s21 = 0;
        let s30 = 0;
        let s31 = 0;
        for (let k = 0; k < inner; k++) {
          const y0 = B[b0 + k];
          const y1 = B[b1 + k];
          s00 += A[a0 + k] * y0;
          s01 += A[a0 + k] * y1;
          s10 += A[a1 + k] * y0;
          s11 += A[a1 + k] * y1;
          s20 += A[a2 + k] * y0;
          s21 += A[a2 + k] * y1;
          s30 += A[a3 + k] * y0;
          s31 += A[a3 + k] * y1;
        }
        out[at] += s00;
        out[at + 1] += s01;
        out[at + columns] += s10;
        out[at + columns + 1] += s11;
        out[at + 2 * columns] += s20;
        out[at + 2 * columns + 1] += s21;
        out[at + 3 * columns] += s30;
        out[at + 3 * columns + 1] += s31;
      }
    }
    for (let r = 0; r < rows; r++) {
      for (let c = r < tall ? wide : 0; c < columns; c++) {
        let sum = 0;
        for (let k = 0, a = r * inner, b = c * inner; k < inner; k++) sum += A[a + k] * B[b + k];
        out[r * columns + c] += sum;
      }
    }
  }

  /** Write the transpose of A, of so many rows and columns, into out. */
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
      const named = {};
      let at = 0;
      for (const [name, size] of Object.entries(sizes)) {
        named[name] = all.subarray(at, at + size);
        at += size;
      }
      return named;
    };
    const [weights, gradient] = [new Float64Array(count), new Float64Array(count)];
    const moments = { mean: new Float64Array(count), square: new Float64Array(count), updates: 0 };
    return { core, inputs, units, outputs, stacked, weights, gradient, moments, W: views(weights), G: views(gradient) };
  }

  /** Return room for the passes: `steps` steps of `batch` sequences, of which the last `priced` are predicted from. */
  function room({ stacked, units, outputs, core }, steps, batch, priced = steps) {
    const zeros = (rows, columns) => new Float64Array(rows * columns);
    const gated = core === "lstm";
    return {
      steps,
      batch,
      priced,
      h: zeros((steps + 1) * batch, units), // h_0 comes first
      c: zeros(gated ? (steps + 1) * batch : 0, units),
      tanh_c: zeros(gated ? steps * batch : 0, units),
      a: zeros(steps * batch, stacked), // first W_hh h + W_xh x + b, then gates and candidate, at last δ
      p: zeros(priced * batch, outputs), // ŷ, then e
      d_h: zeros(batch, units),
      d_c: zeros(batch, units),
      turned: [stacked * units, outputs * units, SPAN * batch * stacked, priced * batch * Math.max(units, outputs)].map(
        (size) => new Float64Array(size),
      ),
      spare: zeros(SPAN * batch + priced * batch, Math.max(units, outputs)),
    };
  }

  /** Begin with a state of zeros, or carry on from the last step's. */
  function begin({ h, c, steps, batch, ...rest }, units, carried) {
    for (const state of rest.tanh_c.length ? [h, c] : [h]) {
      if (carried) state.copyWithin(0, steps * batch * units);
      else state.fill(0, 0, batch * units);
    }
  }

  /**
   * Read a batch, and price its predictions; return the sum of −ln p over the targets, and how many there are.
   *
   * @param {Int32Array} inputs the columns that are 1 at each step, (steps, batch, ones).
   * @param {Int32Array} targets at each of the last `priced` steps, (priced, batch); −1 where nothing is asked.
   */
  function* forward(network, kept, inputs, targets) {
    const { core, units, stacked, outputs, W } = network;
    const { steps, batch, priced, h, c, tanh_c, a, p } = kept;
    const ones = inputs.length / (steps * batch);
    const width = network.inputs;
    for (let t = 0; t < steps; t++) {
      const from = t * batch * stacked;
      const a_t = a.subarray(from, from + batch * stacked);
      for (let b = 0; b < batch; b++) {
        a_t.set(W.b_h, b * stacked);
        for (let one = 0; one < ones; one++) {
          const column = inputs[(t * batch + b) * ones + one];
          for (let k = 0, at = b * stacked; k < stacked; k++, at++) a_t[at] += W.W_xh[k * width + column];
        }
      }
      addProduct(a_t, h.subarray(t * batch * units, (t + 1) * batch * units), W.W_hh, batch, units, stacked);
      const now = (t + 1) * batch * units;
      if (core === "rnn")
        for (let k = 0; k < batch * units; k++) h[now + k] = a_t[k] = Math.tanh(a_t[k]); // eq-rnn
      else
        for (let b = 0; b < batch; b++) {
          for (let k = 0; k < units; k++) {
            const at = b * units + k;
            const f = b * stacked + k;
            const i = f + units;
            const candidate = i + units;
            const o = candidate + units;
            a_t[f] = sigmoid(a_t[f]); // eq-lstm-forget
            a_t[i] = sigmoid(a_t[i]); // eq-lstm-input
            a_t[candidate] = Math.tanh(a_t[candidate]); // eq-lstm-candidate
            c[now + at] = a_t[f] * c[now - batch * units + at] + a_t[i] * a_t[candidate]; // eq-lstm-cell
            a_t[o] = sigmoid(a_t[o]); // eq-lstm-output
            tanh_c[now - batch * units + at] = Math.tanh(c[now + at]);
            h[now + at] = a_t[o] * tanh_c[now - batch * units + at];
          }
        }
      yield;
    }
    let [nats, asked] = [0, 0];
    for (let row = 0; row < priced * batch; row++) p.set(W.b_y, row * outputs);
    addProduct(p, h.subarray((steps + 1 - priced) * batch * units), W.W_hy, priced * batch, units, outputs);
    for (let row = 0; row < priced * batch; row++) {
      const y = p.subarray(row * outputs, (row + 1) * outputs);
      let [largest, total] = [-Infinity, 0];
      for (let k = 0; k < outputs; k++) if (y[k] > largest) largest = y[k];
      for (let k = 0; k < outputs; k++) total += y[k] = Math.exp(y[k] - largest);
      for (let k = 0; k < outputs; k++) y[k] /= total; // eq-output
      if (targets[row] < 0) continue;
      nats -= Math.log(y[targets[row]]);
      asked += 1;
    }
    yield;
    return { nats, asked };
  }

  /** Carry the derivative of the mean loss back through time, after `forward`; the network's gradient is made anew. */
  function* backward(network, kept, inputs, targets, asked) {
    const { core, units, stacked, outputs, W, G } = network;
    const { steps, batch, priced, h, c, tanh_c, a, p, d_h, d_c, spare } = kept;
    const [W_hhT, W_hyT, deltaT, eT] = kept.turned;
    const ones = inputs.length / (steps * batch);
    const width = network.inputs;
    network.gradient.fill(0);
    for (let row = 0; row < priced * batch; row++) {
      const e = p.subarray(row * outputs, (row + 1) * outputs); // ŷ so far
      if (targets[row] < 0) e.fill(0);
      else {
        e[targets[row]] -= 1;
        for (let k = 0; k < outputs; k++) G.b_y[k] += e[k] /= asked; // eq-bptt-output, eq-gradients
      }
    }
    const rows = priced * batch;
    transpose(spare, h.subarray((steps + 1 - priced) * batch * units), rows, units);
    addProduct(G.W_hy, transpose(eT, p, rows, outputs), spare, outputs, rows, units); // eq-gradients
    transpose(W_hhT, W.W_hh, stacked, units);
    transpose(W_hyT, W.W_hy, outputs, units);
    d_c.fill(0); // f_{t+1} ⊙ ∂L/∂c_{t+1}
    yield;
    for (let t = steps - 1; t >= 0; t--) {
      const a_t = a.subarray(t * batch * stacked, (t + 1) * batch * stacked);
      const before = t * batch * units; // of h_{t−1} and c_{t−1}
      const asking = t - (steps - priced);
      d_h.fill(0);
      if (asking >= 0) addProduct(d_h, p.subarray(asking * batch * outputs), W_hyT, batch, outputs, units);
      if (t < steps - 1) addProduct(d_h, a.subarray((t + 1) * batch * stacked), W_hhT, batch, stacked, units);
      if (core === "rnn")
        for (let k = 0; k < batch * units; k++) a_t[k] = (1 - a_t[k] * a_t[k]) * d_h[k]; // eq-delta
      else
        for (let b = 0; b < batch; b++) {
          for (let k = 0; k < units; k++) {
            const at = b * units + k;
            const at_f = b * stacked + k;
            const at_i = at_f + units;
            const at_candidate = at_i + units;
            const at_o = at_candidate + units;
            const f = a_t[at_f];
            const i = a_t[at_i];
            const candidate = a_t[at_candidate];
            const o = a_t[at_o];
            const shown = tanh_c[before + at];
            const dc = d_h[at] * o * (1 - shown * shown) + d_c[at]; // eq-lstm-delta-cell
            a_t[at_f] = dc * c[before + at] * f * (1 - f); // eq-lstm-delta-forget
            a_t[at_i] = dc * candidate * i * (1 - i); // eq-lstm-delta-input
            a_t[at_candidate] = dc * i * (1 - candidate * candidate); // eq-lstm-delta-candidate
            a_t[at_o] = d_h[at] * shown * o * (1 - o); // eq-lstm-delta-output
            d_c[at] = f * dc;
          }
        }
      for (let b = 0; b < batch; b++) {
        for (let k = 0, at = b * stacked; k < stacked; k++, at++) G.b_h[k] += a_t[at];
        for (let one = 0; one < ones; one++) {
          const column = inputs[(t * batch + b) * ones + one];
          for (let k = 0, at = b * stacked; k < stacked; k++, at++) G.W_xh[k * width + column] += a_t[at];
        }
      }
      yield;
      if (t % SPAN === 0) {
        const span = Math.min(SPAN, steps - t) * batch; // rows: δ_t h_{t−1}ᵀ of so many steps at once
        transpose(deltaT, a.subarray(t * batch * stacked), span, stacked);
        transpose(spare, h.subarray(before), span, units);
        addProduct(G.W_hh, deltaT, spare, stacked, span, units); // eq-grad-W-hh, eq-lstm-gradients
        yield;
      }
    }
  }

  /** Scale a gradient down to a norm that it exceeds, as torch.nn.utils.clip_grad_norm_ does; return the norm it had. */
  function clip(gradient, limit) {
    let square = 0;
    for (let k = 0; k < gradient.length; k++) square += gradient[k] * gradient[k];
    const norm = Math.sqrt(square);
    const factor = Math.min(1, limit / (norm + 1e-6));
    if (factor < 1) for (let k = 0; k < gradient.length; k++) gradient[k] *= factor;
    return norm;
  }

  /** Move all weights by one update of Adam, eq-adam. */
  function adam({ weights, gradient, moments }, rate, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8) {
    moments.updates += 1;
    const [mean, square] = [moments.mean, moments.square];
    const step = rate / (1 - beta1 ** moments.updates);
    const correction = Math.sqrt(1 - beta2 ** moments.updates);
    for (let k = 0; k < weights.length; k++) {
      mean[k] = beta1 * mean[k] + (1 - beta1) * gradient[k];
      square[k] = beta2 * square[k] + (1 - beta2) * gradient[k] * gradient[k];
      weights[k] -= (step * mean[k]) / (Math.sqrt(square[k]) / correction + epsilon);
    }
  }

  /** Read, carry back, clip and move: one update; return the mean loss before it, in nats. */
  function* update(network, kept, inputs, targets, { rate, limit }) {
    const { nats, asked } = yield* forward(network, kept, inputs, targets);
    yield* backward(network, kept, inputs, targets, asked);
    clip(network.gradient, limit);
    adam(network, rate);
    yield;
    return nats / asked;
  }

  return { BLOCKS, adam, backward, begin, clip, forward, network, room, update };
};

Unrolled.learning = Unrolled.makeLearning();

// The encoder–decoder of chapter 11, as lib/unrolled/models/encoder_decoder.py has it:
// one network reads the source from both sides, another writes the target and, with
// attention, looks at all of the source at every step.
"use strict";

Unrolled.EncoderDecoder = class {
  /**
   * @param {object} head what the script says: core, sources, symbols, sides, shapes
   *   and more.
   * @param {object} weights a Float32Array for each name in head.shapes.
   */
  constructor(head, weights) {
    this.head = head;
    this.weights = weights;
    this.cell = Unrolled.CELLS[head.core];
    this.hiddenSize = head.shapes["0.W_hh"][1];
    this.symbols = head.symbols;
    // of the symbols of the source
    this.number = new Map(head.sources.map((symbol, number) => [symbol, number]));
    [this.start, this.stop] = [0, 1];
  }

  /**
   * Take a step of the cell whose weights have a name: a side of the encoder, or "0",
   * the decoder.
   */
  move(name, x, before) {
    const [W_xh, W_hh, b_h] = ["W_xh", "W_hh", "b_h"].map(
      (each) => this.weights[`${name}.${each}`],
    );
    return this.cell.step(
      { W_xh, W_hh, b_h },
      x,
      before,
      (_, gate) => gate,
      this.head.options,
    );
  }

  /**
   * Read a source; return the state before the first symbol of the target, and the
   * memory that each step looks at.
   */
  encode(numbers) {
    const { E_x, W_b, b_b, W_k } = this.weights;
    const { product, sum, slice } = Unrolled;
    const size = this.head.shapes.E_x[1];
    const inputs = numbers.map((number) => Float64Array.from(slice(E_x, size, number)));
    const sides = this.head.sides.map((side) => {
      const order = side === "from_left" ? inputs : inputs.toReversed();
      let state = Object.fromEntries(
        this.cell.state.map((name) => [name, new Float64Array(this.hiddenSize)]),
      );
      const states = order.map((x) => {
        state = this.move(side, x, state);
        return state.h;
      });
      return {
        states: side === "from_left" ? states : states.toReversed(),
        last: state.h,
      };
    });
    const joined = (vectors) =>
      Float64Array.from(vectors.flatMap((vector) => Array.from(vector)));
    const memory = inputs.map((_, j) => joined(sides.map(({ states }) => states[j])));
    const both = joined(sides.map(({ last }) => last));
    const bridge = sum(product(W_b, both), b_b).map(Math.tanh);
    const parts = this.cell.state.map((name, n) => [
      name,
      slice(bridge, this.hiddenSize, n),
    ]);
    return {
      state: Object.fromEntries(parts),
      memory,
      keys: W_k && memory.map((m) => product(W_k, m)),
    };
  }

  /**
   * Write a symbol down; return the next state, the logits of the symbol after it, and
   *   the weights of the places, of a network with attention.
   *
   * @param {function} change may change the weights before the mean is taken.
   */
  step(number, { state, memory, keys }, change = (weights) => weights) {
    const { E, W_q, W_a, b_a, W_sy, b_y } = this.weights;
    const { attention, product, sum, slice } = Unrolled;
    const x = Float64Array.from(slice(E, this.head.shapes.E[1], number));
    const next = this.move("0", x, state); // s_t
    const answer = (known) => sum(product(W_sy, known), b_y);
    // without attention all that is known of the source is s_0
    if (!keys) return { state: { state: next }, logits: answer(next.h) };
    // eq-attention
    const { mean, weights } = attention(product(W_q, next.h), keys, memory, change);
    const a = sum(product(W_a, Float64Array.from([...mean, ...next.h])), b_a).map(
      Math.tanh,
    );
    return {
      state: { state: next, memory, keys },
      logits: answer(a),
      weights,
    };
  }

  /**
   * Return a step for each symbol of the target that the model finds most probable, to
   * the stop symbol.
   */
  write(numbers, most, change = undefined) {
    const steps = [];
    let number = this.start;
    let state = this.encode(numbers);
    while (steps.length < most && number !== this.stop) {
      const { state: after, logits, weights } = this.step(number, state, change);
      [number] = Unrolled.ranked(logits);
      state = after;
      steps.push({ number, weights, p: Unrolled.softmax(logits) });
    }
    return steps;
  }
};

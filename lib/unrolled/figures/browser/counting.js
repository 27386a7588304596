// The rival of a network that learns in the page: interpolated Kneser–Ney, as lib/unrolled/ngram counts it.
//
// A context of k − 1 symbols has a row in the table of its length; a k-gram is known by its context's row and its last
// symbol. All of it is one function, whose text a worker can be made of.
"use strict";

globalThis.Unrolled ??= {};

Unrolled.makeCounting = () => {
  const NONE = -1; // the row of a context that was not counted

  /** Give each order's row of the k-gram that ends with a symbol, after the rows of those that end one symbol before. */
  function rowsAfter(tables, before, symbol, symbols) {
    return tables.map(({ rows }, k) => {
      const context = k === 0 ? 0 : before[k - 1];
      return context === NONE ? NONE : (rows.get(context * symbols + symbol) ?? NONE);
    });
  }

  /**
   * Count all k-grams of a text up to an order: a table for each length.
   *
   * @param {Int32Array} text numbers of symbols, from 0 to `symbols` − 1.
   */
  function* count(text, symbols, order) {
    const tables = Array.from({ length: order }, () => ({ rows: new Map(), parents: [], counts: [], left: [] }));
    let before = new Array(order).fill(NONE);
    for (let place = 0; place < text.length; place++) {
      const now = new Array(order).fill(NONE);
      for (let k = 0; k < order && k <= place; k++) {
        const { rows, parents, counts, left } = tables[k];
        const context = k === 0 ? 0 : before[k - 1];
        const key = context * symbols + text[place];
        let row = rows.get(key);
        if (row === undefined) {
          row = counts.length;
          rows.set(key, row);
          parents.push(context);
          counts.push(0);
          left.push(k === place ? 1 : 0); // the beginning of the text counts as a symbol
          if (k > 0) tables[k - 1].left[now[k - 1]] += 1; // one more symbol that the shorter one has followed
        }
        counts[row] += 1;
        now[k] = row;
      }
      before = now;
      if (place % 2000 === 0) yield;
    }
    return tables;
  }

  /** Take the discounts off: the share of each k-gram, and the rest of each context, eq-kneser-ney. */
  function discounted(tables) {
    return tables.map(({ rows, parents, counts, left }, k) => {
      const c = k === tables.length - 1 ? counts : left;
      const [once, twice] = [1, 2].map((n) => c.reduce((sum, each) => sum + (each === n), 0));
      const discount = once && twice ? once / (once + 2 * twice) : 0.5;
      const [total, taken] = [new Float64Array(k ? counts.length : 1), new Float64Array(k ? counts.length : 1)];
      parents.forEach((parent, row) => {
        total[parent] += c[row];
        if (c[row] > 0) taken[parent] += discount;
      });
      const share = Float64Array.from(c, (each, row) => (each > 0 ? (each - discount) / total[parents[row]] : 0));
      const rest = taken.map((each, parent) => (total[parent] > 0 ? each / total[parent] : 1));
      return { rows, share, rest };
    });
  }

  /** Return what counting the text before a place pays for each symbol from there on, in nats: Float64Array. */
  function* price(text, from, symbols, order) {
    const tables = discounted(yield* count(text.subarray(0, from), symbols, order));
    const paid = new Float64Array(text.length - from);
    let before = new Array(order).fill(NONE);
    for (let place = Math.max(0, from - order); place < text.length; place++) {
      if (place >= from) {
        let p = 1 / symbols;
        tables.forEach(({ rows, share, rest }, k) => {
          const context = k === 0 ? 0 : before[k - 1];
          if (context === NONE || !(context < rest.length)) return;
          const row = rows.get(context * symbols + text[place]);
          p = (row === undefined ? 0 : share[row]) + rest[context] * p;
        });
        paid[place - from] = -Math.log(p);
      }
      before = rowsAfter(tables, before, text[place], symbols);
      if (place % 2000 === 0) yield;
    }
    return paid;
  }

  return { price };
};

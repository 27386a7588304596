// The rival of a network that learns in the page: interpolated Kneser–Ney, as lib/unrolled/ngram counts it.
"use strict";

/**
 * Return what counting the text before a place pays for each symbol from there on, in nats; it pauses now and then.
 *
 * A k-gram of the longest kind is counted as often as it stands in the text, a shorter one once for each symbol that has
 * come before it; the beginning of the text counts as one.
 *
 * @param {string} text of symbols that are one character each, and none a space.
 * @param {number} symbols how many there are.
 */
Unrolled.count = function* (text, from, symbols, order) {
  const PAUSE = 2000; // symbols between two pauses
  const seen = new Set();
  const counts = Array.from({ length: order }, () => new Map()); // of each k-gram
  const add = (map, key, more) => map.set(key, (map.get(key) ?? 0) + more);
  const padded = ` ${text}`;
  for (let end = 1; end <= from; end++) {
    for (let k = 1; k <= Math.min(order, end); k++) {
      const longer = padded.slice(end - k, end + 1);
      if (k < order && seen.has(longer)) continue;
      add(counts[k - 1], longer.slice(1), 1);
      seen.add(longer);
    }
    if (end % PAUSE === 0) yield;
  }
  const tables = counts.map((grams) => {
    const [totals, kinds, often] = [new Map(), new Map(), [0, 0, 0]];
    for (const [gram, count] of grams) {
      add(totals, gram.slice(0, -1), count);
      add(kinds, gram.slice(0, -1), 1);
      if (count < 3) often[count] += 1;
    }
    const discount = often[1] && often[2] ? often[1] / (often[1] + 2 * often[2]) : 0.5;
    return { grams, totals, kinds, discount };
  });
  yield;
  const paid = new Float64Array(text.length - from);
  for (let place = from; place < text.length; place++) {
    let p = 1 / symbols;
    tables.forEach(({ grams, totals, kinds, discount }, k) => {
      const context = text.slice(place - k, place);
      const total = totals.get(context);
      if (!total) return;
      const count = grams.get(context + text[place]) ?? 0;
      p = (Math.max(count - discount, 0) + discount * kinds.get(context) * p) / total; // eq-kneser-ney
    });
    paid[place - from] = -Math.log(p);
    if (place % PAUSE === 0) yield;
  }
  return paid;
};

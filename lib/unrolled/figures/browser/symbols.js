// From a text to the symbols of a vocabulary and back, as lib/unrolled/text does it; and a reader that does not begin
// again with every letter that is typed.
"use strict";

/**
 * A word as the book's stories have it: letters and hyphens, perhaps after an apostrophe, or any other single sign. A
 * reader may write letters and numbers that no story has, and each word of them is one.
 */
Unrolled.WORD = /'?[\p{L}\p{M}\p{N}-]+|[^ ]/gu;

/**
 * Return the symbols of a text, each {text, number}; the number is undefined where the vocabulary lacks the symbol.
 *
 * What stands between spaces and is no word of the vocabulary is split as the stories are.
 */
Unrolled.split = (model, text) => {
  const pieces = !model.head.words
    ? Array.from(text)
    : text.split(/ +/).flatMap((chunk) => (model.number.has(chunk) ? [chunk] : (chunk.match(Unrolled.WORD) ?? [])));
  return pieces.map((piece) => ({ text: piece, number: model.number.get(piece) }));
};

/** Return the symbols of a text that is being typed, without a last word that is not yet one but may become one. */
Unrolled.splitTyped = (model, text) => {
  const symbols = Unrolled.split(model, text);
  const last = symbols.at(-1);
  if (!model.head.words || !last || last.number !== undefined || !text.endsWith(last.text)) return symbols;
  return model.symbols.some((word) => word.startsWith(last.text)) ? symbols.slice(0, -1) : symbols;
};

/** Return how symbols are written one after another: characters as they are, words with spaces where English has them. */
Unrolled.spaced = (model, texts) => {
  if (!model.head.words) return Array.from(texts);
  let quoted = false;
  let glue = true; // the next word follows without a space
  return Array.from(texts, (text) => {
    const opens = text === '"' && !quoted;
    const closes = text === '"' && quoted;
    const attached = glue || closes || text === "\n" || /^([.,;:!?]|'.*)$/.test(text);
    if (text === '"') quoted = !quoted;
    if (text === "\n") quoted = false;
    glue = opens || text === "\n";
    return attached ? text : ` ${text}`;
  });
};

/**
 * Return a function that reads symbols and returns the step before each of them and the one after the last.
 *
 * It keeps its steps, and reads again only what follows the first symbol that has changed. Once a given time is past it
 * returns the steps that it has, at least one more than before, and goes on when it is called again. A text begins after
 * a line break, as every story does; a vocabulary without one begins with the initial state and no prediction, null.
 */
Unrolled.reader = (model, hold = undefined) => {
  const first = model.number.get("\n");
  const initial = { state: model.initialState(), logits: null };
  let read = [];
  let steps = [first === undefined ? initial : model.step(first, initial.state, hold)];
  return (symbols, until = Infinity) => {
    const numbers = symbols.map(({ number }) => number ?? model.number.get("<unk>"));
    const changed = numbers.findIndex((number, place) => number !== read[place]);
    const same = changed < 0 ? numbers.length : changed;
    steps = steps.slice(0, same + 1);
    for (const number of numbers.slice(same)) {
      // a character that the vocabulary lacks is not read
      steps.push(number === undefined ? steps.at(-1) : model.step(number, steps.at(-1).state, hold));
      if (performance.now() > until) break;
    }
    read = numbers.slice(0, steps.length - 1);
    return steps;
  };
};

/**
 * Return a function that lets a reader read symbols a moment at a time, so that a page stays awake over a long text.
 *
 * It is given the reader, the symbols, and what to do with the steps when all are read; a call ends the one before.
 *
 * @param {function} underway is told after each moment how many symbols were read, and of how many.
 */
Unrolled.unhurried = (underway) => {
  const MOMENT = 40; // milliseconds
  let timer;
  return (read, symbols, done) => {
    clearTimeout(timer);
    const go = () => {
      const steps = read(symbols, performance.now() + MOMENT);
      if (steps.length > symbols.length) return done(steps);
      underway(steps.length - 1, symbols.length);
      timer = setTimeout(go);
    };
    go();
  };
};

/** Return −ln p of each symbol, after the steps of a reader; null where nothing was predicted or the symbol is unknown. */
Unrolled.surprises = (symbols, steps) =>
  symbols.map(({ number }, place) => {
    const { logits } = steps[place];
    return logits && number !== undefined ? -Math.log(Unrolled.softmax(logits)[number]) : null;
  });

/** Return a symbol as it can be seen: a line break and a space have no shape of their own. */
Unrolled.seen = (text) => (text === "\n" ? "¶" : text === " " ? "␣" : text);

/** Return what a page calls a model: that of "gru-words" is "GRU, words". */
Unrolled.title = (name) => {
  const [core, ...units] = name.split("-");
  return units.length ? `${core.toUpperCase()}, ${units.join(" ")}` : `${name} network`;
};

/**
 * Return a story with its templates filled in: {hero}, and the pronouns {they}, {They}, {them}, {their}, {Their}.
 *
 * @param {object} names {she: [...], he: [...]}.
 * @param {string[]} sentences of the story.
 */
Unrolled.tell = (names, sentences, hero) => {
  const gender = names.she.includes(hero) ? 0 : 1;
  const forms = { they: ["she", "he"], them: ["her", "him"], their: ["her", "his"], hero: [hero, hero] };
  const filled = (_, form) => {
    const word = forms[form.toLowerCase()][gender];
    return form[0] < "a" ? word[0].toUpperCase() + word.slice(1) : word;
  };
  return sentences.join(" ").replace(/\{(\w+)\}/g, filled);
};

/** Return a text to begin with where none is given: the most probable ten symbols. */
Unrolled.opening = (model) => {
  const step = model.step(model.number.get("\n") ?? 0, model.initialState());
  const [{ numbers }] = Unrolled.beam(model, step, 10, 1);
  return Unrolled.spaced(
    model,
    numbers.map((number) => model.symbols[number]),
  ).join("");
};

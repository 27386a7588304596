// Whose influence? Each symbol in turn is replaced, and what moves is the prediction of every symbol after it.
"use strict";

/** Return the number with which a symbol is read, and that of what is put in its place: the next of the vocabulary. */
Unrolled.known = (model, { number }) => number ?? model.number.get("<unk>");
Unrolled.other = (model, number) => (number + 1) % model.symbols.length;

/**
 * Return a function that takes symbols as a reader does, and reads them again with each one replaced: it returns for the
 * line break before them, and for each symbol, what the network's last h is then before each symbol that follows.
 */
Unrolled.rereader = (model, read) => {
  let [last, again] = [null, []];
  return (symbols, until = Infinity) => {
    const steps = read(symbols);
    const numbers = [model.number.get("\n"), ...symbols.map((symbol) => Unrolled.known(model, symbol))];
    if (symbols !== last) [last, again] = [symbols, []];
    while (again.length < numbers.length) {
      const at = again.length;
      let state = model.carry(Unrolled.other(model, numbers[at]), at ? steps[at - 1].state : model.initialState());
      const after = { [at]: state.at(-1).h };
      for (let t = at + 1; t < numbers.length; t++) {
        state = model.carry(numbers[t], state);
        after[t] = state.at(-1).h;
      }
      again.push(after);
      if (performance.now() > until) break;
    }
    return again;
  };
};

/**
 * Return the influence of the line break, and of each symbol before symbol t, on the prediction of symbol t, counted from
 * 0: the share of it that moves with the replacement, ½ Σ |p̃ − p|.
 *
 * @param {object[]} again what a rereader has returned.
 */
Unrolled.moved = (model, again, { logits }, t) => {
  const p = Unrolled.softmax(logits);
  const share = (h) => Unrolled.softmax(model.predict(h)).reduce((sum, q, k) => sum + Math.abs(q - p[k]) / 2, 0);
  return again.slice(0, t + 1).map((after) => share(after[t]));
};

/** @param {object} data text; most, the symbols that are read of it, [words, characters]. */
Unrolled.influence = async (place, networks, data) => {
  const { announcer, element, fillText, labelled, later, network, percent, slider } = Unrolled.elements;
  const { seen } = Unrolled;
  const field = element("textarea", { rows: 3, spellcheck: false, autocapitalize: "off", value: data.text });
  const text = element("p", { className: "pg-text pg-pointed" });
  const score = element("p", { className: "pg-score" });
  const { region, tell } = announcer();
  let arrived;
  const first = new Promise((resolve) => {
    arrived = resolve;
  });
  let model;
  let read;
  let reread;
  let symbols = [];
  let again = []; // what the rereader returns; nothing while it is computed
  let at; // the symbol whose prediction is asked about

  const unit = (count) => `${model.head.words ? "word" : "character"}${count === 1 ? "" : "s"}`;
  const reading = Unrolled.unhurried((done, all) => {
    score.textContent = `Replacing ${unit(1)} ${done} of ${all}.`;
  });

  /** Return what the network gave the symbol that is asked about, in words. */
  function given() {
    const { text: asked, number } = symbols[at];
    if (number === undefined) return `${asked} is not in the vocabulary.`;
    const p = Unrolled.softmax(read(symbols)[at].logits);
    const [best] = Unrolled.ranked(p);
    const rival = best === number ? "" : `; it preferred ${seen(model.symbols[best])}, ${percent(p[best])}`;
    return `${seen(asked)} had a probability of ${percent(p[number])}${rival}.`;
  }

  /** Shade what stands before a symbol by its influence on what was expected there, and say so. */
  function look() {
    if (!again.length) return;
    const [, ...shares] = Unrolled.moved(model, again, read(symbols)[at], at); // that of the line break is not shown
    const other = (symbol) => model.symbols[Unrolled.other(model, Unrolled.known(model, symbol))];
    const change = (j) => `${seen(symbols[j].text)} → ${seen(other(symbols[j]))}`;
    for (const [j, made] of [...text.children].entries()) {
      made.classList.toggle("pg-asked", j === at);
      made.classList.toggle("pg-unread", j > at);
      made.style.setProperty("--share", shares[j] ?? 0);
      made.title = j < at ? `${change(j)}: ${percent(shares[j])} of the prediction moves` : "";
    }
    const most = Unrolled.ranked(shares).slice(0, 3);
    const strong = shares.findIndex((share) => share >= 0.1);
    const moves = most.map((j) => `${change(j)}, ${at - j} ${unit(at - j)} before: ${percent(shares[j])}`).join("; ");
    score.textContent =
      given() +
      (at ? ` What would move the prediction most: ${moves}.` : "") +
      (strong < 1 ? "" : ` No ${unit(1)} more than ${at - strong} back moves a tenth of the prediction.`);
    const input = which.querySelector("input");
    [input.max, input.value] = [symbols.length - 1, at];
    input.setAttribute("aria-valuetext", `${seen(symbols[at].text)}, ${at + 1} of ${symbols.length}`);
    which.querySelector("output").textContent = `${at + 1} of ${symbols.length}`;
    tell(score.textContent);
  }

  function ask(symbol) {
    at = symbol;
    look();
  }

  /** Let the network read the text once as it is, and then with each symbol replaced. */
  function show() {
    const typed = Unrolled.split(model, field.value).filter((symbol) => Unrolled.known(model, symbol) !== undefined);
    const known = typed.slice(0, data.most[model.head.words ? 0 : 1]);
    at = known.length === symbols.length ? at : known.length - 1; // the same one, if only the network is another
    [symbols, again] = [known, []];
    fillText(text, model, symbols, () => {});
    reading(reread, symbols, (found) => {
      again = found;
      if (symbols.length) look();
      else score.textContent = "There is nothing to read yet.";
      arrived();
    });
  }

  const which = slider("predicted", { min: 0, max: 1, step: 1, value: 0 }, ask);
  const { field: choice, showFirst } = network(networks, (taken) => {
    model = taken;
    read = Unrolled.reader(model);
    reread = Unrolled.rereader(model, read);
    show();
  });
  for (const kind of ["pointermove", "click"])
    text.addEventListener(kind, ({ target }) => {
      const pointed = [...text.children].indexOf(target);
      if (pointed >= 0 && pointed !== at) ask(pointed);
    });
  field.addEventListener("input", later(show));
  place.append(
    element("div", { className: "pg-controls" }, choice, which),
    text,
    score,
    labelled("your text", field),
    region,
  );
  await showFirst();
  await first; // until then there is the picture
};

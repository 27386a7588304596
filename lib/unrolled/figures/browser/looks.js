// Where does it look? The reader types a source; the network writes its target, and each symbol shows where it looked.
"use strict";

Unrolled.looks = async (place, networks, data = {}) => {
  const { announcer, button, choice, element, labelled, later, network, percent, svg, symbol } = Unrolled.elements;
  const MOST = 40; // symbols that it writes, if it does not stop before
  const field = element("input", { type: "text", size: 36, spellcheck: false, autocapitalize: "off" });
  const source = element("p", { className: "pg-text pg-source" });
  const target = element("div", { className: "pg-target", role: "group", "aria-label": "what is written" });
  const lines = svg("svg", { class: "pg-lines", "aria-hidden": "true" }); // the buttons say the same
  const score = element("p", { className: "pg-score" });
  const { region, tell } = announcer();
  const examples = data.examples ?? [];
  let model;
  let symbols; // of the source, each {text, number}
  let steps; // of the target
  let chosen = 0; // the symbol of the target whose weights lie over the source
  let learned = true; // whether the weights are the model's own, or shuffled
  let seed = 1;

  /** Return weights in another order, drawn with the random numbers of a seed. */
  function shuffler() {
    const random = Unrolled.generator(seed);
    return (weights) => {
      const order = Array.from(weights, (weight) => [random(), weight]).sort(([a], [b]) => a - b);
      return Float64Array.from(order, ([, weight]) => weight);
    };
  }

  const written = (number) => (number === model.stop ? "■" : Unrolled.seen(model.symbols[number]));
  const known = () => symbols.filter(({ number }) => number !== undefined);

  /** Lay the weights of the chosen symbol over the source, and say where it looks. */
  function look() {
    const { number, weights, p } = steps[chosen];
    let at = 0;
    const spans = symbols.map((each) => {
      const made = symbol(each);
      if (each.number === undefined) return made;
      const weight = weights[at++];
      made.style.setProperty("--share", weight);
      made.title = `${Unrolled.seen(each.text)}: weight ${percent(weight)}`;
      return made;
    });
    source.replaceChildren(...spans);
    for (const [k, each] of [...target.children].entries()) each.setAttribute("aria-pressed", k === chosen);
    for (const [k, each] of [...lines.children].entries()) each.classList.toggle("pg-chosen", k === chosen);
    const read = known();
    const top = Unrolled.ranked(weights).slice(0, 3);
    const places = top.map((j) => `${Unrolled.seen(read[j].text)}, symbol ${j + 1}, ${percent(weights[j])}`);
    tell(`${written(number)}, symbol ${chosen + 1} of ${steps.length}, looks at ${places.join("; ")}`);
    const lacking = symbols.length - read.length;
    score.textContent =
      `The network gives ${written(number)} a probability of ${percent(p[number])}.` +
      (steps.at(-1).number === model.stop ? "" : ` It has not stopped after ${MOST} symbols.`) +
      (lacking ? ` Underlined, and not read: ${lacking} that the vocabulary lacks.` : "");
  }

  const choose = (k) => {
    chosen = k;
    look();
  };

  /** Draw a line from each symbol that is written to each that was read, as thick and as strong as its weight. */
  function drawLines() {
    const middle = (at, all) => `${(100 * (at + 0.5)) / all.length}%`;
    const places = [...symbols.keys()].filter((at) => symbols[at].number !== undefined);
    const groups = steps.map(({ weights }, k) => {
      const drawn = places.map((at, j) =>
        svg("line", {
          x1: middle(k, steps),
          y1: "100%",
          x2: middle(at, symbols),
          y2: 0,
          "stroke-opacity": weights[j],
          "stroke-width": 6 * weights[j],
        }),
      );
      return svg("g", {}, ...drawn);
    });
    lines.replaceChildren(...groups);
  }

  function show() {
    symbols = Array.from(field.value, (text) => ({ text, number: model.number.get(text) }));
    const numbers = known().map(({ number }) => number);
    steps = numbers.length ? model.write(numbers, MOST, learned ? undefined : shuffler()) : [];
    chosen = Math.min(chosen, Math.max(steps.length - 1, 0));
    const buttons = steps.map(({ number }, k) => {
      const made = button(written(number), () => choose(k));
      made.addEventListener("focus", () => choose(k));
      made.addEventListener("mouseenter", () => choose(k));
      if (number === model.stop) made.setAttribute("aria-label", "stop");
      return made;
    });
    target.replaceChildren(...buttons);
    drawLines();
    if (steps.length) {
      look();
      return tell(`It writes ${steps.map(({ number }) => (number === model.stop ? "" : written(number))).join("")}`);
    }
    source.replaceChildren(...symbols.map(symbol));
    score.textContent = "There is nothing to read yet.";
  }

  // The buttons are one stop of the Tab key each; arrow keys lead from one to the next, too.
  target.addEventListener("keydown", ({ key }) => {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[key];
    target.children[chosen + (way ?? 0)]?.focus();
  });
  const { field: which, showFirst } = network(networks, (taken) => {
    model = taken;
    field.value ||= data.text ?? model.head.sources.slice(0, 8).join("");
    show();
  });
  const example = choice([["", "another example"], ...examples.map((text) => [text, text])], (text) => {
    field.value = text || field.value;
    show();
  });
  const weights = choice(
    [
      ["learned", "as learned"],
      ["shuffled", "shuffled among the places"],
    ],
    (kind) => {
      learned = kind === "learned";
      seed += 1;
      show();
    },
  );
  const controls = element("div", { className: "pg-controls" });
  if (networks.length > 1) controls.append(which);
  controls.append(labelled("your text", field));
  if (examples.length) controls.append(labelled("or", example));
  controls.append(labelled("weights", weights));
  field.addEventListener("input", later(show));
  const attention = element("div", { className: "pg-attention" }, source, lines, target);
  place.append(controls, element("div", { className: "pg-wide" }, attention), score, region);
  await showFirst();
};

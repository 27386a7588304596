// Where does it look? The reader types a source; the network writes its target, and each symbol shows where it looked.
"use strict";

Unrolled.looks = (place, data, model) => {
  const { button, choice, controls, element, labelled, later, percent, seen, speaker, svg } = Unrolled.elements;
  const MOST = 40; // symbols that it writes, if it does not stop before
  const begins = data.text ?? model.head.sources.slice(0, 8).join("");
  const field = element("input", { type: "text", size: 36, spellcheck: false, autocapitalize: "off", value: begins });
  const source = element("p", { className: "pg-text pg-source" });
  const target = element("div", { className: "pg-target", role: "group", "aria-label": "what is written" });
  const lines = svg("svg", { class: "pg-lines", "aria-hidden": "true" }); // the buttons say the same
  const { line, region, say } = speaker();
  let symbols; // of the source, each {text, number}
  let read; // those that the vocabulary has
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

  const written = ({ number }) => (number === model.stop ? "■" : seen(model.symbols[number]));

  /** Show the source; what the vocabulary lacks is underlined, the rest on the stronger ground the larger its weight. */
  function showSource(weights) {
    let at = 0;
    const spans = symbols.map(({ text, number }) => {
      const known = number !== undefined;
      const made = element("span", { className: known ? "" : "pg-unknown" }, text);
      if (known && weights) {
        made.title = `${seen(text)}: weight ${percent(weights[at])}`;
        made.style.setProperty("--share", weights[at++]);
      }
      return made;
    });
    source.replaceChildren(...spans);
  }

  /** Lay the weights of a symbol that is written over the source, and say where it looks. */
  function choose(k) {
    chosen = k;
    const { number, weights, p } = steps[chosen];
    showSource(weights);
    for (const [n, each] of [...target.children].entries()) each.setAttribute("aria-pressed", n === chosen);
    for (const [n, each] of [...lines.children].entries()) each.classList.toggle("pg-chosen", n === chosen);
    const top = Unrolled.ranked(weights).slice(0, 3);
    const places = top.map((j) => `${seen(read[j].text)}, symbol ${j + 1}, ${percent(weights[j])}`);
    const lacking = symbols.length - read.length;
    const said =
      `The network gives ${written(steps[chosen])} a probability of ${percent(p[number])}.` +
      (steps.at(-1).number === model.stop ? "" : ` It has not stopped after ${MOST} symbols.`) +
      (lacking ? ` Underlined, and not read: ${lacking} that the vocabulary lacks.` : "");
    say(said, `${written(steps[chosen])}, symbol ${k + 1} of ${steps.length}, looks at ${places.join("; ")}`);
  }

  /** Draw a line from each symbol that is written to each that was read, as thick and as strong as its weight. */
  function drawLines() {
    const middle = (at, all) => `${(100 * (at + 0.5)) / all.length}%`;
    const groups = steps.map(({ weights }, k) => {
      const drawn = read.map((each, j) => {
        const ends = { x1: middle(k, steps), y1: "100%", x2: middle(symbols.indexOf(each), symbols), y2: 0 };
        return svg("line", { ...ends, "stroke-opacity": weights[j], "stroke-width": 6 * weights[j] });
      });
      return svg("g", {}, ...drawn);
    });
    lines.replaceChildren(...groups);
  }

  function show() {
    symbols = Array.from(field.value, (text) => ({ text, number: model.number.get(text) }));
    read = symbols.filter(({ number }) => number !== undefined);
    const numbers = read.map(({ number }) => number);
    steps = numbers.length ? model.write(numbers, MOST, learned ? undefined : shuffler()) : [];
    const buttons = steps.map((step, k) => {
      const made = button(written(step), () => choose(k));
      made.addEventListener("focus", () => choose(k));
      made.addEventListener("mouseenter", () => choose(k));
      if (step.number === model.stop) made.setAttribute("aria-label", "stop");
      return made;
    });
    target.replaceChildren(...buttons);
    drawLines();
    if (steps.length) return choose(Math.min(chosen, steps.length - 1));
    showSource();
    say("There is nothing to read yet.");
  }

  const texts = data.examples ?? [];
  const example = choice(["another example", ...texts], (n) => {
    field.value = n ? texts[n - 1] : field.value;
    show();
  });
  const weights = choice(["as learned", "shuffled among the places"], (n) => {
    learned = n === 0;
    seed += 1;
    show();
  });
  const fields = [labelled("your text", field), ...(texts.length ? [labelled("or", example)] : [])];
  field.addEventListener("input", later(show));
  const attention = element("div", { className: "pg-attention" }, source, lines, target);
  place.append(controls(...fields, labelled("weights", weights)), element("div", { className: "pg-wide" }, attention));
  place.append(line, region);
  show();
};

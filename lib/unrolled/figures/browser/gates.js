// What do the gates do? Gates and state under the text as it is typed; and what becomes of the writing when one is held.
"use strict";

Unrolled.gates = async (place, networks, data = {}) => {
  const { announcer, button, choice, element, labelled, later, network, slider, symbol } = Unrolled.elements;
  const GATES = { f: "forget gate", i: "input gate", o: "output gate", z: "update gate", r: "reset gate" };
  const STATES = { c: "cell state", h: "hidden state" };
  const LENGTH = 24; // symbols that are written with the gate held, and without

  const field = element("textarea", { rows: 2, spellcheck: false, autocapitalize: "off" });
  const strips = element("div", { className: "pg-strips", role: "img" });
  const legend = element("p", { className: "pg-legend" });
  const free = element("p", { className: "pg-text" });
  const held = element("p", { className: "pg-text" });
  const { region, tell } = announcer();
  const controls = element("div", { className: "pg-controls" });
  const holding = element("div", { className: "pg-controls" });
  let model;
  let readFree;
  let readHeld;
  let part; // the gate or state whose units are all shown
  let unit; // the unit that is shown alone; 0 is none, 1 the first
  let force; // what a gate is held at: nothing, 0 or 1
  let gate; // which one
  let seed = 1;

  /** Return what holds the chosen gate, in the chosen unit or in all of them. */
  function hold(name, values) {
    if (force === null || name !== gate) return values;
    return values.map((value, k) => (unit === 0 || k === unit - 1 ? force : value));
  }

  /** Return a value as a colour: gates from nothing to full, states from one colour through none to another. */
  function colour(value, name) {
    const share = name in GATES ? value : Math.tanh(value);
    const [red, green, blue] = share < 0 ? [70, 110, 200] : [215, 105, 35];
    return [red, green, blue, Math.round(255 * Math.min(Math.abs(share), 1))];
  }

  /** Draw values one below the other, as wide as the symbol that they stand under. */
  function column(values, name) {
    const canvas = element("canvas", { width: 1, height: values.length, className: "pg-column" });
    const context = canvas.getContext("2d");
    const pixels = context.createImageData(1, values.length);
    for (const [k, value] of values.entries()) pixels.data.set(colour(value, name), 4 * k);
    context.putImageData(pixels, 0, 0);
    return canvas;
  }

  /** Draw one value of a unit, with its number for a mouse that rests on it. */
  function cell(value, name) {
    const made = element("span", { className: "pg-cell", title: `${name}: ${value.toFixed(2)}` });
    made.style.backgroundColor = `rgba(${colour(value, name)
      .map((level, k) => (k === 3 ? (level / 255).toFixed(2) : level))
      .join(", ")})`;
    return made;
  }

  function showStrips(symbols, steps) {
    const names = [...model.cell.gates, ...model.cell.state.toReversed()];
    const made = symbols.map((each, at) => {
      const values = steps[at + 1].state.at(-1); // of the top layer, after the symbol
      const below = unit
        ? names.map((name) => cell((values[name] ?? [])[unit - 1] ?? 0, name))
        : [column(Array.from(values[part] ?? []), part)];
      return element("span", { className: "pg-strip" }, symbol({ ...each, text: Unrolled.seen(each.text) }), ...below);
    });
    strips.replaceChildren(...made);
    strips.classList.toggle("pg-letters", !model.head.words);
    const all = { ...GATES, ...STATES };
    legend.textContent = unit
      ? `Unit ${unit}, from top to bottom: ${names.map((name) => `${all[name]} ${name}`).join(", ")}.`
      : `All ${model.hiddenSize} units, one below the other: ${all[part]} ${part}.`;
    legend.textContent +=
      " The stronger the colour, the more open the gate, or the larger the state; blue is negative.";
    const last = steps.at(-1).state.at(-1);
    const means = names
      .filter((name) => last[name])
      .map((name) => {
        const shown = unit ? [last[name][unit - 1]] : last[name];
        return `${all[name]} ${(shown.reduce((a, b) => a + b, 0) / shown.length).toFixed(2)}`;
      });
    strips.setAttribute(
      "aria-label",
      `${legend.textContent} After the last symbol${unit ? "" : ", on average"}: ${means.join(", ")}.`,
    );
  }

  /** Write on, once with all gates free and once with one held from the beginning of the text. */
  function showWriting(symbols) {
    const options = { temperature: 0.7, topP: 0.95 };
    const going = (read, holds) => {
      const step = read(symbols).at(-1);
      if (!step.logits) return "";
      const numbers = Unrolled.write(model, step, LENGTH * (model.head.words ? 1 : 4), Unrolled.generator(seed), {
        ...options,
        hold: holds,
      });
      const before = symbols.map(({ text }) => text);
      const spaced = Unrolled.spaced(model, [...before, ...numbers.map((number) => model.symbols[number])]);
      return spaced.slice(before.length).join("").replaceAll("\n", " ¶ ");
    };
    const whose = unit ? `unit ${unit}` : "all units";
    free.replaceChildren(element("strong", {}, "It goes on: "), going(readFree, undefined));
    held.hidden = force === null;
    if (force === null) return tell(free.textContent);
    const how = `With the ${GATES[gate]} of ${whose} held ${force ? "open" : "shut"}: `;
    held.replaceChildren(element("strong", {}, how), going(readHeld, hold));
    tell(held.textContent);
  }

  const reading = Unrolled.unhurried((read, all) => {
    legend.textContent = `Reading: ${read} of ${all}.`;
  });

  /** Draw gates and states, and then do what else is to be done with the symbols above them. */
  function show(then = () => {}) {
    const symbols = Unrolled.splitTyped(model, field.value);
    reading(readFree, symbols, () =>
      reading(readHeld, symbols, (steps) => {
        showStrips(symbols, steps);
        then(symbols);
      }),
    );
  }

  const { field: which, showFirst } = network(networks, (taken) => {
    model = taken;
    readFree = Unrolled.reader(model);
    part = model.cell.gates[0];
    gate = part;
    unit = 0;
    force = null;
    const readAgain = () => {
      readHeld = Unrolled.reader(model, hold);
      show(showWriting);
    };
    const values = [...model.cell.gates, ...model.cell.state];
    const shown = choice(
      values.map((name) => [name, `${GATES[name] ?? STATES[name]} ${name}`]),
      (name) => {
        part = name;
        show();
      },
    );
    const units = slider(
      "unit",
      { min: 0, max: model.hiddenSize, step: 1, value: 0, say: (n) => (n ? String(n) : "all") },
      (chosen) => {
        unit = chosen;
        readAgain();
      },
    );
    controls.replaceChildren(which, labelled("show", shown), units);
    const held = choice(
      model.cell.gates.map((name) => [name, `${GATES[name]} ${name}`]),
      (name) => {
        gate = name;
        readAgain();
      },
    );
    const forced = choice(
      [
        ["", "free"],
        ["1", "open"],
        ["0", "shut"],
      ],
      (level) => {
        force = level === "" ? null : Number(level);
        readAgain();
      },
    );
    const again = button("Another continuation", () => {
      seed += 1;
      show(showWriting);
    });
    holding.replaceChildren(labelled("hold the", held), labelled("", forced), again);
    forced.setAttribute("aria-label", "free, open or shut");
    field.value ||= data.text ?? Unrolled.opening(model);
    readAgain();
  });

  const writeLater = later(showWriting);
  field.addEventListener("input", () => show(writeLater));
  place.append(controls, labelled("your text", field), strips, legend, holding, free, held, region);
  await showFirst();
};

// What do the gates do? Gates and state under the text as it is typed; and what becomes of the writing when one is held.
"use strict";

Unrolled.gates = async (place, networks, data = {}) => {
  const { announcer, button, choice, element, labelled, later, network, slider, symbol } = Unrolled.elements;
  const GATES = { f: "forget gate", i: "input gate", o: "output gate", z: "update gate", r: "reset gate" };
  const ALL = { ...GATES, c: "cell state", h: "hidden state" };
  const LENGTH = 24; // symbols that are written with the gate held, and without

  const field = element("textarea", { rows: 2, spellcheck: false, autocapitalize: "off" });
  const strips = element("div", { className: "pg-strips", role: "img" });
  const map = element("div", { className: "pg-wide", tabIndex: 0, role: "group" }, strips);
  const legend = element("p", { className: "pg-legend" });
  const free = element("p", { className: "pg-text" });
  const held = element("p", { className: "pg-text" });
  const { region, tell } = announcer();
  const controls = element("div", { className: "pg-controls" });
  const holding = element("div", { className: "pg-controls" });
  let model;
  let readFree;
  let readHeld;
  let lives; // the half-life of each unit
  let order; // the units, from the slowest to the fastest
  let row; // the place of the chosen unit among them
  let part; // the gate or state whose units are all shown
  let force; // what a gate is held at: nothing, 0 or 1
  let gate; // which one
  let alone; // whether it is held in the chosen unit only
  let seed = 1;
  let choose; // takes the unit of a row

  /** Return what holds the chosen gate, in the chosen unit or in all of them. */
  function hold(name, values) {
    if (force === null || name !== gate) return values;
    return values.map((value, k) => (!alone || k === order[row] ? force : value));
  }

  /** Return the half-life of each unit, eq-half-life: after how many symbols its gate, on average, leaves half. */
  function halfLives(steps) {
    const gates = steps.map(({ state }) => state.at(-1)).filter(({ f, z }) => f ?? z);
    const kept = gates.map(({ f, z }) => f ?? z.map((value) => 1 - value));
    return Unrolled.sum(...kept).map((total) => -Math.LN2 / Math.log(total / kept.length));
  }

  /** Return the places of the symbols at which the state of a unit changes sign. */
  function turns(unit, symbols, steps) {
    const values = steps.map(({ state }) => state.at(-1)[kept()][unit]);
    return [...symbols.keys()].filter((at) => values[at] * values[at + 1] < 0);
  }

  /** Return the row of the unit whose state changes sign at a name and hardly anywhere else; of equals, the slowest. */
  function telling(symbols, steps, name) {
    const size = model.head.words ? 1 : name.length; // symbols of the name
    const texts = symbols.map(({ text }) => text);
    const first = texts.findIndex((_, at) => texts.slice(at, at + size).join("") === name);
    const places = order.map((unit) => turns(unit, symbols, steps));
    const rows = [...order.keys()].filter((k) => places[k].some((at) => first <= at && at < first + size));
    return rows.sort((a, b) => places[a].length - places[b].length)[0] ?? 0;
  }

  const kept = () => model.cell.state.at(-1); // the state that the gates guard: c, or a GRU's h
  const count = (n) => (n < 10 ? n.toPrecision(2) : n.toFixed());
  const life = (k) => `half-life ${count(lives[k])} ${model.head.words ? "words" : "characters"}`;

  /** Return a value as a colour: gates from nothing to full, states from one colour through none to another. */
  function colour(value, name) {
    const share = name in GATES ? value : Math.tanh(value);
    const [red, green, blue] = share < 0 ? [70, 110, 200] : [215, 105, 35];
    return [red, green, blue, Math.round(255 * Math.min(Math.abs(share), 1))];
  }

  /** Draw values one below the other, as wide as the symbol that they stand under. */
  function column(values, name) {
    const canvas = element("canvas", { width: 1, height: values.length });
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

  /** Name the rows: half-lives beside the units, and then what is shown of the chosen one. */
  function labels(names) {
    const units = element("span", { className: "pg-units" });
    const last = order.length - 1;
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      const where = { 0: "slow ", 1: "fast " }[share] ?? "";
      units.append(element("span", {}, where + count(lives[order[Math.round(share * last)]])));
    }
    const head = element("span", {}, "half-life ", element("i", {}, "n"), element("sub", {}, "1/2"));
    const rest = names.map((name) => element("span", { className: "pg-name" }, `${ALL[name]} ${name}`));
    return element("span", { className: "pg-strip pg-rows" }, head, units, ...rest);
  }

  function showStrips(symbols, steps) {
    const names = [...model.cell.gates, ...model.cell.state.toReversed()];
    const unit = order[row];
    const made = symbols.map((each, at) => {
      const values = steps[at + 1].state.at(-1); // of the top layer, after the symbol
      const sorted = values[part] ? order.map((k) => values[part][k]) : [];
      const cells = names.map((name) => cell(values[name]?.[unit] ?? 0, name));
      const top = symbol({ ...each, text: Unrolled.seen(each.text) });
      const units = element("span", { className: "pg-column" }, column(sorted, part));
      return element("span", { className: "pg-strip" }, top, units, ...cells);
    });
    strips.replaceChildren(labels(names), ...made);
    strips.style.setProperty("--row", (row + 0.5) / order.length);
    strips.classList.toggle("pg-letters", !model.head.words);
    const where = turns(unit, symbols, steps).map((at) => `“${Unrolled.seen(symbols[at].text)}”`);
    const more = where.length > 5 ? `, and ${where.length - 5} times more` : "";
    legend.textContent =
      `Above, the ${ALL[part]} of all ${order.length} units, the slowest at the top; below, unit ${unit + 1} alone, ` +
      `${life(unit)}: its ${ALL[kept()]} ` +
      (where.length ? `changes sign at ${where.slice(0, 5).join(", ")}${more}. ` : "keeps its sign. ") +
      "The stronger the colour, the more open the gate, or the larger the state; blue is negative.";
    const last = steps.at(-1).state.at(-1);
    const ends = names.filter((name) => last[name]).map((name) => `${ALL[name]} ${last[name][unit].toFixed(2)}`);
    strips.setAttribute("aria-label", `${legend.textContent} After the last symbol: ${ends.join(", ")}.`);
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
    const whose = alone ? `unit ${order[row] + 1}` : "all units";
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
    const example = data.text ?? Unrolled.opening(model);
    const symbols = Unrolled.split(model, example);
    const steps = readFree(symbols);
    lives = halfLives(steps.slice(1));
    order = Unrolled.ranked(lives);
    row = data.name ? telling(symbols, steps, data.name) : 0;
    part = model.cell.gates[0];
    gate = part;
    force = null;
    alone = false;
    const readAgain = () => {
      readHeld = Unrolled.reader(model, hold);
      show(showWriting);
    };
    const values = [...model.cell.gates, ...model.cell.state];
    const shown = choice(
      values.map((name) => [name, `${ALL[name]} ${name}`]),
      (name) => {
        part = name;
        show();
      },
    );
    const last = order.length - 1;
    const say = (chosen) => `${order[chosen] + 1}, ${life(order[chosen])}`;
    const units = slider("unit", { min: 0, max: last, step: 1, value: row, say }, (chosen) => {
      row = chosen;
      readAgain();
    });
    const rows = units.querySelector("input");
    choose = (chosen) => {
      rows.value = chosen; // which keeps it between first and last
      rows.dispatchEvent(new Event("input"));
    };
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
    const whose = choice(
      [
        ["all", "all units"],
        ["one", "this unit"],
      ],
      (units) => {
        alone = units === "one";
        readAgain();
      },
    );
    const again = button("Another continuation", () => {
      seed += 1;
      show(showWriting);
    });
    holding.replaceChildren(labelled("hold the", held), labelled("of", whose), labelled("", forced), again);
    forced.setAttribute("aria-label", "free, open or shut");
    field.value ||= example;
    readAgain();
  });

  const writeLater = later(showWriting);
  field.addEventListener("input", () =>
    show((symbols) => {
      map.scrollLeft = map.scrollWidth; // to what is being typed
      writeLater(symbols);
    }),
  );
  map.setAttribute("aria-label", "units by half-life; up and down choose one");
  map.addEventListener("click", ({ target, offsetY }) => {
    if (target.tagName === "CANVAS") choose(Math.floor((offsetY / target.clientHeight) * order.length));
  });
  map.addEventListener("keydown", (event) => {
    const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!way) return;
    event.preventDefault(); // the page stays where it is
    choose(row + way);
  });
  place.append(controls, labelled("your text", field), map, legend, holding, free, held, region);
  await showFirst();
};

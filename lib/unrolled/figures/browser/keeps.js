// An LSTM by hand: one unit, whose gates the reader moves; its cell is a tank of water.
"use strict";

/**
 * @param {object} data tasks: of each its words, and for each word the gates and the candidate with which it is read,
 *   or none, so that they stay as they are; presets: names of some settings; range: how high and how low the tank is.
 */
Unrolled.keeps = (place, { tasks, presets, range }) => {
  const { button, chart, choice, controls, element, labelled, slider, speaker, svg, ways } = Unrolled.elements;
  const LABELS = { f: "f, forget gate", i: "i, input gate", g: "c̃, candidate", o: "o, output gate" };
  const WIDE = 64; // pixels of the tank
  const length = tasks[0].words.length;
  const text = element("p", { className: "pg-text" });
  const formulas = element("p", { className: "pg-text pg-formulas" });
  const { line, region, say: tell } = speaker();
  const say = (value) =>
    value
      .toFixed(2)
      .replace(/^-0\.00$/, "0.00")
      .replace("-", "−");
  const axes = {
    x: { range: [0, length], ticks: Array.from({ length: length + 1 }, (_, t) => t) },
    y: { range: [-range, range], ticks: [-range, -range / 2, 0, range / 2, range] },
    xlabel: "step t",
    ylabel: "state",
    say: (value) => String(value).replace("-", "−"),
  };
  const { box, down, draw, height } = chart(axes, [
    { name: "c, what is kept", look: "pg-kept" },
    { name: "h, what is shown", look: "pg-shown" },
  ]);
  const tank = svg("svg", { class: "pg-tank", width: WIDE, height, "aria-hidden": "true" });
  const values = { f: 1, i: 1, g: 1, o: 1 };
  let task = tasks[0];
  let states; // before the step: {c, h} at the steps 0 to t − 1

  /** Take a step of the engine's LSTM with one unit: the gates are held, and the candidate comes from its bias. */
  function step({ c, h }) {
    const zeros = new Float64Array(4);
    const layer = { W_xh: zeros, W_hh: zeros, b_h: Float64Array.of(0, 0, Math.atanh(values.g), 0) };
    const before = { c: Float64Array.of(c), h: Float64Array.of(h) };
    const hold = (gate) => Float64Array.of(values[gate]);
    const after = Unrolled.CELLS.lstm.step(layer, Float64Array.of(0), before, { hold });
    return { c: after.c[0], h: after.h[0] };
  }

  function drawTank(before, c) {
    const level = (value, look) => svg("line", { x1: 0, x2: WIDE, y1: down(value), y2: down(value), class: look });
    const box = (low, high, look) =>
      svg("rect", { x: 1, width: WIDE - 2, y: down(high), height: down(low) - down(high), class: look });
    tank.replaceChildren(
      box(Math.min(c, 0), Math.max(c, 0), "pg-water"),
      level(0, "pg-grid"),
      level(before, "pg-guess"),
      level(c, "pg-kept"),
      box(-range, range, "pg-wall"),
      svg("text", { x: WIDE / 2, y: down(-range) + 16, "text-anchor": "middle" }, `c = ${say(c)}`),
    );
  }

  /** Show both formulas, each term the more lit the more it contributes. */
  function drawFormulas(t, before, { c, h }) {
    const { f, i, g, o } = values;
    const at = (letter, step) => [letter, element("sub", {}, String(step))];
    const number = (value) => (value < 0 ? `(${say(value)})` : say(value));
    const term = (size, ...parts) => {
      const made = element("span", {}, ...parts);
      made.style.setProperty("--share", Math.min(Math.abs(size), 1));
      return made;
    };
    const [kept, added, shown] = [f * before, i * g, Math.tanh(c)];
    const keeps = term(kept, ...at("f", t), " ", ...at("c", t - 1));
    const adds = term(added, ...at("i", t), " ", ...at("c̃", t));
    const sum = [term(kept, `${say(f)} · ${number(before)}`), " + ", term(added, `${say(i)} · ${number(g)}`)];
    const shows = [term(h, ...at("o", t), " tanh ", ...at("c", t)), " = ", term(h, `${say(o)} · ${number(shown)}`)];
    formulas.replaceChildren(
      element("span", {}, ...at("c", t), " = ", keeps, " + ", adds, " = ", ...sum, ` = ${say(c)}`),
      element("span", {}, ...at("h", t), " = ", ...shows, ` = ${say(h)}`),
    );
  }

  function show() {
    const t = states.length;
    const before = states.at(-1);
    const after = step(before);
    const words = task.words.flatMap((word, at) => {
      const look = at === t - 1 ? "pg-first" : at < t ? "" : "pg-unread";
      return [element("span", { className: look }, word), " "];
    });
    text.replaceChildren(...words);
    drawTank(before.c, after.c);
    drawFormulas(t, before.c, after);
    const said =
      `Step ${t} of ${length}, ${task.words[t - 1]}: of ${say(before.c)} the forget gate keeps ` +
      `${say(values.f * before.c)}, the input gate adds ${say(values.i * values.g)}. ` +
      `The cell holds ${say(after.c)} and shows ${say(after.h)}.`;
    const points = (name) => [...states, after].map((state, at) => [at, state[name]]);
    draw([points("c"), points("h")], said);
    tell(said);
    next.disabled = t === length;
    if (next.disabled) place.dispatchEvent(new Event("over", { bubbles: true }));
  }

  const sliders = {};
  for (const [name, label] of Object.entries(LABELS)) {
    const shown = { min: name === "g" ? -1 : 0, max: 1, step: 0.05, value: 1, say };
    sliders[name] = slider(label, shown, (value) => {
      values[name] = value;
      show();
    });
  }
  const set = (settings = {}) => {
    for (const [name, value] of Object.entries(settings)) sliders[name].set(value);
  };

  /** Come to the next word, with the gates as the task has them. */
  function read() {
    set(task.settings?.[task.words[states.length - 1]]);
    show();
  }
  const next = button("Next step", () => {
    states.push(step(states.at(-1)));
    read();
  });
  const begin = () => {
    states = [{ c: 0, h: 0 }];
    read();
  };
  const names = tasks.map(({ name }) => name);
  const which = choice(names, (n) => {
    task = tasks[n];
    begin();
  });
  const ready = Object.entries(presets).map(([name, settings]) => button(name, () => set(settings)));
  const gates = element("div", { className: "pg-gates" }, ...Object.values(sliders));
  place.append(controls(labelled("task", which), next, button("Start again", begin)), text, gates);
  place.append(ways("set the gates to", "set the gates to ", ...ready), formulas);
  place.append(element("div", { className: "pg-beside" }, tank, box), line, region);
  begin();
};
Unrolled.keeps.asks = "Before each step, guess what the cell will hold; then press Next step.";

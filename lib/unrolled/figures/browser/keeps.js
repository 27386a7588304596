// An LSTM by hand: one unit, whose gates the reader moves; its cell is a tank of water.
"use strict";

/**
 * @param {object} data tasks: of each its words, and for each word the gates and the candidate with which it is read,
 *   or none, so that they stay as they are; presets: names of some settings; range: how high and how low the tank is.
 */
Unrolled.keeps = async (place, _networks, { tasks, presets, range }) => {
  const { announcer, button, choice, element, labelled, slider, svg } = Unrolled.elements;
  const SLIDERS = {
    f: ["f, forget gate", 0],
    i: ["i, input gate", 0],
    g: ["c̃, candidate", -1],
    o: ["o, output gate", 0],
  };
  const WIDE = 64; // pixels of the tank
  const length = tasks[0].words.length;
  const text = element("p", { className: "pg-text" });
  const formulas = element("p", { className: "pg-text pg-formulas" });
  const status = element("p", { className: "pg-score" });
  const { region, tell } = announcer();
  const ticks = [-range, -range / 2, 0, range / 2, range];
  const axes = {
    x: { range: [0, length], ticks: Array.from({ length: length + 1 }, (_, t) => t) },
    y: { range: [-range, range], ticks },
    xlabel: "step t",
    ylabel: "state",
    say: (value) => String(value).replace("-", "−"),
  };
  const lines = [
    { name: "c, what is kept", look: "pg-kept" },
    { name: "h, what is shown", look: "pg-shown" },
  ];
  const { box, down, draw, height } = Unrolled.chart(axes, lines);
  const tank = svg("svg", { class: "pg-tank", width: WIDE, height, "aria-hidden": "true" });
  const values = { f: 1, i: 1, g: 1, o: 1 };
  let task = tasks[0];
  let states; // before the step: {c, h} at the steps 0 to t − 1

  const say = (value) =>
    value
      .toFixed(2)
      .replace(/^-(?=.*[1-9])/, "−")
      .replace("-", "");

  /** Take a step of the engine's LSTM with one unit: the gates are held, and the candidate comes from its bias. */
  function step({ c, h }) {
    const zeros = new Float64Array(4);
    const layer = { W_xh: zeros, W_hh: zeros, b_h: Float64Array.of(0, 0, Math.atanh(values.g), 0) };
    const before = { c: Float64Array.of(c), h: Float64Array.of(h) };
    const after = Unrolled.CELLS.lstm.step(layer, Float64Array.of(0), before, (gate) => Float64Array.of(values[gate]));
    return { c: after.c[0], h: after.h[0] };
  }

  function drawTank(before, c) {
    const line = (y, look) => svg("line", { x1: 0, x2: WIDE, y1: y, y2: y, class: look });
    const [zero, level] = [down(0), down(c)];
    const water = { x: 1, width: WIDE - 2, y: Math.min(zero, level), height: Math.abs(zero - level) };
    const walls = { x: 1, width: WIDE - 2, y: down(range), height: down(-range) - down(range), class: "pg-wall" };
    const number = { x: WIDE / 2, y: down(-range) + 16, "text-anchor": "middle" };
    tank.replaceChildren(
      svg("rect", { ...water, class: "pg-water" }),
      line(zero, "pg-grid"),
      line(down(before), "pg-guess"),
      line(level, "pg-kept"),
      svg("rect", walls),
      svg("text", number, `c = ${say(c)}`),
    );
  }

  /** Return a term of a formula, the more lit the more it contributes. */
  function term(size, ...parts) {
    const made = element("span", {}, ...parts);
    made.style.setProperty("--share", Math.min(Math.abs(size), 1));
    return made;
  }

  function drawFormulas(t, before, { c, h }) {
    const { f, i, g, o } = values;
    const at = (letter, number) => [letter, element("sub", {}, String(number))];
    const number = (value) => (value < 0 ? `(${say(value)})` : say(value));
    const [kept, added] = [f * before, i * g];
    const first = element("span", {}, ...at("c", t), " = ");
    first.append(
      term(kept, ...at("f", t), " ", ...at("c", t - 1)),
      " + ",
      term(added, ...at("i", t), " ", ...at("c̃", t)),
    );
    first.append(" = ", term(kept, `${say(f)} · ${number(before)}`), " + ", term(added, `${say(i)} · ${number(g)}`));
    first.append(` = ${say(c)}`);
    const second = element("span", {}, ...at("h", t), " = ", term(h, ...at("o", t), " tanh ", ...at("c", t)), " = ");
    second.append(term(h, `${say(o)} · ${number(Math.tanh(c))}`), ` = ${say(h)}`);
    formulas.replaceChildren(first, second);
  }

  function show() {
    const t = states.length;
    const before = states.at(-1);
    const after = step(before);
    const words = task.words.map((word, at) => {
      const look = at === t - 1 ? "pg-first" : at < t ? "" : "pg-unread";
      return [element("span", { className: look }, word), " "];
    });
    text.replaceChildren(...words.flat());
    drawTank(before.c, after.c);
    drawFormulas(t, before.c, after);
    const points = (name) => [...states, after].map((state, at) => [at, state[name]]);
    const said =
      `Step ${t} of ${length}, ${task.words[t - 1]}: of ${say(before.c)} the forget gate keeps ` +
      `${say(values.f * before.c)}, the input gate adds ${say(values.i * values.g)}. ` +
      `The cell holds ${say(after.c)} and shows ${say(after.h)}.`;
    draw([{ points: points("c") }, { points: points("h") }], `Line chart. ${said}`);
    status.textContent = said;
    tell(said);
    next.disabled = t === length;
  }

  const sliders = Object.fromEntries(
    Object.entries(SLIDERS).map(([name, [label, min]]) => {
      const field = slider(label, { min, max: 1, step: 0.05, value: 1, say }, (value) => {
        values[name] = value;
        show();
      });
      return [name, field];
    }),
  );
  function set(settings = {}) {
    for (const [name, value] of Object.entries(settings)) {
      const input = sliders[name].querySelector("input");
      input.value = value;
      input.dispatchEvent(new Event("input"));
    }
  }

  /** Come to the next word, with the gates as the task has them. */
  function read() {
    set(task.settings?.[task.words[states.length - 1]]);
    show();
  }
  const next = button("Next step", () => {
    states.push(step(states.at(-1)));
    read();
  });
  function begin() {
    states = [{ c: 0, h: 0 }];
    read();
  }
  const names = tasks.map(({ name }, at) => [at, name]);
  const which = choice(names, (at) => {
    task = tasks[at];
    begin();
  });
  const ready = Object.entries(presets).map(([name, settings]) => button(name, () => set(settings)));
  const row = (...fields) => element("div", { className: "pg-controls" }, ...fields);
  place.append(row(labelled("task", which), next, button("Start again", begin)), text);
  place.append(
    element("div", { className: "pg-gates" }, ...Object.values(sliders)),
    row("set the gates to", ...ready),
    formulas,
  );
  place.append(element("div", { className: "pg-beside" }, tank, box), status, region);
  begin();
};

// The parts that all demonstrations are made of: fields, sliders, bars, line charts, and what a screen reader is told.
"use strict";

globalThis.Unrolled ??= {}; // a demonstration without networks comes without their engine

Unrolled.elements = (() => {
  let fresh = 0;

  /** Return a new element; what is no property of it becomes an attribute. */
  function element(tag, properties = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name in made) made[name] = value;
      else made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  /** Return a new element of a drawing. */
  function svg(tag, attributes, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  const button = (text, onclick) => element("button", { type: "button", onclick }, text);
  const controls = (...fields) => element("div", { className: "pg-controls" }, ...fields);

  /** Return a row of buttons, of which one is pressed, under a name. */
  const ways = (label, ...buttons) =>
    element("div", { className: "pg-controls pg-ways", role: "group", "aria-label": label }, ...buttons);

  /** Return a field beside its label. */
  function labelled(label, field) {
    fresh += 1;
    field.id ||= `demonstration-${fresh}`;
    return element("span", { className: "pg-field" }, element("label", { htmlFor: field.id }, label), field);
  }

  /** Return a choice among texts; `changed` is given the number of the one that was chosen. */
  function choice(texts, changed) {
    const made = texts.map((text) => element("option", {}, text));
    return element("select", { onchange: (event) => changed(event.target.selectedIndex) }, ...made);
  }

  /** Return a slider with its value beside it, in the words of `say`, and `set`; `changed` is given the number. */
  function slider(label, { min, max, step = 1, value, say = String }, changed) {
    const output = element("output", { "aria-hidden": "true" });
    const input = element("input", { type: "range", min, max, step, value }); // it says its own value aloud
    const field = labelled(label, input);
    field.append(output);
    field.show = (number) => {
      input.value = number;
      output.textContent = say(Number(input.value));
      input.setAttribute("aria-valuetext", output.textContent);
    };
    field.set = (number) => {
      field.show(number);
      changed(Number(input.value));
    };
    field.show(value);
    input.addEventListener("input", () => field.set(input.value));
    return field;
  }

  /** Return a probability in words. */
  function percent(share) {
    if (share < 0.0005) return "< 0.1 %";
    return `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;
  }

  /** Return a symbol as it can be seen: a line break and a space have no shape of their own. */
  const seen = (text) => (text === "\n" ? "¶" : text === " " ? "␣" : text);

  /** Return a function that does its work once the reader has paused for a moment, so that typing never waits for it. */
  function later(work) {
    let timer;
    return (...given) => {
      clearTimeout(timer);
      timer = setTimeout(work, 150, ...given);
    };
  }

  /** Return a line for all to see, and a region that says it, or something else, aloud once the reader has paused. */
  function speaker() {
    const line = element("p", { className: "pg-score" });
    const region = element("p", { className: "pg-aloud", "aria-live": "polite" });
    const tell = later((text) => {
      region.textContent = text;
    });
    const say = (text, aloud = text) => {
      line.textContent = text;
      tell(aloud);
    };
    return { line, region, say };
  }

  /**
   * Return a line chart whose axes stay, `draw`, which gives it its lines anew, and for a drawing beside it the height
   * and `down`, where a value of y is.
   *
   * @param {object} axes x and y: [least, most] and where the ticks are; xlabel, ylabel; perhaps the height, in pixels.
   * @param {object[]} looks of each line: its name and its class in page.css.
   */
  function chart({ x, y, xlabel, ylabel, say = String, height = 230 }, looks) {
    const [LEFT, RIGHT, TOP, BOTTOM] = [54, 12, 10, 40];
    const picture = svg("svg", { class: "pg-chart", role: "img", height });
    const keys = looks.map(({ name, look }) => {
      const stroke = svg("line", { x1: 0, x2: 26, y1: 5, y2: 5, class: look });
      return element("li", {}, svg("svg", { width: 26, height: 10, "aria-hidden": "true" }, stroke), name);
    });
    const box = element("div", {}, element("ul", { className: "pg-keys" }, ...keys), picture);
    const share = (value, [least, most]) => (value - least) / (most - least);
    const down = (value) => height - BOTTOM - (height - TOP - BOTTOM) * share(value, y.range);
    let shown = [];
    let due = false;

    function paint() {
      due = false;
      const width = picture.clientWidth || 600;
      const across = (value) => LEFT + (width - LEFT - RIGHT) * share(value, x.range);
      const level = (value, look) =>
        svg("line", { x1: LEFT, x2: across(x.range[1]), y1: down(value), y2: down(value), class: look });
      const middle = { "text-anchor": "middle" };
      const words = [
        ...y.ticks.map((tick) => svg("text", { x: LEFT - 6, y: down(tick) + 4, "text-anchor": "end" }, say(tick))),
        ...x.ticks.map((tick) => {
          const anchor = tick === x.range[1] ? "end" : "middle";
          const place = { x: across(tick), y: height - BOTTOM + 16, "text-anchor": anchor };
          return svg("text", place, tick.toLocaleString("en"));
        }),
        svg("text", { x: (LEFT + width) / 2, y: height - 6, ...middle }, xlabel),
        svg("text", { transform: `translate(12 ${(height - BOTTOM) / 2}) rotate(-90)`, ...middle }, ylabel),
      ];
      const lines = shown.flatMap((points, n) => {
        const { look } = looks[n];
        if (typeof points === "number") return [level(points, look)];
        const path = points.map(([px, py]) => [across(px).toFixed(1), down(py).toFixed(1)]);
        if (!path.length) return [];
        const [cx, cy] = path.at(-1);
        return [svg("polyline", { points: path.join(" "), class: look }), svg("circle", { cx, cy, r: 3, class: look })];
      });
      picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
      picture.replaceChildren(...y.ticks.map((tick) => level(tick, "pg-grid")), ...words, ...lines);
    }

    /** Draw lines, each as points or as one level, and say in words what they show. */
    function draw(lines, summary) {
      shown = lines;
      picture.setAttribute("aria-label", `Line chart. ${summary}`);
      if (!due) requestAnimationFrame(paint);
      due = true;
    }

    new ResizeObserver(paint).observe(picture);
    return { box, down, draw, height };
  }

  return { button, chart, choice, controls, element, labelled, later, percent, seen, slider, speaker, svg, ways };
})();

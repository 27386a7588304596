// Symbol by symbol: networks side by side write the target of one source, from all of its states or from one vector.
"use strict";

/**
 * @param {object} data text, the first source; shown, how many symbols are written at first; reversed, whether the
 *   letters in reverse order are what is wanted.
 */
Unrolled.answers = async (place, networks, data = {}) => {
  const { announcer, button, element, labelled, later, percent, svg } = Unrolled.elements;
  const MOST = 40; // symbols that a network writes, if it does not stop before
  const [ACROSS, TOP, MIDDLE, BOTTOM] = [22, 16, 66, 120]; // pixels: a symbol's width; where source, vector and target are
  const models = await Promise.all(networks.map(({ load }) => load()));
  const field = element("input", { type: "text", size: 24, maxLength: MOST, spellcheck: false, autocapitalize: "off" });
  field.value = data.text ?? models[0].head.sources.slice(0, 8).join("");
  const { region, tell } = announcer();
  const readers = models.map((model) => {
    const name = Unrolled.title(model.head.name);
    const picture = svg("svg", { class: "pg-answer", role: "img" });
    const score = element("p", { className: "pg-score" });
    return {
      model,
      name,
      picture,
      score,
      box: element("div", {}, element("p", { className: "pg-legend" }, name), picture, score),
    };
  });
  let shown; // symbols of the targets that are written

  const x = (k) => ACROSS * (k + 0.5);
  const letter = (text, k, y) => svg("text", { x: x(k), y, "text-anchor": "middle" }, text);
  const line = (x1, y1, x2, y2, look, share = 1) =>
    svg("line", { x1, y1, x2, y2, class: look, "stroke-width": 1 + 5 * share, opacity: share });

  /** Draw the source, what is written, and between them the way from the one to the symbol that was written last. */
  function draw({ picture, model, steps }, source, target, marks) {
    const width = ACROSS * Math.max(source.length, steps.length);
    const last = target.length - 1;
    const { weights } = steps[last];
    const middle = (ACROSS * source.length) / 2;
    const box = { x: middle - 16, y: MIDDLE - 13, width: 32, height: 26, class: "pg-vector" };
    const ways = weights
      ? source.map((_, j) => line(x(last), BOTTOM - 18, x(j), TOP + 6, "pg-way", weights[j]))
      : [
          ...source.map((_, j) => line(x(j), TOP + 6, middle, MIDDLE, "pg-way", 0.3)),
          line(middle, MIDDLE, x(last), BOTTOM - 18, "pg-way", 0.3),
          svg("rect", box),
          svg("text", { x: middle, y: MIDDLE + 5, "text-anchor": "middle" }, "s₀"),
        ];
    const marked = marks.map((look, k) => line(x(k) - 7, BOTTOM + 6, x(k) + 7, BOTTOM + 6, look, 0.3));
    for (const mark of marked) mark.setAttribute("opacity", 1);
    picture.setAttribute("viewBox", `0 0 ${width} ${BOTTOM + 10}`);
    picture.style.maxWidth = `${width}px`;
    const read = source.map((text, j) => letter(text, j, TOP));
    picture.replaceChildren(...ways, ...read, ...target.map((text, k) => letter(text, k, BOTTOM)), ...marked);
    const kind = model.head.shapes.W_q ? "attention" : "one vector";
    picture.setAttribute("aria-label", `Read: ${source.join("")}. Written with ${kind}: ${target.join("")}.`);
  }

  /** Show what a network has written so far, and return it in words. */
  function write(reader) {
    const { model, name, picture, score, steps } = reader;
    if (!steps.length) {
      picture.replaceChildren();
      score.textContent = "There is nothing to read yet.";
      return score.textContent;
    }
    const source = reader.source.map(Unrolled.seen);
    const wanted = [...source].reverse().concat("■");
    const written = steps.slice(0, shown);
    const target = written.map(({ number }) => (number === model.stop ? "■" : Unrolled.seen(model.symbols[number])));
    const right = target.map((text, k) => text === wanted[k]);
    draw(reader, source, target, data.reversed ? right.map((is) => (is ? "pg-yes" : "pg-no")) : []);
    const { number, p, weights } = written.at(-1);
    const top = weights && Unrolled.ranked(weights)[0];
    score.textContent =
      `${target.at(-1)}, probability ${percent(p[number])}` +
      (weights ? `, from ${source[top]}, symbol ${top + 1}, weight ${percent(weights[top])}.` : ".") +
      (data.reversed ? ` Right so far: ${right.filter(Boolean).length} of ${target.length}.` : "");
    return `${name}: ${score.textContent}`;
  }

  function show() {
    next.disabled = all.disabled = readers.every(({ steps }) => steps.length <= shown);
    tell(readers.map(write).join(" "));
  }
  const reveal = (count) => () => {
    shown += count;
    show();
  };
  const next = button("Next symbol", reveal(1));
  const all = button("Write on", reveal(MOST));
  function begin(count = 1) {
    shown = count;
    for (const reader of readers) {
      reader.source = Array.from(field.value).filter((text) => reader.model.number.has(text));
      const numbers = reader.source.map((text) => reader.model.number.get(text));
      reader.steps = numbers.length ? reader.model.write(numbers, MOST) : [];
    }
    show();
  }
  field.addEventListener(
    "input",
    later(() => begin()),
  );
  const controls = element("div", { className: "pg-controls" }, labelled("your text", field));
  controls.append(
    next,
    all,
    button("Start again", () => begin()),
  );
  place.append(controls, element("div", { className: "pg-parts" }, ...readers.map(({ box }) => box)), region);
  begin(data.shown);
};

// One query and its keys: the reader drags the query; scores, weights and the mean run along.
"use strict";

/**
 * @param {object} data keys and values, pairs of numbers; query, the first one; range of its two entries; sizes, the
 *   lengths of query and keys among which the reader chooses: what is beyond two entries is drawn, −1 or 1.
 */
Unrolled.asks = async (place, _networks, { keys, values, query, range, sizes }) => {
  const { announcer, bar, button, choice, element, labelled, percent, slider, svg } = Unrolled.elements;
  const SIDE = 220; // pixels of each plane
  const plane = svg("svg", { class: "pg-plane pg-drag", viewBox: `0 0 ${SIDE} ${SIDE}`, "aria-hidden": "true" });
  const inside = svg("svg", { class: "pg-plane", viewBox: `0 0 ${SIDE} ${SIDE}`, "aria-hidden": "true" });
  const table = element("table", { className: "pg-scores" });
  const status = element("p", { className: "pg-score" });
  const { region, tell } = announcer();
  const most = Math.max(...values.flat());
  let [d] = sizes;
  let scaled = false;
  let seed = 1;

  const say = (value) => value.toFixed(2).replace("-", "−");
  const pair = (v, digits) => `(${Array.from(v, (each) => each.toFixed(digits).replace("-", "−")).join(", ")})`;

  /** Return the query and the keys with d entries each; the entries beyond two are drawn one after the other. */
  function extended() {
    const random = Unrolled.generator(seed);
    const vectors = [query, ...keys].map((v) => [...v]);
    for (let entry = 2; entry < d; entry++) for (const v of vectors) v.push(random() < 0.5 ? -1 : 1);
    return vectors.map((v) => Float64Array.from(v));
  }

  const toPlane = ([x, y]) => [(SIDE / 2) * (1 + x / (1.15 * range)), (SIDE / 2) * (1 - y / (1.15 * range))];
  const toInside = ([x, y]) => [SIDE * (0.1 + (0.8 * x) / most), SIDE * (0.9 - (0.8 * y) / most)];
  const label = ([x, y], text) => svg("text", { x, y, "text-anchor": "middle" }, text);
  const dot = ([cx, cy], r, look) => svg("circle", { cx, cy, r, class: look });
  const line = ([x1, y1], [x2, y2], look, width = 1) =>
    svg("line", { x1, y1, x2, y2, class: look, "stroke-width": width });

  function drawPlane(weights) {
    const far = 1.1 * range;
    const cross = [
      line(toPlane([-far, 0]), toPlane([far, 0]), "pg-grid"),
      line(toPlane([0, -far]), toPlane([0, far]), "pg-grid"),
    ];
    const arrows = keys.flatMap((key, j) => {
      const beside = key.map((entry) => entry * (1 + 0.5 / Math.hypot(...key)));
      return [
        line(toPlane([0, 0]), toPlane(key), "pg-key", 1.5 + 6 * weights[j]),
        dot(toPlane(key), 3, "pg-end"),
        label(toPlane(beside), String(j + 1)),
      ];
    });
    const asked = [line(toPlane([0, 0]), toPlane(query), "pg-query", 2), dot(toPlane(query), 9, "pg-query")];
    plane.replaceChildren(...cross, ...arrows, ...asked);
  }

  function drawInside(weights, mean) {
    const corners = svg("polygon", {
      points: values.map((value) => toInside(value).join(",")).join(" "),
      class: "pg-hull",
    });
    const dots = values.flatMap((value, j) => {
      const [x, y] = toInside(value);
      return [dot([x, y], 3 + 6 * weights[j], "pg-end"), label([x, y + (y < SIDE / 2 ? -12 : 20)], String(j + 1))];
    });
    inside.replaceChildren(corners, ...dots, dot(toInside(mean), 7, "pg-query pg-mean"));
  }

  function show() {
    const [asked, ...described] = extended();
    const scores = described.map((key) => Unrolled.product(key, asked)[0] / (scaled ? Math.sqrt(d) : 1));
    const { mean, weights } = Unrolled.attention(
      scaled ? asked : asked.map((entry) => entry * Math.sqrt(d)),
      described,
      values,
    );
    drawPlane(weights);
    drawInside(weights, mean);
    const cell = (...content) => element("td", {}, ...content);
    const rows = scores.map((score, j) =>
      element("tr", {}, element("th", { scope: "row" }, String(j + 1)), cell(say(score)), cell(bar(weights[j]))),
    );
    const head = ["key", "score", "weight"].map((name) => element("th", { scope: "col" }, name));
    table.replaceChildren(element("tbody", {}, element("tr", {}, ...head), ...rows));
    const said =
      `The scores are ${scores.map(say).join(", ")}; the weights ${Array.from(weights, (weight) => percent(weight)).join(", ")}. ` +
      `The mean of the values is ${pair(mean, 1)}.`;
    status.textContent = said;
    tell(said);
    again.disabled = d === 2;
  }

  const entries = ["q₁", "q₂"].map((name, n) =>
    slider(name, { min: -range, max: range, step: 0.05, value: query[n], say }, (value) => {
      query[n] = value;
      show();
    }),
  );
  /** Take the query to where the pointer is: its sliders follow. */
  function drag({ clientX, clientY }) {
    const { left, top, width } = plane.getBoundingClientRect();
    const at = [clientX - left, width - (clientY - top)].map((pixels) => 1.15 * range * ((2 * pixels) / width - 1));
    for (const [n, field] of entries.entries()) {
      const input = field.querySelector("input");
      input.value = at[n];
      input.dispatchEvent(new Event("input"));
    }
  }
  plane.addEventListener("pointerdown", (event) => {
    plane.setPointerCapture(event.pointerId);
    drag(event);
  });
  plane.addEventListener("pointermove", (event) => {
    if (plane.hasPointerCapture(event.pointerId)) drag(event);
  });
  const length = slider(
    "dimension d",
    { min: 0, max: sizes.length - 1, step: 1, value: 0, say: (n) => String(sizes[n]) },
    (n) => {
      d = sizes[n];
      show();
    },
  );
  const roots = [
    ["", "as they are"],
    ["scaled", "divided by √d"],
  ];
  const root = choice(roots, (kind) => {
    scaled = kind === "scaled";
    show();
  });
  const again = button("Draw others", () => {
    seed += 1;
    show();
  });
  const row = (...fields) => element("div", { className: "pg-controls" }, ...fields);
  const part = (title, content) => element("div", {}, element("p", { className: "pg-legend" }, title), content);
  const parts = [part("keys and query", plane), part("scores and weights", table), part("values and mean", inside)];
  place.append(row(...entries), row(length, labelled("scores", root), again));
  place.append(element("div", { className: "pg-parts" }, ...parts), status, region);
  show();
};

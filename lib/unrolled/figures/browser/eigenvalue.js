// An eigenvalue to drag: each step multiplies a state by it, and a gradient on its way back.
"use strict";

/**
 * Return (1, 0) after 0, 1, 2, … steps, as a state and as a gradient, under W = r (cos ω, −sin ω; sin ω, cos ω), whose
 * eigenvalues are r e^{iω} and r e^{−iω}. A step multiplies the state by W, and on its way back the gradient by Wᵀ.
 */
Unrolled.carried = (radius, degrees, steps) => {
  const angle = (degrees * Math.PI) / 180;
  const [a, b] = [radius * Math.cos(angle), radius * Math.sin(angle)];
  const [states, gradients] = [[[1, 0]], [[1, 0]]];
  for (let k = 0; k < steps; k++) {
    const [[x, y], [u, v]] = [states[k], gradients[k]];
    states.push([a * x - b * y, b * x + a * y]);
    gradients.push([a * u + b * v, a * v - b * u]);
  }
  return { states, gradients };
};

/** @param {object} data steps; presets, each [name, radius, angle in degrees], of which the last is shown first. */
Unrolled.eigenvalue = (place, _networks, { steps, presets }) => {
  const { announcer, button, element, percent, slider, svg } = Unrolled.elements;
  const [SIDE, VIEW, HEIGHT] = [260, 1.3, 165]; // pixels of the plane, and how far it shows; pixels of a chart
  const looks = [
    { name: "state", look: "pg-forth" },
    { name: "gradient", look: "pg-back" },
  ];
  const { region, tell } = announcer();
  const status = element("p", { className: "pg-score" });
  let [, radius, degrees] = presets.at(-1);

  const across = (x) => (SIDE / 2) * (1 + x / VIEW);
  const down = (y) => (SIDE / 2) * (1 - y / VIEW);
  const paths = looks.map(({ look }) => svg("polyline", { class: look }));
  const handles = looks.map(() => svg("circle", { r: 8, class: "pg-handle" })); // the eigenvalue and its conjugate
  const plane = svg(
    "svg",
    { class: "pg-chart pg-circle", role: "img", viewBox: `0 0 ${SIDE} ${SIDE}` },
    svg("line", { x1: 0, x2: SIDE, y1: down(0), y2: down(0), class: "pg-grid" }),
    svg("line", { x1: across(0), x2: across(0), y1: 0, y2: SIDE, class: "pg-grid" }),
    svg("circle", { cx: across(0), cy: down(0), r: across(1) - across(0), class: "pg-guess" }),
    svg("text", { x: SIDE, y: down(0) + 18, "text-anchor": "end" }, "real"),
    svg("text", { x: across(0) + 5, y: 12 }, "imaginary"),
    ...paths,
    ...handles,
  );
  const x = { range: [0, steps], ticks: [0, 1, 2, 3].map((n) => (n * steps) / 3) };
  const chart = (range, ticks, ylabel, say) =>
    Unrolled.chart({ x, y: { range, ticks }, xlabel: "step", ylabel, say, height: HEIGHT }, looks);
  const lengths = chart([-3, 3], [-2, 0, 2], "length", (power) => String(10 ** power));
  const firsts = chart([-2, 2], [-2, -1, 0, 1, 2], "first coordinate");
  firsts.box.querySelector(".pg-keys").remove(); // they are those of the chart above

  function summary() {
    const [left, some] = [radius ** steps, Math.abs(Math.LN2 / Math.log(radius)).toFixed(1)];
    const turn = degrees ? `a full turn takes ${Number((360 / degrees).toFixed(1))} steps` : "the direction stays";
    const fate =
      radius === 1
        ? `after ${steps} steps the state is as long as it was, and so is the gradient`
        : radius < 1
          ? `after ${some} steps half of the state is left, and half of the gradient; after ${steps} steps, ${percent(left)}`
          : `after ${some} steps the state is twice as long, and so is the gradient; after ${steps} steps, ${left.toFixed(1)} times as long`;
    return `Radius ${radius.toFixed(2)}, angle ${degrees}°: ${fate}. Meanwhile ${turn}.`;
  }

  /** Draw of each of the two what has a length from `least` to `most`: the state from step 0 on, the gradient from the end. */
  function trace({ draw }, carried, [least, most], value, said) {
    const within = ([, , length]) => least <= length && length <= most;
    const lines = carried.map((vectors, backward) => {
      const points = vectors.map((v, k) => [backward ? steps - k : k, value(v), Math.hypot(...v)]);
      return { points: points.filter(within) };
    });
    draw(lines, said);
  }

  function show() {
    const carried = Object.values(Unrolled.carried(radius, degrees, steps));
    const said = summary();
    for (const [n, vectors] of carried.entries()) {
      const seen = vectors.filter((v) => Math.hypot(...v) <= VIEW);
      const [first, second] = vectors[1];
      paths[n].setAttribute("points", seen.map(([a, b]) => `${across(a).toFixed(1)},${down(b).toFixed(1)}`).join(" "));
      handles[n].setAttribute("cx", across(first));
      handles[n].setAttribute("cy", down(second));
    }
    trace(lengths, carried, [1e-3, 1e3], (v) => Math.log10(Math.hypot(...v)), `Line chart of the lengths. ${said}`);
    trace(firsts, carried, [0, 2], ([first]) => first, `Line chart of the first coordinates. ${said}`);
    plane.setAttribute("aria-label", `The complex plane, with the unit circle and the two eigenvalues. ${said}`);
    for (const [n, [, r, angle]] of presets.entries())
      ways.children[n].setAttribute("aria-pressed", r === radius && angle === degrees);
    status.textContent = said;
    tell(said);
  }

  const far = slider("radius", { min: 0.5, max: 1.1, step: 0.01, value: radius, say: (r) => r.toFixed(2) }, (r) => {
    radius = r;
    show();
  });
  const turned = slider("angle", { min: 0, max: 180, step: 1, value: degrees, say: (n) => `${n}°` }, (n) => {
    degrees = n;
    show();
  });
  /** Move the sliders, which say so and show it. */
  function move(...values) {
    for (const [n, field] of [far, turned].entries()) {
      const input = field.querySelector("input");
      input.value = values[n];
      input.dispatchEvent(new Event("input"));
    }
  }
  const ways = element(
    "div",
    { className: "pg-controls pg-heroes", role: "group", "aria-label": "an eigenvalue that" },
    ...presets.map(([name, ...values]) => button(name, () => move(...values))),
  );

  function follow({ clientX, clientY }) {
    const { left, top, width } = plane.getBoundingClientRect();
    const [a, b] = [clientX - left, top - clientY].map((side, n) => VIEW * ((2 * side) / width + (n ? 1 : -1)));
    move(Math.hypot(a, b), (Math.atan2(Math.abs(b), a) * 180) / Math.PI);
  }
  for (const handle of handles)
    handle.addEventListener("pointerdown", ({ pointerId }) => plane.setPointerCapture(pointerId));
  plane.addEventListener("pointermove", (event) => plane.hasPointerCapture(event.pointerId) && follow(event));
  plane.addEventListener("click", follow);

  const fields = element("div", { className: "pg-controls" }, far, turned);
  const charts = element("div", { className: "pg-abreast" }, plane, element("div", {}, lengths.box, firsts.box));
  place.append(ways, fields, charts, status, region);
  show();
};

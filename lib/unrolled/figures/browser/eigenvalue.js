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
  return [states, gradients];
};

/** @param {object} data steps; presets, each [name, radius, angle in degrees], of which the last is shown first. */
Unrolled.eigenvalue = (place, { steps, presets }) => {
  const { button, chart, controls, element, percent, slider, speaker, svg, ways } = Unrolled.elements;
  const [SIDE, VIEW] = [260, 1.3]; // pixels of the plane, and how far it shows
  const looks = [
    { name: "state", look: "pg-forth" },
    { name: "gradient", look: "pg-back" },
  ];
  const { line, region, say } = speaker();
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
  const axes = (range, ticks, ylabel) => ({ x, y: { range, ticks }, xlabel: "step", ylabel, height: 165 });
  const powers = axes([-3, 3], [-2, 0, 2], "length");
  const lengths = chart({ ...powers, say: (power) => String(10 ** power) }, looks);
  const firsts = chart(axes([-2, 2], [-2, -1, 0, 1, 2], "first coordinate"), looks);
  firsts.box.querySelector(".pg-keys").remove(); // they are those of the chart above

  function summary() {
    const [left, some] = [radius ** steps, Math.abs(Math.LN2 / Math.log(radius)).toFixed(1)];
    const turn = degrees ? `a full turn takes ${Number((360 / degrees).toFixed(1))} steps` : "the direction stays";
    const fades = `after ${some} steps half of the state is left, and half of the gradient; after ${steps} steps, ${percent(left)}`;
    const grows = `after ${some} steps the state is twice as long, and so is the gradient; after ${steps} steps, ${left.toFixed(1)} times as long`;
    const lasts = `after ${steps} steps the state is as long as it was, and so is the gradient`;
    const fate = radius === 1 ? lasts : radius < 1 ? fades : grows;
    return `Radius ${radius.toFixed(2)}, angle ${degrees}°: ${fate}. Meanwhile ${turn}.`;
  }

  function show() {
    const said = summary();
    const carried = Unrolled.carried(radius, degrees, steps);
    for (const [n, vectors] of carried.entries()) {
      const seen = vectors.filter((v) => Math.hypot(...v) <= VIEW);
      paths[n].setAttribute("points", seen.map(([a, b]) => `${across(a).toFixed(1)},${down(b).toFixed(1)}`).join(" "));
      handles[n].setAttribute("cx", across(vectors[1][0]));
      handles[n].setAttribute("cy", down(vectors[1][1]));
    }
    // what has a length that the chart shows: the state from step 0 on, the gradient from the end
    const trace = ({ draw }, least, most, value, what) => {
      const lines = carried.map((vectors, backward) => {
        const points = vectors.map((v, k) => [backward ? steps - k : k, value(v), Math.hypot(...v)]);
        return points.filter(([, , length]) => least <= length && length <= most);
      });
      draw(lines, `${what}. ${said}`);
    };
    trace(lengths, 1e-3, 1e3, (v) => Math.log10(Math.hypot(...v)), "The lengths");
    trace(firsts, 0, 2, ([first]) => first, "The first coordinates");
    plane.setAttribute("aria-label", `The complex plane, with the unit circle and the two eigenvalues. ${said}`);
    for (const [n, [, r, angle]] of presets.entries())
      named.children[n].setAttribute("aria-pressed", r === radius && angle === degrees);
    say(said);
  }

  const far = slider("radius", { min: 0.5, max: 1.1, step: 0.01, value: radius, say: (r) => r.toFixed(2) }, (r) => {
    radius = r;
    show();
  });
  const turned = slider("angle", { min: 0, max: 180, value: degrees, say: (n) => `${n}°` }, (n) => {
    degrees = n;
    show();
  });
  const move = (r, angle) => {
    far.set(r);
    turned.set(angle);
  };
  const named = ways("an eigenvalue that", ...presets.map(([name, ...at]) => button(name, () => move(...at))));

  function follow({ clientX, clientY }) {
    const { left, top, width } = plane.getBoundingClientRect();
    const [a, b] = [clientX - left, top - clientY].map((side, n) => VIEW * ((2 * side) / width + (n ? 1 : -1)));
    move(Math.hypot(a, b), (Math.atan2(Math.abs(b), a) * 180) / Math.PI);
  }
  for (const handle of handles)
    handle.addEventListener("pointerdown", ({ pointerId }) => plane.setPointerCapture(pointerId));
  plane.addEventListener("pointermove", (event) => plane.hasPointerCapture(event.pointerId) && follow(event));
  plane.addEventListener("click", follow);

  const charts = element("div", { className: "pg-abreast" }, plane, element("div", {}, lengths.box, firsts.box));
  place.append(named, controls(far, turned), charts, line, region);
  show();
};

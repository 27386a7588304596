// What a reader needs to train a network: buttons, a chart of how far it has come, and rest while nobody looks.
"use strict";

/**
 * Return a line chart whose axes stay, `draw`, which gives it its lines anew, and for a drawing beside it the height
 * and `down`, where a value of y is.
 *
 * @param {object} axes x and y: [least, most] and where the ticks are; xlabel, ylabel; perhaps the height, in pixels.
 * @param {object[]} looks of each line: its name and its class in page.css.
 */
Unrolled.chart = ({ x, y, xlabel, ylabel, say = String, height = 230 }, looks) => {
  const { element, svg } = Unrolled.elements;
  const [LEFT, RIGHT, TOP, BOTTOM] = [54, 12, 10, 40];
  const picture = svg("svg", { class: "pg-chart", role: "img", height });
  const keys = looks.map(({ name, look }) => {
    const stroke = svg("line", { x1: 0, x2: 26, y1: 5, y2: 5, class: look });
    const key = svg("svg", { width: 26, height: 10, "aria-hidden": "true" }, stroke);
    return element("li", {}, key, name);
  });
  const box = element("div", {}, element("ul", { className: "pg-keys" }, ...keys), picture);
  const down = (value) =>
    height - BOTTOM - ((height - TOP - BOTTOM) * (value - y.range[0])) / (y.range[1] - y.range[0]);
  let shown = [];

  function paint() {
    const width = picture.clientWidth || 600;
    const across = (value) => LEFT + ((width - LEFT - RIGHT) * (value - x.range[0])) / (x.range[1] - x.range[0]);
    const ends = { x1: LEFT, x2: width - RIGHT };
    const grid = y.ticks.flatMap((tick) => [
      svg("line", { ...ends, y1: down(tick), y2: down(tick), class: "pg-grid" }),
      svg("text", { x: LEFT - 6, y: down(tick) + 4, "text-anchor": "end" }, say(tick)),
    ]);
    const below = x.ticks.map((tick) => {
      const anchor = tick === x.range[1] ? "end" : "middle";
      return svg(
        "text",
        { x: across(tick), y: height - BOTTOM + 16, "text-anchor": anchor },
        tick.toLocaleString("en"),
      );
    });
    const names = [
      svg("text", { x: (LEFT + width) / 2, y: height - 6, "text-anchor": "middle" }, xlabel),
      svg("text", { transform: `translate(12 ${(height - BOTTOM) / 2}) rotate(-90)`, "text-anchor": "middle" }, ylabel),
    ];
    const lines = shown.flatMap(({ look, points, level }) => {
      if (level !== undefined) return [svg("line", { ...ends, y1: down(level), y2: down(level), class: look })];
      const path = points.map(([px, py]) => `${across(px).toFixed(1)},${down(py).toFixed(1)}`);
      const [cx, cy] = path.at(-1)?.split(",") ?? [];
      return path.length
        ? [svg("polyline", { points: path.join(" "), class: look }), svg("circle", { cx, cy, r: 3, class: look })]
        : [];
    });
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    picture.replaceChildren(...grid, ...below, ...names, ...lines);
  }

  new ResizeObserver(paint).observe(picture);
  let due = false;
  const draw = (lines, summary) => {
    shown = lines.map((line, n) => ({ ...line, look: looks[n].look }));
    picture.setAttribute("aria-label", summary);
    if (due) return;
    due = true;
    requestAnimationFrame(() => {
      due = false;
      paint();
    });
  };
  return { box, down, draw, height };
};

/**
 * Return the buttons Train or Pause, Step, and Start again, for some studies that go side by side.
 *
 * Nothing is begun before it is asked for. What goes on rests while `place` is out of sight or its page is hidden.
 *
 * @param {function} begin returns fresh studies.
 * @param {function} changed is told when training goes on, pauses, ends or is to begin afresh, and then that it is.
 */
Unrolled.practice = (place, begin, changed) => {
  const { button, element } = Unrolled.elements;
  let studies = [];
  let going = false;
  let seen = true;
  let done = 0; // how many studies have come to their end

  const send = (message) => {
    for (const study of studies) study.send(message);
  };
  function obey() {
    send(going && seen && !document.hidden ? { go: true } : { pause: true });
    run.textContent = going ? "Pause" : "Train";
  }
  function start() {
    if (!studies.length) studies = begin();
  }
  const run = button("Train", () => {
    start();
    going = !going;
    obey();
    changed(false);
  });
  const step = button("Step", () => {
    start();
    going = false;
    obey();
    send({ step: true });
  });
  const enable = (able) => {
    run.disabled = step.disabled = !able;
  };
  function restart() {
    for (const { end } of studies) end();
    [studies, going, done] = [[], false, 0];
    enable(true);
    obey();
    changed(true);
  }
  function finished() {
    done += 1;
    if (done < studies.length) return;
    going = false;
    enable(false);
    run.textContent = "Train";
    changed(false);
  }

  new IntersectionObserver((entries) => {
    seen = entries.at(-1).isIntersecting;
    obey();
  }).observe(place);
  document.addEventListener("visibilitychange", obey);
  const box = element("div", { className: "pg-controls" }, run, step, button("Start again", restart));
  return { box, enable, finished, restart, going: () => going };
};

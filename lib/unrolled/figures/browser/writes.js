// How shall it write? Symbol by symbol, with temperature, top-k and nucleus in the reader's hand, and a beam beside.
"use strict";

Unrolled.writes = async (place, networks, data = {}) => {
  const { announcer, button, element, fillBars, fillText, labelled, later, network, slider, topThree } =
    Unrolled.elements;
  const [WIDTH, AHEAD, PAUSE] = [4, 12, 120]; // hypotheses; symbols that they look ahead; milliseconds between steps
  const STILL = matchMedia("(prefers-reduced-motion: reduce)").matches; // then Run is a leap of so many symbols
  const LEAP = 25;
  const field = element("input", { type: "text", spellcheck: false, autocapitalize: "off" });
  const text = element("p", { className: "pg-text pg-page" });
  const bars = element("ol", { className: "pg-bars", "aria-label": "what may come next; cut off are the faint ones" });
  const ahead = element("p", { className: "pg-score" });
  const { region, tell } = announcer();
  const options = { temperature: 0.8, topK: Infinity, topP: 1 };
  let model;
  let read;
  let written = []; // numbers, after the prompt
  let random; // one random number for each place, so that a step that was undone is taken again alike
  let seed = 1;
  let timer = null;
  let heard = 0; // how many of what is written came before the last step or run

  const symbols = () => [
    ...Unrolled.split(model, field.value),
    ...written.map((number) => ({ text: model.symbols[number], number })),
  ];

  function show() {
    const all = symbols();
    const prompt = all.length - written.length;
    fillText(text, model, all, (made, at) => made.classList.toggle("pg-written", at >= prompt));
    const step = read(all).at(-1);
    if (!step.logits) return;
    const probabilities = Unrolled.softmax(step.logits);
    const kept = Unrolled.distribution(step.logits, options);
    const likely = fillBars(bars, model, probabilities, 8, (number) => kept[number] > 0);
    const fresh = Unrolled.spaced(
      model,
      all.map((each) => each.text),
    ).slice(prompt + heard);
    tell((fresh.length ? `Written: ${fresh.join("").trim()}. ` : "") + topThree(model, kept, likely));
    ahead.textContent = "";
    showBeam(all, step);
  }

  /** Say what a beam would write: it looks for the most probable text, not for a likely one. */
  const showBeam = later((all, step) => {
    if (timer !== null) return;
    const [best] = Unrolled.beam(model, step, AHEAD, WIDTH);
    const more = best.numbers.map((number) => model.symbols[number]);
    const spaced = Unrolled.spaced(model, [...all.map((each) => each.text), ...more]);
    const continued = spaced.slice(all.length).join("").replaceAll("\n", " ¶ ");
    ahead.replaceChildren(
      element("strong", {}, `A beam of ${WIDTH} would write: `),
      `${continued} (probability ${Math.exp(-best.nats).toPrecision(2)})`,
    );
  });

  function step() {
    const { logits } = read(symbols()).at(-1);
    if (!logits) return stop();
    while (random.length <= written.length) random.push(random.next());
    written.push(Unrolled.draw(Unrolled.distribution(logits, options), random[written.length]));
    show();
    if (written.length >= 400) stop();
  }

  function writeNext() {
    heard = written.length;
    step();
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    run.textContent = "Run";
    show();
  }

  function restart() {
    written = [];
    heard = 0;
    random = [];
    random.next = Unrolled.generator(seed);
    stop();
  }

  const set = (name) => (value) => {
    options[name] = value;
    show();
  };
  const run = button("Run", () => {
    if (timer !== null) return stop();
    heard = written.length;
    if (STILL) {
      for (let n = 0; n < LEAP; n++) step();
      return;
    }
    run.textContent = "Pause";
    timer = setInterval(step, PAUSE);
  });
  const undo = button("Undo", () => {
    written.pop();
    heard = written.length;
    stop();
  });
  const other = button("Another continuation", () => {
    seed += 1;
    restart();
  });
  const { field: which, showFirst } = network(networks, (taken) => {
    model = taken;
    read = Unrolled.reader(model);
    restart();
  });
  const powers = [1, 2, 3, 5, 10, 20, 50, Infinity];
  field.value = data.text ?? "";
  field.addEventListener("input", restart);
  place.append(
    element("div", { className: "pg-controls" }, which, labelled("it begins", field)),
    element(
      "div",
      { className: "pg-controls" },
      slider("temperature", { min: 0.1, max: 2, step: 0.1, value: 0.8, say: (t) => t.toFixed(1) }, set("temperature")),
      slider("top-k", { min: 0, max: 7, step: 1, value: 7, say: (n) => (n < 7 ? String(powers[n]) : "all") }, (n) =>
        set("topK")(powers[n]),
      ),
      slider("nucleus", { min: 0.1, max: 1, step: 0.05, value: 1, say: (p) => p.toFixed(2) }, set("topP")),
    ),
    element("div", { className: "pg-controls" }, button("Step", writeNext), run, undo, other),
    text,
    bars,
    ahead,
    region,
  );
  await showFirst();
};

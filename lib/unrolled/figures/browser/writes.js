// How shall it write? Symbol by symbol, with temperature, top-k and nucleus in the reader's hand, and a beam beside.
"use strict";

/** A word as the book's stories have it: letters and hyphens, perhaps after an apostrophe, or any other single sign. */
Unrolled.WORD = /'?[\p{L}\p{M}\p{N}-]+|[^ ]/gu;

/**
 * Return the symbols of a text, each {text, number}; the number is undefined where the vocabulary lacks the symbol.
 *
 * What stands between spaces and is no word of the vocabulary is split as the stories are.
 */
Unrolled.split = ({ head, number }, text) => {
  const chunks = text.split(/ +/);
  const words = () => chunks.flatMap((chunk) => (number.has(chunk) ? [chunk] : (chunk.match(Unrolled.WORD) ?? [])));
  return (head.words ? words() : Array.from(text)).map((each) => ({ text: each, number: number.get(each) }));
};

/** Return how symbols are written one after another: characters as they are, words with spaces where English has them. */
Unrolled.spaced = ({ head }, texts) => {
  if (!head.words) return texts;
  let quoted = false;
  let glue = true; // the next word follows without a space
  return texts.map((text) => {
    const closes = text === '"' && quoted;
    const attached = glue || closes || text === "\n" || /^([.,;:!?]|'.*)$/.test(text);
    glue = (text === '"' && !quoted) || text === "\n";
    quoted = text === "\n" ? false : quoted !== (text === '"');
    return attached ? text : ` ${text}`;
  });
};

Unrolled.writes = (place, data, model) => {
  const { button, controls, element, labelled, later, percent, seen, slider, speaker } = Unrolled.elements;
  const [WIDTH, AHEAD, PAUSE] = [4, 12, 120]; // hypotheses; symbols that they look ahead; milliseconds between steps
  const [LIKELY, MOST] = [8, 400]; // bars; symbols that are written
  const STILL = matchMedia("(prefers-reduced-motion: reduce)").matches; // then Run is a leap of so many symbols
  const LEAP = 25;
  const POWERS = [1, 2, 3, 5, 10, 20, 50, Infinity];
  const field = element("input", { type: "text", spellcheck: false, autocapitalize: "off", value: data.text ?? "" });
  const text = element("p", { className: "pg-text pg-page" });
  const bars = element("ol", { className: "pg-bars", "aria-label": "what may come next; cut off are the faint ones" });
  const { line, region, say } = speaker();
  const options = { temperature: 0.8, topK: Infinity, topP: 1 };
  let prompt; // symbols, each {text, number}
  let steps; // of the model: after the prompt, and after each symbol that is written
  let written = []; // numbers
  let random; // one random number for each place, so that a step that was undone is taken again alike
  let seed = 1;
  let timer = null;
  let heard = 0; // how many of what is written came before the last step or run

  /** Return the prompt, what is written, and perhaps more, as it is written, from some symbol on. */
  function spelt(from, more = []) {
    const fresh = [...written, ...more].map((number) => model.symbols[number]);
    return Unrolled.spaced(model, [...prompt.map((each) => each.text), ...fresh]).slice(from);
  }

  function showText() {
    const parts = spelt(0).map((piece, at) => {
      const unknown = at < prompt.length && prompt[at].number === undefined;
      const look = at >= prompt.length ? "pg-written" : unknown ? "pg-unknown" : "";
      return [piece.startsWith(" ") ? " " : "", element("span", { className: look }, piece.replace(/^ (?=.)/, ""))];
    });
    text.replaceChildren(...parts.flat());
  }

  function show() {
    showText();
    const { logits } = steps.at(-1);
    const [all, kept] = [Unrolled.softmax(logits), Unrolled.distribution(logits, options)];
    const likely = Unrolled.ranked(all).slice(0, LIKELY);
    const rows = likely.map((number) => {
      const drawn = element("span", { className: "pg-bar" });
      drawn.style.setProperty("--share", all[number]);
      const measure = element("span", { className: "pg-number" }, percent(all[number]));
      const name = element("span", { className: "pg-symbol" }, seen(model.symbols[number]));
      return element("li", { className: kept[number] > 0 ? "" : "pg-cut" }, name, drawn, measure);
    });
    bars.replaceChildren(...rows);
    const fresh = spelt(prompt.length + heard)
      .join("")
      .trim();
    const best = Unrolled.ranked(kept).slice(0, 3);
    const next = best.map((number) => `${seen(model.symbols[number])} ${percent(kept[number])}`).join(", ");
    say("", `${fresh && `Written: ${fresh}. `}Most probable next: ${next}`);
    showBeam();
  }

  /** Say what a beam would write: it looks for the most probable text, not for a likely one. */
  const showBeam = later(() => {
    if (timer !== null) return;
    const [best] = Unrolled.beam(model, steps.at(-1), AHEAD, WIDTH);
    const continued = spelt(prompt.length + written.length, best.numbers)
      .join("")
      .replaceAll("\n", " ¶ ");
    const how = element("strong", {}, `A beam of ${WIDTH} would write: `);
    line.replaceChildren(how, `${continued} (probability ${Math.exp(-best.nats).toPrecision(2)})`);
  });

  function step() {
    if (written.length >= MOST) return stop();
    while (random.length <= written.length) random.push(random.next());
    const { state, logits } = steps.at(-1);
    const number = Unrolled.draw(Unrolled.distribution(logits, options), random[written.length]);
    written.push(number);
    steps.push(model.step(number, state));
    show();
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    run.textContent = "Run";
    show();
  }

  /** Read the prompt, after a line break as every story has it, and begin anew. */
  function restart() {
    prompt = Unrolled.split(model, field.value);
    const [first, unknown] = ["\n", "<unk>"].map((text) => model.number.get(text));
    let last = model.step(first ?? 0, model.initialState());
    for (const { number = unknown } of prompt) if (number !== undefined) last = model.step(number, last.state);
    [steps, written, heard, random] = [[last], [], 0, []];
    random.next = Unrolled.generator(seed);
    stop();
  }

  const set = (name, value) => {
    options[name] = value;
    show();
  };
  const once = button("Step", () => {
    heard = written.length;
    step();
  });
  const run = button("Run", () => {
    if (timer !== null) return stop();
    heard = written.length;
    if (STILL) return Array.from({ length: LEAP }, step);
    run.textContent = "Pause";
    timer = setInterval(step, PAUSE);
  });
  const undo = button("Undo", () => {
    if (written.length) [written, steps] = [written.slice(0, -1), steps.slice(0, -1)];
    heard = written.length;
    stop();
  });
  const other = button("Another continuation", () => {
    seed += 1;
    restart();
  });
  const daring = { min: 0.1, max: 2, step: 0.1, value: options.temperature, say: (t) => t.toFixed(1) };
  const cut = { min: 0, max: 7, value: 7, say: (n) => (n < 7 ? String(POWERS[n]) : "all") };
  const mass = { min: 0.1, max: 1, step: 0.05, value: 1, say: (p) => p.toFixed(2) };
  const sliders = controls(
    slider("temperature", daring, (t) => set("temperature", t)),
    slider("top-k", cut, (n) => set("topK", POWERS[n])),
    slider("nucleus", mass, (p) => set("topP", p)),
  );
  field.addEventListener("input", later(restart));
  place.append(controls(labelled("it begins", field)), sliders, controls(run, once, undo, other));
  place.append(text, bars, line, region);
  restart();
};

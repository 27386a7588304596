// Who remembers the hero? Networks read a story side by side: how probable was the hero's name, at each word?
"use strict";

/** Return the probability that a model gave a symbol at each of the symbols of a text, after the steps of a reader. */
Unrolled.chances = (symbols, steps, number) => symbols.map((_, at) => Unrolled.softmax(steps[at].logits)[number]);

/**
 * @param {object} data story: a list of sentences, as `Unrolled.tell` fills them in; hero, the first one; names; and
 *   late: so many words after the last mention, a name counts as remembered.
 */
Unrolled.race = async (place, networks, data) => {
  const { announcer, button, element, fillText, percent, slider, svg } = Unrolled.elements;
  const [PAUSE, ROW, TOP, LEFT, RIGHT] = [80, 34, 18, 48, 14]; // milliseconds a word; pixels
  const STILL = matchMedia("(prefers-reduced-motion: reduce)").matches; // then Play is a leap to the next late mention
  const models = await Promise.all(networks.map(({ load }) => load()));
  const kinds = models.map(({ head }) => head.core);
  const readers = models.map((model) => Unrolled.reader(model));
  const turns = Unrolled.unhurried(() => {});
  const story = element("p", { className: "pg-text pg-story", tabIndex: 0 });
  const height = TOP + ROW * models.length;
  const ribbons = svg("svg", { class: "pg-chart pg-race", role: "img", height });
  const score = element("p", { className: "pg-score" });
  const { region, tell } = announcer();
  let hero = data.hero;
  let symbols = [];
  let chances; // of each model: at each word the probability of the hero's name
  let mentions = []; // {at, since}: the words where the name stands again, and how many words after the last time
  let read; // so many words
  let timer = null;

  /** Return what the networks gave the name at a mention, in words. */
  const given = ({ at }) =>
    kinds.map((kind, m) => `${kind.toUpperCase()} ${percent(chances[m][at]).replaceAll(" ", "\u00a0")}`).join(", ");

  const late = () => mentions.filter(({ at, since }) => at < read && since >= data.late);

  function paint() {
    const width = ribbons.clientWidth || 600;
    const across = (word) => LEFT + ((width - LEFT - RIGHT) * word) / symbols.length;
    const wide = Math.max(across(1) - across(0), 3);
    const due = mentions.map(({ at }) => {
      const x = across(at) + wide / 2;
      return svg("line", { x1: x, x2: x, y1: TOP, y2: height, class: "pg-due" });
    });
    const after = mentions
      .filter(({ since }) => since >= data.late)
      .map(({ at, since }) => svg("text", { x: across(at) + wide / 2, y: 12, "text-anchor": "middle" }, since));
    const rows = kinds.flatMap((kind, m) => {
      const base = TOP + ROW * (m + 1);
      const bars = Array.from(chances[m].slice(0, read), (p, at) => {
        const tall = (ROW - 6) * p;
        return svg("rect", { x: across(at), y: base - tall, width: wide, height: tall, class: `pg-of-${kind}` });
      });
      const ground = svg("line", { x1: LEFT, x2: width - RIGHT, y1: base, y2: base, class: "pg-grid" });
      return [ground, svg("text", { x: 0, y: base - 8 }, kind.toUpperCase()), ...bars];
    });
    const head = svg("line", { x1: across(read), x2: across(read), y1: TOP, y2: height, class: "pg-head" });
    ribbons.setAttribute("viewBox", `0 0 ${width} ${height}`);
    ribbons.replaceChildren(svg("text", { x: 0, y: 12 }, "after"), ...due, ...after, ...rows, head);
    const word = story.children[Math.min(read, symbols.length - 1)];
    story.scrollTop = word.offsetTop - story.clientHeight / 2;
  }

  function show() {
    for (const [at, word] of [...story.children].entries()) word.classList.toggle("pg-unread", at >= read);
    const last = late().at(-1);
    score.textContent = last
      ? `${last.since} words after the last ${hero}, the name is due: ${given(last)}.`
      : `${hero} is not due yet.`;
    const all = late().map((mention) => `after ${mention.since} words, ${given(mention)}`);
    ribbons.setAttribute(
      "aria-label",
      `The probability of ${hero} at ${read} words: ${all.join("; ") || "not due yet"}`,
    );
    paint();
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
    tell(score.textContent);
  }

  function goTo(word) {
    read = word;
    far.querySelector("input").value = read;
    far.querySelector("input").setAttribute("aria-valuetext", `${read} of ${symbols.length}`);
    far.querySelector("output").textContent = read;
    show();
  }

  const play = button("Play", () => {
    if (timer !== null) return stop();
    const from = read < symbols.length ? read : 0;
    if (STILL) {
      goTo(mentions.find(({ at, since }) => at >= from && since >= data.late)?.at + 1 || symbols.length);
      return stop();
    }
    goTo(from);
    play.textContent = "Pause";
    timer = setInterval(() => {
      goTo(read + 1);
      if (read === symbols.length) stop();
    }, PAUSE);
  });

  /** Let every network read the story of a hero, one after the other, and show it. */
  async function take(name) {
    stop();
    hero = name;
    for (const each of heroes.children) each.setAttribute("aria-pressed", each.textContent === hero);
    const told = Unrolled.split(models[0], Unrolled.tell(data.names, data.story, name));
    const number = models[0].number.get(name);
    const found = [];
    for (const reader of readers) {
      const steps = await new Promise((resolve) => turns(reader, told, resolve));
      if (hero !== name) return; // another one was chosen meanwhile
      found.push(Unrolled.chances(told, steps, number));
    }
    const places = told.flatMap(({ text }, at) => (text === name ? [at] : []));
    [symbols, chances] = [told, found];
    mentions = places.slice(1).map((at, n) => ({ at, since: at - places[n] }));
    fillText(story, models[0], symbols, (made, at) => {
      if (symbols[at].text === name) made.className = at === places[0] ? "pg-first" : "pg-mention";
    });
    far.querySelector("input").max = symbols.length;
    goTo(symbols.length);
    tell(score.textContent);
  }

  const names = Object.values(data.names).flat().sort();
  const heroes = element(
    "div",
    { className: "pg-controls pg-heroes", role: "group", "aria-label": "hero" },
    ...names.map((name) => button(name, () => take(name))),
  );
  const far = slider("words read", { min: 0, max: 1, step: 1, value: 0 }, (word) => {
    stop();
    goTo(word);
  });
  place.append(heroes, story, ribbons, element("div", { className: "pg-controls" }, play, far), score, region);
  await take(hero);
  new ResizeObserver(paint).observe(ribbons);
};

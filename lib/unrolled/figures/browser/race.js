// Who remembers the hero? Networks read a story side by side: how probable was the hero's name, at each word?
"use strict";

/**
 * @param {object} data words of a story, with the hero's name and the pronouns as {hero}, {they}, …; heroes: what stands
 *   for these, `forms`, and of each network the probability of the name at each word, in ten-thousandths, `chances`;
 *   hero, the first one; late: so many words after the last mention, a name counts as remembered.
 */
Unrolled.race = (place, { words, heroes, hero, late }) => {
  const { button, controls, element, percent, slider, speaker, svg, ways } = Unrolled.elements;
  const [PAUSE, LONG, ROW, TOP, LEFT, RIGHT, WIDE] = [40, 900, 44, 20, 48, 14, 6]; // milliseconds a word; pixels
  const STILL = matchMedia("(prefers-reduced-motion: reduce)").matches; // then Play is a leap to the next late mention
  const kinds = Object.keys(heroes[hero].chances);
  const story = element("p", { className: "pg-text pg-story", tabIndex: 0 });
  const height = TOP + ROW * kinds.length;
  const ribbons = svg("svg", { class: "pg-chart pg-race", role: "img", height });
  const { line, region, say } = speaker();
  const places = [...words.keys()].filter((at) => words[at].includes("{hero}"));
  const mentions = places.slice(1).map((at, n) => ({ at, since: at - places[n] })); // words after the last time
  const due = mentions.filter(({ since }) => since >= late);
  let read = 0; // so many words
  let timer = null;

  const chance = (kind, at) => heroes[hero].chances[kind][at] / 10_000;

  /** Return what the networks gave the name at a mention, in words. */
  const given = ({ at }) =>
    kinds.map((kind) => `${kind.toUpperCase()} ${percent(chance(kind, at)).replaceAll(" ", "\u00a0")}`).join(", ");

  function paint() {
    const width = ribbons.clientWidth || 600;
    const across = (word) => LEFT + ((width - LEFT - RIGHT) * word) / words.length;
    const upright = (x, look) => svg("line", { x1: x, x2: x, y1: TOP, y2: height, class: look });
    const dotted = mentions.map(({ at }) => upright(across(at) + WIDE / 2, "pg-due"));
    const after = due.map(({ at, since }) => svg("text", { x: across(at), y: 12, "text-anchor": "middle" }, since));
    const rows = kinds.flatMap((kind, n) => {
      const base = TOP + ROW * (n + 1);
      const bars = Array.from({ length: read }, (_, at) => {
        const tall = (ROW - 6) * chance(kind, at);
        return svg("rect", { x: across(at), y: base - tall, width: WIDE, height: tall, class: `pg-of-${kind}` });
      });
      const badge = { y: base - 8, "text-anchor": "end", class: "pg-badge" };
      const passed = due.filter(({ at }) => at < read);
      const said = passed.map(({ at }) => svg("text", { ...badge, x: across(at) - 5 }, percent(chance(kind, at))));
      const ground = svg("line", { x1: LEFT, x2: width - RIGHT, y1: base, y2: base, class: "pg-grid" });
      return [ground, svg("text", { x: 0, y: base - 8 }, kind.toUpperCase()), ...bars, ...said];
    });
    ribbons.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const heading = svg("text", { x: 0, y: 12 }, `words since “${hero}”`);
    ribbons.replaceChildren(heading, ...dotted, ...after, ...rows, upright(across(read), "pg-head"));
  }

  /** Show the first words of the story, so many. */
  function goTo(word) {
    read = word;
    far.show(read);
    for (const [at, each] of [...story.children].entries()) each.classList.toggle("pg-unread", at >= read);
    const past = due.filter(({ at }) => at < read);
    const last = past.at(-1);
    const yet = timer === null ? "Press Play." : "Reading …";
    const said = last ? `${last.since} words after the last ${hero}, the name is due: ${given(last)}.` : yet;
    say(said, timer === null ? said : "");
    const all = past.map((mention) => `after ${mention.since} words, ${given(mention)}`).join("; ");
    ribbons.setAttribute("aria-label", `The probability of ${hero} at ${read} words: ${all || "not due yet"}`);
    paint();
    story.scrollTop = story.children[Math.min(read, words.length - 1)].offsetTop - story.clientHeight / 2;
  }

  function stop() {
    clearTimeout(timer);
    timer = null;
    play.textContent = "Play";
  }

  /** Read on by itself, from word to word, and slowly where the name is due. */
  function run(word) {
    timer = setTimeout(() => run(read + 1), due.some(({ at }) => at + 1 === word) ? LONG : PAUSE);
    play.textContent = "Pause";
    if (word >= words.length) stop();
    goTo(word);
  }

  const play = button("Play", () => {
    const playing = timer !== null;
    stop();
    if (playing) return goTo(read);
    const from = read < words.length ? read : 0;
    if (STILL) return goTo(due.find(({ at }) => at >= from)?.at + 1 || words.length);
    run(from);
  });

  /** Tell the story of a hero. */
  function take(name) {
    stop();
    hero = name;
    for (const each of named.children) each.setAttribute("aria-pressed", each.textContent === hero);
    const written = words.map((word) => word.replace(/\{(\w+)\}/, (_, form) => heroes[hero].forms[form]));
    const parts = written.flatMap((word, at) => {
      const mention = at === places[0] ? "pg-first" : places.includes(at) ? "pg-mention" : "";
      return [element("span", { className: mention }, word.trim()), word.endsWith(" ") ? " " : ""];
    });
    story.replaceChildren(...parts);
    goTo(0);
  }

  const named = ways("hero", ...Object.keys(heroes).map((name) => button(name, () => take(name) || play.click())));
  const far = slider("words read", { min: 0, max: words.length, value: 0 }, (word) => {
    stop();
    goTo(word);
  });
  place.append(named, story, ribbons, controls(play, far), line, region);
  take(hero);
  new ResizeObserver(paint).observe(ribbons);
  const start = ([{ isIntersecting }]) => isIntersecting && read === 0 && timer === null && play.click();
  if (!STILL) new IntersectionObserver(start, { threshold: 0.5 }).observe(ribbons);
};

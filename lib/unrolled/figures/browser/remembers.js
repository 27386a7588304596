// What does it remember? A story with a hero: each network is asked for the hero's name wherever it returns.
"use strict";

Unrolled.remembers = async (place, networks, data) => {
  const { announcer, bar, choice, element, fillText, labelled, percent, slider } = Unrolled.elements;
  const models = await Promise.all(networks.map(({ load }) => load()));
  const text = element("p", { className: "pg-text" });
  const body = element("tbody");
  const kinds = models.map(({ head }) => head.core.toUpperCase());
  const headings = kinds.map((name) => element("th", { scope: "col" }, name));
  const table = element(
    "table",
    { className: "pg-mentions" },
    element("caption", {}, "How probable was the hero’s name, each time it returned?"),
    element("thead", {}, element("tr", {}, element("td"), ...headings)),
    body,
  );
  const { region, tell } = announcer();
  const readers = models.map((model) => Unrolled.reader(model));
  const names = [...data.names.she, ...data.names.he].sort();
  const early = data.opening.join("").split("{hero}").length - 1; // mentions before the distance: the next is the test
  let hero = data.hero;
  let distance = data.distance;

  /** Return the story with as many sentences between as the reader wants. */
  const tale = () => {
    const between = data.between.slice(0, distance);
    return Unrolled.tell(data.names, [...data.opening, ...between, ...data.closing], hero);
  };

  /** Return what a model gives the hero's name before a symbol, and the name that it expects instead, if another. */
  function asked(model, { logits }) {
    const p = Unrolled.softmax(logits);
    const rivals = names.map((name) => [p[model.number.get(name)], name]).sort(([a], [b]) => b - a);
    return { share: p[model.number.get(hero)], instead: rivals[0][1] === hero ? null : rivals[0] };
  }

  function answer(model, step) {
    const { share, instead } = asked(model, step);
    const cell = element("td", {}, bar(share));
    if (!instead) return cell;
    const [p, name] = instead;
    cell.append(element("span", { className: "pg-instead" }, `${name} ${percent(p).replaceAll(" ", "\u00a0")}`));
    return cell;
  }

  function show() {
    const symbols = Unrolled.split(models[0], tale());
    const steps = readers.map((read) => read(symbols));
    const mentions = symbols.flatMap((each, at) => (each.text === hero ? [at] : []));
    fillText(text, models[0], symbols, (made, at) => {
      if (mentions.includes(at)) made.className = at === mentions[0] ? "pg-first" : "pg-mention";
    });
    const rows = mentions.slice(1).map((at, n) => {
      const since = at - mentions[n];
      const heading = element("th", { scope: "row" }, `after ${since} word${since === 1 ? "" : "s"}`);
      const className = n + 1 === early ? "pg-tested" : "";
      return element("tr", { className }, heading, ...models.map((model, m) => answer(model, steps[m][at])));
    });
    body.replaceChildren(...rows);
    const tested = mentions[early];
    const shares = models.map((model, m) => `${kinds[m]} ${percent(asked(model, steps[m][tested]).share)}`);
    tell(`${hero}, after ${tested - mentions[early - 1]} words: ${shares.join(", ")}`);
  }

  const who = choice(
    names.map((name) => [name, name]),
    (name) => {
      hero = name;
      show();
    },
  );
  who.value = hero;
  const far = slider(
    "sentences between",
    { min: 0, max: data.between.length, step: 1, value: distance },
    (sentences) => {
      distance = sentences;
      show();
    },
  );
  place.append(element("div", { className: "pg-controls" }, labelled("hero", who), far), text, table, region);
  show();
};

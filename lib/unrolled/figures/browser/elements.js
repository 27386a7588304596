// The parts that all widgets are made of: fields, sliders, bars, shaded text, and what a screen reader is told.
"use strict";

globalThis.Unrolled ??= {}; // a demonstration without networks comes without their engine

Unrolled.elements = (() => {
  let fresh = 0;

  /** Return a new element; what is no property of it becomes an attribute. */
  function element(tag, properties = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name in made) made[name] = value;
      else made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  /** Return a new element of a drawing. */
  function svg(tag, attributes, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  /** Return a field under its label. */
  function labelled(label, field) {
    fresh += 1;
    field.id ||= `demonstration-${fresh}`;
    return element("span", { className: "pg-field" }, element("label", { htmlFor: field.id }, label), field);
  }

  /** Return a choice among [value, text] pairs; `changed` is given the value. */
  function choice(options, changed) {
    const made = options.map(([value, text]) => element("option", { value }, text));
    return element("select", { onchange: (event) => changed(event.target.value) }, ...made);
  }

  /** Return a slider with its value beside it, in the words of `say`; `changed` is given the number. */
  function slider(label, { min, max, step, value, say = String }, changed) {
    const output = element("output", { "aria-hidden": "true" }, say(value));
    const input = element("input", { type: "range", min, max, step, value }); // it says its own value aloud
    input.setAttribute("aria-valuetext", say(value));
    input.addEventListener("input", () => {
      output.textContent = say(Number(input.value));
      input.setAttribute("aria-valuetext", output.textContent);
      changed(Number(input.value));
    });
    const field = labelled(label, input);
    field.append(output);
    return field;
  }

  const button = (text, onclick) => element("button", { type: "button", onclick }, text);

  /** Return a probability in words. */
  function percent(share) {
    if (share < 0.0005) return "< 0.1 %";
    return `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;
  }

  /** Return a bar from 0 to 1 with its number behind it. */
  function bar(share, text = percent(share)) {
    const drawn = element("span", { className: "pg-bar" });
    drawn.style.setProperty("--share", share);
    return element("span", { className: "pg-measure" }, drawn, element("span", { className: "pg-number" }, text));
  }

  /** Fill a list with the most probable symbols, a bar each; those that `kept` denies are faded. */
  function fillBars(list, model, probabilities, count, kept = () => true) {
    const likely = Unrolled.ranked(probabilities).slice(0, count);
    const rows = likely.map((number) => {
      const name = element("span", { className: "pg-symbol" }, Unrolled.seen(model.symbols[number]));
      return element("li", { className: kept(number) ? "" : "pg-cut" }, name, bar(probabilities[number]));
    });
    list.replaceChildren(...rows);
    return likely;
  }

  /** Return a function that does its work once the reader has paused for a moment, so that typing never waits for it. */
  function later(work) {
    let timer;
    return (...given) => {
      clearTimeout(timer);
      timer = setTimeout(work, 150, ...given);
    };
  }

  /** Return a live region, and what tells it something once the reader has paused. */
  function announcer() {
    const region = element("p", { className: "pg-announced", "aria-live": "polite" });
    const tell = later((text) => {
      region.textContent = text;
    });
    return { region, tell };
  }

  /** Say the three most probable symbols. */
  const topThree = (model, probabilities, likely) =>
    "Most probable next: " +
    likely
      .slice(0, 3)
      .map((number) => `${Unrolled.seen(model.symbols[number])} ${percent(probabilities[number])}`)
      .join(", ");

  /** Return a symbol of a text as a span; what the vocabulary lacks is underlined. */
  function symbol({ text, number }) {
    const made = element("span", { className: number === undefined ? "pg-unknown" : "" }, text === "\n" ? "¶\n" : text);
    if (number === undefined) made.title = `${Unrolled.seen(text)}: not in the vocabulary`;
    return made;
  }

  /** Fill a paragraph with symbols, written as texts are; `mark` may change the span of each. */
  function fillText(paragraph, model, symbols, mark) {
    const texts = symbols.map(({ text }) => text);
    const written = Unrolled.spaced(model, texts);
    const parts = symbols.flatMap((each, at) => {
      const made = symbol(each);
      mark(made, at);
      return written[at] === texts[at] ? [made] : [" ", made];
    });
    paragraph.replaceChildren(...parts);
  }

  /** Fill a paragraph with a text whose ground is the stronger the more of a surprise each symbol was. */
  function fillShaded(paragraph, model, symbols, surprises) {
    fillText(paragraph, model, symbols, (made, at) => {
      const nats = surprises[at];
      if (nats === null) return;
      made.style.setProperty("--share", Math.min(nats / 6, 1)); // e⁻⁶ is one in four hundred
      made.title = `${Unrolled.seen(symbols[at].text)}: ${nats.toFixed(2)} nats, probability ${percent(Math.exp(-nats))}`;
    });
  }

  /**
   * Return the choice among networks, and what shows the first: `taken` is given each model when it is here.
   *
   * @param {object[]} networks each {name, load}, where load returns the promise of the model.
   */
  function network(networks, taken) {
    const fault = element("span", { className: "pg-fault", role: "alert" });
    let asked = 0; // the latest choice: one that arrives late is not taken any more
    const take = async (number) => {
      asked = number;
      fault.textContent = "";
      try {
        const model = await networks[number].load();
        if (asked === number) taken(model);
      } catch (error) {
        if (asked === number) fault.textContent = error.message;
      }
    };
    const names = networks.map(({ name }, number) => [number, Unrolled.title(name)]);
    const field = labelled("network", choice(names, take));
    field.append(fault);
    const showFirst = async () => {
      const model = await networks[0].load();
      if (asked === 0) taken(model);
    };
    return { field, showFirst };
  }

  return {
    announcer,
    bar,
    button,
    choice,
    element,
    fillBars,
    fillShaded,
    fillText,
    labelled,
    later,
    network,
    percent,
    slider,
    svg,
    symbol,
    topThree,
  };
})();

// What does it expect? The reader types; each symbol is shaded by its surprise, and the bars say what may come next.
"use strict";

Unrolled.expects = async (place, networks, data = {}) => {
  const { announcer, element, fillBars, fillShaded, labelled, network, topThree } = Unrolled.elements;
  const field = element("textarea", { rows: 3, spellcheck: false, autocapitalize: "off" });
  const shaded = element("p", { className: "pg-text" });
  const score = element("p", { className: "pg-score" });
  const bars = element("ol", { className: "pg-bars", "aria-label": "the most probable next symbols" });
  const { region, tell } = announcer();
  let model;
  let read;

  const reading = Unrolled.unhurried((read, all) => {
    score.textContent = `Reading: ${read} of ${all}.`;
  });

  function show() {
    const symbols = Unrolled.splitTyped(model, field.value);
    reading(read, symbols, (steps) => showSteps(symbols, steps));
  }

  function showSteps(symbols, steps) {
    const surprises = Unrolled.surprises(symbols, steps);
    fillShaded(shaded, model, symbols, surprises);
    const costs = surprises.filter((nats) => nats !== null);
    const unit = model.head.words ? "word" : "character";
    const counted = (count) => `${count} ${unit}${count === 1 ? "" : "s"}`;
    const mean = costs.reduce((a, b) => a + b, 0) / costs.length;
    const lacking = symbols.filter(({ number }) => number === undefined).length;
    const floor = model.head.floor
      ? ` A perfect reader of the stories pays ${model.head.floor.toFixed(2)} on average.`
      : "";
    score.textContent =
      (costs.length
        ? `${mean.toFixed(2)} nats a ${unit}, on average over ${counted(costs.length)}.${floor}`
        : "Nothing was predicted yet.") +
      (lacking ? ` Underlined: ${counted(lacking)} that the vocabulary lacks.` : "");
    const { logits } = steps.at(-1);
    if (!logits) return bars.replaceChildren();
    const probabilities = Unrolled.softmax(logits);
    tell(topThree(model, probabilities, fillBars(bars, model, probabilities, 8)));
  }

  const { field: which, showFirst } = network(networks, (taken) => {
    model = taken;
    read = Unrolled.reader(model);
    field.value ||= data.text ?? Unrolled.opening(model);
    show();
  });
  field.addEventListener("input", show);
  place.append(
    element("div", { className: "pg-controls" }, which),
    labelled("your text", field),
    shaded,
    score,
    bars,
    region,
  );
  await showFirst();
};

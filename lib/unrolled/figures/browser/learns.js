// Train a network of characters on the book's stories or on a text of your own, beside a table of counts.
"use strict";

/**
 * @param {object} data text, the book's; settings, of the lesson `letters`; least and most, how many characters it takes.
 */
Unrolled.learns = (place, { text, settings, least, most }) => {
  const { chart, element, labelled, later, speaker } = Unrolled.elements;
  const STAGES = [0, 100, 1000]; // updates whose samples stay
  const count = (number) => number.toLocaleString("en");
  const hint = `Leave it empty for ${count(text.length)} characters of the book’s stories, or paste ${count(least)} or more.`;
  const field = element("textarea", { rows: 3, spellcheck: false, placeholder: hint, maxLength: most });
  const note = speaker();
  const status = speaker();
  const samples = element("dl", { className: "pg-samples" });
  const axes = {
    x: { range: [0, settings.updates], ticks: [0, 0.25, 0.5, 0.75, 1].map((share) => share * settings.updates) },
    y: { range: [0, 5], ticks: [0, 1, 2, 3, 4, 5] },
    xlabel: "updates",
    ylabel: "nats a character, held out",
  };
  const rival = `${settings.order}-gram`;
  const { box, draw } = chart(axes, [
    { name: "recurrent network", look: "pg-rnn" },
    { name: `counting: ${rival}`, look: "pg-counts" },
  ]);
  let seed = 0;
  let counted; // what counting pays
  let points = [];
  let stages = []; // of what it writes: [update, sample]

  const read = () => (field.value ? field.value.normalize() : text);

  /** Show what has come of it so far, and say it unless more is coming. */
  function show() {
    const [update, nats] = points.at(-1) ?? [];
    const said = points.length
      ? `Update ${count(update)} of ${count(settings.updates)}: a held-out character costs ${nats.toFixed(2)} nats; ` +
        `the ${rival} pays ${counted.toFixed(2)}.`
      : "Press Train, and watch what it writes.";
    draw(points.length ? [points, counted] : [], said);
    const writes = points.length ? ` It writes: ${stages.at(-1)[1]}` : "";
    status.say(said, practice.going() ? "" : said + writes);
    const parts = stages.flatMap(([update, sample]) => [
      element("dt", {}, `${count(update)} update${update === 1 ? "" : "s"}`),
      element("dd", { className: "pg-text" }, sample.trim().replaceAll("\n", " ¶ ")),
    ]);
    samples.replaceChildren(...parts);
  }

  function told({ update, heldOut, sample, ...about }) {
    if (update === 0) {
      counted = about.counted;
      const reads = `It reads ${count(about.length - about.held)} characters, of ${about.symbols} kinds`;
      note.say(`${reads}, and is tested on ${count(about.held)} others.`);
    }
    points.push([update, heldOut]);
    stages = [...stages.filter(([stage]) => STAGES.includes(stage)), [update, sample]];
    show();
  }

  function begin() {
    seed += 1;
    return [{ lesson: Unrolled.lessons.letters({ ...settings, seed, text: read() }), told }];
  }

  const practice = Unrolled.lessons.practice(place, begin, (afresh) => {
    if (afresh) [points, stages] = [[], []];
    show();
  });

  /** A text has changed: begin afresh with it, or say what it lacks. */
  function changed() {
    const { length } = read();
    practice.restart(length >= least);
    const remedy = `paste at least ${count(least)}, about a page, or empty the field for the book’s stories.`;
    if (length < least) note.say(`${count(length)} characters are too few to learn from: ${remedy}`);
    else if (field.value.length < most)
      note.say(`The text has ${count(length)} characters; the last tenth is held out.`);
    else note.say(`The first ${count(most)} characters are read, so that your browser stays quick.`);
  }

  field.addEventListener("input", later(changed));
  place.append(labelled("your text", field), note.line, practice.box, status.line, box, samples);
  place.append(note.region, status.region);
  changed();
};
Unrolled.learns.asks = "Guess after how many updates it writes its first words, and press Train.";

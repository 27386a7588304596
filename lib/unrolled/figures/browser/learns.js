// Train a network of characters on the book's stories or on a text of your own, beside a table of counts.
"use strict";

/**
 * @param {object} data text, the book's; settings, of the lesson `letters`; least and most, how many characters it takes.
 */
Unrolled.learns = async (place, _networks, data) => {
  const { announcer, element, labelled, later } = Unrolled.elements;
  const { settings, least, most } = data;
  const STAGES = [0, 100, 1000]; // updates whose samples stay
  const count = (number) => number.toLocaleString("en");
  const field = element("textarea", {
    rows: 3,
    spellcheck: false,
    placeholder: `Leave it empty for ${count(data.text.length)} characters of the book’s stories, or paste ${count(least)} or more.`,
  });
  const note = element("p", { className: "pg-score" });
  const status = element("p", { className: "pg-score" });
  const samples = element("dl", { className: "pg-samples" });
  const { region, tell } = announcer();
  const axes = {
    x: { range: [0, settings.updates], ticks: [0, 0.25, 0.5, 0.75, 1].map((share) => share * settings.updates) },
    y: { range: [0, 5], ticks: [0, 1, 2, 3, 4, 5] },
    xlabel: "updates",
    ylabel: "nats a character, held out",
  };
  const name = `${settings.order}-gram`;
  const { box, draw } = Unrolled.chart(axes, [
    { name: "recurrent network", look: "pg-rnn" },
    { name: `counting: ${name}`, look: "pg-counts" },
  ]);
  let cut = 0; // how many characters a text had before it was cut
  let seed = 0;
  let about = null;
  let points = [];
  let stages = [];

  const text = () => (field.value ? field.value.normalize() : data.text);

  /** Say what has come of it so far. */
  function summary() {
    if (!points.length) return "Press Train, and watch what it writes.";
    const [update, nats] = points.at(-1);
    const sentence = `Update ${count(update)} of ${count(settings.updates)}: a held-out character costs ${nats.toFixed(2)} nats`;
    return `${sentence}; the ${name} pays ${about.counted.toFixed(2)}.`;
  }

  function show() {
    const said = summary();
    draw([{ points }, points.length ? { level: about.counted } : { points: [] }], `Line chart. ${said}`);
    status.textContent = said;
    const parts = stages.flatMap(([update, sample]) => [
      element("dt", {}, `${count(update)} update${update === 1 ? "" : "s"}`),
      element("dd", { className: "pg-text" }, sample.trim().replaceAll("\n", " ¶ ")),
    ]);
    samples.replaceChildren(...parts);
  }

  function take(report) {
    if (report.fault)
      status.textContent = `The training has stopped: ${report.fault}. Start again, or load the page anew.`;
    if (report.done) practice.finished();
    if (report.update === 0) {
      about = report;
      const spoken = `It reads ${count(report.length - report.held)} characters, of ${report.symbols} kinds, and is tested on ${count(report.held)} others.`;
      note.textContent = [cutSentence(), spoken].filter(Boolean).join(" ");
    }
    if (report.heldOut === undefined) return;
    points.push([report.update, report.heldOut]);
    stages = stages.filter(([update]) => STAGES.includes(update));
    stages.push([report.update, report.sample]);
    show();
    if (!practice.going()) tell(`${summary()} It writes: ${report.sample}`);
  }

  const cutSentence = () =>
    cut ? `Of ${count(cut)} characters the first ${count(most)} are read, so that your browser stays quick.` : "";

  function begin() {
    seed += 1;
    return [Unrolled.study("letters", { ...settings, seed, text: text() }, take)];
  }

  const practice = Unrolled.practice(place, begin, (afresh) => {
    if (afresh) {
      [points, stages] = [[], []];
      show();
    } else if (!practice.going()) tell(summary());
  });

  /** A text has changed: begin afresh with it, or say what it lacks. */
  function changed() {
    practice.restart();
    const length = text().length;
    const short = length < least;
    practice.enable(!short);
    const remedy = `paste at least ${count(least)}, about a page, or empty the field for the book’s stories.`;
    note.textContent = short
      ? `${count(length)} character${length === 1 ? "" : "s"} are too few to learn from: ${remedy}`
      : cutSentence() || `The text has ${count(length)} characters; the last tenth is held out.`;
    if (short || cut) tell(note.textContent);
  }

  /** Put a text into the field, as much of it as is read. */
  function put(given) {
    cut = given.length > most ? given.length : 0;
    field.value = given.slice(0, most);
    changed();
  }

  field.addEventListener("paste", (event) => {
    const pasted = event.clipboardData.getData("text/plain").replaceAll("\r\n", "\n");
    if (pasted.length + field.value.length <= most) return; // as any text; a novel never comes into the field
    event.preventDefault();
    const { selectionStart, selectionEnd, value } = field;
    put(value.slice(0, selectionStart) + pasted + value.slice(selectionEnd));
  });
  const typed = later(() => put(field.value));
  field.addEventListener("input", typed);
  place.append(labelled("your text", field), note, practice.box, box, status, samples, region);
  changed();
};

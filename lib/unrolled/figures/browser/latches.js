// Write, ignore, read: a tanh network and an LSTM learn it side by side, at a lag that the reader chooses.
"use strict";

/**
 * @param {object} data lags: for each lag and each network the settings that were chosen for it; lag, the first one;
 *   settings, of the lesson `latch`.
 */
Unrolled.latches = (place, { lags, lag, settings }) => {
  const { chart, choice, controls, labelled, slider, speaker } = Unrolled.elements;
  const far = Object.keys(lags).map(Number);
  const names = Object.keys(lags[lag]);
  const { line, region, say } = speaker();
  const quarters = [0, 0.25, 0.5, 0.75, 1];
  const axes = {
    x: { range: [0, settings.updates], ticks: quarters.map((share) => share * settings.updates) },
    y: { range: [0, 1], ticks: quarters },
    xlabel: "updates",
    ylabel: "right answers",
  };
  const looks = { tanh: "pg-rnn", LSTM: "pg-lstm" };
  const { box, draw } = chart(axes, [
    ...names.map((name) => ({ name, look: looks[name] })),
    { name: "guessing", look: "pg-guess" },
  ]);
  let same = true; // whether the tanh network has as many units as the LSTM; otherwise it has as many weights
  let seed = 0;
  let points;

  function show() {
    const said = names.map((name) => {
      const [update, right] = points[name].at(-1) ?? [];
      return right === undefined ? "" : `${name}: ${Math.round(100 * right)} of 100 right after ${update} updates`;
    });
    const summary = said.every(Boolean) ? `Lag ${lag}, seed ${seed}. ${said.join("; ")}.` : "Press Train.";
    draw([...names.map((name) => points[name]), 1 / 8], summary);
    say(summary, practice.going() ? "" : summary);
  }

  function begin() {
    seed += 1;
    return names.map((name) => {
      const own = { ...lags[lag][name], units: lags[lag][same ? "LSTM" : name].units };
      const told = ({ update, right }) => {
        points[name].push([update, right]);
        show();
      };
      return { lesson: Unrolled.lessons.latch({ ...settings, ...own, lag, seed }), told };
    });
  }

  const practice = Unrolled.lessons.practice(place, begin, (afresh) => {
    if (afresh) points = Object.fromEntries(names.map((name) => [name, []]));
    show();
  });
  const shown = { min: 0, max: far.length - 1, value: far.indexOf(lag), say: (n) => `${far[n]} steps` };
  const distance = slider("lag", shown, (n) => {
    lag = far[n];
    practice.restart();
  });
  const sizes = [`${lags[lag].LSTM.units}: as many units`, `${lags[lag].tanh.units}: as many weights`];
  const size = choice(sizes, (n) => {
    same = n === 0;
    practice.restart();
  });
  place.append(controls(distance, labelled("tanh units", size)), practice.box, line, box, region);
  practice.restart();
};
Unrolled.latches.asks = "Choose a lag, guess how many updates each network will need, and press Train.";

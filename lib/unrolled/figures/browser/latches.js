// Write, ignore, read: a tanh network and an LSTM learn it side by side, at a lag that the reader chooses.
"use strict";

/**
 * @param {object} data lags: for each lag and each network the settings that were chosen for it; lag, the first one;
 *   settings, of the lesson `latch`.
 */
Unrolled.latches = async (place, _networks, data) => {
  const { announcer, choice, element, labelled, slider } = Unrolled.elements;
  const { settings } = data;
  const lags = Object.keys(data.lags).map(Number);
  const names = Object.keys(data.lags[lags[0]]);
  const of = (name) => data.lags[lag][name];
  const status = element("p", { className: "pg-score" });
  const { region, tell } = announcer();
  const quarters = [0, 0.25, 0.5, 0.75, 1];
  const axes = {
    x: { range: [0, settings.updates], ticks: quarters.map((share) => share * settings.updates) },
    y: { range: [0, 1], ticks: quarters },
    xlabel: "updates",
    ylabel: "right answers",
  };
  const looks = { tanh: "pg-rnn", LSTM: "pg-lstm" };
  const { box, draw } = Unrolled.chart(axes, [
    ...names.map((name) => ({ name, look: looks[name] })),
    { name: "guessing", look: "pg-guess" },
  ]);
  let lag = data.lag;
  let same = true; // whether the tanh network has as many units as the LSTM; otherwise it has as many weights
  let seed = 0;
  let points;

  const units = (name) => of(same ? "LSTM" : name).units;

  function summary() {
    const said = names.map((name) => {
      const [update, right] = points[name].at(-1) ?? [];
      return right === undefined ? "" : `${name}: ${Math.round(100 * right)} of 100 right after ${update} updates`;
    });
    return said.every(Boolean) ? `Lag ${lag}, seed ${seed}. ${said.join("; ")}.` : "Press Train.";
  }

  function show() {
    const said = summary();
    draw([...names.map((name) => ({ points: points[name] })), { level: 1 / 8 }], `Line chart. ${said}`);
    status.textContent = said;
  }

  const take = (name) => (report) => {
    if (report.fault)
      status.textContent = `The training has stopped: ${report.fault}. Start again, or load the page anew.`;
    if (report.done) practice.finished();
    if (report.right === undefined) return;
    points[name].push([report.update, report.right]);
    show();
    if (!practice.going()) tell(summary());
  };

  const clear = () => {
    points = Object.fromEntries(names.map((name) => [name, []]));
  };

  function begin() {
    seed += 1;
    return names.map((name) =>
      Unrolled.study("latch", { ...settings, ...of(name), units: units(name), lag, seed }, take(name)),
    );
  }

  const practice = Unrolled.practice(place, begin, (afresh) => {
    if (afresh) {
      clear();
      show();
    } else if (!practice.going()) tell(summary());
  });
  const change = (set) => (value) => {
    set(value);
    practice.restart();
  };
  const far = slider(
    "lag",
    {
      min: 0,
      max: lags.length - 1,
      step: 1,
      value: lags.indexOf(lag),
      say: (n) => `${lags[n]} steps`,
    },
    change((n) => {
      lag = lags[n];
    }),
  );
  const sizes = [
    ["same", `${of("LSTM").units}: as many units`],
    ["", `${of("tanh").units}: as many weights`],
  ];
  const size = choice(
    sizes,
    change((value) => {
      same = value === "same";
    }),
  );
  const fields = element("div", { className: "pg-controls" }, far, labelled("tanh units", size));
  clear();
  place.append(fields, practice.box, box, status, region);
  show();
};

// Teach in a worker made of these scripts' own text, so that a page that is opened from disk can do it; where there are
// no workers, in the page itself, in slices short enough for it to stay awake.
"use strict";

globalThis.Unrolled ??= {};

/**
 * Return what takes messages about a lesson, {begin, settings}, {go}, {step} or {pause}, and posts its reports.
 *
 * @param {number} moment how long it works before it looks for a message, milliseconds.
 */
Unrolled.conduct = (lessons, post, moment) => {
  let lesson = null;
  let settings = null;
  let timer = null;
  let going = false;

  function work() {
    const until = performance.now() + moment;
    timer = null;
    try {
      do {
        const { done, value } = lesson.next();
        if (value) post(value);
        if (done) post({ done: true });
        if (done || (value && !going)) return; // a step is one report
      } while (performance.now() < until);
      timer = setTimeout(work);
    } catch (error) {
      post({ fault: error.message });
    }
  }

  return (message) => {
    if (message.begin) {
      settings = message.settings;
      lesson = lessons[message.begin](settings);
    }
    going = Boolean(message.go);
    if (settings) settings.stepping = Boolean(message.step);
    if (message.pause) {
      clearTimeout(timer);
      timer = null;
    } else if ((message.go || message.step) && timer === null) timer = setTimeout(work);
  };
};

/**
 * Begin a lesson, paused; return the function that sends it messages, and one that ends it.
 *
 * @param {string} name of the lesson.
 * @param {function} told is given each report.
 */
Unrolled.study = (name, settings, told) => {
  const parts = [Unrolled.makeLearning, Unrolled.makeCounting, Unrolled.generator, Unrolled.draw];
  const SLICE = 20; // milliseconds in the page itself
  const source = `"use strict";
    const [makeLearning, makeCounting, generator, draw] = [${parts.map((part) => `(${part})`).join(",\n")}];
    const lessons = (${Unrolled.makeLessons})(makeLearning(), makeCounting(), generator, draw);
    const take = (${Unrolled.conduct})(lessons, (report) => postMessage(report), 50);
    onmessage = ({ data }) => take(data);`;
  let ended = false;
  let send;
  let end = () => {};
  const tell = (report) => {
    if (!ended) told(report);
  };
  const sent = []; // until the worker has answered once: if it never does, the page takes over

  function inPage() {
    const lessons = Unrolled.makeLessons(Unrolled.learning, Unrolled.makeCounting(), Unrolled.generator, Unrolled.draw);
    send = Unrolled.conduct(lessons, tell, SLICE);
    end = () => send({ pause: true });
    sent.splice(0).forEach(send);
  }

  try {
    const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    const worker = new Worker(address);
    worker.onmessage = ({ data }) => {
      sent.length = 0;
      tell(data);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      worker.terminate();
      if (sent.length) inPage();
      else tell({ fault: event.message });
    };
    send = (message) => {
      sent.push(message);
      worker.postMessage(message);
    };
    end = () => {
      worker.terminate();
      URL.revokeObjectURL(address);
    };
  } catch {
    inPage();
  }
  send({ begin: name, settings });
  return {
    send: (message) => send(message),
    end: () => {
      ended = true;
      end();
    },
  };
};

// Can you predict? A story is told up to a letter that the reader guesses, ten times; then it says what loss that would be.
"use strict";

/** Return the loss of a model, in nats, that is right in a share of the places and exactly as sure as that. */
Unrolled.price = (share, symbols) => {
  const first = share > 0 ? -share * Math.log(share) : 0;
  const other = share < 1 ? -(1 - share) * Math.log((1 - share) / (symbols - 1)) : 0;
  return first + other;
};

/**
 * @param {object} data pieces of a story, of which each but the first begins with a letter that is guessed; hero, the
 *   name that is the last of them; symbols, how many the vocabulary has; counting, the losses of n-grams.
 */
Unrolled.guesses = (place, { pieces, hero, symbols, counting }) => {
  const { button, controls, element, labelled } = Unrolled.elements;
  const places = pieces.length - 1;
  const text = element("p", { className: "pg-text" });
  const bar = controls();
  const score = element("p", { "aria-live": "polite", "aria-atomic": "true" });
  const result = element("div", { className: "pg-result", tabIndex: -1 });
  const typing = { autocomplete: "off", autocapitalize: "none", autocorrect: "off", spellcheck: false };
  const field = element("input", { type: "text", className: "pg-letter", ...typing });
  let guesses = [];

  const letter = (number) => pieces[number + 1][0];
  const isRight = (guess, number) => guess.toLowerCase() === letter(number).toLowerCase();
  const right = () => guesses.filter(isRight).length;

  /** Return a letter that was guessed, after the wrong guess if it was one, and how the story goes on. */
  function continued(guess, number) {
    const was = isRight(guess, number);
    const shown = element("span", { className: was ? "pg-right" : "pg-wrong" }, letter(number));
    return [...(was ? [] : [element("del", {}, guess)]), shown, pieces[number + 1].slice(1)];
  }

  /** Show the story as far as it is known; say something, then the score, and what is only for whoever listens. */
  function show(words, aloud = "") {
    const blank = element("span", { className: "pg-blank", role: "img", "aria-label": "missing letter" });
    text.replaceChildren(pieces[0], ...guesses.flatMap(continued), guesses.length < places ? blank : "");
    const count = guesses.length ? ` ${right()} of ${guesses.length} right.` : "";
    score.replaceChildren(words + count, element("span", { className: "pg-aloud" }, aloud));
  }

  /** Return bars of some losses, each under its name. */
  function bars(losses) {
    const most = Math.max(...losses.map(([, nats]) => nats));
    const rows = losses.map(([name, nats]) => {
      const bar = element("span", { className: "pg-bar" });
      bar.style.setProperty("--share", nats / most);
      const number = element("span", { className: "pg-number" }, nats.toFixed(2));
      return element("li", {}, element("span", { className: "pg-symbol" }, name), bar, number);
    });
    return element("ol", { className: "pg-bars pg-losses", "aria-label": "nats a letter" }, ...rows);
  }

  /** Say what the reader's loss would be, and beside it what that of n-grams is. */
  function settle() {
    const share = right() / places;
    const nats = Unrolled.price(share, symbols);
    const story = pieces.slice(0, -1).join("");
    const lag = story.length - story.lastIndexOf(hero) - hero.length;
    const longest = counting.at(-1);
    const earned =
      `You were right in ${right()} of ${places} places. A model that is right as often, and knows so beforehand, has ` +
      `a loss of ${nats.toFixed(2)} nats a letter here, a perplexity of ${Math.exp(nats).toFixed(2)}. An n-gram has ` +
      `counted in other stories what follows the last n − 1 characters:`;
    const name =
      `The last letter begins the name ${hero}, which the story gave ${lag} characters before. The ${longest.order}-gram ` +
      `sees only ${longest.order - 1} characters, and its loss there is ${longest.last.toFixed(2)} nats.`;
    const losses = counting.map((each) => [`${each.order}-gram`, each.nats]);
    result.replaceChildren(element("p", {}, earned), bars([["you", nats], ...losses]), element("p", {}, name));
    bar.replaceChildren(button("Again", again));
    place.append(result, bar); // the way of the Tab key is from what is read to the button
    result.focus();
  }

  /** Take what was typed; as soon as it is a letter, it is a guess. */
  function take() {
    const typed = Array.from(field.value);
    field.value = "";
    if (typed.length !== 1 || !/\p{L}/u.test(typed[0])) return show("One letter at a time, please.");
    const number = guesses.push(typed[0]) - 1;
    const was = isRight(typed[0], number);
    const words = was ? `✓ It is ${letter(number)}.` : `✗ It is ${letter(number)}, not ${typed[0]}.`;
    const going = guesses.length < places;
    show(words, going ? ` The story goes on: ${pieces[number + 1]}` : "");
    if (!going) return settle();
    field.scrollIntoView({ block: "nearest" }); // the story has pushed it down
  }

  function begin() {
    guesses = [];
    bar.replaceChildren(labelled("next letter", field));
    place.replaceChildren(text, bar, score);
    show("Type the letter that comes next. There are ten to guess.");
  }

  function again() {
    begin();
    field.focus();
  }

  field.addEventListener("input", () => field.value && take());
  field.addEventListener("keydown", ({ key }) => key === "Enter" && take());
  begin();
};

// Can you predict? A story is told up to a letter that the reader guesses, ten times; then it says what that would cost.
"use strict";

/** Return what a model pays on average, in nats, that is right in a share of the places and exactly as sure as that. */
Unrolled.price = (share, symbols) => {
  const first = share > 0 ? -share * Math.log(share) : 0;
  const other = share < 1 ? -(1 - share) * Math.log((1 - share) / (symbols - 1)) : 0;
  return first + other;
};

/**
 * Play the game.
 *
 * @param {object} data pieces of a story, of which each but the first begins with a letter that is guessed; hero, the
 *   name that is the last of them; symbols, how many the vocabulary has; counting, what other models pay.
 */
Unrolled.guesses = async (place, _networks, data) => {
  const { button, element, labelled } = Unrolled.elements;
  const places = data.pieces.length - 1;
  const text = element("p", { className: "pg-text" });
  const controls = element("div", { className: "pg-controls" });
  const score = element("p", { "aria-live": "polite", "aria-atomic": "true" });
  const result = element("div", { className: "pg-result", tabIndex: -1 });
  const field = element("input", {
    type: "text",
    className: "pg-letter",
    autocomplete: "off",
    autocapitalize: "none",
    autocorrect: "off",
    spellcheck: false,
  });
  const asked = labelled("next letter", field);
  let guesses = [];

  const letter = (number) => data.pieces[number + 1][0];
  const isRight = (guess, number) => guess.toLowerCase() === letter(number).toLowerCase();
  const right = () => guesses.filter(isRight).length;

  /** Return a letter that was guessed, after the wrong guess if it was one, and how the story goes on. */
  function continued(guess, number) {
    const piece = data.pieces[number + 1];
    if (isRight(guess, number)) return [element("span", { className: "pg-right" }, piece[0]), piece.slice(1)];
    return [element("del", {}, guess), element("span", { className: "pg-wrong" }, piece[0]), piece.slice(1)];
  }

  /** Show the story as far as it is known. */
  function show() {
    const blank = element("span", { className: "pg-blank", role: "img", "aria-label": "missing letter" });
    const going = guesses.length < places;
    text.replaceChildren(data.pieces[0], ...guesses.flatMap(continued), ...(going ? [blank] : []));
  }

  /** Say something, then the score, and what is only for whoever listens. */
  function say(words, aloud = "") {
    const count = guesses.length ? ` ${right()} of ${guesses.length} right.` : "";
    score.replaceChildren(words + count, element("span", { className: "pg-announced" }, aloud));
  }

  /** Return a row of the table of prices. */
  function row(name, nats, perplexity, last) {
    const cells = [nats, perplexity, last].map((value) => element("td", {}, value.toFixed(2)));
    return element("tr", {}, element("th", { scope: "row" }, name), ...cells);
  }

  /** Say what the reader would pay, and beside it what models pay that count. */
  function settle() {
    const share = right() / places;
    const nats = Unrolled.price(share, data.symbols);
    const knew = isRight(guesses.at(-1), places - 1);
    const last = -Math.log(knew ? share : (1 - share) / (data.symbols - 1));
    const story = data.pieces.slice(0, -1).join("");
    const lag = story.length - story.lastIndexOf(data.hero) - data.hero.length;
    const longest = data.counting.at(-1);
    const listed = (numbers) => numbers.join(", ").replace(/, (?=\d+$)/, " and ");
    const orders = data.counting.map(({ order }) => order);
    const heads = ["nats a letter", "perplexity", "nats at the last place"];
    const table = element(
      "table",
      { className: "pg-mentions" },
      element(
        "caption",
        {},
        "What such a model pays at these places, which were chosen, and what n-grams of order " +
          `${listed(orders)} pay, which have counted in other stories what follows ` +
          `the last ${listed(orders.map((order) => order - 1))} characters`,
      ),
      element(
        "thead",
        {},
        element("tr", {}, element("td"), ...heads.map((head) => element("th", { scope: "col" }, head))),
      ),
      element(
        "tbody",
        {},
        row("as often right as you", nats, Math.exp(nats), last),
        ...data.counting.map((each) => row(`${each.order}-gram`, each.nats, each.perplexity, each.last)),
      ),
    );
    const earned =
      `You were right in ${right()} of ${places} places. A model pays −ln p nats for a letter to which it gave the ` +
      `probability p. Suppose one is right as often as you and knew so beforehand: it gives each first guess a probability ` +
      `of ${share}, and shares out the rest equally among the other ${data.symbols - 1} characters. It pays ${nats.toFixed(2)} nats a letter at ` +
      `these places: a perplexity of ${Math.exp(nats).toFixed(2)}, as if it chose at random among that many characters.`;
    const name =
      (knew
        ? `At the last place you knew the name, ${lag} characters after its last mention: you had read how the story began.`
        : `The last letter begins the name from the story’s opening, ${data.hero}, last mentioned ${lag} characters before.`) +
      ` The ${longest.order}-gram sees only ${longest.order - 1} characters, and paid ${longest.last.toFixed(2)} nats there.`;
    result.replaceChildren(element("p", {}, earned), table, element("p", {}, name));
    controls.replaceChildren(button("Again", again));
    place.append(result, controls); // the way of the Tab key is from what is read to the button
    result.focus();
  }

  /** Take what was typed; as soon as it is a letter, it is a guess. */
  function take() {
    const typed = Array.from(field.value);
    field.value = "";
    if (typed.length !== 1 || !/\p{L}/u.test(typed[0])) return say("One letter at a time, please.");
    const number = guesses.push(typed[0]) - 1;
    const words = isRight(typed[0], number)
      ? `✓ It is ${letter(number)}.`
      : `✗ It is ${letter(number)}, not ${typed[0]}.`;
    show();
    if (guesses.length < places) {
      say(words, ` The story goes on: ${data.pieces[number + 1]}`);
      field.scrollIntoView({ block: "nearest" }); // the story has pushed it down
    } else {
      say(words);
      settle();
    }
  }

  function begin() {
    guesses = [];
    controls.replaceChildren(asked);
    place.replaceChildren(text, controls, score);
    show();
    say("Type the letter that comes next. There are ten to guess.");
  }

  function again() {
    begin();
    field.focus();
  }

  field.addEventListener("input", () => field.value && take());
  field.addEventListener("keydown", ({ key }) => key === "Enter" && take());
  begin();
};

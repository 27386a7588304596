// The search: what a question is made of is left out, titles come first and then chapters, a term brings its meaning.
document.addEventListener("DOMContentLoaded", () => {
  if (typeof Search === "undefined") return mark(sessionStorage.getItem("searched"));
  const asking =
    "how do does did i you we my me what which who why where when can should has have its from an get book";
  stopwords.push(...asking.split(" "));
  const SHORT = { lstm: "long short-term memory", gru: "gated recurrent units", bptt: "backpropagation through time" };
  Object.assign(SHORT, { plai: "playground", teach: "instructors" }); // as the stemmer has them
  const KINDS = { chapters: 12, pages: 6, exercises: -10, solutions: -20 };
  const [MOST, EACH] = [20, 3]; // results, each of which is fetched for its excerpt, and those of one page
  const left_out =
    "h1, h2, h3, script, style, .headerlink, .math, .eqno, .doors, pre, details, button, nav, figure.demonstration";
  const { stemWord } = new Stemmer();
  const stems = (text) =>
    splitQuery(text.toLowerCase())
      .filter((word) => !stopwords.includes(word))
      .map(stemWord);

  /** Return what a page is worth beyond its words: chapters in their order, and last what repeats or refers to them. */
  const worth = (page) =>
    (/api|audit|errata|records|gallery/.test(page) ? -10 : (KINDS[page.split("/")[0]] ?? 0)) -
    (Number(page.match(/chapters\/(\d+)/)?.[1]) || 0) / 10;

  /** Return how much of a title the words are, or what they are short for; little, if it has only half of them. */
  function share(words, title) {
    const own = stems(title);
    const has = (word) => own.some((each) => each === word || (word.length > 3 && each.startsWith(word)));
    const spelt = words.flatMap((word) => (word in SHORT && !has(word) ? stems(SHORT[word]) : [word]));
    const there = spelt.filter(has).length;
    if (there === spelt.length) return Math.min(there / own.length, 1);
    return 2 * there >= Math.max(spelt.length, own.length) ? (0.4 * there) / spelt.length : 0;
  }

  Search._performSearch = (query, terms, excluded) => {
    const { docnames, filenames, titles, alltitles, indexentries } = Search._index;
    const [words, found] = [[...terms], new Map()];
    function add(file, anchor, title, score, about = null) {
      const shown = bare(titles[file]) === title ? titles[file] : `${titles[file]} › ${title}`;
      const key = docnames[file] + anchor;
      const result = [docnames[file], shown, anchor, about, score + worth(docnames[file]), filenames[file]];
      if (!(found.get(key)?.[4] >= result[4])) found.set(key, result);
    }
    const bare = (title) => title.replace(/^\d+\. /, ""); // chapters have numbers
    for (const [page, title, , , score] of Search.performTermsSearch(terms, excluded))
      add(docnames.indexOf(page), "", bare(title), score);
    if (words.length) {
      for (const [title, places] of Object.entries(alltitles))
        for (const [file, id] of places) {
          const main = bare(title) === bare(titles[file]);
          const match = share(words, title);
          if (match) add(file, main || !id ? "" : `#${id}`, bare(title), (main ? 90 : 70) * match);
        }
      for (const [entry, places] of Object.entries(indexentries))
        for (const [file, id] of places)
          if (docnames[file] === "pages/glossary" && share(words, entry))
            add(file, `#${id}`, entry, 80 * share(words, entry));
      for (const [page, name, anchor, about, score] of Search.performObjectSearch(
        query.toLowerCase().trim(),
        new Set(),
      ))
        add(docnames.indexOf(page), anchor, name, score > 15 ? score + 60 : score, about); // its whole name
    }
    const ranked = [...found.values()].sort((a, b) => b[4] - a[4]);
    return ranked
      .filter(([page], n) => ranked.slice(0, n).filter(([other]) => other === page).length < EACH)
      .slice(0, MOST)
      .reverse();
  };
  const { query, htmlToText } = Search;
  Search.query = (asked) => {
    query(asked);
    localStorage.removeItem("sphinx_highlight_terms"); // the next page, whichever, would be marked
    const words = splitQuery(asked.toLowerCase()).filter((word) => !stopwords.includes(word));
    Search.output.addEventListener("click", () => sessionStorage.setItem("searched", words.join("|")));
  };
  const parse = Search._parseQuery;
  Search._parseQuery = (asked) => parse(asked).map((part, n) => (n === 3 ? new Set() : part)); // marks inside words

  /** Return what a page says, or a section, or the glossary of a term; without formulas in TeX, code and furniture. */
  Search.htmlToText = (page, anchor) => {
    const article = new DOMParser().parseFromString(page, "text/html").querySelector("article.bd-article");
    if (!article) return htmlToText(page, anchor);
    const place = anchor ? article.querySelector(`[id="${anchor.slice(1)}"]`) : null;
    const part = place?.matches("dt") ? place.parentElement.querySelector(`[id="${place.id}"] ~ dd`) : place || article;
    for (const element of part.querySelectorAll(left_out)) element.remove();
    return part.textContent.replace(/\s+/g, " ").trim();
  };
  Search.makeSearchSummary = (page, words, anchor) => {
    const text = Search.htmlToText(page, anchor);
    const at = text.search(new RegExp(`(?<!\\p{L})(?:${[...words].join("|")})`, "iu"));
    const from = anchor?.startsWith("#term-") || at < 100 ? 0 : text.indexOf(" ", at - 100) + 1;
    const said = text.slice(from, from + 240);
    const summary = Object.assign(document.createElement("p"), { className: "context" });
    summary.textContent = (from ? "… " : "") + said + (text.length > from + 240 ? " …" : "");
    return summary;
  };
});

/** Mark the words in the text that a reader was led here by: whole words, and nothing beside the text. */
function mark(words) {
  sessionStorage.removeItem("searched");
  const article = document.querySelector("article.bd-article");
  if (!words || !article || !CSS.highlights) return;
  const sought = new RegExp(`(?<![\\p{L}\\p{N}])(?:${words})(?:e?s)?(?![\\p{L}\\p{N}])`, "giu");
  const [walker, ranges] = [document.createTreeWalker(article, NodeFilter.SHOW_TEXT), []];
  while (walker.nextNode())
    for (const found of walker.currentNode.data.matchAll(sought)) {
      const range = new Range();
      range.setStart(walker.currentNode, found.index);
      range.setEnd(walker.currentNode, found.index + found[0].length);
      ranges.push(range);
    }
  CSS.highlights.set("searched", new Highlight(...ranges));
}

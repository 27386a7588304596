// The excerpts of the search: what a page says, without formulas in TeX, code, and the names of files and buttons.
document.addEventListener("DOMContentLoaded", () => {
  if (typeof Search === "undefined") return;
  const left_out = "script, style, .headerlink, .math, .eqno, pre, details, button, nav, figure.demonstration";
  Search.htmlToText = (page, anchor) => {
    const article = new DOMParser().parseFromString(page, "text/html").querySelector("article.bd-article");
    const part = (anchor && article?.querySelector(anchor)) || article;
    for (const element of part?.querySelectorAll(left_out) ?? []) element.remove();
    return part?.textContent.replace(/\s+/g, " ") ?? "";
  };
});

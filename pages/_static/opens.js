// A term, a work or an equation opens in place: its link, pressed, shows what it leads to beside itself. Where that does
// not work, as in pages opened from a disk or in a new tab, the link leads there.
document.addEventListener("click", async (event) => {
  const link = event.target.closest?.("article a[href]");
  const known = /(glossary\.html#term-|bibliography\.html#|#equation-)/.test(link?.href);
  if (!known || event.ctrlKey || event.metaKey || event.shiftKey || !("popover" in link) || link.closest(".opens"))
    return;
  if (link.matches(".headerlink") || document.body.querySelector(".bd-search-container")) return;
  event.preventDefault();
  const [page, id] = link.href.split("#");
  const here = page === location.href.split("#")[0];
  try {
    const text = here ? "" : await (await fetch(page)).text();
    const source = here ? document : new DOMParser().parseFromString(text, "text/html");
    show(link, part(source.getElementById(decodeURIComponent(id)), page), here);
  } catch {
    location.href = link.href;
  }
});

/** Return a copy of what stands at a place of a page: of a term its name and its definition. */
function part(found, page) {
  const whole = document.createElement(found.matches("dt") ? "dl" : "div");
  for (let piece = found; piece; piece = piece.nextElementSibling) {
    whole.append(document.importNode(piece, true));
    if (!piece.matches("dt")) break;
  }
  for (const each of whole.querySelectorAll("[id]")) each.removeAttribute("id");
  for (const each of whole.querySelectorAll("a[href]")) each.href = new URL(each.getAttribute("href"), page);
  return whole;
}

function show(link, content, here) {
  const box = document.createElement("div");
  Object.assign(box, { popover: "auto", className: "opens", tabIndex: -1, role: "dialog" });
  box.setAttribute("aria-label", link.textContent);
  const more = document.createElement("a");
  Object.assign(more, { className: "more", href: link.href, textContent: "Go there" });
  box.append(content, more);
  more.addEventListener("click", () => box.hidePopover());
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation(); // Sphinx takes the key, too, and would keep the box open
    box.hidePopover();
  });
  box.addEventListener("toggle", ({ newState }) => {
    if (newState !== "closed") return;
    if (box.contains(document.activeElement) || document.activeElement === document.body) link.focus();
    box.remove();
  });
  link.after(box);
  box.showPopover();
  const place = () => {
    const { left, top, bottom } = link.getBoundingClientRect();
    const below = bottom + box.offsetHeight + 12 < innerHeight;
    box.style.left = `${Math.max(8, Math.min(left, innerWidth - box.offsetWidth - 8))}px`;
    box.style.top = `${Math.max(8, below ? bottom + 6 : top - box.offsetHeight - 6)}px`;
  };
  place();
  box.focus();
  if (!here && window.MathJax?.typesetPromise) MathJax.typesetPromise([box]).then(place);
}

// What is wider than the page is scrolled with the keyboard, and fades out at the right until its end is reached.
const scrolling =
  ".pst-scrollable-table-container, .picture, .cell_output, .highlight pre, .pg-wide, mjx-container[display]";
const look = (box) => {
  const hidden = box.scrollWidth - box.clientWidth;
  const cut = getComputedStyle(box).overflowX !== "visible";
  box.toggleAttribute("data-more", cut && hidden - box.scrollLeft > 4);
  if (box.matches(".pst-scrollable-table-container")) box.tabIndex = hidden > 0 ? 0 : -1;
};
const lookAtAll = () => document.querySelectorAll(`.bd-article :is(${scrolling})`).forEach(look);
addEventListener("load", lookAtAll);
addEventListener("resize", lookAtAll);
addEventListener("scroll", ({ target }) => target.matches?.(scrolling) && look(target), {
  capture: true,
  passive: true,
});

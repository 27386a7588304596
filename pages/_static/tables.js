// A table that is wider than its page is scrolled with the keyboard, also where the window has become narrow since.
addEventListener("resize", () => {
  document.querySelectorAll(".pst-scrollable-table-container").forEach((box) => {
    box.tabIndex = box.scrollWidth > box.clientWidth ? 0 : -1;
  });
});

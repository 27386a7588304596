// Each fold is called by its summary, and not "Toggle hidden content", as MyST-NB would have it for all of them.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("details.hide > summary").forEach((summary) => {
    summary.removeAttribute("aria-label");
  });
});

// The explorers' pictures and scripts, a megabyte and more, are loaded when the first explorer comes near the screen.
// Where the pages were built without npm, they name scripts of a public network themselves, and nothing is done here.
document.addEventListener("DOMContentLoaded", () => {
  const views = document.querySelectorAll('script[type="application/vnd.jupyter.widget-view+json"]');
  // The scripts call the queue of MathJax 2 when they write a label; these pages have MathJax 3, without one.
  if (window.MathJax) window.MathJax.Hub ??= { Queue() {} };
  const pictures = document.querySelector("script[data-explorers]");
  if (!views.length || !pictures) return;
  const root = document.documentElement.dataset.content_root;
  const script = (address) =>
    new Promise((loaded) => {
      const made = document.createElement("script");
      made.src = address;
      made.dataset.jupyterWidgetsCdn = "./";
      made.addEventListener("load", loaded);
      document.head.append(made);
    });
  const observer = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      const ready = [script(pictures.dataset.explorers), script(`${root}require.min.js`)];
      Promise.all(ready).then(() => script(`${root}embed-amd.js`));
    },
    { rootMargin: "800px" },
  );
  for (const view of views) observer.observe(view.closest(".cell_output"));
});

// The explorers' scripts, a megabyte and more, are loaded when the first explorer comes near the screen. Where the pages
// were built without npm, they name those of a public network themselves, and nothing is done here.
document.addEventListener("DOMContentLoaded", () => {
  const views = document.querySelectorAll('script[type="application/vnd.jupyter.widget-view+json"]');
  // The scripts call the queue of MathJax 2 when they write a label; these pages have MathJax 3, without one.
  if (window.MathJax) window.MathJax.Hub ??= { Queue() {} };
  if (!views.length || window.requirejs) return;
  const script = (name) =>
    new Promise((loaded) => {
      const made = document.createElement("script");
      made.src = document.documentElement.dataset.content_root + name;
      made.dataset.jupyterWidgetsCdn = "./";
      made.addEventListener("load", loaded);
      document.head.append(made);
    });
  const observer = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      script("require.min.js").then(() => script("embed-amd.js"));
    },
    { rootMargin: "800px" },
  );
  for (const view of views) observer.observe(view.closest(".cell_output"));
});

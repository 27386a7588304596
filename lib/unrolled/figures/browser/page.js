// Bring the demonstrations of a page to life: each one when it comes into sight, with the scripts that it asks for.
//
// It is a <figure class="demonstration" data-show="writes" data-parts="engine elements" data-model="gru-words">, with a
// picture of itself for print and for pages without scripts, and with data: <script type="application/json">.
"use strict";

(() => {
  if (window.unrolledDemonstrations) return; // each demonstration of a page brings this script
  window.unrolledDemonstrations = true;
  const here = (document.currentScript.src || "").replace(/[^/]*$/, ""); // the folder of this script
  const alone = "Unrolled" in window; // in a page of its own everything is there already
  const arrived = new Map();

  /** Load a script once. Scripts that are asked for one after the other run in that order. */
  function load(name) {
    if (!arrived.has(name)) {
      const loading = new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = `${here}${name}.js`;
        script.async = false;
        script.onload = resolve;
        script.onerror = () => reject(new Error(`The script ${name}.js did not arrive.`));
        document.head.append(script);
      });
      arrived.set(name, loading);
    }
    return arrived.get(name);
  }

  /** Where the caption tells what comes out, it asks for a guess until the run is over. */
  function ask(figure, question) {
    const told = figure.parentElement.closest("figure")?.querySelector(":scope > figcaption .caption-text");
    if (!told || !question) return;
    told.dataset.asks = question;
    figure.addEventListener("over", () => delete told.dataset.asks);
  }

  async function start(figure) {
    const live = document.createElement("div");
    live.className = "pg-live";
    figure.prepend(live);
    const { show, parts, model } = figure.dataset;
    try {
      const scripts = [...parts.split(" "), show, ...(model ? [`models/${model}`] : [])];
      if (!alone) await Promise.all(scripts.map(load));
      const data = JSON.parse(figure.querySelector("script[type='application/json']").textContent);
      Unrolled[show](live, data, model && Unrolled.load(...window.unrolledWeights[model]));
      figure.classList.add("pg-lives"); // its picture is for print now
      ask(figure, Unrolled[show].asks);
    } catch (error) {
      live.className = "pg-fault";
      live.setAttribute("role", "alert");
      live.textContent = `${error.message} The demonstration cannot run here; load the page again, or build the book anew.`;
    }
    figure.dataset.ready = "";
  }

  /** Take the colours of the page around this one, and be as high as what is inside: of a page within a notebook. */
  function settle() {
    const frame = window.frameElement;
    const around = frame?.ownerDocument;
    const jupyter = around?.body.dataset.jpThemeLight;
    const theme = around?.documentElement.dataset.theme;
    const preferred = matchMedia("(prefers-color-scheme: dark)").matches && !theme;
    const dark = theme === "dark" || jupyter === "false" || (jupyter === undefined && preferred);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    document.documentElement.classList.add("pg-alone");
    if (!frame) return;
    const fit = () => (frame.style.height = `${document.documentElement.scrollHeight}px`);
    new ResizeObserver(fit).observe(document.body);
  }

  function watch() {
    if (alone) settle();
    else {
      const style = document.createElement("link");
      Object.assign(style, { rel: "stylesheet", href: `${here}page.css` });
      document.head.append(style);
    }
    const seen = new IntersectionObserver(
      (entries) => {
        for (const { target } of entries.filter((each) => each.isIntersecting)) {
          seen.unobserve(target);
          start(target);
        }
      },
      { rootMargin: "200px" },
    );
    for (const figure of document.querySelectorAll("figure.demonstration")) seen.observe(figure);
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", watch);
  else watch();
})();

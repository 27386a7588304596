// Bring the demonstrations of a page to life: each one when it comes into sight, with the networks that it asks for.
//
// It is a <figure class="demonstration" data-show="expects" data-models="gru-words rnn-words">, with a picture of itself
// for print and for pages without scripts, and perhaps with data: <script type="application/json">. One with data-parts
// asks for these scripts, in that order.
"use strict";

(() => {
  if (window.unrolledDemonstrations) return; // each demonstration of a page brings this script
  window.unrolledDemonstrations = true;
  const PARTS = ["engine", "encoder_decoder", "symbols", "elements"]; // of all networks; each has one of its own
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

  const loaded = new Map();

  /** Return a model by its name; its weights are checked when they arrive. */
  async function model(name) {
    if (!loaded.has(name)) {
      if (!window.unrolledWeights?.[name]) await load(`models/${name}`);
      loaded.set(name, Unrolled.load(...window.unrolledWeights[name]));
    }
    return loaded.get(name);
  }

  async function start(figure) {
    const live = document.createElement("div");
    live.className = "pg-live";
    const names = figure.dataset.models.split(" ").filter(Boolean);
    try {
      const parts = figure.dataset.parts?.split(" ") ?? (names.length ? PARTS : ["elements"]);
      if (!alone) await Promise.all([...parts, figure.dataset.show].map(load));
      const networks = names.map((name) => ({ name, load: () => model(name) }));
      const data = JSON.parse(figure.querySelector("script[type='application/json']")?.textContent ?? "{}");
      await Unrolled[figure.dataset.show](live, networks, data);
      figure.classList.add("pg-lives"); // its picture is for print now
    } catch (error) {
      const fault = document.createElement("p");
      fault.className = "pg-fault";
      fault.setAttribute("role", "alert");
      fault.textContent = `${error.message} The demonstration cannot run here; load the page again, or build the book anew.`;
      live.replaceChildren(fault);
    }
    figure.prepend(live);
    figure.dataset.ready = "";
  }

  /** Take the colours of the page around this one, and be as high as what is inside: of a page within a notebook. */
  function settle() {
    const frame = window.frameElement;
    const around = frame?.ownerDocument;
    const jupyter = around?.body.dataset.jpThemeLight;
    const dark = around?.documentElement.dataset.theme === "dark" || jupyter === "false";
    const preferred = matchMedia("(prefers-color-scheme: dark)").matches && !around?.documentElement.dataset.theme;
    document.documentElement.dataset.theme = dark || (jupyter === undefined && preferred) ? "dark" : "light";
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
        for (const { isIntersecting, target } of entries) {
          if (!isIntersecting) continue;
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

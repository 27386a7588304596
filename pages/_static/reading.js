// The picture of the first page: a slider and a button read its story symbol by symbol, and the bars follow.
document.addEventListener("DOMContentLoaded", () => {
  const figure = document.querySelector("figure.reading");
  if (!figure) return;
  const known = JSON.parse(figure.dataset.known);
  const [read, coming] = figure.querySelectorAll(".reading-story span");
  const [slider, button] = ["input", "button"].map((name) => figure.querySelector(name));
  const meters = [...figure.querySelectorAll("dl > div")];
  const story = read.textContent + coming.textContent;
  let timer = null;
  const show = () => {
    const place = Number(slider.value);
    read.textContent = story.slice(0, place);
    coming.textContent = story.slice(place);
    const said = meters.map((meter, index) => {
      const [, share] = known[index].findLast(([from]) => from <= place) ?? [];
      meter.querySelector(".reading-bar").style.setProperty("--share", share ?? 50);
      meter.querySelector("output").textContent = share ? `${share} %` : "not yet told";
      return `${meter.querySelector("dt").textContent}: ${meter.querySelector("output").textContent}`;
    });
    slider.setAttribute("aria-valuetext", `${place} symbols read; ${said.join("; ")}`);
  };
  const stop = () => {
    clearInterval(timer);
    timer = null;
    button.textContent = "Read";
  };
  const step = () => {
    slider.value = Number(slider.value) + 1;
    show();
    if (slider.value === slider.max) stop();
  };
  button.addEventListener("click", () => {
    if (timer) return stop();
    if (slider.value === slider.max) slider.value = 0;
    button.textContent = "Pause";
    timer = setInterval(step, 80);
  });
  slider.addEventListener("input", () => {
    stop();
    show();
  });
  figure.querySelector(".reading-controls").hidden = false;
  show();
});

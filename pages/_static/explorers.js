// An explorer: its slider chooses which of its frames is shown; all are loaded when it comes near.
document.addEventListener("DOMContentLoaded", () => {
  for (const explorer of document.querySelectorAll(".explorer")) {
    const [slider, output] = ["input", "output"].map((name) => explorer.querySelector(name));
    const frames = [...explorer.querySelectorAll("img")];
    const show = () => {
      frames.forEach((frame, number) => {
        frame.hidden = number !== Number(slider.value);
      });
      output.textContent = frames[slider.value].dataset.value;
      slider.setAttribute("aria-valuetext", output.textContent);
    };
    slider.addEventListener("input", show);
    new IntersectionObserver(
      (entries, observer) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        observer.disconnect();
        for (const frame of frames) frame.loading = "eager";
      },
      { rootMargin: "400px" },
    ).observe(explorer);
    explorer.querySelector(".explorer-controls").hidden = false;
    show();
  }
});

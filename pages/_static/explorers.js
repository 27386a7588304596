// An explorer: its slider, the arrow keys and the play button choose which of its frames is shown.
document.addEventListener("DOMContentLoaded", () => {
  for (const explorer of document.querySelectorAll(".explorer")) {
    const [controls, button, slider, output] = [".explorer-controls", "button", "input", "output"].map((name) =>
      explorer.querySelector(name),
    );
    const frames = [...explorer.querySelectorAll("img")];
    let timer = null;
    const show = () => {
      frames.forEach((frame, number) => {
        frame.hidden = number !== Number(slider.value);
      });
      output.textContent = frames[slider.value].dataset.value;
      slider.setAttribute("aria-valuetext", output.textContent);
    };
    const stop = () => {
      clearInterval(timer);
      timer = null;
      button.setAttribute("aria-pressed", "false");
    };
    const step = () => {
      slider.value = Number(slider.value) + 1;
      show();
      if (slider.value === slider.max) stop();
    };
    button.addEventListener("click", () => {
      if (timer) return stop();
      if (slider.value === slider.max) slider.value = -1;
      button.setAttribute("aria-pressed", "true");
      timer = setInterval(step, 900);
      step();
    });
    slider.addEventListener("input", () => {
      stop();
      show();
    });
    new IntersectionObserver(
      (entries, observer) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        observer.disconnect();
        for (const frame of frames) frame.loading = "eager";
      },
      { rootMargin: "400px" },
    ).observe(explorer);
    controls.hidden = false;
    show();
  }
});

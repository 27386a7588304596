// A deck: the largest type with which each slide holds what is on it, and then reveal.js.
MathJax.startup.promise.then(() => {
  const [largest, least] = [36, 20]; // pixels
  for (const slide of document.querySelectorAll(".slide")) {
    const overflows = () => slide.scrollHeight > slide.clientHeight || slide.scrollWidth > slide.clientWidth;
    let size = largest;
    do slide.style.fontSize = `${size}px`;
    while (overflows() && --size >= least);
  }
  document.body.classList.remove("sizing");
  Reveal.initialize({
    width: 1280,
    height: 720,
    margin: 0,
    center: false,
    controls: false,
    slideNumber: true,
    hash: true,
    transition: "none",
    plugins: [RevealNotes],
  });
});

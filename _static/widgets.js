// The widgets' scripts call the queue of MathJax 2 when they write a label; these pages have MathJax 3, without one.
document.addEventListener("DOMContentLoaded", () => {
  if (window.MathJax) window.MathJax.Hub ??= { Queue() {} };
});

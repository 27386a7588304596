// The audit's filter: a verdict and words leave the rows that fit. Without this script, and in print, all rows are there.
document.addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector("form.audit-filter");
  if (!form) return;
  const [verdict, words, said] = ["select", "input", "output"].map((name) => form.querySelector(name));
  const marks = [...document.querySelectorAll("article :is(.verdict, .question)")];
  const rows = marks.map((mark) => mark.closest("tr"));
  const show = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (row) => {
      const text = row.textContent.toLowerCase();
      const given = row.querySelector(".verdict")?.textContent;
      return (!verdict.value || given === verdict.value) && wanted.every((word) => text.includes(word));
    };
    for (const row of rows) row.classList.toggle("audit-away", !fits(row));
    for (const section of document.querySelectorAll("article section:not(:has(section))")) {
      const own = rows.filter((row) => section.contains(row));
      section.classList.toggle("audit-away", own.length > 0 && !own.some(fits));
    }
    const left = rows.filter((row) => !row.classList.contains("audit-away")).length;
    said.textContent = verdict.value || wanted.length ? `${left} of ${rows.length} rows` : "";
  };
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  show();
});

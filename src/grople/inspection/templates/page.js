"use strict";
(() => {
  const text = (cell) => cell.dataset.value ?? cell.textContent.trim();
  const missing = (value) => value === "" || value === "–";
  const words = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

  // Numbers by size, anything else as words, what is missing always last.
  function compare(a, b, numeric, direction) {
    if (missing(a) || missing(b)) return missing(a) - missing(b);
    return direction * (numeric ? Number(a) - Number(b) : words.compare(a, b));
  }

  function sort(table, column) {
    const heads = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [text(row.cells[column]), row]);
    const numeric = rows.every(([value]) => missing(value) || !Number.isNaN(Number(value)));
    const before = heads[column].getAttribute("aria-sort");
    // Numbers start with the largest, names with the first.
    const first = numeric ? "descending" : "ascending";
    const order = before ? (before === "ascending" ? "descending" : "ascending") : first;
    const direction = order === "ascending" ? 1 : -1;
    rows.sort(([a], [b]) => compare(a, b, numeric, direction));
    body.append(...rows.map(([, row]) => row));
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[column].setAttribute("aria-sort", order);
  }

  function filter(input, table, status) {
    const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      const content = row.textContent.toLowerCase();
      row.hidden = !wanted.every((word) => content.includes(word));
      shown += !row.hidden;
    }
    status.textContent = wanted.length ? `${shown} of ${table.tBodies[0].rows.length}` : "";
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("table:not([data-own]) thead th button");
    if (button) sort(button.closest("table"), button.closest("th").cellIndex);
  });

  for (const box of document.querySelectorAll(".table")) {
    const input = box.querySelector(".find input");
    const table = box.querySelector("table");
    const status = box.querySelector(".find [role=status]");
    if (input) input.addEventListener("input", () => filter(input, table, status));
  }

  // A closed part that a link points into opens.
  function reveal() {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    for (let part = target; part; part = part.parentElement) {
      if (part.tagName === "DETAILS") part.open = true;
    }
    if (target) target.scrollIntoView();
  }
  addEventListener("hashchange", reveal);
  if (location.hash) reveal();

  // Closed parts would be missing on paper.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((part) => (part.open = true));
  });
  addEventListener("afterprint", () => opened.forEach((part) => (part.open = false)));

  const links = new Map(
    [...document.querySelectorAll("nav a")].map((a) => [a.getAttribute("href").slice(1), a]),
  );
  const inView = new Set();
  const watch = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting) inView.add(entry.target.id);
        else inView.delete(entry.target.id);
      }
      const current = [...links.keys()].find((id) => inView.has(id));
      for (const [id, link] of links) {
        if (id === current) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    },
    { rootMargin: "-10% 0px -60% 0px" },
  );
  document.querySelectorAll("main > section").forEach((section) => watch.observe(section));
})();

"use strict";
(() => {
  const data = JSON.parse(document.getElementById("label-data").textContent);
  const L = data.names.length;
  const PAGE = 100;
  const browser = document.querySelector(".browser");
  const input = browser.querySelector("input");
  const status = browser.querySelector(".find [role=status]");
  const table = browser.querySelector("table");
  const more = browser.querySelector(".more");
  const portrait = document.getElementById("portrait");
  const words = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const group = (i) => data.styles[data.groups[i]];
  const lower = data.names.map((name, i) => `${name} ${group(i)?.name ?? ""}`.toLowerCase());

  const whole = (value) => value.toLocaleString("en");
  const decimals = (value) => value.toFixed(3);
  const columns = [
    { title: "label", values: data.names },
    { title: "rows", values: data.rows, show: whole },
    { title: "AP", values: data.precision, show: decimals },
    { title: "AUC", values: data.auc, show: decimals },
  ].filter((column) => column.values);
  const state = { sort: data.rows ? "rows" : "label", direction: data.rows ? -1 : 1, shown: PAGE, current: -1 };

  // Everything is set as text, so that no name is ever taken for markup.
  function make(tag, properties = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name.startsWith("--")) element.style.setProperty(name, value);
      else if (name in element) element[name] = value;
      else element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }

  // Long names may be broken after `::`, `/`, `.`, `:` and `_`.
  const broken = (name) => name.split(/(?<=::|[/_.:](?=\w))/).flatMap((piece) => [make("wbr"), piece]).slice(1);

  function mark(i) {
    const [svg, path] = ["svg", "path"].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
    const style = group(i) ?? data.noGroup;
    for (const [name, value] of [["class", "mark"], ["viewBox", "-1.4 -1.4 2.8 2.8"], ["aria-hidden", "true"]]) {
      svg.setAttribute(name, value);
    }
    path.setAttribute("d", style.path);
    path.setAttribute("fill", style.colour);
    svg.append(path);
    return svg;
  }
  const link = (i) => make("a", { href: `#label-${i}` }, ...broken(data.names[i]));

  function chosen() {
    const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = [];
    for (let i = 0; i < L; i++) if (wanted.every((word) => lower[i].includes(word))) found.push(i);
    const { values } = columns.find((column) => column.title === state.sort);
    const byName = state.sort === "label";
    return found.sort((a, b) => {
      const [x, y] = [values[a], values[b]];
      if (x === null || y === null) return (x === null) - (y === null) || a - b;
      return state.direction * (byName ? words.compare(x, y) : x - y) || a - b;
    });
  }

  function head() {
    return make("thead", {}, make("tr", {}, ...columns.map((column) => {
      const button = make("button", { type: "button", title: data.about[column.title] ?? "" }, column.title);
      const cell = make("th", { scope: "col", className: column.show ? "number" : "" }, button);
      if (column.title === state.sort) {
        cell.setAttribute("aria-sort", state.direction > 0 ? "ascending" : "descending");
      }
      button.addEventListener("click", () => {
        if (state.sort === column.title) state.direction *= -1;
        else Object.assign(state, { sort: column.title, direction: column.show ? -1 : 1 });
        list();
        const again = columns.indexOf(column);
        table.tHead.rows[0].cells[again].firstChild.focus();
      });
      return cell;
    })));
  }

  function row(i) {
    const cells = columns.map((column) => {
      if (!column.show) return make("th", { scope: "row" }, mark(i), link(i));
      const value = column.values[i];
      return make("td", { className: "number" }, value === null ? "–" : column.show(value));
    });
    const line = make("tr", {}, ...cells);
    if (i === state.current) line.setAttribute("aria-current", "true");
    return line;
  }

  function list() {
    const found = chosen();
    const rows = found.slice(0, state.shown).map(row);
    table.replaceChildren(head(), make("tbody", {}, ...rows));
    status.textContent = input.value.trim() ? `${whole(found.length)} of ${whole(L)}` : `${whole(L)} labels`;
    const left = found.length - rows.length;
    more.hidden = left <= 0;
    more.textContent = left > 10 * PAGE ? `Show ${whole(10 * PAGE)} more of ${whole(left)}` : `Show ${whole(left)} more`;
    return found;
  }

  function bars(title, numbers, values, name, show, signed) {
    if (!numbers.length) return [];
    const largest = Math.max(...values.map(Math.abs), 1e-12);
    const lines = numbers.map((number, k) => {
      const value = values[k];
      const kind = signed ? (value < 0 ? "negative" : "positive") : "neutral";
      const size = Math.abs(value) / (signed ? largest : Math.max(largest, 1));
      return make("li", { className: kind }, make("span", {}, name(number)),
        make("i", { "--size": size, "aria-hidden": "true" }), make("output", {}, show(value)));
    });
    return [make("h4", {}, title), make("ul", { className: "bars" }, ...lines)];
  }

  function halves(pairs = [], keep, most = 6) {
    const n = pairs.length / 2;
    const kept = [...Array(n).keys()].filter((k) => keep(pairs[n + k])).slice(0, most);
    return [kept.map((k) => pairs[k]), kept.map((k) => pairs[n + k])];
  }

  function show(i) {
    state.current = i;
    const facts = [];
    if (group(i)) facts.push(`group ${group(i).name}`);
    if (data.rows) facts.push(`${whole(data.rows[i])} rows`);
    if (data.precision && data.precision[i] !== null) {
      facts.push(`average precision ${decimals(data.precision[i])}`, `AUC ${decimals(data.auc[i])}`);
    }
    const sign = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toPrecision(2);
    const percent = (value) => `${Math.round(100 * value)} %`;
    const cosine = (value) => value.toFixed(2).replace("-", "−");
    portrait.replaceChildren(
      make("h3", {}, mark(i), ...broken(data.names[i])),
      make("p", {}, facts.join(" · ")),
      ...bars("Features that speak for it (+) or against it (−)",
        ...halves(data.features?.[i], (effect) => effect !== 0, 10), (j) => data.featureNames[j], sign, true),
      ...bars("Labels the model treats most alike (cosine)",
        ...halves(data.nearest?.[i], (value) => value > 0), link, cosine, false),
      ...bars("Share of its rows that also carry",
        ...halves(data.together?.[i], (share) => share > 0), link, percent, false),
    );
    document.querySelectorAll(".map [aria-current]").forEach((a) => a.removeAttribute("aria-current"));
    document.querySelector(`.map a[href="#label-${i}"]`)?.setAttribute("aria-current", "true");
    for (const line of table.querySelectorAll("tbody tr")) {
      const here = line.querySelector("a").hash === `#label-${i}`;
      if (here) line.setAttribute("aria-current", "true");
      else line.removeAttribute("aria-current");
    }
  }

  // Labels have addresses (#label-7), so that they can be linked to and the way back works.
  function follow() {
    const number = /^#label-(\d+)$/.exec(location.hash)?.[1];
    if (number === undefined || !(number < L)) return;
    show(Number(number));
    portrait.scrollTop = 0;
    portrait.focus({ preventScroll: true });
    portrait.scrollIntoView({ block: "nearest" });
  }

  input.addEventListener("input", () => {
    state.shown = PAGE;
    const found = list();
    if (found.length && input.value.trim()) show(found[0]);
  });
  more.addEventListener("click", () => {
    state.shown += 10 * PAGE;
    list();
  });
  addEventListener("hashchange", follow);
  const first = list()[0];
  if (first !== undefined) show(first);
  follow();
})();

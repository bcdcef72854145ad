"use strict";
(() => {
  const root = document.documentElement;
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const coarse = matchMedia("(pointer: coarse)").matches;
  const hidden = {}; // environment -> agents that are not shown

  // Colours are names that the style sheet resolves for the theme: "@c0", or "@c0/0.2" with an opacity.
  function colour(name, style) {
    const [key, opacity] = name.slice(1).split("/");
    const value = style.getPropertyValue("--" + key).trim();
    if (!opacity) return value;
    const [r, g, b] = [1, 3, 5].map((i) => parseInt(value.slice(i, i + 2), 16));
    return `rgba(${r},${g},${b},${opacity})`;
  }
  function resolved(value, style) {
    if (typeof value === "string") {
      return /^@[a-z]+\d*(\/[\d.]+)?$/.test(value) ? colour(value, style) : value;
    }
    if (Array.isArray(value)) {
      return typeof value[0] === "object" ? value.map((item) => resolved(item, style)) : value;
    }
    if (value && typeof value === "object") {
      const entries = Object.entries(value);
      return Object.fromEntries(entries.map(([k, v]) => [k, k === "meta" ? v : resolved(v, style)]));
    }
    return value;
  }

  function draw(id) {
    const { traces, layout, env } = figures[id];
    const style = getComputedStyle(root);
    const off = hidden[env] || new Set();
    const data = resolved(traces, style).map((trace) => ({ ...trace, visible: !off.has(trace.meta) }));
    const shown = resolved(layout, style);
    if (shown.shapes) {
      shown.shapes = shown.shapes.map((shape) => ({ ...shape, visible: !off.has(shape.name) }));
    }
    const config = {
      responsive: true,
      displaylogo: false,
      displayModeBar: coarse ? false : "hover",
      modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    };
    return Plotly.react(id, data, { ...shown, dragmode: coarse ? false : "zoom" }, config);
  }
  const drawn = new Set();
  const redraw = (env) => [...drawn].filter((id) => !env || figures[id].env === env).forEach(draw);

  // The light and the dark theme.
  const button = document.getElementById("theme");
  const darkPreferred = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try {
    chosen = localStorage.getItem("heavytail-theme");
  } catch { /* a page from a file may have no storage */ }
  function applyTheme() {
    root.dataset.theme = chosen || (darkPreferred.matches ? "dark" : "light");
    button.textContent = root.dataset.theme === "dark" ? "☀ light" : "☾ dark";
  }
  applyTheme();
  button.addEventListener("click", () => {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("heavytail-theme", chosen); } catch { /* then the next visit does not know */ }
    applyTheme();
    redraw();
  });
  darkPreferred.addEventListener("change", () => { applyTheme(); redraw(); });

  // One legend for all figures of an environment.
  document.querySelectorAll(".legend").forEach((legend) => {
    const env = legend.dataset.env;
    const agents = [...legend.querySelectorAll("[data-agent]")];
    function show(off) {
      hidden[env] = off;
      agents.forEach((agent) => agent.setAttribute("aria-pressed", String(!off.has(agent.dataset.agent))));
      redraw(env);
    }
    agents.forEach((agent) => {
      agent.addEventListener("click", () => {
        const off = new Set(hidden[env]);
        if (!off.delete(agent.dataset.agent)) off.add(agent.dataset.agent);
        show(off);
      });
      agent.addEventListener("dblclick", () => {
        const others = agents.filter((other) => other !== agent);
        show(new Set(others.map((other) => other.dataset.agent)));
      });
    });
    legend.querySelector(".all").addEventListener("click", () => show(new Set()));
  });

  // Tables sort by a click on a heading; again for the other way round.
  document.querySelectorAll("table.sortable").forEach((table) => {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
      const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", sign === 1 ? "ascending" : "descending");
      const key = (row) => row.cells[column].dataset.sort ?? row.cells[column].textContent.trim();
      const order = (a, b) => {
        const [x, y] = [key(a), key(b)];
        const [m, n] = [Number(x), Number(y)];
        return x !== "" && y !== "" && !Number.isNaN(m) && !Number.isNaN(n) ? m - n : x.localeCompare(y);
      };
      table.tBodies[0].append(...[...table.tBodies[0].rows].sort((a, b) => sign * order(a, b)));
    }));
  });

  // One figure after the other, so that the page can be read meanwhile.
  const waiting = Object.keys(figures);
  function next() {
    const id = waiting.shift();
    if (id === undefined) { root.dataset.drawn = "all"; return; }
    drawn.add(id);
    draw(id).then(() => setTimeout(next, 0));
  }
  next();
})();

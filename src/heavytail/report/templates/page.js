"use strict";
(async () => {
  const root = document.documentElement;

  // What the page carries in gzip and Base85: five letters are four bytes, "~" is the last digit.
  const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%:()*+-;,=.?@^_`{|}~";
  function unpack(id) {
    const text = document.getElementById(id).textContent;
    const groups = new DataView(new ArrayBuffer(4 * Math.ceil(text.length / 5)));
    const digits = new Uint8Array(128);
    for (let i = 0; i < 85; i++) digits[DIGITS.charCodeAt(i)] = i;
    for (let k = 0; 5 * k < text.length; k++) {
      let number = 0;
      for (let i = 5 * k; i < 5 * k + 5; i++) {
        number = 85 * number + (i < text.length ? digits[text.charCodeAt(i)] : 84);
      }
      groups.setUint32(4 * k, number);
    }
    const bytes = new Uint8Array(groups.buffer, 0, Math.floor((4 * text.length) / 5));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  }
  const coarse = matchMedia("(pointer: coarse)").matches;
  const hidden = {}; // environment -> agents that are not shown
  let figures = {};

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

  // Small multiples stand in as many columns as there is room for, and the plot is as high as they need.
  function arrange(id, layout = {}) {
    const { panels, columns, height, width, same } = figures[id].multiples;
    const plot = document.getElementById(id);
    const fit = Math.min(columns, Math.max(1, Math.floor(plot.clientWidth / width)));
    const rows = Math.ceil(panels / fit);
    plot.style.height = `${rows * height}px`;
    for (let i = 1; same && i < panels; i++) {
      if (i % fit && layout[`yaxis${i + 1}`]?.title) layout[`yaxis${i + 1}`].title.text = "";
    }
    // what lies between panels, for tick labels and titles, in shares of a panel
    layout.grid = { rows, columns: fit, pattern: "independent", xgap: 0.2, ygap: 65 / (height - 65) };
  }

  function draw(id) {
    const { traces, layout, env, multiples } = figures[id];
    const style = getComputedStyle(root);
    const off = hidden[env] || new Set();
    const data = resolved(traces, style).map((trace) => ({ ...trace, visible: !off.has(trace.meta) }));
    const shown = resolved(layout, style);
    if (shown.shapes) {
      shown.shapes = shown.shapes.map((shape) => ({ ...shape, visible: !off.has(shape.name) }));
    }
    if (multiples) arrange(id, shown);
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

  // A figure is drawn when it comes near the window, one after the other; all of them for print.
  try {
    const packed = JSON.parse(await unpack("figures"));
    figures = packed.figures;
    Object.values(figures).flatMap(({ traces }) => traces).forEach((trace) => { // numbers are those of lists
      ["x", "y", "text"].filter((name) => name in trace).forEach((name) => {
        trace[name] = packed.lists[trace[name]];
      });
    });
  } catch {
    document.querySelectorAll(".plot").forEach((plot) => {
      plot.textContent = "This browser is too old to draw it; the file below it has the figure.";
    });
    return;
  }
  const waiting = new Set();
  let busy = null;
  async function drawWaiting() {
    if (!window.Plotly) {
      const script = document.createElement("script");
      script.textContent = await unpack("plotly");
      document.head.append(script);
    }
    for (const id of waiting) {
      drawn.add(id);
      await draw(id);
      waiting.delete(id);
      await new Promise((resume) => setTimeout(resume, 0)); // so that the page can be read meanwhile
    }
    busy = null;
    root.dataset.drawn = drawn.size === Object.keys(figures).length ? "all" : "near";
  }
  function want(ids) {
    ids.filter((id) => !drawn.has(id)).forEach((id) => waiting.add(id));
    if (waiting.size) busy ??= drawWaiting();
  }
  const near = new IntersectionObserver((entries) => {
    want(entries.filter((entry) => entry.isIntersecting).map((entry) => entry.target.id));
  }, { rootMargin: "600px 0px" });
  const arranged = Object.keys(figures).filter((id) => figures[id].multiples);
  arranged.forEach((id) => arrange(id));
  addEventListener("resize", () => arranged.filter((id) => drawn.has(id)).forEach(draw));
  Object.keys(figures).forEach((id) => near.observe(document.getElementById(id)));
  addEventListener("beforeprint", () => want(Object.keys(figures)));
})();

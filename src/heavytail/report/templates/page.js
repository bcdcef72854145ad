"use strict";
(() => {
  const root = document.documentElement;

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
  });
  darkPreferred.addEventListener("change", applyTheme);

  // One legend for all figures of an environment.
  document.querySelectorAll(".legend").forEach((legend) => {
    const buttons = [...legend.querySelectorAll("[data-agent]")];
    const drawn = document.querySelectorAll(`.panels[data-env="${CSS.escape(legend.dataset.env)}"] [data-agent]`);
    let hidden = new Set();
    function show(off) {
      hidden = off;
      buttons.forEach((each) => each.setAttribute("aria-pressed", String(!off.has(each.dataset.agent))));
      drawn.forEach((each) => { each.style.display = off.has(each.dataset.agent) ? "none" : ""; });
    }
    buttons.forEach((each) => {
      each.addEventListener("click", () => {
        const off = new Set(hidden);
        if (!off.delete(each.dataset.agent)) off.add(each.dataset.agent);
        show(off);
      });
      each.addEventListener("dblclick", () => {
        const others = buttons.filter((other) => other !== each);
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
})();

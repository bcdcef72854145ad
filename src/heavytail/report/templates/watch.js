"use strict";
(() => {
  const { state, written, reload, report } = document.body.dataset;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  let chosen = null;
  try {
    chosen = localStorage.getItem("heavytail-theme");
  } catch { /* a page from a file may have no storage */ }
  document.documentElement.dataset.theme = chosen || (dark ? "dark" : "light");
  if (state === "finished") {
    if (report) location.replace(report);
    return;
  }
  const age = document.getElementById("age");
  const seconds = Math.round(Date.now() / 1000 - Number(written));
  if (age) age.textContent = seconds > 60 ? `No news for ${Math.round(seconds / 60)} minutes.` : "";
  setTimeout(() => location.reload(), 1000 * Number(reload));
})();

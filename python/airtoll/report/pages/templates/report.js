"use strict";
(() => {
  const config = JSON.parse(document.getElementById("config").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const print = window.matchMedia("print");
  const narrow = window.matchMedia("(max-width: 520px), print");
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // Charts use the page's colours, so they follow light, dark and print.
  function theme() {
    const ink = css("--ink"), muted = css("--muted"), line = css("--line"), font = css("--font");
    const colours = config.levels.map((level) => css("--level-" + level));
    const axis = {
      domainColor: line, gridColor: line, tickColor: line, labelColor: muted, titleColor: muted,
      labelFont: font, titleFont: font, titleFontWeight: "normal", labelFontSize: 11, titleFontSize: 11,
      gridOpacity: 0.6, labelLimit: 170, labelFlush: false,
    };
    return {
      background: "transparent",
      font,
      range: { category: colours, ordinal: [css("--card"), ...colours.slice(1)] },
      view: { stroke: null },
      axis,
      axisX: { grid: false },
      title: { color: ink, font, fontSize: 13, fontWeight: 600, anchor: "start", offset: 8 },
      legend: {
        labelColor: muted, titleColor: muted, labelFont: font, titleFont: font, titleFontWeight: "normal",
        orient: "bottom", direction: "horizontal", titleOrient: "left", labelFontSize: 11, titleFontSize: 11,
        symbolSize: 60, columnPadding: 12, columns: narrow.matches ? 2 : 4, symbolBaseStrokeColor: muted,
        layout: { bottom: { anchor: "start", direction: narrow.matches ? "vertical" : "horizontal", margin: narrow.matches ? 4 : 26, center: false } },
      },
      style: { expected: { color: ink }, zero: { color: muted, strokeDash: [3, 3] } },
    };
  }
  // A folded chart has no width: it is drawn when it opens.
  const views = new Map();
  function drawOne(place, again) {
    if (place.closest("details:not([open])") || (views.has(place.id) && !again)) return;
    views.get(place.id)?.finalize();
    views.set(place.id, null);
    const spec = config.charts[place.id];
    const figures = { ...spec, config: { ...spec.config, ...theme() } };
    figures.config.view = { ...figures.config.view, continuousWidth: 300, stroke: null };
    window
      .vegaEmbed(place, figures, {
        ast: true, logLevel: 1, renderer: "svg", tooltip: { theme: dark.matches ? "dark" : "light" },
        actions: { export: { svg: true, png: true }, source: false, compiled: false, editor: false },
        downloadFileName: place.id,
      })
      .then((result) => views.set(place.id, result.view))
      .catch((error) => { place.textContent = "This chart cannot be drawn: " + error.message; });
  }
  function draw(again) {
    if (!window.vegaEmbed) return;
    for (const id of Object.keys(config.charts)) drawOne(document.getElementById(id), again);
  }
  draw(false);
  for (const media of [dark, narrow, print]) media.addEventListener("change", () => draw(true));
  for (const folded of document.querySelectorAll("details")) folded.addEventListener("toggle", () => draw(false));

  const deviations = document.getElementById("show-sd");
  deviations?.addEventListener("change", () => {
    document.getElementById("comparison").classList.toggle("show-sd", deviations.checked);
  });

  // The list of runs: filters and expandable rows.
  const table = document.getElementById("runs-table");
  if (!table) return;
  const bodies = Array.from(table.tBodies);
  const status = document.getElementById("runs-status");
  const search = document.getElementById("runs-search");
  const selects = Array.from(document.querySelectorAll("select[data-factor]"));
  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const body of bodies) {
      const fits =
        words.every((word) => body.dataset.text.includes(word)) &&
        selects.every((select) => !select.value || body.getAttribute("data-" + select.dataset.factor) === select.value);
      body.hidden = !fits;
      shown += fits;
    }
    status.textContent = shown + " of " + bodies.length + " runs shown";
  }
  for (const body of bodies) body.dataset.text = body.rows[0].textContent.toLowerCase();
  search.addEventListener("input", filter);
  selects.forEach((select) => select.addEventListener("change", filter));
  table.addEventListener("click", (event) => {
    const button = event.target.closest("button[aria-expanded]");
    if (button) open(button.closest("tbody"), button.getAttribute("aria-expanded") !== "true");
  });
  function open(body, yes) {
    body.classList.toggle("open", yes);
    body.querySelector("button[aria-expanded]").setAttribute("aria-expanded", String(yes));
  }
  function follow() {
    const body = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (body && body.parentElement === table) {
      open(body, true);
      body.scrollIntoView();
    }
  }
  window.addEventListener("hashchange", follow);
  filter();
  follow();
})();

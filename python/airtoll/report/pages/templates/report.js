"use strict";
(() => {
  const config = JSON.parse(document.getElementById("config").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const print = window.matchMedia("print");
  const narrow = window.matchMedia("(max-width: 520px), print");
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const measured = document.createElement("canvas").getContext("2d");
  function textWidth(text, size, weight) {
    measured.font = `${weight} ${size}px ${css("--font")}`;
    return measured.measureText(text).width;
  }
  // A legend has as many columns as fit, and a title as many lines as it requires.
  function legendColumns(spec, width) {
    const channels = [spec, ...(spec.layer ?? [])].flatMap(({ encoding: { color, fill, shape } = {} }) => [color, fill, shape]);
    const labels = channels.flatMap((channel) => (channel?.legend && channel.scale?.domain) || []);
    const widest = Math.max(0, ...labels.map((label) => textWidth(label, 11, "normal")));
    const most = Math.floor((width - 130) / (widest + 32));  // 130: the axis and the title of the legend
    return Math.max(1, Math.min(4, most));
  }
  function lines(text, width) {
    const found = [];
    for (const word of text.split(" ")) {
      const longer = found.length ? found.at(-1) + " " + word : word;
      if (found.length && textWidth(longer, 13, 600) <= width) found[found.length - 1] = longer;
      else found.push(word);
    }
    return found;
  }

  // Charts use the page's colours, so they follow light, dark and print.
  function theme(spec, width) {
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
      // On a narrow screen, a title that is wider than the plot extends to the left, below the labels of the rows.
      axisX: { grid: false, ...(narrow.matches ? { titleAnchor: "end" } : {}) },
      title: { color: ink, font, fontSize: 13, fontWeight: 600, anchor: "start", offset: 8 },
      legend: {
        labelColor: muted, titleColor: muted, labelFont: font, titleFont: font, titleFontWeight: "normal",
        orient: "bottom", direction: "horizontal", titleOrient: "left", labelFontSize: 11, titleFontSize: 11,
        symbolSize: 60, columnPadding: 12, columns: legendColumns(spec, width), symbolBaseStrokeColor: muted,
        labelLimit: width - 130,
        layout: {
          bottom: { anchor: "start", direction: narrow.matches ? "vertical" : "horizontal", margin: narrow.matches ? 4 : 26, center: false },
          top: narrow.matches ? { anchor: "end", direction: "vertical" } : {},
        },
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
    const width = place.clientWidth;
    const title = lines(spec.title, width - 8);
    const figures = { ...spec, title, config: { ...spec.config, ...theme(spec, width) } };
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

  // The list of runs: filters, pages of rows, and rows that open. Rows are made when they are shown.
  const table = document.getElementById("runs-table");
  if (!table) return;
  const runs = config.runs;
  const status = document.getElementById("runs-status");
  const search = document.getElementById("runs-search");
  const back = document.getElementById("runs-back"), on = document.getElementById("runs-on");
  const selects = Array.from(document.querySelectorAll("select[data-factor]"));
  let found = runs.rows, first = 0;

  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }
  function factList(facts) {
    return element("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
  }
  function card(title, content) {
    return element("div", { class: "card" }, element("h3", {}, title), content);
  }
  function detail(run) {
    if (!run.run) {
      return [element("p", {}, run.state === "not needed"
        ? "Not needed: the stopping rule already had enough replicates of this cell."
        : "Not finished: this run has no record.")];
    }
    const links = runs.files[run.files].map((name) => {
      const path = ["runs", run.id, ...name.split("/")].map(encodeURIComponent).join("/");
      return element("li", {}, element("a", { href: runs.base + path }, name));
    });
    const values = runs.metrics.map((title, place) => [title, run.values[place]]);
    const cards = [
      card("Run", factList([...run.run, ...values])),
      ...Object.entries(run.facts ?? {}).map(([title, facts]) => card(title, factList(Object.entries(facts)))),
      card("Files", element("ul", { class: "links" }, ...links)),
    ];
    const reasons = (run.reasons ?? []).map((reason) => element("li", {}, reason));
    return [...(reasons.length ? [element("ul", { class: "reasons" }, ...reasons)] : []), element("div", { class: "cards" }, ...cards)];
  }
  function row(run) {
    const cell = runs.cells[run.cell];
    const state = element("span", { class: "state " + run.state.replaceAll(" ", "-") }, run.state);
    return element("tbody", { id: "run-" + run.id }, element("tr", {},
      element("th", { scope: "row" }, element("button", { type: "button", "aria-expanded": "false" }, run.id)),
      element("td", {}, cell.flow), element("td", {}, cell.level), element("td", { class: "num" }, run.block), element("td", {}, state),
      ...run.values.map((value) => element("td", { class: "num" }, value))));
  }
  function show(from) {
    first = from;
    const shown = found.slice(first, first + runs.per_page);
    for (const body of Array.from(table.tBodies)) body.remove();
    table.append(...shown.map(row));
    const range = found.length > runs.per_page ? `${first + 1} to ${first + shown.length} of ` : "";
    const of = found.length < runs.rows.length ? ` of ${runs.rows.length}` : "";
    status.textContent = `${range}${found.length}${of} runs`;
    back.disabled = first === 0;
    on.disabled = first + shown.length >= found.length;
    back.hidden = on.hidden = found.length <= runs.per_page;
  }
  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    found = runs.rows.filter((run) => {
      const cell = runs.cells[run.cell];
      const text = words.length ? [run.id, cell.flow, cell.level, run.state, ...run.values].join(" ").toLowerCase() : "";
      return words.every((word) => text.includes(word)) && selects.every((select) => {
        const factor = select.dataset.factor;
        return !select.value || (factor === "state" ? run.state : cell.factors[factor]) === select.value;
      });
    });
    show(0);
  }
  function open(body, yes) {
    if (yes && body.rows.length === 1) {
      const inner = element("div", { class: "inner" }, ...detail(runs.rows.find((run) => "run-" + run.id === body.id)));
      body.append(element("tr", { class: "detail" }, element("td", { colspan: 5 + runs.metrics.length }, inner)));
    }
    body.classList.toggle("open", yes);
    body.querySelector("button[aria-expanded]").setAttribute("aria-expanded", String(yes));
  }
  function follow() {
    const id = decodeURIComponent(location.hash.slice(1));
    const place = runs.rows.findIndex((run) => "run-" + run.id === id);
    if (place < 0) return;
    for (const control of [search, ...selects]) control.value = "";
    found = runs.rows;
    show(place - (place % runs.per_page));
    const body = document.getElementById(id);
    open(body, true);
    body.scrollIntoView();
  }
  search.addEventListener("input", filter);
  selects.forEach((select) => select.addEventListener("change", filter));
  back.addEventListener("click", () => show(first - runs.per_page));
  on.addEventListener("click", () => show(first + runs.per_page));
  search.form.addEventListener("submit", (event) => event.preventDefault());
  table.addEventListener("click", (event) => {
    const button = event.target.closest("button[aria-expanded]");
    if (button) open(button.closest("tbody"), button.getAttribute("aria-expanded") !== "true");
  });
  window.addEventListener("hashchange", follow);
  show(0);
  follow();
})();

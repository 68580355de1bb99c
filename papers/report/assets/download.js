// SPDX-License-Identifier: MIT OR Apache-2.0
// A figure as CSV, SVG and PNG, made in the browser.

const INHERENT = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linejoin",
  "stroke-linecap",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
];
const PNG_SCALE = 3;

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// A cell of CSV (RFC 4180). A name that begins as a formula does is kept from being one in a spreadsheet.
function cell(value) {
  if (typeof value === "number") return String(value);
  let text = value === undefined ? "" : String(value);
  if (/^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csv(chart) {
  const { data } = chart;
  const rows = [["curve", data.x.label, data.y.label, "half of the 95 % interval"]];
  const ranges = data.curves.some((curve) => curve.ranges);
  if (ranges) rows[0].push("least", "largest");
  for (const curve of data.curves) {
    for (const [x, y, half, range = ["", ""]] of curve.points) {
      const row = [curve.name, data.kind === "bars" ? data.names[x] : x, y, half];
      rows.push(ranges ? [...row, ...range] : row);
    }
  }
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

// The drawing as it is seen, in the light theme, with its title and legend, and with nothing that only this page knows.
function standalone(chart) {
  const before = chart.svg.dataset.theme;
  chart.svg.dataset.theme = "light";
  const drawing = chart.svg.cloneNode(true);
  for (const gone of drawing.querySelectorAll(".selection, .mark")) gone.remove();
  const originals = [...chart.svg.querySelectorAll(":not(.selection):not(.mark)")];
  [...drawing.querySelectorAll("*")].forEach((copy, number) => settle(copy, originals[number]));
  const shown = chart.curves.filter((_, number) => !chart.hidden.has(number));
  const entries = shown.map((group) => legendEntry(chart, Number(group.dataset.curve)));
  for (const group of drawing.querySelectorAll("g.curve[hidden]")) group.remove();
  if (before === undefined) delete chart.svg.dataset.theme;
  else chart.svg.dataset.theme = before;

  const { width, height } = chart.size;
  const [above, below] = [30, 22 * entries.length + 8];
  const whole = make("svg", {
    xmlns: NAMESPACE,
    width,
    height: above + height + below,
    viewBox: `0 0 ${width} ${above + height + below}`,
  });
  const letters = { "font-family": "sans-serif", "font-size": 13, fill: "#1b1f24" };
  whole.append(make("title", {}, chart.title));
  whole.append(make("rect", { width: "100%", height: "100%", fill: "#ffffff" }));
  whole.append(make("text", { ...letters, x: 14, y: 20, "font-weight": 600 }, chart.title));
  const figure = make("g", { transform: `translate(0 ${above})` });
  figure.append(...drawing.childNodes);
  whole.append(figure);
  entries.forEach(({ swatch, name }, number) => {
    const at = above + height + 22 * number;
    const entry = make("g", { transform: `translate(${MARGIN.left} ${at})` });
    entry.append(...swatch.childNodes, make("text", { ...letters, x: 36, y: 11 }, name));
    whole.append(entry);
  });
  for (const element of whole.querySelectorAll("[class]")) element.removeAttribute("class");
  return new XMLSerializer().serializeToString(whole);
}

// Copies the computed style of an element.
function settle(copy, original) {
  const style = getComputedStyle(original);
  for (const name of INHERENT) {
    const value = style.getPropertyValue(name);
    if (value) copy.setAttribute(name, value);
  }
}

function legendEntry(chart, number) {
  const item = chart.element.querySelector(`.legend [data-curve="${number}"]`);
  const original = item.querySelector("svg.swatch");
  original.dataset.theme = "light";
  const swatch = original.cloneNode(true);
  const originals = [...original.querySelectorAll("*")];
  [...swatch.querySelectorAll("*")].forEach((copy, at) => settle(copy, originals[at]));
  delete original.dataset.theme;
  return { swatch, name: chart.data.curves[number].name };
}

async function png(chart) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standalone(chart))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth * PNG_SCALE;
  canvas.height = image.naturalHeight * PNG_SCALE;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

const DOWNLOADS = {
  CSV: async (chart) => new Blob([csv(chart)], { type: "text/csv" }),
  SVG: async (chart) => new Blob([standalone(chart)], { type: "image/svg+xml" }),
  PNG: png,
};

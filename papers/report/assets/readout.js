// SPDX-License-Identifier: MIT OR Apache-2.0
// The values under the pointer, and curves that are taken away by their names.

function makeReadable(chart) {
  const { svg, data } = chart;
  const plot = svg.parentElement;
  const box = document.createElement("div");
  box.className = "readout";
  box.hidden = true;
  plot.append(box);
  const mark = make("path", { class: "mark", d: "" });
  svg.append(mark);
  const hide = () => {
    box.hidden = true;
    mark.setAttribute("d", "");
  };
  const bars = data.kind === "bars";

  const show = (event) => {
    const around = svg.getBoundingClientRect();
    const scale = chart.size.width / around.width;
    const across = (event.clientX - around.left) * scale;
    const up = (event.clientY - around.top) * scale;
    const inside =
      across >= MARGIN.left && across <= chart.right && up >= MARGIN.top && up <= chart.bottom;
    const wanted = inside ? nearestValue(chart, chart.x.value(across)) : undefined;
    if (wanted === undefined) {
      hide();
      return;
    }
    const at = chart.x.place(wanted);
    const rows = [];
    data.curves.forEach((curve, number) => {
      if (chart.hidden.has(number)) return;
      const point = pointAt(data, curve.points, wanted);
      if (point) rows.push(row(chart, number, curve.name, point));
    });
    if (rows.length === 0) {
      hide();
      return;
    }
    const heading = document.createElement("p");
    heading.textContent = bars ? data.names[wanted] : `${plain(wanted)} ${unitOf(data.x.label)}`;
    box.replaceChildren(heading, ...rows);
    box.hidden = false;
    mark.setAttribute("d", bars ? "" : `M${f(at)} ${MARGIN.top}V${chart.bottom}`);
    // To the side of the pointer where there is room.
    const place = at / scale;
    const left = place > around.width / 2 ? place - box.offsetWidth - 12 : place + 12;
    box.style.left = `${Math.max(0, Math.min(left, around.width - box.offsetWidth))}px`;
    box.style.top = `${MARGIN.top / scale}px`;
  };
  svg.addEventListener("pointermove", show);
  svg.addEventListener("pointerdown", show);
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("pointercancel", hide);
  chart.element.addEventListener("drawn", hide);
}

function row(chart, number, name, [, value, half, range]) {
  const line = document.createElement("p");
  const swatch = chart.element.querySelector(`.legend [data-curve="${number}"] svg.swatch`);
  const text = document.createElement("span");
  text.textContent = name;
  const figure = document.createElement("b");
  figure.textContent = plain(value);
  if (half !== undefined) figure.textContent += ` \u00b1 ${plain(half)}`;
  if (range !== undefined) figure.textContent += ` (${range.map(plain).join(" to ")})`;
  line.append(swatch.cloneNode(true), text, figure);
  return line;
}

// The unit in a label such as `period (s)`.
function unitOf(label) {
  return label.match(/\(([^()]*)\)$/)?.[1] ?? "";
}

// The value of x with points that is nearest to a place.
function nearestValue(chart, value) {
  const { data } = chart;
  let [best, least] = [undefined, Infinity];
  const place = chart.x.place(value);
  data.curves.forEach((curve, number) => {
    if (chart.hidden.has(number)) return;
    for (const x of neighbours(curve.points, value)) {
      const distance = Math.abs(chart.x.place(x) - place);
      if (distance < least) [best, least] = [x, distance];
    }
  });
  return best;
}

// The values of x to the left and to the right.
function neighbours(points, value) {
  const after = firstFrom(points, value);
  return [points[after - 1], points[after]].filter(Boolean).map((point) => point[0]);
}

// The first point whose x is no less.
function firstFrom(points, value) {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

// A curve's point at a value of x; over time the last one before it.
function pointAt(data, points, value) {
  const at = firstFrom(points, value);
  if (points[at]?.[0] === value) return points[at];
  return data.kind === "time_series" ? points[at - 1] : undefined;
}

// A curve's name becomes a button that takes it away and brings it back.
function makeLegend(chart) {
  if (chart.data.curves.length < 2) return;
  for (const item of chart.element.querySelectorAll(".legend li")) {
    const number = Number(item.dataset.curve);
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("aria-pressed", "true");
    button.title = "Show or hide";
    button.append(...item.childNodes);
    item.append(button);
    button.addEventListener("click", () => {
      const shown = chart.hidden.delete(number);
      if (!shown) chart.hidden.add(number);
      button.setAttribute("aria-pressed", String(shown));
      chart.curves[number].toggleAttribute("hidden", !shown);
      chart.draw();
    });
  }
}

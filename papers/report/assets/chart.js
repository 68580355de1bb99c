// SPDX-License-Identifier: MIT OR Apache-2.0
// Draws a figure again, at another size or zoom. As in the crate netnice-chart.

const MARGIN = { left: 66, right: 16, top: 12, bottom: 54 };
const WRITTEN = { width: 760, height: 400 };
const BARS = 0.74;
const LETTER = 6.4;
const NAMESPACE = "http://www.w3.org/2000/svg";

const MARKERS = {
  circle: (x, y) => `M${f(x - 4)} ${f(y)}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z`,
  square: (x, y) => `M${f(x - 3.5)} ${f(y - 3.5)}h7v7h-7z`,
  triangle: (x, y) => `M${f(x)} ${f(y - 5)}l4.5 8h-9z`,
  wedge: (x, y) => `M${f(x)} ${f(y + 5)}l4.5 -8h-9z`,
  diamond: (x, y) => `M${f(x)} ${f(y - 5)}l5 5l-5 5l-5 -5z`,
  plus: (x, y) => `M${f(x - 5)} ${f(y)}h10m-5 -5v10`,
  reported: (x, y) => `M${f(x)} ${f(y - 7)}l7 7l-7 7l-7 -7z`,
  reported_square: (x, y) => `M${f(x - 5.5)} ${f(y - 5.5)}h11v11h-11z`,
  reported_circle: (x, y) => `M${f(x - 6)} ${f(y)}a6 6 0 1 0 12 0a6 6 0 1 0 -12 0z`,
  none: () => "",
};

function f(number) {
  return number.toFixed(1);
}

// An SVG element.
function make(name, attributes, text) {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

class Chart {
  constructor(element) {
    this.element = element;
    this.name = element.dataset.name;
    this.data = JSON.parse(element.querySelector("script.data").textContent);
    for (const { points, ranges = [] } of this.data.curves) {
      ranges.forEach((range, at) => (points[at][3] = range));
    }
    this.svg = element.querySelector("svg.drawing");
    this.axes = this.svg.querySelector("g.axes");
    this.curves = [...this.svg.querySelectorAll("g.curve")];
    this.clip = this.svg.querySelector("clipPath rect");
    this.hidden = new Set();
    this.size = { ...WRITTEN };
    this.whole = xDomain(this.data);
    this.view = this.whole;
    this.scales();
  }

  get title() {
    return this.element.querySelector("figcaption h4").textContent;
  }

  get canZoom() {
    return this.data.kind !== "bars" && !("empty" in this.svg.dataset);
  }

  get isZoomed() {
    return this.view !== this.whole;
  }

  get right() {
    return this.size.width - MARGIN.right;
  }

  get bottom() {
    return this.size.height - MARGIN.bottom;
  }

  // The points that are in view.
  visible() {
    const [least, largest] = this.view;
    const points = [];
    this.data.curves.forEach((curve, number) => {
      // Hidden curves count for the scale, so that the others do not jump when one is hidden.
      if (this.isZoomed && this.hidden.has(number)) return;
      for (const point of curve.points) {
        if (!this.isZoomed || (point[0] >= least && point[0] <= largest)) points.push(point);
      }
    });
    return points;
  }

  scales() {
    const { data } = this;
    this.x = new Scale(this.view, data.x.logarithmic, MARGIN.left, this.right);
    let domain = yDomain(data, this.visible());
    this.y = new Scale(domain, data.y.logarithmic, this.bottom, MARGIN.top);
  }

  // Fits the figure to the room it has: one unit is one pixel, so that letters keep their size.
  fit(width) {
    const wide = Math.min(Math.max(Math.round(width), 280), 1100);
    if (wide === this.size.width) return;
    this.size = { width: wide, height: Math.round(Math.min(Math.max(wide * 0.526, 300), 480)) };
    this.draw();
  }

  // Shows from one value of x to another; all of it where that is more.
  show(from, to) {
    const [least, largest] = this.whole;
    const { logarithmic } = this.data.x;
    const span = logarithmic ? Math.log(to / from) : to - from;
    const all = logarithmic ? Math.log(largest / least) : largest - least;
    if (!(span > all * 1e-5)) return;
    if (span >= all * 0.999) {
      this.view = this.whole;
    } else if (from < least) {
      this.view = [least, logarithmic ? least * Math.exp(span) : least + span];
    } else if (to > largest) {
      this.view = [logarithmic ? largest / Math.exp(span) : largest - span, largest];
    } else {
      this.view = [from, to];
    }
    this.draw();
  }

  // Zooms by a factor around a place; 2 shows half of what was seen.
  zoom(factor, place = (MARGIN.left + this.right) / 2) {
    const ends = [MARGIN.left, this.right].map((end) => this.x.value(place + (end - place) / factor));
    this.show(...ends);
  }

  // Moves by pixels.
  move(pixels) {
    if (!this.isZoomed) return;
    this.show(this.x.value(MARGIN.left + pixels), this.x.value(this.right + pixels));
  }

  reset() {
    this.view = this.whole;
    this.draw();
  }

  draw() {
    const { svg, size } = this;
    this.scales();
    svg.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
    this.clip.setAttribute("width", this.right - MARGIN.left);
    this.clip.setAttribute("height", this.bottom - MARGIN.top);
    this.axes.replaceChildren(...this.drawnAxes());
    const nothing = svg.querySelector("text.nothing");
    if (nothing) {
      nothing.setAttribute("x", size.width / 2);
      nothing.setAttribute("y", size.height / 2);
    }
    this.curves.forEach((group, number) => {
      const shapes = this.shapes(number);
      group.querySelector(".line, .bar").setAttribute("d", shapes.body);
      group.querySelector(".intervals").setAttribute("d", shapes.intervals);
      group.querySelector(".markers").setAttribute("d", shapes.markers);
    });
    this.element.classList.toggle("zoomed", this.isZoomed);
    this.element.dispatchEvent(new Event("drawn"));
  }

  drawnAxes() {
    const { x, y, right, bottom, size, data } = this;
    const { left, top } = MARGIN;
    const parts = [];
    for (const tick of y.ticks((bottom - top) / 52)) {
      const at = f(y.place(tick.value));
      parts.push(make("path", { class: "grid", d: `M${left} ${at}H${right}` }));
      const place = { class: "tick", x: left - 8, y: at, dy: "0.32em", "text-anchor": "end" };
      parts.push(make("text", place, tick.label));
    }
    if (data.kind === "bars") {
      const room = x.place(1) - x.place(0);
      data.names.forEach((name, number) => {
        const at = f(x.place(number));
        wrapped(name, room).forEach((words, line) => {
          const place = { class: "tick", x: at, y: bottom + 16 + 13 * line, "text-anchor": "middle" };
          parts.push(make("text", place, words));
        });
      });
    } else {
      for (const tick of x.ticks((right - left) / 84)) {
        const at = f(x.place(tick.value));
        parts.push(make("path", { class: "grid", d: `M${at} ${top}V${bottom}` }));
        const place = { class: "tick", x: at, y: bottom + 18, "text-anchor": "middle" };
        parts.push(make("text", place, tick.label));
      }
    }
    parts.push(make("path", { class: "frame", d: `M${left} ${top}V${bottom}H${right}` }));
    const along = { class: "label", x: (left + right) / 2, y: size.height - 10, "text-anchor": "middle" };
    parts.push(make("text", along, data.x.label));
    const turned = `translate(14 ${(top + bottom) / 2}) rotate(-90)`;
    const up = { class: "label", x: 0, y: 0, transform: turned, "text-anchor": "middle" };
    parts.push(make("text", up, data.y.label));
    return parts;
  }

  shapes(number) {
    const { data, x, y } = this;
    const { points, marker } = data.curves[number];
    const shapes = { body: "", intervals: "", markers: "" };
    if (data.kind === "bars") {
      this.bars(shapes, number);
      return shapes;
    }
    const near = this.isZoomed ? nearView(points, this.view) : points;
    const drawn =
      data.kind === "time_series" ? thinned(near, (point) => Math.floor(x.place(point[0]))) : near;
    shapes.body = drawn
      .map((point, index) => `${index === 0 ? "M" : "L"}${f(x.place(point[0]))} ${f(y.place(point[1]))}`)
      .join("");
    if (data.kind === "lines") {
      for (const point of near) {
        const across = x.place(point[0]);
        shapes.intervals += this.interval(point, across);
        shapes.markers += MARKERS[marker](across, y.place(point[1]));
      }
    }
    return shapes;
  }

  interval([, value, half, range], across) {
    if (half === undefined && range === undefined) return "";
    const { y } = this;
    const [least, largest] = range ?? [value - half, value + half];
    const low = y.logarithmic && least <= 0 ? y.domain[0] : least;
    const [top, bottom] = [f(y.place(largest)), f(y.place(low))];
    const [left, right] = [f(across - 3), f(across + 3)];
    return `M${left} ${top}H${right}M${f(across)} ${top}V${bottom}M${left} ${bottom}H${right}`;
  }

  bars(shapes, number) {
    const { data, x, y } = this;
    const count = data.curves.length;
    const width = Math.min(((x.place(1) - x.place(0)) * BARS) / count, 64);
    const base = f(y.logarithmic ? y.from : y.place(0));
    for (const point of data.curves[number].points) {
      const middle = x.place(point[0]) + (number - (count - 1) / 2) * width;
      const [left, right] = [f(middle - width / 2 + 0.5), f(middle + width / 2 - 0.5)];
      shapes.body += `M${left} ${base}V${f(y.place(point[1]))}H${right}V${base}Z`;
      shapes.intervals += this.interval(point, middle);
    }
  }
}

// The points in view and one beyond at either side, so that lines go on to the edges. Points lie in the order of x.
function nearView(points, [least, largest]) {
  let from = points.findIndex((point) => point[0] >= least);
  if (from < 0) from = points.length;
  let to = points.findIndex((point) => point[0] > largest);
  if (to < 0) to = points.length;
  return points.slice(Math.max(from - 1, 0), to + 1);
}

// Of the points that share a column the first, the least, the largest and the last.
function thinned(points, column) {
  const kept = [];
  let begin = 0;
  while (begin < points.length) {
    const here = column(points[begin]);
    let [least, largest, end] = [begin, begin, begin];
    for (let at = begin; at < points.length && column(points[at]) === here; at++) {
      if (points[at][1] < points[least][1]) least = at;
      if (points[at][1] > points[largest][1]) largest = at;
      end = at;
    }
    const places = [begin, Math.min(least, largest), Math.max(least, largest), end];
    places.forEach((at, index) => {
      if (index === 0 || at !== places[index - 1]) kept.push(points[at]);
    });
    begin = end + 1;
  }
  return kept;
}

// A name in at most two lines that fit the room.
function wrapped(name, room) {
  const letters = Math.max(Math.floor(room / LETTER), 3);
  const lines = [];
  for (const word of name.split(/\s+/).filter(Boolean)) {
    const last = lines.length - 1;
    if (last >= 0 && [...lines[last]].length + 1 + [...word].length <= letters) {
      lines[last] += ` ${word}`;
    } else {
      lines.push(word);
    }
  }
  return lines.slice(0, 2).map((line, number) => {
    const cut = [...line].length > letters || (lines.length > 2 && number === 1);
    return cut ? `${[...line].slice(0, letters - 1).join("")}\u2026` : line;
  });
}

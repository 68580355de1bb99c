// SPDX-License-Identifier: MIT OR Apache-2.0
// Zoom: wheel, drag, touch and keyboard.

const STEP = 1.5;

function makeZoomable(chart) {
  const { svg } = chart;
  svg.tabIndex = 0;
  svg.setAttribute("aria-describedby", "zoom-help");
  const selection = make("rect", { class: "selection", y: MARGIN.top, width: 0 });
  svg.append(selection);
  // A place in units of the drawing.
  const placeOf = (event) => {
    const box = svg.getBoundingClientRect();
    return ((event.clientX - box.left) / box.width) * chart.size.width;
  };

  // A page that is scrolled past a figure must go on: the wheel zooms where the figure has the focus, or with Ctrl.
  svg.addEventListener(
    "wheel",
    (event) => {
      const wanted = event.ctrlKey || event.metaKey || document.activeElement === svg;
      const nothingLeft = !chart.isZoomed && event.deltaY > 0 && !event.ctrlKey;
      if (!wanted || nothingLeft) return;
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        chart.move(event.deltaX);
      } else {
        chart.zoom(Math.pow(STEP, -event.deltaY / 100), placeOf(event));
      }
    },
    { passive: false },
  );

  keyboard(chart);
  const pointers = new Map();
  let begin = null;
  const ends = () => [...pointers.values()].sort((a, b) => a - b);

  svg.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    pointers.set(event.pointerId, placeOf(event));
    svg.setPointerCapture(event.pointerId);
    begin = event.pointerType === "mouse" && !event.shiftKey ? placeOf(event) : null;
  });
  svg.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (before === undefined) return;
    const place = placeOf(event);
    if (begin !== null) {
      const [from, to] = selected(chart, begin, place);
      selection.setAttribute("x", from);
      selection.setAttribute("width", Math.max(to - from, 0));
      selection.setAttribute("height", chart.bottom - MARGIN.top);
      return;
    }
    if (pointers.size === 2) {
      const [left, right] = ends();
      pointers.set(event.pointerId, place);
      const [newLeft, newRight] = ends();
      // The values under both fingers stay under them.
      if (right - left > 8 && newRight - newLeft > 8) {
        chart.zoom((newRight - newLeft) / (right - left), (left + right) / 2);
        chart.move((left + right) / 2 - (newLeft + newRight) / 2);
      }
      return;
    }
    pointers.set(event.pointerId, place);
    chart.move(before - place);
  });
  const end = (event) => {
    if (!pointers.delete(event.pointerId)) return;
    if (begin !== null && event.type === "pointerup") {
      const [from, to] = selected(chart, begin, placeOf(event));
      if (to - from > 6) chart.show(chart.x.value(from), chart.x.value(to));
    }
    begin = null;
    selection.setAttribute("width", 0);
  };
  svg.addEventListener("pointerup", end);
  svg.addEventListener("pointercancel", end);
  svg.addEventListener("dblclick", () => chart.reset());
}

// From left to right, within the plot.
function selected(chart, from, to) {
  const within = (place) => Math.min(Math.max(place, MARGIN.left), chart.right);
  return [within(Math.min(from, to)), within(Math.max(from, to))];
}

function keyboard(chart) {
  chart.svg.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const eighth = (chart.right - MARGIN.left) / 8;
    const actions = {
      "+": () => chart.zoom(STEP),
      "=": () => chart.zoom(STEP),
      "-": () => chart.zoom(1 / STEP),
      0: () => chart.reset(),
      Escape: () => chart.reset(),
    };
    if (chart.isZoomed) {
      actions.ArrowLeft = () => chart.move(-eighth);
      actions.ArrowRight = () => chart.move(eighth);
    }
    const action = actions[event.key];
    if (action) {
      event.preventDefault();
      action();
    }
  });
}

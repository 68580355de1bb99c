// SPDX-License-Identifier: MIT OR Apache-2.0
// The page: one paper at a time, the theme, and the controls of every figure.

const root = document.documentElement;
const pages = [...document.querySelectorAll("section.page")];
const charts = [...document.querySelectorAll("figure.chart")].map((element) => new Chart(element));

// Says something to those who hear the page.
function say(text) {
  document.getElementById("said").textContent = text;
}

// --- One paper at a time

function showPage(moved) {
  let id = location.hash.slice(1);
  try {
    id = decodeURIComponent(id);
  } catch {
    // An address that somebody has mangled leads nowhere.
  }
  const target = document.getElementById(id);
  const page = target?.closest("section.page") ?? pages[0];
  for (const other of pages) other.classList.toggle("current", other === page);
  for (const link of document.querySelectorAll("header.top nav a")) {
    if (link.hash === `#${page.id}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (!moved) return;
  const place = target && target !== page ? target : null;
  const heading = (place ?? page).querySelector("h1, h2, h3") ?? page;
  heading.focus({ preventScroll: true });
  if (place) place.scrollIntoView();
  else scrollTo(0, 0);
}

addEventListener("hashchange", () => showPage(true));
showPage(location.hash.length > 1);

// --- The theme

const toggle = document.querySelector("button.theme");
const system = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
}

function showTheme() {
  toggle.setAttribute("aria-pressed", String(isDark()));
}

toggle.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  try {
    localStorage.setItem("netnice-theme", root.dataset.theme);
  } catch {
    // It holds until the page is left.
  }
  showTheme();
});
system.addEventListener("change", showTheme);
showTheme();

// --- Commands

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

for (const button of document.querySelectorAll("button.copy")) {
  button.addEventListener("click", async () => {
    await copy(button.parentElement.querySelector("code").textContent);
    button.textContent = "Copied";
    say("Copied");
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
}

// --- Figures

function button(text, label, action) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.setAttribute("aria-label", label);
  made.title = label;
  made.addEventListener("click", action);
  return made;
}

function makeTools(chart) {
  const tools = document.createElement("div");
  tools.className = "tools";
  tools.setAttribute("role", "group");
  tools.setAttribute("aria-label", `Tools of the figure: ${chart.title}`);
  if (chart.canZoom) {
    const zooms = document.createElement("span");
    zooms.append(
      button("+", "Zoom in", () => chart.zoom(STEP)),
      button("\u2212", "Zoom out", () => chart.zoom(1 / STEP)),
      button("Reset", "Show all", () => chart.reset()),
    );
    const reset = zooms.lastChild;
    const showReset = () => (reset.disabled = !chart.isZoomed);
    chart.element.addEventListener("drawn", showReset);
    showReset();
    tools.append(zooms);
  }
  const downloads = document.createElement("span");
  for (const [format, blob] of Object.entries(DOWNLOADS)) {
    const name = `${chart.name}.${format.toLowerCase()}`;
    downloads.append(button(format, `Download ${name}`, async () => save(await blob(chart), name)));
  }
  tools.append(downloads);
  if (chart.canZoom) {
    const hint = document.createElement("span");
    hint.className = "hint";
    hint.textContent = "Drag over what you want to see; Ctrl and wheel zoom";
    tools.append(hint);
  }
  chart.element.querySelector(".plot").before(tools);
}

const fitting = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    // A page that is not shown has no width.
    if (contentRect.width > 0) charts.find((chart) => chart.svg.parentElement === target).fit(contentRect.width);
  }
});

for (const chart of charts) {
  makeLegend(chart);
  makeTools(chart);
  makeReadable(chart);
  if (chart.canZoom) makeZoomable(chart);
  fitting.observe(chart.svg.parentElement);
}

// --- Print: everything is open

let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const details of closed) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of closed) details.open = false;
});

// For tests, and for those who look into the page.
globalThis.netniceReport = { charts, csv, standalone, png };

// SPDX-License-Identifier: MIT OR Apache-2.0
// Runs before anything is drawn.
document.documentElement.classList.add("scripts");
try {
  const theme = localStorage.getItem("netnice-theme");
  if (theme === "dark" || theme === "light") {
    document.documentElement.dataset.theme = theme;
  }
} catch {
  // A browser may refuse storage to a file; then the system's theme is taken.
}

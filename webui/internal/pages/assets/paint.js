// The theme is set before the page is painted: this one script is no module, which would come after that.
"use strict";
try {
  const theme = localStorage.getItem("work.theme");
  document.documentElement.dataset.theme = ["light", "dark"].includes(theme) ? theme : "auto";
} catch {
  document.documentElement.dataset.theme = "auto";
}

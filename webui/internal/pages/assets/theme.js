// The button that goes through the themes. The first one is shown by paint.js.
import { stored } from "./stored.js";

const themes = ["auto", "light", "dark"];

export function themeSwitch() {
  const button = document.getElementById("theme");
  const show = (theme) => {
    document.documentElement.dataset.theme = theme;
    button.textContent = "Theme: " + theme;
  };
  button.hidden = false;
  show(document.documentElement.dataset.theme);
  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % themes.length];
    stored.set("theme", next);
    show(next);
  });
}

// A key leads where its link leads; never while one types, and only if keys are wanted.
import { stored } from "./stored.js";

const typing = "input:not([type=checkbox]), textarea, select, dialog";

// onKey calls what is to be done for a key that was pressed outside of fields.
export function onKey(done) {
  document.addEventListener("keydown", (event) => {
    const off = stored.get("keys") === "off" || event.defaultPrevented;
    if (off || event.ctrlKey || event.metaKey || event.altKey) return;
    // A dialog that was closed keeps the focus for a moment.
    if (event.target.closest(typing)?.checkVisibility()) return;
    if (done(event.key)) event.preventDefault();
  });
}

export function keys() {
  const choice = document.getElementById("keys-choice"), on = document.getElementById("keys-on");
  if (!choice) return;
  choice.hidden = false;
  on.checked = stored.get("keys") !== "off";
  on.addEventListener("change", () => stored.set("keys", on.checked ? "on" : "off"));
  onKey((key) => {
    if (key === "?") {
      const list = document.getElementById("keys");
      list.open = true;
      list.scrollIntoView();
      return true;
    }
    const target = [...document.querySelectorAll("[data-key]")].find((e) => e.dataset.key === key);
    if (!target) return false;
    if (target.matches("input")) target.focus(); else target.click();
    return true;
  });
}

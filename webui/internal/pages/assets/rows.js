// j and k go through the rows of lists, x ticks the row that one is at. Enter opens its link, as anywhere.
import { onKey } from "./keys.js";

const steps = { j: 1, k: -1 };
const way = "td a, td input, td summary, td button";

export function rowKeys() {
  onKey((key) => {
    const at = document.activeElement.closest("main tbody tr");
    if (key === "x") {
      const box = at?.querySelector("td.tick input");
      box?.click();
      return Boolean(box);
    }
    if (!(key in steps)) return false;
    const rows = [...document.querySelectorAll("main tbody tr")].filter((row) => row.querySelector(way));
    const next = at ? rows[rows.indexOf(at) + steps[key]] : rows.at(key === "j" ? 0 : -1);
    (next?.querySelector("td:not(.tick) a") ?? next?.querySelector(way))?.focus();
    next?.scrollIntoView({ block: "nearest" });
    return rows.length > 0;
  });
}

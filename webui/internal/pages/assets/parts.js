// Parts of a page that are replaced by newer ones.
const busy = "input:checked, details.sure[open], tbody details[open]";

// A part in which somebody is about to do something stays as it is.
function inUse(part) {
  const focused = document.activeElement;
  return focused !== document.body && part.contains(focused) || part.querySelector(busy) !== null;
}

export function replace(part, fresh) {
  if (inUse(part) || part.innerHTML === fresh.innerHTML) return;
  const open = [...part.querySelectorAll("details")].map((d) => d.open);
  part.replaceChildren(...fresh.cloneNode(true).childNodes);
  [...part.querySelectorAll("details")].forEach((d, n) => { if (n < open.length) d.open = open[n]; });
}

export const parse = (html) => new DOMParser().parseFromString(html, "text/html");

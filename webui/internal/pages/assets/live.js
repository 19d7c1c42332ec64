// Keeps a page fresh. The overview is sent; other pages are asked for again when the stream ticks, not more often than
// every four seconds, nor just after they came. What is gone is not asked for again.
import { parse, replace } from "./parts.js";

let asked = Date.now(), asking = false, old = false;

async function refresh(show, gone) {
  if (asking || document.hidden || Date.now() - asked < 4000) return;
  asking = true;
  asked = Date.now();
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (answer.status === 404) gone();
    const page = parse(await answer.text());
    old = page.getElementById("away") !== null;
    if (old) show("Redis does not answer: what is shown is old", false);
    if (!answer.ok) return;
    for (const part of document.querySelectorAll("[data-live][id]")) {
      const fresh = page.getElementById(part.id);
      if (fresh) replace(part, fresh);
    }
  } catch { /* the state of the stream says so */ } finally {
    asking = false;
  }
}

export function live() {
  const main = document.getElementById("main"), state = document.getElementById("live-state");
  const pushed = document.querySelector("[data-push]");
  if (!main.dataset.stream || !state || !pushed && !main.querySelector("[data-live]")) return;
  const show = (text, good) => {
    state.hidden = false;
    state.textContent = text;
    state.classList.toggle("on", good);
  };
  const stream = new EventSource(main.dataset.stream + (pushed ? "?page=" + pushed.dataset.push : ""));
  stream.addEventListener("open", () => show("live", true));
  stream.addEventListener("error", () => show("not live", false));
  stream.addEventListener("trouble", (event) => show(event.data, false));
  const gone = () => {
    stream.close();
    show("gone: as last seen", false);
  };
  stream.addEventListener("tick", () => {
    if (!old) show("live", true);
    refresh(show, gone);
  });
  stream.addEventListener("overview", (event) => {
    show("live", true);
    if (document.hidden) return;
    const fresh = parse(event.data), asOf = document.getElementById("as-of");
    replace(asOf, fresh.getElementById("pushed-as-of"));
    replace(pushed, fresh.body);
  });
  addEventListener("pagehide", () => stream.close());
}

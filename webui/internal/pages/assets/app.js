// Everything works without this: it keeps pages fresh, and adds keys, a theme and a box that ticks all.
"use strict";

const stored = {
  get(key) { try { return localStorage.getItem("work." + key); } catch { return null; } },
  set(key, value) { try { localStorage.setItem("work." + key, value); } catch { /* not kept then */ } },
};

// The theme is set before the page is painted.
const themes = ["auto", "light", "dark"];
function showTheme(theme) {
  document.documentElement.dataset.theme = theme;
  const button = document.getElementById("theme");
  if (button) {
    button.textContent = { auto: "Auto", light: "Light", dark: "Dark" }[theme];
    button.setAttribute("aria-label", "Theme: " + theme);
  }
}
let theme = themes.includes(stored.get("theme")) ? stored.get("theme") : "auto";
showTheme(theme);

function themeSwitch() {
  const button = document.getElementById("theme");
  button.hidden = false;
  showTheme(theme);
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    stored.set("theme", theme);
    showTheme(theme);
  });
}

// A key leads where its link leads; never while one types, and only if they are wanted.
function keys() {
  const choice = document.getElementById("keys-choice"), on = document.getElementById("keys-on");
  if (!choice) return;
  choice.hidden = false;
  on.checked = stored.get("keys") !== "off";
  on.addEventListener("change", () => stored.set("keys", on.checked ? "on" : "off"));
  document.addEventListener("keydown", (event) => {
    if (!on.checked || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
    if (event.key === "?") {
      const list = document.getElementById("keys");
      list.open = true;
      list.scrollIntoView();
      event.preventDefault();
      return;
    }
    const target = [...document.querySelectorAll("[data-key]")].find((e) => e.dataset.key === event.key);
    if (!target) return;
    event.preventDefault();
    if (target.matches("input")) target.focus(); else target.click();
  });
}

function tickAll() {
  const label = document.getElementById("tick-all");
  if (!label) return;
  label.hidden = false;
  label.firstElementChild.addEventListener("change", (event) => {
    for (const box of document.querySelectorAll('td.tick input')) box.checked = event.target.checked;
  });
}

// A message was read once: a reload, or a link to this page, need not say it again.
function forgetNotice() {
  const url = new URL(location);
  if (!url.searchParams.has("notice")) return;
  url.searchParams.delete("notice");
  history.replaceState(null, "", url);
}

// A part in which somebody is about to do something stays as it is.
function inUse(part) {
  const focused = document.activeElement;
  return focused !== document.body && part.contains(focused) || part.querySelector("input:checked, details.sure[open], tbody details[open]") !== null;
}

function replace(part, fresh) {
  if (inUse(part) || part.innerHTML === fresh.innerHTML) return;
  const open = [...part.querySelectorAll("details")].map((d) => d.open);
  part.replaceChildren(...fresh.cloneNode(true).childNodes);
  [...part.querySelectorAll("details")].forEach((d, n) => { if (n < open.length) d.open = open[n]; });
}

const parse = (html) => new DOMParser().parseFromString(html, "text/html");

// The overview is sent; other pages are asked for again, not more often than every four seconds, nor just after they came.
let asked = Date.now(), asking = false;
async function refresh() {
  if (asking || document.hidden || Date.now() - asked < 4000) return;
  asking = true;
  asked = Date.now();
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!answer.ok) return;
    const page = parse(await answer.text());
    for (const part of document.querySelectorAll("[data-live][id]")) {
      const fresh = page.getElementById(part.id);
      if (fresh) replace(part, fresh);
    }
  } catch { /* the state of the stream says so */ } finally {
    asking = false;
  }
}

function live() {
  const main = document.getElementById("main"), state = document.getElementById("live-state");
  const pushed = document.querySelector("[data-push]");
  if (!main.dataset.stream || !state || !pushed && !main.querySelector("[data-live]")) return;
  const show = (text, good) => { state.hidden = false; state.textContent = text; state.classList.toggle("on", good); };
  const stream = new EventSource(main.dataset.stream + (pushed ? "?page=" + pushed.dataset.push : ""));
  stream.addEventListener("open", () => show("live", true));
  stream.addEventListener("error", () => show("not live", false));
  stream.addEventListener("trouble", (event) => show(event.data, false));
  stream.addEventListener("tick", () => { show("live", true); refresh(); });
  stream.addEventListener("overview", (event) => {
    show("live", true);
    if (document.hidden) return;
    const fresh = parse(event.data), asOf = document.getElementById("as-of");
    replace(asOf, fresh.getElementById("pushed-as-of"));
    replace(pushed, fresh.body);
  });
  addEventListener("pagehide", () => stream.close());
}

document.addEventListener("DOMContentLoaded", () => { themeSwitch(); keys(); tickAll(); forgetNotice(); live(); });

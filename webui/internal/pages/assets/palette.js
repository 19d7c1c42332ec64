// A dialog that leads anywhere: to pages, to queues and jobs by name, to a job by its id, and to what this page can do.
import { onKey } from "./keys.js";
import { namesWith } from "./names.js";

const link = (text, href) => ({ text, go: () => { location.href = href; } });

// What a page offers: those of the menu, and the buttons at its head.
function offered() {
  const press = (button) => ({ text: button.textContent.trim(), go: () => { button.focus(); button.click(); } });
  return [
    ...[...document.querySelectorAll("#pages a")].map((a) => link(a.textContent.trim(), a.href)),
    ...[...document.querySelectorAll(".head .buttons summary, .head .buttons > form button, #theme")].map(press),
    ...[...document.querySelectorAll("#list .summary a")].map((a) => link(a.textContent.trim(), a.href)),
  ];
}

const query = (page, key, text) => `${page}?${key}=${encodeURIComponent(text)}`;

async function entries(text) {
  const low = text.toLowerCase();
  const fit = offered().filter((entry) => entry.text.toLowerCase().includes(low));
  if (text === "") return fit;
  const names = (await namesWith(text, 8)).flatMap((name) => [
    link("Queue " + name, query("queue", "name", name)), link("Jobs " + name, query("jobs", "name", name)),
    link("Errors of " + name, query("errors", "name", name)),
  ]);
  return [...fit, ...names, link("Job " + text, query("job", "id", text)),
    link("Search for " + text, query("jobs", "text", text))];
}

export function palette() {
  const dialog = document.getElementById("palette");
  if (!dialog?.showModal) return;
  const field = dialog.querySelector("input"), list = dialog.querySelector("[role=listbox]");
  let shown = [], at = 0, about = null;
  const mark = (n) => {
    at = (n + shown.length) % Math.max(1, shown.length);
    [...list.children].forEach((option, m) => option.setAttribute("aria-selected", String(m === at)));
    const chosen = list.children[at];
    field.setAttribute("aria-activedescendant", chosen ? chosen.id : "");
    chosen?.scrollIntoView({ block: "nearest" });
  };
  const typed = () => field.value.replace(/^\/+/, "").trim(); // the key that opens it may come once more
  const fill = async () => {
    const text = typed(), found = await entries(text);
    if (text !== typed()) return; // more was typed meanwhile
    about = text;
    shown = found;
    list.replaceChildren(...found.map((entry, n) => {
      const option = document.createElement("li");
      option.id = "palette-" + n;
      option.setAttribute("role", "option");
      option.textContent = entry.text;
      option.addEventListener("click", () => choose(n));
      return option;
    }));
    mark(0);
  };
  // Who is quicker than the list gets what they have typed.
  const enter = async () => {
    if (about !== typed()) await fill();
    choose(at);
  };
  const choose = (n) => {
    const entry = shown[n];
    dialog.close();
    entry?.go();
  };
  field.addEventListener("input", fill);
  field.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) mark(at + step);
    else if (event.key === "Enter") enter();
    else return;
    event.preventDefault();
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  onKey((key) => {
    if (key !== "/") return false;
    field.value = "";
    about = null;
    dialog.showModal();
    fill();
    return true;
  });
}

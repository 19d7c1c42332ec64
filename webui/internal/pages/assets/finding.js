// A search that goes on by itself: rows come as they are found, with a bar and a button that stops it.
import { parse } from "./parts.js";

export function finding() {
  const part = document.getElementById("finding");
  if (!part) return;
  const bar = part.querySelector("progress"), count = document.getElementById("found");
  const far = document.getElementById("how-far"), said = part.querySelector("[role=status]");
  const rows = document.getElementById("rows"), button = document.getElementById("finding-stop");
  const rest = document.querySelector("[rel=next]");
  let stream = null, cursor = "", fresh = true;

  // The rows that came with the page come once more, with what others have found meanwhile.
  const add = (markup) => {
    const table = parse(markup).querySelector("table"), body = rows.querySelector("tbody");
    if (fresh || !body) rows.replaceChildren(table);
    else body.append(...table.tBodies[0].rows);
    fresh = false;
  };
  const show = (event) => {
    const told = JSON.parse(event.data);
    cursor = event.lastEventId;
    if (told.rows) add(told.rows);
    bar.value = told.percent;
    far.textContent = told.text;
    count.textContent = (fresh ? 0 : rows.querySelectorAll("tbody tr").length).toLocaleString("en-US") + " found";
    return told;
  };
  const stop = (label, text) => {
    stream.close();
    stream = null;
    button.textContent = label;
    button.hidden = label === "";
    if (text) far.textContent = text;
    said.textContent = count.textContent + ", " + far.textContent;
  };
  const over = (event) => {
    const told = show(event);
    if (rest) {
      rest.hidden = told.next === "";
      if (told.next) rest.href = told.next;
    }
    if (fresh) rows.textContent = "None.";
    stop("");
  };
  const begin = () => {
    const url = new URL(part.dataset.find, document.baseURI);
    if (cursor) url.searchParams.set("cursor", cursor);
    stream = new EventSource(url);
    button.textContent = "Stop";
    said.textContent = "The search goes on.";
    stream.addEventListener("found", show);
    stream.addEventListener("over", over);
    stream.addEventListener("trouble", (event) => stop("Go on", event.data));
    stream.addEventListener("error", () => { // else it tries again by itself, from where it was
      if (stream?.readyState === EventSource.CLOSED) stop("Go on", "the search cannot go on now");
    });
  };

  part.hidden = false;
  document.getElementById("page-found").hidden = true;
  if (rest) rest.hidden = true;
  button.addEventListener("click", () => {
    if (stream) stop("Go on", far.textContent.replace(/, ETA.*/, ", stopped"));
    else begin();
  });
  addEventListener("pagehide", () => stream?.close());
  begin();
}

// The log of a job, whose new lines come while it runs, with a button that stops them.
import { parse } from "./parts.js";

const most = 200;

export function jobLog() {
  const part = document.getElementById("log");
  if (!part?.dataset.log) return;
  const body = part.querySelector("tbody"), said = document.getElementById("log-state");
  const button = document.getElementById("log-stop");
  let stream = null, last = part.dataset.after;

  const stop = (text, label) => {
    stream?.close();
    stream = null;
    said.textContent = text;
    button.textContent = label;
    button.hidden = label === "";
  };
  const begin = () => {
    const url = new URL(part.dataset.log, document.baseURI);
    url.searchParams.set("after", last);
    stream = new EventSource(url);
    stream.addEventListener("open", () => {
      said.textContent = "It goes on.";
      button.textContent = "Stop";
      button.hidden = false;
    });
    stream.addEventListener("lines", (event) => {
      last = event.lastEventId;
      body.prepend(...parse(`<table>${event.data}</table>`).querySelectorAll("tr"));
      while (body.rows.length > most) body.lastElementChild.remove();
      part.hidden = false;
    });
    stream.addEventListener("over", () => stop("The job has ended.", ""));
    stream.addEventListener("trouble", (event) => stop(event.data, "Go on"));
    stream.addEventListener("error", () => { // else it tries again by itself, from where it was
      if (stream?.readyState !== EventSource.CLOSED) return;
      stop("No new lines come: the job is gone, or as many are followed as may be.", "Go on");
    });
  };

  button.addEventListener("click", () => {
    if (stream) stop("Stopped.", "Go on");
    else begin();
  });
  addEventListener("pagehide", () => stream?.close());
  begin();
}

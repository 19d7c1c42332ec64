// While Redis cannot be reached the page is asked for again, until it is another one.
import { parse, replace } from "./parts.js";

export function away() {
  const part = document.getElementById("away");
  if (!part || !("again" in part.dataset)) return;
  const every = Number(part.dataset.again) * 1000;
  const look = async () => {
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      const fresh = parse(await answer.text()).getElementById("away");
      if (!fresh) return location.reload();
      replace(part, fresh);
    } catch {
      document.getElementById("away-state").textContent = "The dashboard itself does not answer. It is asked again.";
    }
    setTimeout(look, every);
  };
  setTimeout(look, every);
}

// The theme is set before the page is painted: this one script is no module, which would come after that.
"use strict";
try {
  const theme = localStorage.getItem("work.theme");
  document.documentElement.dataset.theme = ["light", "dark"].includes(theme) ? theme : "auto";
} catch {
  document.documentElement.dataset.theme = "auto";
}

// A long action is stopped while its page still comes, before any module runs; to follow the form would leave the page.
// Where another server does it, its button ends the page instead, and the action with that.
addEventListener("submit", async (event) => {
  if (!event.target.matches(".stop")) return;
  event.preventDefault();
  const button = event.submitter;
  button.disabled = true;
  const answer = await fetch(event.target.action, { method: "POST", redirect: "manual" }).catch(() => undefined);
  if (answer?.type === "opaqueredirect") return;
  window.stop();
  button.textContent = "Stopped: see the audit";
});

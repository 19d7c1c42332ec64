// Boxes that tick all jobs of the page, and how many are ticked. Buttons for those wait until there are some.
const boxes = () => [...document.querySelectorAll("td.tick input")];

export function ticks() {
  const form = document.getElementById("ticked"), count = document.getElementById("ticked-count");
  if (!form) return;
  const alls = () => [...document.querySelectorAll("[data-tick-all], #tick-all input")];
  const show = () => {
    const all = boxes(), ticked = all.filter((box) => box.checked).length;
    document.getElementById("tick-all").hidden = all.length === 0;
    count.hidden = ticked === 0;
    count.textContent = ticked + " ticked";
    for (const button of form.querySelectorAll("button")) button.disabled = ticked === 0;
    for (const box of alls()) {
      box.hidden = all.length === 0;
      box.checked = ticked > 0 && ticked === all.length;
      box.indeterminate = ticked > 0 && ticked < all.length;
    }
  };
  document.addEventListener("change", (event) => {
    if (alls().includes(event.target)) for (const box of boxes()) box.checked = event.target.checked;
    show();
  });
  new MutationObserver(show).observe(document.getElementById("list"), { childList: true, subtree: true });
  addEventListener("pageshow", show); // a browser that goes back keeps what was ticked
  show();
}

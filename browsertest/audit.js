// Returns what is wrong with the page as it is drawn now, a line for each.
(width) => {
  const wrong = [];
  const say = (what, element) => wrong.push(what + ": " + describe(element));
  const describe = (e) => (e.outerHTML || String(e)).replace(/\s+/g, " ").slice(0, 140);
  const shown = (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && e.getClientRects().length > 0;

  // Colours as the screen has them: whatever way they are written, a canvas knows the bytes.
  const brush = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const bytes = (colour) => {
    if (!known.has(colour)) {
      brush.clearRect(0, 0, 1, 1);
      brush.fillStyle = colour;
      brush.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = brush.getImageData(0, 0, 1, 1).data;
      known.set(colour, [r, g, b, a / 255]);
    }
    return known.get(colour);
  };
  const over = (top, below) => [0, 1, 2].map((n) => top[n] * top[3] + below[n] * (1 - top[3]));
  const ground = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
      const style = getComputedStyle(e);
      if (style.backgroundImage !== "none") say("a picture behind text hides its contrast", e);
      layers.push(bytes(style.backgroundColor));
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };

  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (words.nextNode()) {
    const element = words.currentNode.parentElement;
    if (!words.currentNode.data.trim() || element.closest("script, style, svg, select") || !shown(element)) continue;
    const style = getComputedStyle(element), size = parseFloat(style.fontSize);
    const need = size >= 24 || size >= 18.66 && Number(style.fontWeight) >= 700 ? 3 : 4.5;
    const behind = ground(element), has = contrast(over(bytes(style.color), behind), behind);
    if (has < need) say(`contrast ${has.toFixed(2)} is below ${need}`, element);
    if (size < 11) say(`text of ${size} px is too small`, element);
  }
  for (const control of document.querySelectorAll("input:not([type=hidden]), textarea, select")) {
    if (!shown(control)) continue;
    const style = getComputedStyle(control);
    const behind = ground(control.parentElement);
    if (control.type !== "checkbox" && contrast(over(bytes(style.borderTopColor), behind), behind) < 3) say("contrast of the border is below 3", control);
    if (!control.labels.length && !control.getAttribute("aria-label")) say("no label", control);
    const own = ground(control), ink = control.placeholder && !control.value ? getComputedStyle(control, "::placeholder").color : style.color;
    if (control.type !== "checkbox" && contrast(over(bytes(ink), own), own) < 4.5) say("contrast of what stands in it is below 4.5", control);
  }

  // What a name of a job could do if it got out of its text.
  for (const e of document.querySelectorAll("script")) if (!/\/assets\/[a-z_]+\.js$/.test(new URL(e.src, location).pathname)) say("foreign markup", e);
  for (const e of document.querySelectorAll("img, iframe, object, embed, style, base, [style]")) say("foreign markup", e);
  for (const e of document.querySelectorAll("*")) for (const a of e.attributes) {
    if (a.name.startsWith("on") || ["href", "src", "action"].includes(a.name) && /^\s*javascript:/i.test(a.value)) say("foreign markup", e);
  }

  const title = document.title.trim(), main = document.querySelectorAll("main"), heads = document.querySelectorAll("h1");
  if (!title) wrong.push("structure: no title");
  if (document.documentElement.lang !== "en") wrong.push("structure: no language");
  if (main.length !== 1) wrong.push(`structure: ${main.length} main parts`);
  if (heads.length !== 1 || !heads[0].textContent.trim()) wrong.push(`structure: ${heads.length} headings of the page`);
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) wrong.push(`structure: two elements have the id ${id}`);
  for (const t of document.querySelectorAll("time")) if (isNaN(Date.parse(t.dateTime)) || !t.title) say("structure: a time without its date", t);

  // What those need who hear a page, or go through it by keys.
  const level = (e) => Number(e.tagName.slice(1));
  [...document.querySelectorAll("h1, h2, h3, h4")].filter(shown).reduce((above, e) => {
    if (level(e) > above + 1) say(`heard: a heading of level ${level(e)} below one of ${above}`, e);
    return level(e);
  }, 1);
  for (const e of document.querySelectorAll("nav, dialog, [role=group], [role=listbox], section[id]:has(progress)")) {
    if (!e.getAttribute("aria-label") && !e.getAttribute("aria-labelledby")) say("heard: a part without a name", e);
  }
  for (const kind of ["header", "footer"]) {
    if (document.querySelectorAll("body > " + kind).length !== 1) wrong.push(`heard: not one ${kind}`);
  }
  for (const e of document.querySelectorAll("[aria-controls], [aria-labelledby], [aria-activedescendant]")) {
    for (const a of ["aria-controls", "aria-labelledby", "aria-activedescendant"]) {
      const id = e.getAttribute(a);
      if (id && !document.getElementById(id)) say(`heard: ${a} names nothing`, e);
    }
  }
  for (const e of document.querySelectorAll("th")) if (!e.textContent.trim()) say("heard: a column without a name", e);
  for (const e of document.querySelectorAll("table")) {
    if (e.querySelectorAll("[aria-sort]").length > 1) say("heard: sorted by two columns", e);
    const columns = e.querySelectorAll("thead th").length;
    for (const row of e.tBodies[0]?.rows ?? []) {
      const cells = [...row.cells].reduce((n, cell) => n + cell.colSpan, 0);
      if (columns && cells !== columns) { say(`heard: ${cells} cells below ${columns} heads`, row); break; }
    }
  }
  for (const e of document.querySelectorAll("[tabindex]")) if (e.tabIndex > 0) say("keys: an order of its own", e);
  for (const e of document.querySelectorAll("[role=option]")) if (!e.closest("[role=listbox]")) say("heard: an option of no list", e);

  // Those who asked for less motion get none.
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
    for (const e of document.querySelectorAll("*")) for (const part of [null, "::before", "::after"]) {
      const style = getComputedStyle(e, part);
      if ([style.transitionDuration, style.animationDuration].some((span) => /[1-9]/.test(span))) say("motion", e);
    }
  }

  // Not innerWidth: what is emulated as a phone shows more when the page is wider.
  const room = document.documentElement.scrollWidth;
  if (room > width) {
    wrong.push(`layout: the page is ${room} px wide in ${width}`);
    for (const e of document.querySelectorAll("main *, header *, footer *")) {
      if (e.getBoundingClientRect().right > width + 1 && shown(e) && !e.closest(".wide, nav, svg, pre")) { say("layout: sticks out", e); break; }
    }
  }
  for (const e of document.querySelectorAll(".bulk, .tabs, .buttons, .figures")) {
    if (shown(e) && e.scrollWidth > e.clientWidth + 1) say("layout: cut off", e);
  }
  const one = /(?<![\d.,:])1\s+(are|were|jobs|workers|queues|keys|members|records|attempts|changes|processors|findings|entries)\b/;
  const many = document.querySelector("main")?.innerText.match(one);
  if (many) wrong.push("words: " + many[0]);
  for (const e of document.querySelectorAll("td:not(.gauge)")) {
    if (!shown(e) && !["", "0", "—", "none", "none yet"].includes(e.textContent.trim())) say("layout: not shown", e);
  }
  return wrong;
}

// A message was read once: a reload, or a link to this page, need not say it again.
export function forgetNotice() {
  const url = new URL(location);
  if (!url.searchParams.has("notice")) return;
  url.searchParams.delete("notice");
  history.replaceState(null, "", url);
}

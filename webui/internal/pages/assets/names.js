// Fields for the name of a job offer the names that there are.
export async function namesWith(part, limit = 50) {
  try {
    const of = part.trim() && `&part=${encodeURIComponent(part)}`;
    const answer = await fetch(`api/names?limit=${limit}${of}`);
    return answer.ok ? (await answer.json()).names : [];
  } catch { return []; }
}

export function nameLists() {
  for (const field of document.querySelectorAll("input[list=names]")) {
    let wait = 0, asked = null;
    const offer = async () => {
      const part = field.value;
      if (part === asked) return;
      asked = part;
      const options = (await namesWith(part)).map((name) => new Option(name, name));
      if (asked === part) document.getElementById("names").replaceChildren(...options);
    };
    field.addEventListener("focus", offer);
    field.addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(offer, 150); });
  }
}

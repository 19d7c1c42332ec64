// What a browser keeps of a person's choices, where it lets us.
export const stored = {
  get(key) { try { return localStorage.getItem("work." + key); } catch { return null; } },
  set(key, value) { try { localStorage.setItem("work." + key, value); } catch { /* not kept then */ } },
};

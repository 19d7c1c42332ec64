// Does what a name that got out of its text would do, and returns what of it the browser allows.
async (elsewhere) => {
  const came = [], script = document.createElement("script");
  script.textContent = "document.intruded = true";
  document.body.append(script);
  if (document.intruded) came.push("intrusion: a script within the page runs");
  script.remove();
  const refused = await new Promise((done) => {
    const picture = new Image();
    document.addEventListener("securitypolicyviolation", (event) => { if (event.blockedURI.startsWith(elsewhere)) done(true); });
    picture.onload = picture.onerror = () => setTimeout(() => done(false), 100); // the event of a refusal comes with it
    picture.src = elsewhere;
  });
  if (!refused) came.push("intrusion: a request leads outside");
  return came;
}

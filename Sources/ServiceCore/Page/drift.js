"use strict";
// How far the pictures of each model have drifted from its reference: a line for each signal.
const drifting = new Map();
function driftRoute(name) { return "v1/models/" + encodeURIComponent(name) + "/drift"; }
// Asks about the models that watch for drift.
async function listDrift(models) {
  const watched = models.filter((model) => model.drift).map((model) => model.name);
  for (const name of [...drifting.keys()]) if (!watched.includes(name)) drifting.delete(name);
  for (const name of watched) {
    try {
      drifting.set(name, (await call(driftRoute(name), { headers: headers() })).answer);
    } catch (error) {
      drifting.set(name, { state: error.message, signals: [] });
    }
  }
  showDrift();
}
function showDrift() {
  $("drift").hidden = !drifting.size;
  // What is being pressed stays where it is.
  const shown = JSON.stringify([...drifting]);
  if ($("signals").dataset.shown === shown) return;
  $("signals").dataset.shown = shown;
  $("signals").replaceChildren(...[...drifting].flatMap(([name, one]) => {
    const line = element("tr"), heading = element("th", name + ": " + driftText(one), one.state === "drifted" ? "bad" : undefined);
    heading.colSpan = 4;
    heading.scope = "rowgroup";
    line.append(heading);
    if (one.state === "drifted") heading.append(" ", relearnButton(name));
    return [line, ...one.signals.map(signalRow)];
  }));
}
function driftText(one) {
  const number = one.reference ? count(one.reference.pictures, "picture", "pictures") : "";
  if (one.state === "learning") return "learning the reference, " + number + " so far";
  if (one.state === "steady") return "steady, against " + number;
  return one.state + (one.since ? " since " + new Date(one.since).toLocaleString() : "");
}
function signalRow(signal) {
  const row = element("tr"), name = element("th", signal.name, signal.drifted ? "bad" : "quiet");
  const number = (value) => (typeof value === "number" ? value.toFixed(3) : "–");
  name.scope = "row";
  row.append(name, element("td", number(signal.reference), "number"), element("td", number(signal.recent), "number"),
    element("td", evidenceText(signal.evidence), "number" + (signal.drifted ? " bad" : "")));
  return row;
}
function evidenceText(value) {
  if (typeof value !== "number") return "–";
  return value < 1e5 ? Math.round(value).toLocaleString() : value.toExponential(1).replace("e+", "×10^");
}
function relearnButton(name) {
  const button = element("button", "Learn anew");
  button.type = "button";
  button.setAttribute("aria-label", "Learn the reference of " + name + " anew from the pictures to come");
  button.onclick = async () => {
    try {
      drifting.set(name, (await call(driftRoute(name), {
        method: "POST", body: '{"reference":"recent"}', headers: { ...headers(), "Content-Type": "application/json" }
      })).answer);
      $("adrift").textContent = "";
      showDrift();
    } catch (error) {
      $("adrift").textContent = error.message;
    }
  };
  return button;
}

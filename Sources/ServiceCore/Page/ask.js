"use strict";
// What is asked, and what the answer says.
const $ = (id) => document.getElementById(id);
let picture = null, name = "picture.jpg", turn = 0;
const refusals = new Map();

// A reload of the page keeps the token, and the end of the tab forgets it. Storage may be turned off.
function stored(value) {
  try {
    if (value === undefined) return sessionStorage.getItem("token") || "";
    if (value) sessionStorage.setItem("token", value); else sessionStorage.removeItem("token");
  } catch {}
  return "";
}
// The daemon's answer, and its JSON. Throws an error to show where there is none.
async function call(path, options) {
  let response, text;
  try {
    response = await fetch(path, options);
    text = await response.text();
  } catch {
    // The text of fetch's own error differs by browser.
    throw new Error("Ocelli at " + location.host + " does not answer: is it running, and can this machine reach it?");
  }
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new Error("The answer, HTTP " + response.status + ", is not JSON: does a proxy in between answer for Ocelli?");
  }
  // Said beside the field, each route's reason once: a token may open some routes and not others.
  const route = path.split("?")[0], isRefused = answer.code === "unauthorized" || answer.code === "forbidden";
  if (isRefused) refusals.set(route, answer.error); else refusals.delete(route);
  $("refused").textContent = [...new Set(refusals.values())].join("; ");
  if (answer.code === "unauthorized") $("access").hidden = false;
  if (!response.ok) throw Object.assign(new Error(answer.error + " (" + answer.code + ")"), { code: answer.code });
  return { response, answer };
}

function element(tag, text, kind) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}
function headers() {
  const token = $("token").value.trim();
  return token ? { Authorization: "Bearer " + token } : {};
}
function quoted(text) { return "'" + text.replaceAll("'", "'\\''") + "'"; }
// What each model can be asked, by its name; whether the threshold is the bundle's own or the slider's.
const tasks = new Map(), inputs = new Map(), classes = new Map();
// The models that a drawing is made for.
const drawable = new Set();
let thresholdIsOurs = false;
function task() { return $("task").value || "classify"; }
// Whether the model takes values, in fields or as JSON, and no picture.
function isForm() { return (inputs.get($("model").value) || []).length > 0; }
// Relative, like all addresses here: a proxy may serve Ocelli below a path of its own.
function address() {
  let query = "";
  // More classes than the model has are an error; a model that is not loaded may have any number.
  const most = classes.get($("model").value);
  if (!$("words").hidden && hasLabels()) query = "?" + labelQuery(most);
  else if (task() === "classify") query = most ? "?top=" + Math.min($("top").value, most) : "";
  else if (!$("leasts").hidden && thresholdIsOurs) query = "?threshold=" + $("least").value;
  return "v1/models/" + encodeURIComponent($("model").value) + "/" + task() + query;
}
function showLine() {
  const token = $("token").value.trim() ? " -H 'Authorization: Bearer TOKEN'" : "";
  const body = isForm() ? " --json " + quoted(facts())
    : asksText() ? " -H 'Content-Type: text/plain' --data-raw " + quoted($("phrase").value)
    : " --data-binary " + quoted("@" + name);
  $("curl").textContent = "curl" + token + body + " " + quoted(new URL(address(), location.href).href);
}

// The labels that the visitor types, and the text around them, for models that embed pictures and texts.
function labelsTyped() { return $("labels").value.split(",").map((one) => one.trim()).filter((one) => one); }
function hasLabels() { return labelsTyped().length > 0 || $("prompt").value.trim() !== ""; }
function labelQuery(most) {
  const labels = labelsTyped(), prompt = $("prompt").value.trim(), query = new URLSearchParams();
  if (labels.length) query.set("labels", labels.join(","));
  if (prompt) query.set("prompt", prompt);
  const number = labels.length || most;
  if (number) query.set("top", Math.min($("top").value, number));
  return query;
}
// Whether the text is asked about, in place of a picture.
function asksText() { return !$("sentence").hidden && $("phrase").value !== ""; }

async function ask() {
  showLine();
  if (!$("model").value || (!isForm() && !picture && !asksText())) return;
  const mine = ++turn;
  $("say").className = "quiet";
  $("say").textContent = "Waiting for the answer…";
  try {
    const { response, answer } = await call(address(), isForm()
      ? { method: "POST", body: facts(), headers: { ...headers(), "Content-Type": "application/json" } }
      : asksText() ? { method: "POST", body: $("phrase").value, headers: { ...headers(), "Content-Type": "text/plain" } }
      : { method: "POST", body: picture, headers: headers() });
    if (mine !== turn) return;
    await show(answer, response.headers.get("Server-Timing") || "", mine);
  } catch (error) {
    if (mine !== turn) return;
    $("say").className = "bad";
    $("say").textContent = error.message;
    forget();
  } finally {
    // The request may have loaded the model.
    wake();
  }
}
// Takes away what the last answer showed.
function forget() {
  $("bars").replaceChildren();
  $("times").hidden = $("raw").hidden = $("page").hidden = true;
  last = null;
  draw();
}
let last = null, lit = -1;
async function show(answer, timing, mine) {
  const map = depthOf(answer), heat = await heatOf(answer);
  const mask = heat || (answer.mask ? await classesOf(answer.mask.b64) : map ? await bitmapOf(map.b64) : null);
  if (mine !== turn) return;
  if ((map || heat) && answer.image) answer.image.displayed = { width: mask.width, height: mask.height };
  last = { answer, mask };
  lit = -1;
  const image = answer.image;
  $("raw").hidden = !answer.outputs;
  $("raw").textContent = answer.outputs ? shortened(JSON.stringify(answer.outputs, null, isForm() ? 2 : 0)) : "";
  $("page").hidden = !answer.text;
  $("text").textContent = answer.text || "";
  $("text-copied").textContent = "";
  $("say").textContent = summary(answer) + " " + (image
    ? image.width + "×" + image.height + " " + image.format.toUpperCase() + ", " : "") +
    answer.model + " version " + answer.version;
  listFound();
  draw();
  $("stages").replaceChildren(...rows(stagesOf(timing), answer.timing_ms.total).map((one) => {
    const row = element("tr"), heading = element("th", one.stage);
    heading.scope = "row";
    row.append(heading, element("td", one.time.toFixed(2), "number"), element("td", one.note, "quiet"));
    return row;
  }));
  $("times").hidden = false;
}
// The picture with the distances of its patches drawn over it, from a taught model that compares patches; null from others.
async function heatOf(answer) {
  if (!answer.anomaly || !taught.some((one) => one.name === answer.model && one.patches)) return null;
  try {
    const response = await fetch(address(), { method: "POST", body: picture, headers: { ...headers(), Accept: "image/png" } });
    return response.ok ? await createImageBitmap(await response.blob()) : null;
  } catch {
    // The answer itself is shown without the drawing.
    return null;
  }
}
// The depth map among a model's outputs.
function depthOf(answer) {
  return Object.values(answer.outputs || {}).find((one) => one && one.b64 && Number.isFinite(one.min) && Number.isFinite(one.max));
}
// The stages of a field Server-Timing: `infer;dur=4.1;desc="2 threads"`.
function stagesOf(timing) {
  return [...timing.matchAll(/([^\s,;="]+)((?:;[^,;"]*(?:"[^"]*")?)*)/g)].map(([, stage, rest]) => ({
    stage, time: Number((rest.match(/;\s*dur=([\d.]+)/) || [])[1]), note: (rest.match(/;\s*desc="([^"]*)"/) || [])[1] || ""
  })).filter((one) => Number.isFinite(one.time));
}
// The stages with the total, which ends with the written answer: `timing_ms.total` is in the answer, and so ends before. The stages of a
// pipeline are parts of the others, and its crops are computed at the same time.
function rows(all, answered) {
  const isPart = (one) => one.stage.startsWith("stage."), parts = all.filter(isPart), own = all.filter((one) => !isPart(one));
  const encode = own.find((one) => one.stage === "encode"), total = answered + (encode ? encode.time : 0);
  const sum = own.reduce((time, one) => time + one.time, 0);
  return [...own, { stage: "total", time: total, note: sum > total + .01 ? "less than the sum: crops are computed at the same time" : "" },
    ...parts.map((one) => ({ ...one, stage: one.stage.slice(6), note: "of it" }))];
}
// A model's raw tensors may have millions of numbers.
function shortened(text) {
  const most = 20000;
  return text.length > most ? text.slice(0, most) + "… (" + text.length + " characters; the line below gives all)" : text;
}
function degrees(angle) { return (180 * angle / Math.PI).toFixed(1) + "°"; }
function percent(value) { return (100 * value).toFixed(1) + " %"; }

// What an answer says, one entry for each thing.
function found(answer) {
  if (answer.classifications) {
    // Logits are no shares of anything.
    return answer.classifications.map((one) => answer.scores
      ? { name: one.label, score: one.confidence.toFixed(3) } : { name: one.label, share: one.confidence });
  }
  if (answer.detections) {
    return answer.detections.map((one) => ({
      name: one.label, share: one.confidence, color: color(one.index), least: one.confidence,
      place: "left " + Math.round(one.box.x) + ", top " + Math.round(one.box.y) + ", " + Math.round(one.box.width) + "×" +
        Math.round(one.box.height) + " pixels" + (one.points ? ", turned by " + degrees(one.angle) : "") +
        (one.keypoints ? ", " + count(one.keypoints.filter((point) => point).length, "point", "points") : "") +
        stages(one).map(([name, text]) => "; " + name + ": " + text).join("")
    }));
  }
  if (answer.segments) {
    const whole = answer.image.displayed.width * answer.image.displayed.height;
    return answer.segments.map((one) => ({
      name: one.label, share: one.area / whole, color: one.index ? color(one.index - 1) : undefined, place: one.area + " pixels"
    }));
  }
  if (answer.keypoints) {
    return answer.keypoints.map((one, index) => one && ({
      name: one.name, share: one.confidence, color: color(index), least: one.confidence,
      place: "left " + Math.round(one.x) + ", top " + Math.round(one.y)
    })).filter((one) => one);
  }
  if (answer.lines) {
    return answer.lines.map((one, index) => ({
      name: one.text, share: one.confidence, color: color(index), least: one.confidence,
      place: "left " + Math.round(one.box.x) + ", top " + Math.round(one.box.y) + ", " + Math.round(one.box.width) + "×" +
        Math.round(one.box.height) + " pixels"
    }));
  }
  if (answer.embedding) {
    const first = answer.embedding.slice(0, 8).map((one) => one.toFixed(4)).join(", ");
    const tokens = answer.tokens === undefined ? "" : ", of " + count(answer.tokens, "token", "tokens");
    return [{ name: answer.dimension + " numbers" + tokens, place: first + ", …" }];
  }
  return [];
}
// What the stages of a pipeline say of a find, each as its name and some words.
function stages(one) {
  const own = ["index", "label", "confidence", "box", "points", "angle", "keypoints", "mask"];
  return Object.keys(one).filter((name) => !own.includes(name)).map((name) => {
    const said = one[name];
    if (said.error) return [name, said.error];
    const entries = found({ image: last.answer.image, ...said });
    if (said.detections) {
      return [name, said.detections.map((part) => [part.label, ...stages(part).map(([, text]) => text)].join(" ")).join(", ") || "nothing"];
    }
    if (said.lines) return [name, said.text.replaceAll("\n", " ") || "no text"];
    return [name, entries.slice(0, 3).map((entry) => entry.name + (entry.share === undefined ? "" : " " + percent(entry.share))).join(", ")];
  });
}
function isOver(entry) {
  return $("leasts").hidden || !thresholdIsOurs || entry.least === undefined || entry.least >= Number($("least").value);
}
function count(number, one, several) { return number + " " + (number === 1 ? one : several); }
function summary(answer) {
  const entries = found(answer);
  if (answer.classifications) {
    if (!entries[0]) return "Nothing reaches the threshold.";
    const stranger = answer.known === false ? "Unknown: at a distance of " + answer.distance.toFixed(3) + ", most like " : "";
    return stranger + entries[0].name + ", " + (entries[0].score ?? percent(entries[0].share)) + ".";
  }
  if (answer.detections) return entries.length ? count(entries.length, "thing", "things") + " found." : "Nothing found.";
  if (answer.segments) return count(entries.length, "class", "classes") + " in the picture.";
  if (answer.keypoints) return entries.length + " of " + count(answer.keypoints.length, "point", "points") + " found.";
  if (answer.lines) {
    const skipped = answer.skipped ? " " + count(answer.skipped, "region", "regions") + " not read: too many." : "";
    return (entries.length ? count(entries.length, "line", "lines") + " of text." : "No text found.") + skipped;
  }
  const map = depthOf(answer);
  if (map) return "Depth from " + map.min.toFixed(2) + " (black) to " + map.max.toFixed(2) + " (white).";
  if (answer.embedding && answer.tokens !== undefined) {
    return "The text's vector." + (answer.truncated ? " The text is longer than the model reads: its end is left out." : "");
  }
  return answer.embedding ? "The picture's vector." : "The answer:";
}
function listFound() {
  const isDrawn = last.answer.detections || last.answer.keypoints || last.answer.lines;
  $("bars").replaceChildren(...found(last.answer).filter(isOver).map((entry, index) => {
    const row = element("li"), title = element("span", undefined, "name");
    if (entry.color) {
      const swatch = element("span", undefined, "swatch");
      swatch.style.background = entry.color;
      swatch.setAttribute("aria-hidden", "true");
      title.append(swatch);
    }
    title.append(entry.name);
    row.append(title, element("span", entry.score ?? (entry.share === undefined ? "" : percent(entry.share))));
    if (entry.place) row.append(element("span", entry.place, "place"));
    if (entry.share !== undefined) {
      const track = element("div", undefined, "track"), fill = element("div", undefined, "fill");
      fill.style.width = (100 * Math.min(1, Math.max(0, entry.share))) + "%";
      track.setAttribute("aria-hidden", "true");
      track.append(fill);
      row.append(track);
    }
    if (isDrawn) {
      // The thing that a pointer or the keyboard is on is drawn thicker.
      row.tabIndex = 0;
      row.onfocus = row.onpointerenter = () => { lit = index; draw(); };
      row.onblur = row.onpointerleave = () => { lit = -1; draw(); };
    }
    return row;
  }));
}

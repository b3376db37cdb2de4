/// The page's text. `NONCE` stands where each answer has its own; a raw string, so that what is here is what is sent.
enum PageText {
    // swift-format-ignore
    static let html = #"""
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Ocelli</title>
<link rel="icon" href="data:,">
<style nonce="NONCE">
:root {
  --ground: #fbfaf7; --sheet: #fff; --ink: #1d1d1b; --quiet: #5f5d57; --line: #d9d6cd; --mark: #9a4a00; --bar: #e8b04a;
  --bad: #a3172a; --focus: #1257c9;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #171614; --sheet: #211f1c; --ink: #f0ede6; --quiet: #aba69b; --line: #3c3934; --mark: #f0b35a;
    --bar: #8a5a12; --bad: #ff8f9c; --focus: #8ab4ff;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
header, main, footer { max-width: 62rem; margin: 0 auto; padding: 0 1rem; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .25rem 1rem; padding-top: 1.25rem; }
h1 { margin: 0; font-size: 1.5rem; letter-spacing: .02em; }
h2 { margin: 0 0 .5rem; font-size: 1.05rem; }
header p, .quiet { color: var(--quiet); margin: 0; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(19rem, 1fr)); gap: 1rem; margin: 1rem 0; }
section { background: var(--sheet); border: 1px solid var(--line); border-radius: .6rem; padding: 1rem; min-width: 0; }
label { display: block; font-size: .9rem; color: var(--quiet); }
select, input[type=password], button {
  font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--line); border-radius: .4rem;
  padding: .35rem .6rem; max-width: 100%;
}
button { cursor: pointer; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
.fields { display: flex; flex-wrap: wrap; gap: .75rem; margin-bottom: .75rem; }
#drop {
  border: 2px dashed var(--line); border-radius: .6rem; padding: .75rem; text-align: center; min-height: 8rem;
}
#drop.over { border-color: var(--mark); }
#preview { display: block; max-width: 100%; max-height: 15rem; margin: .5rem auto 0; border-radius: .4rem; }
#pad { display: block; width: 14rem; height: 14rem; margin: .5rem 0; background: #fff; border: 1px solid var(--line);
  border-radius: .4rem; touch-action: none; cursor: crosshair; }
details { margin-top: .75rem; }
summary { cursor: pointer; }
ol { list-style: none; margin: 0; padding: 0; }
ol li { display: grid; grid-template-columns: 1fr auto; gap: 0 .75rem; margin-bottom: .45rem; }
ol li .track { grid-column: 1 / 3; height: .5rem; border-radius: .25rem; background: var(--ground); overflow: hidden; }
ol li .fill { height: 100%; background: var(--bar); border-radius: .25rem; }
ol li:first-child .name { font-weight: 600; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; padding: .25rem .5rem .25rem 0; border-bottom: 1px solid var(--line); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--ground); border: 1px solid var(--line);
  border-radius: .4rem; padding: .5rem; margin: .25rem 0; font-size: .85rem; }
.bad { color: var(--bad); }
footer { padding-bottom: 2rem; font-size: .9rem; color: var(--quiet); }
a { color: var(--mark); }
[hidden] { display: none !important; }
</style>
</head>
<body>
<header>
  <h1>Ocelli</h1>
  <p>classifies pictures over HTTP. Try one here; the line below says how to do it from anywhere.</p>
</header>
<main>
<div class="columns">
  <section aria-labelledby="ask">
    <h2 id="ask">Picture</h2>
    <div class="fields">
      <div><label for="model">Model</label><select id="model"></select></div>
      <div><label for="top">Classes</label>
        <select id="top"><option>3</option><option selected>5</option><option>10</option></select></div>
      <div id="access" hidden><label for="token">Token (this daemon asks for one)</label>
        <input id="token" type="password" autocomplete="off"></div>
    </div>
    <div id="drop">
      <input id="file" type="file" accept="image/*" hidden>
      <button id="choose" type="button">Choose a picture</button>
      <p class="quiet">or drop it here, or paste it</p>
      <img id="preview" alt="" hidden>
    </div>
    <details id="draw">
      <summary>Draw a digit</summary>
      <canvas id="pad" width="280" height="280" tabindex="0" role="img"
        aria-label="Drawing pad. Draw with the pointer; or move the pen with the arrow keys, and lower or lift it with the space bar."></canvas>
      <button id="read" type="button">Read it</button>
      <button id="clear" type="button">Clear</button>
    </details>
  </section>
  <section aria-labelledby="answer" aria-live="polite" id="result">
    <h2 id="answer">Answer</h2>
    <p id="say" class="quiet">No picture yet.</p>
    <ol id="bars"></ol>
    <div class="scroll"><table id="times" hidden>
      <caption class="quiet">Where the time went, in milliseconds</caption>
      <thead><tr id="stages"></tr></thead><tbody><tr id="spent"></tr></tbody>
    </table></div>
  </section>
</div>
<section aria-labelledby="line">
  <h2 id="line">The same with curl</h2>
  <pre id="curl"></pre>
  <button id="copy" type="button">Copy</button> <span id="copied" class="quiet" role="status"></span>
</section>
<div class="columns">
  <section aria-labelledby="models">
    <h2 id="models">Models</h2>
    <div class="scroll"><table>
      <thead><tr><th scope="col">Name</th><th scope="col">State</th><th scope="col">Takes</th>
        <th scope="col" class="number">Classes</th><th scope="col" class="number">In flight</th>
        <th scope="col" class="number">Waiting</th></tr></thead>
      <tbody id="list"></tbody>
    </table></div>
    <p id="trouble" class="bad" role="status"></p>
  </section>
</div>
</main>
<footer>
  <p>Also here: <a href="/v1/models">/v1/models</a>, <a href="/metrics">/metrics</a>, <a href="/healthz">/healthz</a>,
  <a href="/readyz">/readyz</a>, and every route in <a href="/openapi.json">/openapi.json</a>.</p>
</footer>
<script nonce="NONCE">
"use strict";
const $ = (id) => document.getElementById(id);
let picture = null, name = "picture.jpg", turn = 0;

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
function address() {
  return "/v1/models/" + encodeURIComponent($("model").value) + "/classify?top=" + $("top").value;
}
function showLine() {
  const token = $("token").value.trim() ? " -H 'Authorization: Bearer TOKEN'" : "";
  $("curl").textContent = "curl" + token + " --data-binary " + quoted("@" + name) + " " +
    quoted(location.origin + address());
}

async function ask() {
  showLine();
  if (!picture || !$("model").value) return;
  const mine = ++turn;
  $("say").className = "quiet";
  $("say").textContent = "Looking…";
  try {
    const response = await fetch(address(), { method: "POST", body: picture, headers: headers() });
    const answer = await response.json();
    if (mine !== turn) return;
    if (response.status === 401) $("access").hidden = false;
    if (!response.ok) throw new Error(answer.error + " (" + answer.code + ")");
    show(answer, response.headers.get("Server-Timing") || "");
  } catch (error) {
    if (mine !== turn) return;
    $("say").className = "bad";
    $("say").textContent = error.message;
    $("bars").replaceChildren();
    $("times").hidden = true;
  }
}
function show(answer, timing) {
  const picture = answer.image;
  const best = answer.classifications[0];
  $("say").textContent = (best ? best.label + ", " + percent(best.confidence) + ". " : "Nothing reaches the threshold. ") +
    picture.width + "×" + picture.height + " " + picture.format.toUpperCase() + ", " + answer.model + " version " +
    answer.version;
  $("bars").replaceChildren(...answer.classifications.map((entry) => {
    const row = element("li");
    const track = element("div", undefined, "track"), fill = element("div", undefined, "fill");
    fill.style.width = (100 * Math.min(1, Math.max(0, entry.confidence))) + "%";
    track.setAttribute("aria-hidden", "true");
    track.append(fill);
    row.append(element("span", entry.label, "name"), element("span", percent(entry.confidence)), track);
    return row;
  }));
  const stages = timing.split(",").map((part) => part.trim().split(";dur=")).filter((part) => part.length === 2);
  stages.push(["total", answer.timing_ms.total]);
  $("stages").replaceChildren(...stages.map(([stage]) => element("th", stage, "number")));
  $("spent").replaceChildren(...stages.map(([, time]) => element("td", Number(time).toFixed(2), "number")));
  $("times").hidden = false;
}
function percent(value) { return (100 * value).toFixed(1) + " %"; }

function take(blob, called) {
  picture = blob;
  name = called || "picture." + (blob.type.split("/")[1] || "jpg");
  const shown = $("preview");
  if (shown.src) URL.revokeObjectURL(shown.src);
  shown.src = URL.createObjectURL(blob);
  shown.alt = "The picture that was asked about: " + name;
  shown.hidden = false;
  ask();
}
$("choose").onclick = () => $("file").click();
$("file").onchange = () => { if ($("file").files[0]) take($("file").files[0], $("file").files[0].name); };
for (const kind of ["dragenter", "dragover"]) {
  document.addEventListener(kind, (event) => { event.preventDefault(); $("drop").classList.add("over"); });
}
document.addEventListener("dragleave", () => $("drop").classList.remove("over"));
document.addEventListener("drop", (event) => {
  event.preventDefault();
  $("drop").classList.remove("over");
  const file = event.dataTransfer.files[0];
  if (file) take(file, file.name);
});
document.addEventListener("paste", (event) => {
  const item = [...(event.clipboardData ? event.clipboardData.items : [])].find((item) => item.kind === "file");
  if (item) take(item.getAsFile(), "pasted.png");
});

// The pad: black ink on white paper.
const pad = $("pad"), ink = pad.getContext("2d");
let pen = { x: 140, y: 60, down: false };
function wipe() {
  ink.fillStyle = "#fff";
  ink.fillRect(0, 0, pad.width, pad.height);
  ink.lineWidth = 20;
  ink.lineCap = ink.lineJoin = "round";
  ink.strokeStyle = "#000";
}
function stroke(x, y) {
  if (pen.down) {
    ink.beginPath();
    ink.moveTo(pen.x, pen.y);
    ink.lineTo(x, y);
    ink.stroke();
  }
  pen.x = x;
  pen.y = y;
}
function place(event) {
  const box = pad.getBoundingClientRect();
  return [(event.clientX - box.left) * pad.width / box.width, (event.clientY - box.top) * pad.height / box.height];
}
pad.onpointerdown = (event) => {
  pad.setPointerCapture(event.pointerId);
  [pen.x, pen.y] = place(event);
  pen.down = true;
  stroke(pen.x, pen.y);
};
pad.onpointermove = (event) => { if (event.buttons) stroke(...place(event)); };
pad.onpointerup = pad.onpointercancel = () => { pen.down = false; };
pad.onkeydown = (event) => {
  const step = { ArrowLeft: [-8, 0], ArrowRight: [8, 0], ArrowUp: [0, -8], ArrowDown: [0, 8] }[event.key];
  if (step) stroke(Math.min(270, Math.max(10, pen.x + step[0])), Math.min(270, Math.max(10, pen.y + step[1])));
  else if (event.key === " ") { pen.down = !pen.down; stroke(pen.x, pen.y); }
  else if (event.key === "Enter") $("read").click();
  else return;
  event.preventDefault();
};
$("clear").onclick = wipe;
$("read").onclick = () => pad.toBlob((blob) => take(blob, "digit.png"), "image/png");
wipe();

// The models, and how busy they are.
async function look() {
  try {
    const response = await fetch("/v1/models", { headers: headers() });
    const answer = await response.json();
    if (response.status === 401) $("access").hidden = false;
    if (!response.ok) throw new Error(answer.error);
    $("trouble").textContent = "";
    list(answer);
  } catch (error) {
    $("trouble").textContent = "The list of models cannot be had: " + error.message;
  }
}
function list(answer) {
  const able = answer.models.filter((model) => model.labels > 0 && model.state === "ready");
  const names = able.map((model) => model.name);
  const choice = $("model");
  if (names.join("\n") !== [...choice.options].map((option) => option.value).join("\n")) {
    const before = choice.value || answer.default;
    choice.replaceChildren(...names.map((name) => element("option", name)));
    choice.value = names.includes(before) ? before : names[0] || "";
    showLine();
  }
  $("list").replaceChildren(...answer.models.map((model) => {
    const row = element("tr");
    const heading = element("th", model.name);
    heading.scope = "row";
    const input = (model.inputs || [])[0];
    const busy = model.in_flight || {};
    row.append(
      heading, element("td", model.state + (model.reason ? ": " + model.reason : "")),
      element("td", input ? input.shape.join("×") + " " + input.dtype : ""),
      element("td", model.labels || "", "number"),
      element("td", busy.limit ? busy.now + " of " + busy.limit : "", "number"),
      element("td", busy.limit ? busy.waiting + " of " + busy.queue_length : "", "number"));
    return row;
  }));
}
for (const id of ["model", "top"]) $(id).onchange = ask;
$("token").onchange = () => { look(); ask(); };
$("copy").onclick = async () => {
  try {
    await navigator.clipboard.writeText($("curl").textContent);
    $("copied").textContent = "Copied.";
  } catch {
    getSelection().selectAllChildren($("curl"));
    $("copied").textContent = "Selected: copy it with the keyboard.";
  }
};
look();
setInterval(() => { if (!document.hidden) look(); }, 2000);
</script>
</body>
</html>
"""#
}

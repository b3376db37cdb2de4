"use strict";
// What the visitor gives: fields for values, JSON, a picture, a drawing.
// The shape of one row: open extents are 1, or as in the file's default.
function extents(input) {
  const usual = (input.shapes && input.shapes.default) || [];
  return input.type === "scalar" ? [] : input.shape.map((extent, axis) => (extent > 0 ? extent : usual[axis] > 0 ? usual[axis] : 1));
}
function values(input) { return input.type === "dictionary" ? 2 : extents(input).reduce((product, extent) => product * extent, 1); }
// A model of numbers and words, such as one of a table: no pictures, and few enough values to type.
function isTabular(model) {
  const all = model.inputs || [], typed = ["scalar", "text", "array", "string", "dictionary"];
  return all.length > 0 && !model.pipeline && !model.reader && all.every((one) => typed.includes(one.type)) &&
    all.reduce((sum, one) => sum + values(one), 0) <= 1024;
}
// Whether each input is a single value, with a field of its own; others are JSON.
function hasFields(wanted) {
  return wanted.length <= 64 && wanted.every((one) => one.type !== "dictionary" && values(one) === 1);
}
function isText(input) { return ["text", "string"].includes(input.type) || input.dtype === "string"; }
// A value of the input's shape, to be overwritten.
function sample(input) {
  if (input.type === "dictionary") return { word: 1 };
  const nest = ([extent, ...rest]) => (extent === undefined ? (isText(input) ? "" : 0) : Array.from({ length: extent }, () => nest(rest)));
  // Leading extents of 1 may be left out.
  const own = extents(input), first = own.findIndex((extent) => extent > 1);
  return nest(first < 0 ? [] : own.slice(first));
}
// The body of a request with the values, as text.
function facts() {
  const box = $("facts").querySelector("textarea");
  if (box) return box.value;
  const body = Object.create(null);
  for (const field of $("facts").querySelectorAll("input")) {
    // What is left empty is left out: an input with a default does without.
    if (field.value !== "") body[field.name] = field.type === "number" ? Number(field.value) : field.value;
  }
  return JSON.stringify(body);
}
function makeForm() {
  const wanted = inputs.get($("model").value) || [];
  const key = JSON.stringify(wanted.map((one) => [one.name, one.type, one.dtype, one.shape]));
  $("facts").hidden = !wanted.length;
  $("ask").textContent = wanted.length ? "Values" : "Picture";
  $("drop").hidden = wanted.length > 0;
  $("draw").hidden = !drawable.has($("model").value);
  if ($("facts").dataset.key === key) return;
  $("facts").dataset.key = key;
  const button = element("button", "Predict");
  $("facts").replaceChildren(...(hasFields(wanted) ? wanted.map(fieldOf) : [boxOf(wanted)]), button);
}
function fieldOf(input) {
  const label = element("label", input.name), field = element("input");
  field.name = input.name;
  field.type = isText(input) ? "text" : "number";
  if (field.type === "number") field.step = "any";
  field.autocomplete = "off";
  label.append(field);
  return label;
}
function boxOf(wanted) {
  const label = element("label", "Values, as JSON"), box = element("textarea");
  box.rows = 6;
  box.spellcheck = false;
  box.value = JSON.stringify({ inputs: Object.fromEntries(wanted.map((one) => [one.name, sample(one)])) });
  label.append(box);
  return label;
}
$("facts").onsubmit = (event) => { event.preventDefault(); ask(); };
$("facts").oninput = showLine;

function take(blob, called, several) {
  picture = blob;
  $("phrase").value = "";
  name = called || "picture." + (blob.type.split("/")[1] || "jpg");
  $("others").textContent = several > 1 ? "The first of " + several + " files: only one is sent at a time." : "";
  const shown = $("preview");
  if (shown.src) URL.revokeObjectURL(shown.src);
  shown.src = URL.createObjectURL(blob);
  // Ocelli decodes formats that browsers do not, such as HEIC.
  shown.onerror = () => {
    if (picture !== blob) return;
    $("seen").hidden = true;
    $("others").append((several > 1 ? " " : "") + "This browser cannot show " + name + ". It was sent all the same.");
  };
  shown.alt = "The picture that was sent: " + name;
  shown.hidden = $("seen").hidden = false;
  forget();
  ask();
}
$("choose").onclick = () => {
  // The same file may be chosen again.
  $("file").value = "";
  $("file").click();
};
$("example").onclick = () => {
  const bytes = Uint8Array.from(atob($("sample").src.split(",")[1]), (letter) => letter.charCodeAt(0));
  take(new Blob([bytes], { type: "image/png" }), "seven.png");
};
$("file").onchange = () => { if ($("file").files[0]) take($("file").files[0], $("file").files[0].name); };
// Text that is dragged into a field is the browser's business.
function hasText(event) { return event.target instanceof HTMLInputElement && !event.dataTransfer.types.includes("Files"); }
for (const kind of ["dragenter", "dragover"]) {
  document.addEventListener(kind, (event) => {
    if (hasText(event)) return;
    event.preventDefault();
    $("drop").classList.add("over");
  });
}
// Leaving an element for another one of the page is not leaving the page.
document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) $("drop").classList.remove("over"); });
document.addEventListener("drop", (event) => {
  $("drop").classList.remove("over");
  if (hasText(event)) return;
  event.preventDefault();
  const files = event.dataTransfer.files;
  if (files.length) return take(files[0], files[0].name, files.length);
  $("others").textContent = "That was not a file: save the picture first, or copy it and paste it here.";
});
document.addEventListener("paste", (event) => {
  const item = [...(event.clipboardData ? event.clipboardData.items : [])].find((item) => item.kind === "file");
  if (item) take(item.getAsFile(), "pasted.png");
});

// The pad: black ink on white paper.
const pad = $("pad"), ink = pad.getContext("2d");
let pen = { x: 140, y: 60, down: false }, drawn = false;
function wipe() {
  drawn = false;
  ink.fillStyle = "#fff";
  ink.fillRect(0, 0, pad.width, pad.height);
  ink.lineWidth = 20;
  ink.lineCap = ink.lineJoin = "round";
  ink.strokeStyle = "#000";
}
function stroke(x, y) {
  if (pen.down) {
    drawn = true;
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
$("read").onclick = () => {
  if (drawn) return pad.toBlob((blob) => take(blob, "digit.png"), "image/png");
  turn += 1;
  $("say").className = "quiet";
  $("say").textContent = "The pad is empty: draw a digit first.";
  forget();
};
wipe();

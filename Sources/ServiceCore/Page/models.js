"use strict";
// The models, and how busy they are.
async function look() {
  try {
    const { answer } = await call("v1/models", { headers: headers() });
    stored($("token").value.trim());
    $("trouble").textContent = "";
    list(answer);
    listEmbedders();
    listDrift(answer.models);
  } catch (error) {
    $("trouble").textContent = refusals.has("v1/models") ? "" : "Cannot list the models: " + error.message;
  }
}
// What the page can ask a model. Labels alone make no classifier: it takes one picture too. A picture whose answer has no form of
// its own is predicted with, and so are values.
function abilities(model) {
  if (model.texts) return model.zero_shot ? ["classify", "embed"] : ["embed"];
  if (isTabular(model)) return ["predict"];
  const needed = (model.inputs || []).filter((one) => !one.optional);
  if (needed.length !== 1 || needed[0].type !== "image") return [];
  // The labels of a detector or of a mask are its own.
  const found = model.tasks || [], able = model.labels > 0 && !found.length ? ["classify"] : [...found];
  return able.length ? able : ["predict"];
}
// The routes that a model answers: a pipeline, a reader and a taught model have no tensors of their own.
function routes(model) {
  const able = model.inputs ? abilities(model).filter((one) => one !== "predict") : [];
  return !model.inputs || model.pipeline || model.reader || (model.taught && model.taught.embedder) ? able : ["predict", ...able];
}
// Whether the pad's ink on paper is like the pictures of the model: a classifier of small grey ones, such as digits.
function takesDrawings(model) {
  const input = (model.inputs || [])[0];
  return !!input && input.type === "image" && input.format === "GRAY" && input.shape.every((extent) => extent > 0 && extent <= 64) &&
    !model.taught && abilities(model).includes("classify");
}
function list(answer) {
  const able = answer.models.filter((model) => {
    const isForm = !model.texts && isTabular(model);
    let able = abilities(model);
    // What a model does that is loaded for its first request is known after that.
    if (model.load === "lazy" && model.state === "unloaded" && !able.length) {
      able = tasks.get(model.name) || ["classify", "detect", "segment", "keypoints", "embed", "read"];
    } else if (model.state !== "ready") able = [];
    tasks.set(model.name, able);
    inputs.set(model.name, isForm ? model.inputs : []);
    classes.set(model.name, model.labels);
    if (model.texts) words.set(model.name, { takesLabels: !!model.zero_shot }); else words.delete(model.name);
    if (takesDrawings(model)) drawable.add(model.name); else drawable.delete(model.name);
    return able.length > 0;
  });
  const names = able.map((model) => model.name);
  const choice = $("model");
  if (names.join("\n") !== [...choice.options].map((option) => option.value).join("\n")) {
    const before = choice.value || answer.default;
    choice.replaceChildren(...names.map((name) => element("option", name)));
    choice.value = names.includes(before) ? before : names[0] || "";
  }
  chooseTask();
  $("list").replaceChildren(...answer.models.map((model) => {
    const row = element("tr");
    const heading = element("th", model.name);
    heading.scope = "row";
    const input = (model.inputs || [])[0];
    const busy = model.in_flight || {};
    row.append(
      heading, element("td", model.state + (model.reason ? ": " + model.reason : "")),
      element("td", isTabular(model) ? count(model.inputs.reduce((sum, one) => sum + values(one), 0), "value", "values")
        : input ? input.shape.map((extent) => (extent > 0 ? extent : "N")).join("×") + " " + input.dtype : ""),
      element("td", routes(model).join(", ")),
      element("td", model.labels || "", "number"),
      element("td", busy.limit ? busy.now + " of " + busy.limit : "", "number"),
      element("td", busy.limit ? busy.waiting + " of " + busy.queue_length : "", "number"));
    return row;
  }));
}
// The tasks of the model that is chosen, and the fields that each has.
function chooseTask() {
  const able = tasks.get($("model").value) || [], choice = $("task");
  if (able.join() !== [...choice.options].map((option) => option.value).join()) {
    choice.replaceChildren(...able.map((name) => element("option", name)));
  }
  $("tasks").hidden = able.join() === "classify";
  $("tops").hidden = task() !== "classify";
  $("leasts").hidden = !["detect", "segment", "keypoints", "read"].includes(task());
  $("share").textContent = thresholdIsOurs ? Number($("least").value).toFixed(2) : "the model's";
  chooseWords();
  makeForm();
  showLine();
}
// The fields for labels and for a text, of models that embed texts.
const words = new Map();
function chooseWords() {
  const own = words.get($("model").value);
  $("words").hidden = !(own && own.takesLabels && task() === "classify");
  $("sentence").hidden = !(own && task() === "embed");
}
$("labels").onchange = $("prompt").onchange = () => ask();
$("phrase").oninput = showLine;
$("sentence").onsubmit = (event) => {
  event.preventDefault();
  ask();
};
$("model").onchange = $("task").onchange = () => {
  thresholdIsOurs = false;
  chooseTask();
  forget();
  turn += 1;
  if (!isForm()) return ask();
  $("say").className = "quiet";
  $("say").textContent = "Fill in the values, and predict.";
};
$("top").onchange = ask;
// While the slider moves, what is under it vanishes; where it stops, the daemon is asked.
$("least").oninput = () => {
  thresholdIsOurs = true;
  chooseTask();
  if (last) {
    listFound();
    draw();
  }
};
$("least").onchange = ask;
$("token").onchange = () => { look(); ask(); listTaught(); listKept(false); };
// A button that copies a text, and says so.
function copies(button, text, said) {
  $(button).onclick = async () => {
    try {
      await navigator.clipboard.writeText($(text).textContent);
      $(said).textContent = "Copied.";
    } catch {
      getSelection().selectAllChildren($(text));
      $(said).textContent = "Selected: copy it with the keyboard.";
    }
  };
}
copies("copy", "curl", "copied");
copies("copy-text", "text", "text-copied");
$("token").value = stored();
$("access").hidden = !$("token").value;
// The models are asked for again while the tab is seen: after a short pause, and after longer and longer ones while nothing changes
// and nobody is at the page. Each request is a line of the access log.
const shortest = 2000, longest = 60000;
let pause = shortest, timer, looked = 0;
async function watch() {
  clearTimeout(timer);
  if (document.hidden) return;
  const shown = () => $("list").textContent + $("trouble").textContent, before = shown();
  looked = performance.now();
  const mine = looked, next = Math.min(longest, 2 * pause);
  await look();
  if (mine !== looked) return;
  pause = shown() === before ? next : shortest;
  clearTimeout(timer);
  timer = setTimeout(watch, pause);
}
function wake() {
  pause = shortest;
  clearTimeout(timer);
  timer = setTimeout(watch, Math.max(0, looked + shortest - performance.now()));
}
for (const kind of ["visibilitychange", "pointerdown", "keydown"]) document.addEventListener(kind, wake);
watch();

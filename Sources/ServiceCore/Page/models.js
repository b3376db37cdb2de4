"use strict";
// The models, and how busy they are.
async function look() {
  try {
    const { answer } = await call("v1/models", { headers: headers() });
    stored($("token").value.trim());
    $("trouble").textContent = "";
    list(answer);
    listEmbedders();
  } catch (error) {
    $("trouble").textContent = refusals.has("v1/models") ? "" : "Cannot list the models: " + error.message;
  }
}
// What the page can ask a model. Labels alone make no classifier: it takes one picture too. A picture whose answer has no form of
// its own is predicted with.
function abilities(model) {
  if (isTabular(model)) return ["predict"];
  const needed = (model.inputs || []).filter((one) => !one.optional);
  if (needed.length !== 1 || needed[0].type !== "image") return [];
  // The labels of a detector or of a mask are its own.
  const found = model.tasks || [], able = model.labels > 0 && !found.length ? ["classify"] : [...found];
  return able.length ? able : ["predict"];
}
function list(answer) {
  const able = answer.models.filter((model) => {
    const isForm = isTabular(model);
    let able = abilities(model);
    // What a model does that is loaded for its first request is known after that.
    if (model.load === "lazy" && model.state === "unloaded" && !able.length) {
      able = tasks.get(model.name) || ["classify", "detect", "segment", "keypoints", "embed"];
    } else if (model.state !== "ready") able = [];
    tasks.set(model.name, able);
    inputs.set(model.name, isForm ? model.inputs : []);
    classes.set(model.name, model.labels);
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
      element("td", isTabular(model) ? count(model.inputs.length, "value", "values")
        : input ? input.shape.join("×") + " " + input.dtype : ""),
      element("td", (model.inputs ? ["predict", ...abilities(model).filter((one) => one !== "predict")] : []).join(", ")),
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
  $("leasts").hidden = !["detect", "segment", "keypoints"].includes(task());
  $("share").textContent = thresholdIsOurs ? Number($("least").value).toFixed(2) : "the model's";
  makeForm();
  showLine();
}
$("model").onchange = $("task").onchange = () => {
  thresholdIsOurs = false;
  chooseTask();
  forget();
  turn += 1;
  if (!isForm()) return ask();
  $("say").className = "quiet";
  $("say").textContent = "Fill in the fields, and predict.";
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
$("token").onchange = () => { look(); ask(); listTaught(); };
$("copy").onclick = async () => {
  try {
    await navigator.clipboard.writeText($("curl").textContent);
    $("copied").textContent = "Copied.";
  } catch {
    getSelection().selectAllChildren($("curl"));
    $("copied").textContent = "Selected: copy it with the keyboard.";
  }
};
$("token").value = stored();
$("access").hidden = !$("token").value;
look();
setInterval(() => { if (!document.hidden) look(); }, 2000);

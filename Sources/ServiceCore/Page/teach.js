"use strict";
// Classes of one's own: pictures are taught to a model that embeds them. The daemon says whether it has a folder for that.
const teaches = document.body.dataset.teaches === "true";
let taught = [], lessons = Promise.resolve();
function lesson() { return taught.find((one) => one.name === $("lesson").value); }
function taughtRoute(name, rest) { return "v1/taught/" + encodeURIComponent(name) + (rest || ""); }
function tell(text, isBad) {
  $("learned").className = isBad ? "bad" : "quiet";
  $("learned").textContent = text;
}
async function listTaught() {
  if (!teaches) return;
  try {
    const { answer } = await call("v1/taught", { headers: headers() });
    taught = answer.taught;
    $("teach").hidden = false;
  } catch (error) {
    $("teach").hidden = refusals.has("v1/taught");
    return tell("Cannot list the taught models: " + error.message, true);
  }
  const names = ["", ...taught.map((one) => one.name)], choice = $("lesson");
  if (names.join("\n") !== [...choice.options].map((option) => option.value).join("\n")) {
    const before = choice.value;
    choice.replaceChildren(...names.map((name) => {
      const option = element("option", name || "a new one");
      option.value = name;
      return option;
    }));
    choice.value = names.includes(before) ? before : "";
  }
  showLesson();
}
// The models that a taught model can be built on.
function listEmbedders() {
  if (!teaches) return;
  const own = taught.map((one) => one.name), choice = $("embedder");
  const names = [...tasks.keys()].filter((name) => tasks.get(name).includes("embed") && !own.includes(name));
  $("none").hidden = names.length > 0;
  if (names.join("\n") === [...choice.options].map((option) => option.value).join("\n")) return;
  const before = choice.value;
  choice.replaceChildren(...names.map((name) => element("option", name)));
  choice.value = names.includes(before) ? before : names[0] || "";
}
// What the taught model knows, how good it is, and what it confuses.
function showLesson() {
  const one = lesson(), test = one && one.evaluation;
  $("newcomer").hidden = $("embedders").hidden = $("kinds").hidden = !!one;
  nameClass();
  $("try").hidden = !one || !one.classes.length;
  $("known").replaceChildren(...(one ? one.classes : []).map((each) => element("option", each.label)));
  $("taught").hidden = !one || !one.classes.length;
  $("pupils").replaceChildren(...(one ? one.classes : []).map((each) => {
    const row = element("tr"), heading = element("th", each.label), last = element("td"), button = element("button", "Forget");
    heading.scope = "row";
    button.type = "button";
    button.setAttribute("aria-label", "Forget " + each.label);
    button.onclick = () => forgetClass(one.name, each.label);
    last.append(button);
    row.append(heading, element("td", each.examples, "number"),
      element("td", each.accuracy === null || each.accuracy === undefined ? "–" : percent(each.accuracy), "number"), last);
    return row;
  }));
  $("grade").textContent = !one || !one.classes.length ? ""
    : test && test.interval ? test.correct + " of " + test.examples + " right, each answered without itself: " +
      percent(test.interval[0]) + " to " + percent(test.interval[1]) + " for pictures like these." +
      (test.advice ? " " + test.advice[0].toUpperCase() + test.advice.slice(1) + "." : "")
    : test && one.method === "normal" ? (test.advice ? test.advice[0].toUpperCase() + test.advice.slice(1)
      : "A picture is an anomaly beyond a distance of " + test.threshold.toFixed(3)) + "."
    : one.evaluating ? "Testing…" : "A class needs two pictures to be tested.";
  if (one && one.evaluating && test) $("grade").textContent += " (Testing the newest pictures…)";
  if (one && one.state === "stale") $("grade").textContent += " The embedder has changed: teach the pictures again.";
  $("mixed").replaceChildren(...(test ? test.confusions : []).map((pair) =>
    element("li", pair.label + " is taken for " + pair.as + (pair.count > 1 ? ", " + pair.count + " times" : ""))));
  $("mixing").hidden = !(test && test.confusions.length);
}
// The class is fixed for a taught model with the method "normal".
function nameClass() {
  const one = lesson(), isNormal = (one ? one.method : $("kind").value) === "normal", field = $("class");
  if (isNormal) field.value = "normal";
  else if (field.disabled) field.value = "";
  field.disabled = isNormal;
}
// The newest answer about a taught model.
function takeLesson(answer) {
  taught = [...taught.filter((one) => one.name !== answer.name), answer].sort((a, b) => (a.name < b.name ? -1 : 1));
  listEmbedders();
  if (![...$("lesson").options].some((option) => option.value === answer.name)) {
    $("lesson").append(element("option", answer.name));
  }
  $("lesson").value = answer.name;
  showLesson();
}
// Pictures in groups that fit into a request: the first ones answer already while the next are sent.
function groups(files) {
  const most = 8, mostBytes = 8 << 20, result = [];
  let bytes = 0;
  for (const file of files) {
    const last = result[result.length - 1];
    if (last && last.length < most && bytes + file.size <= mostBytes) last.push(file);
    else {
      result.push([file]);
      bytes = 0;
    }
    bytes += file.size;
  }
  return result;
}
const aboutPictures = ["invalid_image", "unsupported_media_type", "image_too_large", "body_too_large"];
// What is dropped while others are being taught has its turn after them.
function teachPictures(list) {
  const files = [...list], label = $("class").value.trim(), name = $("lesson").value || $("called").value.trim();
  if (!name) return tell("Name the taught model first.", true);
  if (!label) return tell("Name the class of the pictures first.", true);
  if (!$("lesson").value && !$("embedder").value) return tell("No model here embeds pictures: add one to the models.", true);
  lessons = lessons.then(() => teachNow(files, label, name));
}
async function teachNow(files, label, name) {
  const added = [], errors = [];
  let done = 0;
  try {
    if (!taught.some((one) => one.name === name)) {
      const body = JSON.stringify({ embedder: $("embedder").value, method: $("kind").value });
      takeLesson((await call(taughtRoute(name), {
        method: "PUT", body, headers: { ...headers(), "Content-Type": "application/json" }
      })).answer);
    }
    for (const group of groups(files)) {
      tell("Teaching " + label + ": " + done + " of " + count(files.length, "picture", "pictures") + "…");
      const form = new FormData();
      for (const file of group) form.append("image", file, file.name);
      try {
        const { answer } = await call(taughtRoute(name, "/examples?label=" + encodeURIComponent(label)), {
          method: "POST", body: form, headers: headers()
        });
        added.push(...(answer.added || []));
        for (const one of answer.errors || []) errors.push(group[one.part - 1].name + ": " + one.error.replace(/^part \d+: /, ""));
        takeLesson(answer);
      } catch (error) {
        // What is wrong with some pictures keeps none of the others out.
        if (!aboutPictures.includes(error.code)) throw error;
        errors.push(group.map((file) => file.name).join(", ") + ": " + error.message.replace(/^part \d+: /, ""));
      }
      done += group.length;
    }
    const fresh = added.filter((one) => one.new).length, moved = added.filter((one) => one.moved).length;
    const known = added.length - fresh - moved;
    tell(count(fresh, "picture", "pictures") + " of " + label + " taught" +
      (moved ? "; " + moved + " moved from another class" : "") + (known ? "; " + known + " known before" : "") +
      (errors.length ? "; left out: " + errors.join("; ") : "."), errors.length > 0);
    await look();
    follow(name);
    if ([...$("model").options].some((option) => option.value === name)) {
      $("model").value = name;
      $("model").onchange();
    }
  } catch (error) {
    tell((done ? done + " of " + count(files.length, "picture", "pictures") + " are taught; then: " : "") + error.message, true);
  }
}
// Until the test in the background has ended.
async function follow(name) {
  for (let turns = 0; turns < 240; turns += 1) {
    const one = taught.find((each) => each.name === name);
    if (!one || !one.evaluating || $("lesson").value !== name) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
    try {
      const { answer } = await call(taughtRoute(name), { headers: headers() });
      taught = taught.map((each) => (each.name === name ? answer : each));
      showLesson();
    } catch { return; }
  }
}
async function forgetClass(name, label) {
  try {
    takeLesson((await call(taughtRoute(name, "/classes?label=" + encodeURIComponent(label)), {
      method: "DELETE", headers: headers()
    })).answer);
    tell(label + " is forgotten.");
    await look();
    follow(name);
  } catch (error) {
    tell(error.message, true);
  }
}
// The taught pictures that are nearest to another one.
async function seek(file) {
  $("near").replaceChildren();
  try {
    const { answer } = await call(taughtRoute($("lesson").value, "/search?top=5"), { method: "POST", body: file, headers: headers() });
    $("near").replaceChildren(...answer.examples.map((one) =>
      element("li", one.label + ", " + (one.name || one.id.slice(0, 8)) + ": " + one.similarity.toFixed(3))));
  } catch (error) {
    tell(error.message, true);
  }
}
$("kind").onchange = nameClass;
$("lesson").onchange = () => {
  $("near").replaceChildren();
  showLesson();
  follow($("lesson").value);
};
// The chosen pictures are taught, or one is sought.
let seeks = false;
function choose(isSought) {
  seeks = isSought;
  $("files").multiple = !isSought;
  $("files").value = "";
  $("files").click();
}
$("add").onclick = () => choose(false);
$("seek").onclick = () => choose(true);
$("files").onchange = () => {
  const files = $("files").files;
  if (files.length) seeks ? seek(files[0]) : teachPictures(files);
};
$("try").onclick = () => {
  $("model").value = $("lesson").value;
  $("model").onchange();
  $("drop").scrollIntoView({ block: "center" });
  $("choose").focus();
};
// What is dropped here is not asked about above.
function takeDrops(place, take) {
  for (const kind of ["dragenter", "dragover", "dragleave", "drop"]) {
    place.addEventListener(kind, (event) => {
      if (hasText(event)) return;
      event.preventDefault();
      event.stopPropagation();
      $("drop").classList.remove("over");
      place.classList.toggle("over", kind === "dragover" || kind === "dragenter");
      if (kind !== "drop") return;
      if (event.dataTransfer.files.length) return take(event.dataTransfer.files);
      tell("Those were no files: save the pictures first.", true);
    });
  }
}
takeDrops($("lessons"), teachPictures);
takeDrops($("taught"), (files) => seek(files[0]));
listTaught();

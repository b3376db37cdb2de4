"use strict";
// The pictures that the daemon has kept, to be looked at and taught.
const keeps = document.body.dataset.keeps === "true", perPage = 12;
const reasons = { uncertain: "uncertain", unknown: "not known", disagree: "versions disagree" };
let keptUntil = "", keptTurn = 0;
function tellKept(text, isBad) {
  $("kept-said").className = isBad ? "bad" : "quiet";
  $("kept-said").textContent = text;
}
// Lists the newest pictures, or those after the ones that are listed.
async function listKept(isMore) {
  if (!keeps) return;
  const mine = ++keptTurn, query = new URLSearchParams({ limit: perPage });
  if ($("kept-why").value) query.set("why", $("kept-why").value);
  if (isMore && keptUntil) query.set("after", keptUntil);
  try {
    const { answer } = await call("v1/kept?" + query, { headers: headers() });
    if (mine !== keptTurn) return;
    $("kept").hidden = false;
    if (!isMore) {
      for (const image of $("kept-list").querySelectorAll("img")) URL.revokeObjectURL(image.src);
      $("kept-list").replaceChildren();
    }
    $("kept-list").append(...answer.kept.map(keptItem));
    keptUntil = answer.next || "";
    $("kept-more").hidden = !keptUntil;
    tellKept($("kept-list").children.length ? "" : "No picture is kept.");
  } catch (error) {
    $("kept").hidden = refusals.has("v1/kept");
    tellKept("Cannot list the kept pictures: " + error.message, true);
  }
}
function keptItem(one) {
  const item = element("li"), image = element("img"), text = element("p", one.model + " " + one.version + ": " +
    one.why.map((reason) => reasons[reason] || reason).join(", ") + ", " + new Date(one.at).toLocaleString(), "quiet");
  image.alt = "A kept picture, " + one.id.slice(0, 8);
  showKept(image, one.id);
  const form = element("form"), label = element("label", "Class "), field = element("input"), teach = element("button", "Teach");
  field.type = "text";
  field.setAttribute("list", "known");
  label.append(field);
  const remove = element("button", "Delete");
  remove.type = "button";
  remove.onclick = () => settleKept(item, "deleted", () => deleteKept(one.id));
  form.append(...(teaches ? [label, teach] : []), remove);
  form.onsubmit = (event) => {
    event.preventDefault();
    settleKept(item, "taught", () => teachKept(one, field.value.trim()));
  };
  item.append(image, text, form);
  return item;
}
// A request with the token, which an address in the page would not have.
async function keptPicture(id) {
  const response = await fetch("v1/kept/" + id, { headers: headers() });
  if (!response.ok) throw new Error("The picture is gone (HTTP " + response.status + ")");
  return response.blob();
}
async function showKept(image, id) {
  try {
    const blob = await keptPicture(id);
    image.src = URL.createObjectURL(blob);
  } catch (error) {
    image.alt = error.message;
  }
}
async function deleteKept(id) {
  const response = await fetch("v1/kept/" + id, { method: "DELETE", headers: headers() });
  if (!response.ok && response.status !== 404) throw new Error((await response.json()).error);
}
// Teaches a picture to the taught model that answered it, else to the one that is chosen above.
async function teachKept(one, label) {
  const name = taught.some((each) => each.name === one.model) ? one.model : $("lesson").value;
  if (!name) throw new Error("Choose the taught model above, or make one.");
  if (!label) throw new Error("Name the class of the picture.");
  const { answer } = await call(taughtRoute(name, "/examples?label=" + encodeURIComponent(label)), {
    method: "POST", body: await keptPicture(one.id), headers: headers()
  });
  await deleteKept(one.id);
  takeLesson(answer);
  follow(name);
}
async function settleKept(item, done, work) {
  try {
    await work();
    const image = item.querySelector("img");
    URL.revokeObjectURL(image.src);
    item.remove();
    tellKept("The picture is " + done + ".");
  } catch (error) {
    tellKept(error.message, true);
  }
}
$("kept-why").onchange = () => listKept(false);
$("kept-again").onclick = () => listKept(false);
$("kept-more").onclick = () => listKept(true);
listKept(false);

"use strict";
// What was found, over the picture: the canvas has the pixels of the picture as it is displayed.
function color(index) { return "hsl(" + Math.round(index * 137.5 % 360) + " 85% 36%)"; }
function draw() {
  const over = $("over"), size = last && last.answer.image && last.answer.image.displayed;
  // Larger ones are drawn at half the size, a quarter, ...: browsers bound a canvas.
  let scale = 1;
  while (size && size.width * size.height * scale * scale > 8e6) scale /= 2;
  over.width = size ? Math.max(1, Math.round(size.width * scale)) : 1;
  over.height = size ? Math.max(1, Math.round(size.height * scale)) : 1;
  if (!size) return;
  // Lines, points and labels have the same size on the screen, however large the picture is and however small it is shown.
  const pen = over.getContext("2d"), unit = 1.6 * size.width / (over.clientWidth || size.width);
  if (last.mask) drawClasses(pen, last.mask);
  pen.scale(scale, scale);
  pen.font = "600 " + 7 * unit + "px system-ui, sans-serif";
  pen.textBaseline = "middle";
  const things = (last.answer.detections || []).filter((one) => isOver({ least: one.confidence }));
  for (const one of things) if (one.mask) drawRuns(pen, one.mask, color(one.index));
  // The most confident above the others, and the one that is pointed at above all.
  const order = things.map((_, index) => index).sort((a, b) => (a === lit) - (b === lit) || b - a);
  const taken = [];
  for (const index of order) {
    const one = things[index];
    const line = index === lit ? 2 * unit : unit;
    for (const [style, wide] of [["rgb(255 255 255 / .7)", 1.8 * line], [color(one.index), line]]) {
      pen.strokeStyle = style;
      pen.lineWidth = wide;
      outline(pen, one);
    }
    (one.keypoints || []).forEach((point) => point && dot(pen, point, unit, color(one.index)));
    drawStages(pen, one, unit);
  }
  // The most confident first: a label that finds no free place is left to the list, but for the one that is pointed at.
  for (const index of order.reverse()) {
    const one = things[index], { x, y, width, height } = one.box, high = 9 * unit;
    const text = one.label + " " + Math.round(100 * one.confidence) + " %" + best(one), wide = pen.measureText(text).width + 3 * unit;
    const places = [y - high, y, y + height, y + height - high].flatMap((top) => [x, x + width - wide].map((left) => ({
      left: Math.max(0, Math.min(left, size.width - wide)), top: Math.max(0, Math.min(top, size.height - high)), wide, high
    })));
    const place = places.find((one) => !taken.some((other) => overlap(one, other))) || (index === lit ? places[0] : null);
    if (!place) continue;
    taken.push(place);
    pen.fillStyle = color(one.index);
    pen.fillRect(place.left, place.top, wide, high);
    pen.fillStyle = "#fff";
    pen.fillText(text, place.left + 1.5 * unit, place.top + 4.7 * unit);
  }
  // Lines of text: only their places, because the page shows the text next to the picture.
  (last.answer.lines || []).filter((one) => isOver({ least: one.confidence })).forEach((one, index) => {
    const line = index === lit ? 2 * unit : unit;
    for (const [style, wide] of [["rgb(255 255 255 / .7)", 1.8 * line], [color(index), line]]) {
      pen.strokeStyle = style;
      pen.lineWidth = wide;
      outline(pen, one);
    }
  });
  let place = 0;
  (last.answer.keypoints || []).forEach((point, index) => {
    if (!point || !isOver({ least: point.confidence })) return;
    dot(pen, point, place++ === lit ? 2 * unit : unit, color(index));
  });
}
function overlap(one, other) {
  return one.left < other.left + other.wide && other.left < one.left + one.wide && one.top < other.top + other.high
    && other.top < one.top + one.high;
}
// The picture's size on the screen changes when it has been decoded, and with the window.
new ResizeObserver(() => { if (last) draw(); }).observe($("seen"));
function dot(pen, point, unit, style) {
  pen.beginPath();
  pen.arc(point.x, point.y, 3 * unit, 0, 2 * Math.PI);
  pen.fillStyle = style;
  pen.fill();
  pen.strokeStyle = "#fff";
  pen.lineWidth = .6 * unit;
  pen.stroke();
}
function bitmapOf(b64) {
  const bytes = Uint8Array.from(atob(b64), (letter) => letter.charCodeAt(0));
  return createImageBitmap(new Blob([bytes], { type: "image/png" }), { colorSpaceConversion: "none" });
}
// A PNG of class numbers as a canvas of colours: 0 is nothing, 255 was not seen.
async function classesOf(b64) {
  const bits = await bitmapOf(b64);
  const sheet = document.createElement("canvas"), shrink = Math.min(1, 2000 / Math.max(bits.width, bits.height));
  sheet.width = Math.max(1, Math.round(bits.width * shrink));
  sheet.height = Math.max(1, Math.round(bits.height * shrink));
  const pen = sheet.getContext("2d", { willReadFrequently: true }), colors = {};
  pen.imageSmoothingEnabled = false;
  pen.drawImage(bits, 0, 0, sheet.width, sheet.height);
  const pixels = pen.getImageData(0, 0, sheet.width, sheet.height), data = pixels.data;
  for (let place = 0; place < data.length; place += 4) {
    const index = data[place];
    const [red, green, blue] = colors[index] ||= rgb(index - 1);
    data.set([red, green, blue, index === 0 || index === 255 ? 0 : 150], place);
  }
  pen.putImageData(pixels, 0, 0);
  return sheet;
}
// The numbers of color(): saturation .85, lightness .36.
function rgb(index) {
  const hue = Math.round(index * 137.5 % 360) / 30;
  return [0, 8, 4].map((shift) => {
    const place = (shift + hue) % 12;
    return Math.round(255 * (.36 - .85 * .36 * Math.max(-1, Math.min(place - 3, 9 - place, 1))));
  });
}
function drawClasses(pen, mask) {
  pen.imageSmoothingEnabled = false;
  pen.drawImage(mask, 0, 0, pen.canvas.width, pen.canvas.height);
}
// COCO's compressed run lengths: down the columns, from left to right.
function drawRuns(pen, mask, style) {
  const [height] = mask.size, text = mask.counts, counts = [];
  for (let at = 0; at < text.length;) {
    let value = 0, shift = 0, group;
    do {
      group = text.charCodeAt(at++) - 48;
      value |= (group & 31) << shift;
      shift += 5;
    } while (group & 32 && at < text.length);
    if (group & 16 && shift < 32) value |= -1 << shift;
    counts.push(counts.length > 2 ? value + counts[counts.length - 2] : value);
  }
  pen.globalAlpha = .45;
  pen.fillStyle = style;
  let place = 0;
  counts.forEach((run, index) => {
    const end = place + run;
    while (index % 2 && place < end) {
      const part = Math.min(end - place, height - place % height);
      pen.fillRect(Math.floor(place / height), place % height, 1, part);
      place += part;
    }
    place = end;
  });
  pen.globalAlpha = 1;
}
// The sides of a thing's box, which may be turned.
function outline(pen, one) {
  const { x, y, width, height } = one.box;
  if (!one.points) return pen.strokeRect(x, y, width, height);
  pen.beginPath();
  for (const point of one.points) pen.lineTo(point.x, point.y);
  pen.closePath();
  pen.stroke();
}
// The boxes and points that the stages of a pipeline found in a find.
function drawStages(pen, one, unit) {
  for (const said of Object.values(one)) {
    for (const part of (said && said.detections) || []) {
      pen.strokeStyle = color(part.index + 1);
      pen.lineWidth = unit / 2;
      outline(pen, part);
      drawStages(pen, part, unit);
    }
    if (said && !Array.isArray(said) && said.keypoints) {
      said.keypoints.forEach((point, index) => point && dot(pen, point, unit / 2, color(index)));
    }
  }
}
// The first class of each stage that classifies.
function best(one) {
  return Object.values(one).filter((said) => said && said.classifications && said.classifications[0])
    .map((said) => ", " + said.classifications[0].label).join("");
}

// ---- charts ---------------------------------------------------------------------------------------

// A cumulative figure at a time, between samples by a straight line.
function at(column, values, time, from) {
  const t = column.t;
  let i = from.i;
  while (i + 1 < t.length && t[i + 1] < time) i++;
  from.i = i;
  if (i + 1 >= t.length) return values[i];
  return values[i] + (values[i + 1] - values[i]) * (time - t[i]) / (t[i + 1] - t[i]);
}
// Mean rates per microsecond in `count` equal parts of `span`, up to the last sample.
function rates(column, values, span, count) {
  const out = [], from = { i: 0 }, end = column.t[column.t.length - 1];
  let before = 0;
  for (let k = 0; k < count && k * span / count < end; k++) {
    const until = Math.min((k + 1) * span / count, end), begin = k * span / count;
    const now = at(column, values, until, from);
    out.push((now - before) / (until - begin));
    before = now;
  }
  return out;
}

const BINS = 90;
let colours = {}, letter = 14;
// The places around a chart, in proportion to the letters.
const left = () => Math.round(3.2 * letter), bottom = () => Math.round(letter), TOP = 4;
function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["soft", "grid", "line", "serial", "static", "ooo"]) colours[name] = style.getPropertyValue("--" + name).trim();
}
function canvas2d(canvas) {
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
  }
  const g = canvas.getContext("2d", { willReadFrequently: true });
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  return { g, width, height, ratio };
}
function frame(c, span, top, tops) {
  const { g, width, height } = c, base = height - bottom();
  g.font = `${.77 * letter}px system-ui, 'DejaVu Sans', sans-serif`;
  g.fillStyle = colours.soft; g.strokeStyle = colours.grid; g.lineWidth = 1;
  for (let k = 0; k <= 2; k++) {
    const y = Math.round(base - (base - TOP) * k / 2) + .5;
    g.beginPath(); g.moveTo(left(), y); g.lineTo(width, y); g.stroke();
    g.textAlign = "right"; g.textBaseline = k === 2 ? "top" : k ? "middle" : "bottom";
    g.fillText(tops(top * k / 2), left() - 5, k === 2 ? 1 : k ? y : y + 3);
  }
  g.textBaseline = "bottom"; g.textAlign = "left"; g.fillText("0", left(), height);
  g.textAlign = "right"; g.fillText(time(span), width, height);
}
function area(canvas, column, values, scale, span, top, tops) {
  const c = canvas2d(canvas), { g, width, height } = c;
  frame(c, span, top, tops);
  const bins = rates(column, values, span, BINS), base = height - bottom(), step = (width - left()) / BINS;
  if (!bins.length) return;
  const y = rate => base - Math.min(rate * scale / top, 1.02) * (base - TOP);
  g.beginPath(); g.moveTo(left(), base);
  bins.forEach((rate, k) => { g.lineTo(left() + k * step, y(rate)); g.lineTo(left() + (k + 1) * step, y(rate)); });
  g.lineTo(left() + bins.length * step, base);
  g.fillStyle = colours[column.mode.id]; g.globalAlpha = .28; g.fill(); g.globalAlpha = 1;
  g.strokeStyle = colours[column.mode.id]; g.lineWidth = 1.5; g.stroke();
}
function rgb(colour) { const n = parseInt(colour.slice(1), 16); return [n >> 16, n >> 8 & 255, n & 255]; }
// How many dots lie on each pixel of a field of w by h.
function density({ t, page }, span, pages, w, h, size) {
  const field = new Uint16Array(w * h);
  for (let i = 0; i < t.length; i++) {
    const x = Math.min(w - size, t[i] / span * w | 0), y = Math.max(0, Math.min(h - size, h - 1 - (page[i] / pages * h | 0)));
    for (let dy = 0; dy < size; dy++) for (let dx = 0; dx < size; dx++) field[(y + dy) * w + x + dx]++;
  }
  return field;
}
function scatter(canvas, column, span) {
  const c = canvas2d(canvas), { g, width, height, ratio } = c;
  const pages = Math.max(column.info().file_bytes / PAGE_BYTES, 1), base = height - bottom();
  frame(c, span, pages * PAGE_BYTES, n => bytes(n).replace("iB", ""));
  const w = Math.round((width - left()) * ratio), h = Math.round((base - TOP) * ratio), dots = column.dots.t.length;
  if (w < 9 || h < 9 || !dots) return;
  // Pixels are written, not drawn: 100,000 dots take a few milliseconds.
  const x = Math.round(left() * ratio), y = Math.round(TOP * ratio);
  const image = g.getImageData(x, y, w, h), pixels = new Uint32Array(image.data.buffer);
  const size = Math.ceil((dots < 4000 ? 1.6 : 1) * ratio * letter / 14);
  const field = density(column.dots, span, pages, w, h, size), most = Math.log1p(field.reduce((a, b) => Math.max(a, b), 1));
  const [red, green, blue] = rgb(colours[column.mode.id]), colour = blue << 16 | green << 8 | red;
  // Where more dots lie on each other the colour is stronger, by the logarithm of their number; where
  // there are few, each is seen.
  const least = Math.max(.25, Math.min(.8, .3 * field.length / (dots * size * size)));
  for (let i = 0; i < field.length; i++)
    if (field[i]) pixels[i] = (Math.round(255 * (least + (1 - least) * Math.log1p(field[i]) / most)) << 24 | colour) >>> 0;
  g.putImageData(image, x, y);
}
function nice(top) {
  const power = 10 ** Math.floor(Math.log10(Math.max(top, 1)));
  return [1, 2, 3, 4, 5, 6, 8, 10].map(k => k * power).find(k => k >= top * 1.02) || top;
}
function peak(column, values, span) { return Math.max(0, ...rates(column, values, span, BINS)); }

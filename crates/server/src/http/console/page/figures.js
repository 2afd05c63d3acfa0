// ---- what is shown of the runs --------------------------------------------------------------------

let busy = false, stopped = false;
// The recording in the columns, if they show one: whose it is and how it was made.
let shown = null, playback = null;
const columns = MODES.map(mode => new Column(mode));
const [serial, partitioned, ooo] = columns;
const narrow = matchMedia("(max-width: 640px)");

function draw() {
  if (dirty || columns.some(column => column.active())) {
    dirty = false;
    letter = parseFloat(getComputedStyle(document.documentElement).fontSize);
    drawCharts();
    columns.forEach(drawFigures);
    drawHeadline();
    drawSummary();
    drawBelow();
    drawButtons();
  }
  requestAnimationFrame(() => setTimeout(draw, 66));
}
function drawCharts() {
  const shared = $("shared").checked;
  const spans = columns.map(column => Math.max(column.elapsed(), column.t[column.t.length - 1], 1000));
  const tops = columns.map((column, i) => 1e6 * peak(column, column.reads, shared ? Math.max(...spans) : spans[i]));
  const used = columns.some(column => column.t.length > 1);
  columns.forEach((column, i) => {
    const span = used ? (shared ? Math.max(...spans) : spans[i]) : 1e6;
    const top = nice(used ? Math.max(shared ? Math.max(...tops) : tops[i], 100) : 1000);
    area(column.parts.cpu, column, column.cpu, 1 / column.info().workers, span, 1, share => percent(share).replace(".0", ""));
    area(column.parts.io, column, column.reads, 1e6, span, top, short);
    scatter(column.parts.trace, column, span);
  });
}
// Whether the times of two runs say something about their modes.
function comparable(one, other) {
  return one.state === "done" && other.state === "done" && one.wish.sql === other.wish.sql && !one.wish.together && !other.wish.together;
}
function drawFigures(column) {
  const p = column.parts, us = column.elapsed(), [created, running, waiting, done] = column.tasks;
  p.time.textContent = ["idle", "queued", "failed"].includes(column.state) ? "–" : time(us);
  p.speed.textContent = column !== serial && comparable(serial, column) ? few(serial.end.elapsed_us / us) + "× serial" : "";
  drawProgress(column);
  const text = (n, word) => { const span = el("span"); span.append(el("b", number(n)), " " + word); return span; };
  p.counts.replaceChildren(...(created ? [text(created, created === 1 ? "task made" : "tasks made"), text(running, "running"), text(waiting, "waiting"), text(done, "done")] : ["no tasks yet"]));
  const last = column.t.length - 1, reads = column.reads[last], t = column.t[last];
  p["cpu-now"].textContent = t ? "mean " + percent(column.cpu[last] / t / column.info().workers) : "";
  p["io-now"].textContent = t ? `mean ${short(1e6 * reads / t)}, ${column.inflight().toFixed(1)} in flight` : "";
  const kept = column.limit / FULL_RANK, all = column.requests;
  p["trace-now"].textContent = !all ? "" : kept > .999 ? (all === 1 ? "the one read" : `all ${count(all, "read")}`) : `1 in ${Math.round(1 / kept)} of ${count(all, "read")}`;
}
function drawProgress(column) {
  const p = column.parts, words = { idle: "not run yet", queued: "waits for its turn", running: column.replaying ? "replaying" : "running" };
  if (column.active() || column.state === "done") column.share = column.progress();
  if (column.state === "idle" || column.state === "queued") column.share = 0;
  const share = column.state === "failed" ? 0 : column.share, unknown = share === null;
  p.bar.classList.toggle("unknown", unknown && column.active());
  p.bar.classList.toggle("stopped", column.state === "cancelled");
  p.fill.style.width = unknown ? (column.active() ? "" : "0") : 100 * share + "%";
  p.state.textContent = (words[column.state] || column.state) + (column.active() && share ? `, ${Math.floor(100 * share)} %` : "");
  p.state.classList.toggle("bad", column.state === "failed" || column.state === "cancelled");
}
function drawButtons() {
  const running = columns.some(column => column.active() && !column.replaying), playing = playback && !playback.over;
  for (const column of columns) {
    const mine = column.active() && !column.replaying;
    column.parts.start.textContent = mine ? "Cancel" : "Start";
    column.parts.start.disabled = !mine && (busy || running);
  }
  $("runall").disabled = busy || running;
  $("stopall").disabled = !busy && !running && !playing;
  $("stopall").textContent = playing ? "To the end" : "Cancel";
  const recorded = columns.some(column => column.recording.length && !column.active());
  $("replay").disabled = $("export").disabled = running || busy || playing || !recorded; $("import").disabled = running || busy;
}

// ---- what the runs say ------------------------------------------------------------------------------

const PROMISE = "The same query runs three times: see how keeping many reads of the SSD in flight beats waiting for one after the other.";
const CAUTION = "Side by side the three share cores, device and buffer pool: what one has read the others find there. Their times say nothing about the modes; run them one after another to compare.";

function drawHeadline() {
  const running = columns.find(column => column.active());
  const texts = running ? progressing(running) : judged();
  $("verdict").replaceChildren(...(shown && shown.example ? [PROMISE] : texts || [PROMISE]));
  const together = columns.some(column => column.wish.together);
  drawSource(together ? CAUTION : "", shown && shown.example && texts || []);
}
// Whose runs these are, what is to be kept in mind, and what an example says.
function drawSource(caution, texts) {
  const key = JSON.stringify([shown, caution]);
  if ($("source").dataset.key !== key) $("source").replaceChildren(...(shown ? provenance(shown) : []), caution);
  $("source").dataset.key = key;
  $("said").replaceChildren(...texts);
}
function provenance({ example, title, saved, machine, sql, cold }) {
  const facts = [machine.database, bytes(machine.file_bytes) + " of data", bytes(machine.pool_bytes) + " buffer pool", count(machine.workers, "worker")];
  if (cold) facts.push("started cold");
  const text = el("details");
  text.append(el("summary", "its SQL"), el("pre", sql));
  const what = title ? `a recording of “${title.split(":")[0]}”` : "a recording";
  const begin = example ? "Below: " + what : what[0].toUpperCase() + what.slice(1);
  return [el("b", begin), ` (${facts.join(", ")}; ${String(saved).slice(0, 10)}). `, example ? "Run all three makes one of this server. " : "", text, " "];
}
// How far the three have come while one of them runs.
function progressing(column) {
  const texts = [], done = columns.filter(other => other.state === "done" && !other.wish.together);
  for (const other of [ooo, partitioned, serial].filter(other => done.includes(other))) texts.push(`${other.mode.title} took `, el("b", time(other.end.elapsed_us)), ". ");
  if (column.wish.together || column.replaying) {
    const all = columns.filter(other => other.active()).map(other => other.mode.title.toLowerCase()).join(", ");
    return [...texts, `${column.replaying ? "Replaying" : "Running"}: ${all}.`];
  }
  const factor = ooo.state === "done" && column !== ooo ? column.elapsed() / ooo.end.elapsed_us : 0;
  texts.push(`${column.mode.title} runs, alone: `, el("b", time(column.elapsed())), factor > 1.1 ? ` so far, ${few(factor)} times as long already.` : " so far.");
  return texts;
}
// What out of order brought over serial, and why: nothing is claimed that the figures do not show.
function judged() {
  const bad = columns.find(column => column.state === "failed");
  if (bad) return [el("span", `${bad.mode.title} failed: ${bad.problem.message}`, "error")];
  if (!comparable(serial, ooo)) {
    const together = columns.filter(column => column.state === "done" && column.wish.together);
    return together.length > 1 ? ["The three ran side by side: see below what each did."] : null;
  }
  const [slow, fast] = [serial.end.elapsed_us, ooo.end.elapsed_us], factor = slow / fast;
  const parts = comparable(serial, partitioned) ? partitioned.end.elapsed_us : 0;
  const begin = ["Out of order took ", el("b", time(fast)), ...(parts ? [", static ", el("b", time(parts))] : []), ", serial ", el("b", time(slow)), ": "];
  const end = parts && parts < .9 * fast ? " Static was faster still." : "";
  if (factor >= 1.1) return [...begin, el("b", `${few(factor)} times faster`), " than serial" + cause() + end];
  return [...begin, el("b", factor > .9 ? "no difference to speak of" : `${few(1 / factor)} times slower than serial`), ". " + hindrance() + end];
}
// The share of its time that serial waited for reads: it has one in flight, or none.
const waited = () => Math.min(serial.inflight(), 1);
function cause() {
  if (waited() >= .3 && ooo.inflight() >= 1.5 * serial.inflight())
    return `, with ${few(ooo.inflight())} reads in flight on average instead of ${few(serial.inflight())}: serial spent ${percent(waited())} of its time waiting for one read after the other.`;
  const reads = serial.read_count() ? `serial waited for reads only ${percent(waited())} of its time` : "no page had to be read";
  const cores = ooo.cores() >= 1.2 * serial.cores() ? `it kept ${few(ooo.cores())} of ${count(ooo.info().workers, "core")} busy instead of ${few(serial.cores())}` : "";
  return cores ? `. Reads are not why (${reads}): ${cores}.` : `. Reads are not why: ${reads}.`;
}
function hindrance() {
  if (!serial.read_count()) return `No page had to be read: all were in the buffer pool${serial.wish.cold ? "" : ", so start cold to see reads"}.`;
  if (waited() < .3) return `Serial waited for ${count(serial.read_count(), "read")} only ${percent(waited())} of its time: there was little to gain.`;
  if (ooo.inflight() < 1.5 * serial.inflight()) return `This query gives out of order hardly more reads to have in flight: ${few(ooo.inflight())} on average instead of ${few(serial.inflight())}.`;
  return `${few(ooo.inflight())} reads were in flight on average instead of ${few(serial.inflight())}, and what that gained was lost elsewhere.`;
}

// ---- the table of all figures -----------------------------------------------------------------------

function figures(column) {
  const us = column.end.elapsed_us, last = column.t.length - 1, reads = column.reads[last], rate = 1e6 * reads / us;
  const machine = column.info(), limit = machine.device_reads_per_s, share = limit ? rate / limit : 0;
  return {
    "time": time(us),
    "speed-up over serial": comparable(serial, column) ? few(serial.end.elapsed_us / us) + "×" : "–",
    "reads": number(reads),
    "bytes read": bytes(column.bytes[last]),
    "reads per second": number(rate),
    "reads in flight (mean)": column.inflight().toFixed(1),
    "CPU utilisation": percent(column.cpu[last] / us / machine.workers),
    "device utilisation": limit ? percent(share) + (share > 1 ? "*" : "") : "–",
  };
}
function drawSummary() {
  const over = columns.filter(column => column.state === "done");
  $("summary").hidden = over.length === 0;
  if (!over.length) return;
  const all = over.map(figures), names = Object.keys(all[0]), turned = narrow.matches;
  const cell = (tag, column, text, className) => { const node = el(tag, text, className); if (column) node.dataset.mode = column.mode.id; return node; };
  const line = cells => { const row = el("tr"); row.append(...cells); return row; };
  $("final").className = turned ? "turned" : "";
  // On a narrow screen the modes stand beside each other, and the figures below each other.
  $("final").replaceChildren(...(turned
    ? [line([el("th", ""), ...over.map(column => cell("th", column, column.mode.title, "tint"))]), ...names.map(name => line([el("td", name), ...all.map(of => el("td", of[name]))]))]
    : [line(["mode", ...names].map(name => el("th", name))), ...over.map((column, i) => line([cell("td", column, column.mode.title, "tint"), ...names.map(name => el("td", all[i][name]))]))]));
  const machine = over[0].info(), notes = [`CPU utilisation: of ${count(machine.workers, "worker")}.`];
  if (machine.device_reads_per_s) notes.push(`Device utilisation: reads per second over ${number(machine.device_reads_per_s)}, what the device did of random 4 KiB reads when it was probed for a second.`);
  if (all.some(of => of["device utilisation"].endsWith("*"))) notes.push("* More than 100 %: reads that lie near each other, or in a cache below the database (the disk's, the host's), are faster than the random ones of the probe.");
  if (new Set(over.map(column => column.wish.cold)).size > 1) notes.push("Not all of these runs began with an empty buffer pool.");
  $("devicenote").textContent = notes.join(" ");
}

// ---- runs, and recordings of runs -----------------------------------------------------------------

const partitions = () => Math.max(1, Math.min(1024, Number(partitioned.parts.n.value) || 1));
const wished = together => ({ info, sql: $("sql").value, cold: $("cold").checked, together });

async function probe() {
  if (info.device_reads_per_s || !info.measures_device) return;
  say("Measuring what the device can do (once, one second) …");
  try { info = await (await call("POST", "/api/device", {})).json(); facts(); }
  catch (error) { info.measures_device = false; say("The device could not be measured: " + error.message, true); }
}
// Makes room for runs: columns that show a recording, or another statement, are no company for them.
function make_room(cleared) {
  if (playback) playback.give_up();
  const stale = column => shown || cleared.includes(column) || column.wish.sql !== $("sql").value || column.wish.together;
  columns.filter(stale).forEach(column => column.clear());
  shown = playback = null;
}
async function runOne(column) {
  if (busy) return;
  busy = true; stopped = false;
  make_room([column]);
  await probe();
  say(`${column.mode.title} runs …`);
  if (!stopped) await column.start(wished(false), partitions());
  finish();
}
async function runAll() {
  if (busy) return;
  busy = true; stopped = false;
  make_room(columns);
  const together = document.querySelector("input[name=how]:checked").value === "together";
  if (!together) columns.forEach(column => { column.state = "queued"; });
  await probe();
  if (together) {
    say("The three run side by side …");
    if (!stopped) await Promise.all(columns.map(column => column.start(wished(true), partitions())));
  } else await runEach([ooo, partitioned, serial]);
  finish();
}
// The fastest first: there is something to see at once, and then one sees how much longer it takes.
async function runEach(order) {
  const wish = wished(false);
  for (const column of order) {
    if (stopped || order.some(other => other.state === "failed")) { column.clear(); continue; }
    say(`${column.mode.title} runs, alone …`);
    await column.start({ ...wish, info }, partitions());
  }
}
function finish() {
  busy = false; belowShown = ""; dirty = true;
  keep("ran", "yes");
  const bad = columns.find(column => column.state === "failed");
  if (bad) {
    show("result", bad.mode.id);
    say(bad.problem.message, true);
    point(bad.problem, bad.wish.sql);
  } else if (stopped) say("Cancelled.");
  else say("Done. Replay shows the three side by side, each in its own time.");
}
function stopAll() {
  if (playback) playback.skip();
  stopped = true;
  columns.forEach(column => column.cancel());
}

// Shows recordings in their own time; they can be skipped, and given up for a run.
async function play(recordings, wish, about, at_once) {
  if (playback) playback.give_up();
  const mine = playback = new Playback();
  if (at_once) mine.skip();
  shown = about; dirty = true;
  await Promise.all(columns.map(column => {
    const recording = recordings[column.mode.id];
    if (recording && recording.length) return column.play(recording, wish(column), mine);
    column.clear();
  }));
  mine.over = true; belowShown = ""; dirty = true;
  return !mine.given_up;
}
async function replay() {
  busy = true; stopped = false;
  say("Replaying, each column in its own time …");
  const wishes = columns.map(column => column.wish);
  await play(recordings(), column => wishes[columns.indexOf(column)], shown, false);
  busy = false; dirty = true;
  say(stopped ? "Replayed, the rest at once." : "Replayed.");
}
const recordings = () => Object.fromEntries(columns.map(column => [column.mode.id, column.recording]));
function exportRuns() {
  const { wish } = columns.find(column => column.recording.length), chosen = $("samples").selectedOptions[0];
  const title = shown ? shown.title : chosen && chosen.value === wish.sql ? chosen.textContent : "";
  const saved = { format: "dovetail-console-runs", version: 1, saved: shown ? shown.saved : new Date().toISOString(), title,
    info: wish.info, sql: wish.sql, cold: wish.cold, together: wish.together, partitions: partitions(), runs: recordings() };
  const link = el("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(saved)], { type: "application/json" }));
  link.download = "dovetail-runs.json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
// What a file of saved runs has in it; throws for what is none.
function readSaved(text) {
  const saved = JSON.parse(text), is_number = Number.isFinite, is_list = Array.isArray;
  if (!saved || saved.format !== "dovetail-console-runs" || saved.version !== 1) throw { message: "this is no file of saved runs of version 1" };
  const bodies = {
    plan: data => typeof data["Node Type"] === "string",
    tick: data => [data.samples, data.nodes, data.points].every(is_list) && is_number(data.requests) && is_number(data.rank_limit),
    end: data => ["done", "failed", "cancelled"].includes(data.status) && is_number(data.elapsed_us),
  };
  const is_event = ({ at, name, data }) => is_number(at) && Object.hasOwn(bodies, name) && data && bodies[name](data);
  const runs = Object.fromEntries(MODES.map(mode => [mode.id, (saved.runs || {})[mode.id] || []]));
  if (!Object.values(runs).every(run => is_list(run) && run.every(event => event && is_event(event)))) throw { message: "the runs in this file are damaged" };
  if (!Object.values(runs).some(run => run.length)) throw { message: "there is no run in this file" };
  const machine = { database: "", workers: 1, file_bytes: 0, pool_bytes: 0, device_reads_per_s: null, ...saved.info };
  const wish = { info: machine, sql: String(saved.sql || ""), cold: !!saved.cold, together: !!saved.together };
  return { runs, wish, partitions: Number(saved.partitions) || 2, about: { machine, title: String(saved.title || ""), saved: saved.saved || "", sql: wish.sql, cold: wish.cold } };
}
async function importRuns(file) {
  if (busy) return;
  busy = true; stopped = false;
  try {
    const saved = readSaved(await file.text());
    partitioned.parts.n.value = saved.partitions;
    write(saved.wish.sql);
    say("Replaying, each column in its own time …");
    await play(saved.runs, () => saved.wish, saved.about, false);
    say(stopped ? "Replayed, the rest at once." : "Replayed.");
  } catch (error) { say("Import: " + error.message, true); }
  busy = false; dirty = true;
}
// What somebody sees who has not run anything yet: a run of a released example.
async function showExample() {
  const saved = readSaved(await (await call("GET", "/api/example")).text());
  const seen = kept("ran") || matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (!busy && columns.every(column => column.state === "idle")) await play(saved.runs, () => saved.wish, { ...saved.about, example: true }, seen);
}

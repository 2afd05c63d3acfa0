// ---- the statement and the server -----------------------------------------------------------------

// Shows a statement whole, and what of the samples it is.
function write(sql) { $("sql").value = sql; follow(); }
function follow() {
  const samples = $("samples"), found = [...samples.options].find(option => option.value === $("sql").value.trim() && option.value);
  const own = [...samples.options].find(option => !option.value);
  if (own) samples.value = found ? found.value : "";
  const rows = $("sql").value.split("\n").length;
  $("sql").rows = Math.max(7, Math.min(rows + ($("sql").scrollWidth > $("sql").clientWidth ? 1 : 0), 24));
}
function offer(samples) {
  const own = el("option", "Your own statement"); own.value = ""; own.disabled = true;
  $("samples").replaceChildren(own);
  for (const sample of samples) {
    const option = el("option", sample.title); option.value = sample.sql.trim();
    $("samples").append(option);
  }
}
function facts() {
  // What is in parentheses says why; there is room for it in the title.
  const ring = info.ring.replace(/ \(.*$/, "").replace("i/o", "I/O").replace("uring", "io_uring");
  const parts = [info.database, bytes(info.file_bytes) + " of data", bytes(info.pool_bytes) + " buffer pool", count(info.workers, "worker")];
  if (info.device_reads_per_s) parts.push(`device: ${short(info.device_reads_per_s)} random reads/s`);
  $("facts").textContent = [...parts, ring].join("  ·  ");
  $("facts").title = [...parts, info.ring].join("  ·  ");
}

// ---- who is there -------------------------------------------------------------------------------

function askLogin() {
  if ($("login").open) return;
  $("logout").hidden = true;
  $("password").value = "";
  $("login").showModal();
}
// Whether the visitor may be here; if not, the login is shown.
async function enter() {
  const who = await (await call("GET", "/api/who")).json();
  if (!who.enters) { askLogin(); return false; }
  $("logout").hidden = !who.role;
  $("logout").textContent = who.role ? "Log out " + who.role : "Log out";
  if (!who.superuser) $("cold").checked = false;
  $("cold").disabled = !who.superuser;
  return true;
}
async function load() {
  if (!await enter()) return;
  info = await (await call("GET", "/api/info")).json();
  partitioned.parts.n.value = info.workers;
  $("writing").hidden = !info.writes;
  facts();
  const samples = await (await call("GET", "/api/samples")).json();
  offer(samples);
  if (samples.length && !$("sql").value) write(samples[0].sql.trim()); else follow();
  schema = await (await call("GET", "/api/schema")).json();
  await showExample();
}
async function logIn(event) {
  event.preventDefault();
  $("loginproblem").textContent = ""; $("enter").disabled = true;
  try {
    await call("POST", "/api/login", { role: $("role").value, password: $("password").value });
    $("password").value = "";
    $("login").close();
    $("enter").disabled = false;
    await load();
  } catch (error) { ($("login").open ? text => { $("loginproblem").textContent = text; } : text => say(text, true))(error.message || String(error)); }
  $("enter").disabled = false; dirty = true;
}
async function logOut() {
  stopAll();
  try { await call("POST", "/api/logout", {}); } catch (error) { say(error.message || String(error), true); }
  // What the role has seen is not for the next one.
  location.reload();
}

// ---- the beginning ------------------------------------------------------------------------------

function theme(name) { document.documentElement.dataset.theme = name; readColours(); dirty = true; }

$("runall").onclick = runAll;
$("stopall").onclick = stopAll;
$("replay").onclick = replay;
$("export").onclick = exportRuns;
$("import").onclick = () => $("file").click();
$("file").onchange = () => { if ($("file").files[0]) importRuns($("file").files[0]); $("file").value = ""; };
$("loginform").onsubmit = logIn;
// Without a login there is nothing to see behind it.
$("login").oncancel = event => event.preventDefault();
$("logout").onclick = logOut;
$("shared").onchange = () => { dirty = true; };
$("theme").onclick = () => {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  keep("theme", next);
  theme(next);
};
$("samples").onchange = () => write($("samples").value);
$("sql").oninput = follow;
window.addEventListener("resize", () => { dirty = true; });
document.addEventListener("keydown", event => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); runAll(); }
  if (event.key === "Escape") stopAll();
  if (event.altKey && "123".includes(event.key)) { event.preventDefault(); runOne(columns[Number(event.key) - 1]); }
});
// A closed tab leaves no query behind.
window.addEventListener("pagehide", () => {
  for (const column of columns) if (column.active() && column.run && !column.replaying)
    fetch(`/api/runs/${column.run}/cancel`, { method: "POST", headers: { "x-dovetail-token": TOKEN }, keepalive: true });
});
(async () => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  theme(kept("theme") || (dark.matches ? "dark" : "light"));
  dark.addEventListener("change", () => { if (!kept("theme")) theme(dark.matches ? "dark" : "light"); });
  drawTabs();
  draw();
  try { await load(); } catch (error) { say(error.message || String(error), true); }
  dirty = true;
})();

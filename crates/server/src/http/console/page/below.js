// ---- below: result, plan, tables ------------------------------------------------------------------

let schema = [], tab = "result", shownMode = "ooo", belowShown = "";
function show(name, mode) { tab = name; shownMode = mode || shownMode; belowShown = ""; drawTabs(); dirty = true; }
function drawTabs() {
  const tabs = [["result", "Result"], ["plan", "Plan, live"], ["tables", "Tables"]];
  const button = ([id, name]) => {
    const b = el("button", name); b.setAttribute("role", "tab"); b.setAttribute("aria-selected", tab === id);
    b.onclick = () => show(id);
    return b;
  };
  const modes = MODES.map(mode => {
    const b = el("button", mode.title, "tint"); b.dataset.mode = mode.id; b.setAttribute("aria-selected", shownMode === mode.id);
    b.onclick = () => show(tab, mode.id);
    return b;
  });
  $("tabs").replaceChildren(...tabs.map(button), ...(tab === "tables" ? [] : [el("span", "of", "note"), ...modes]));
}
function drawBelow() {
  const column = columns.find(c => c.mode.id === shownMode);
  const key = [tab, shownMode, column.state, tab === "plan" ? JSON.stringify(column.nodes) : "", column.started, schema.length].join("|");
  if (key === belowShown) return;
  belowShown = key;
  const below = $("below");
  if (tab === "tables") return below.replaceChildren(tables());
  if (column.problem) return below.replaceChildren(problem(column.problem, column.wish.sql || ""));
  below.replaceChildren(tab === "plan" ? plan(column) : result(column));
}
// The letters before the place of an error, which counts them from 1 as people do, not in halves.
const before = (sql, position) => Array.from(sql).slice(0, position - 1).join("");
function problem(error, sql) {
  const lines = [`ERROR: ${error.message}` + (error.state ? ` (${error.state})` : ""), error.detail && "DETAIL: " + error.detail, error.hint && "HINT: " + error.hint];
  const box = el("div");
  box.append(el("div", lines.filter(Boolean).join("\n"), "error"));
  if (error.position) {
    const passed = before(sql, error.position).split("\n"), head = `LINE ${passed.length}: `;
    box.append(el("pre", head + sql.split("\n")[passed.length - 1] + "\n" + " ".repeat(head.length + Array.from(passed.pop()).length) + "^", "error"));
  }
  return box;
}
// The cursor goes where the error is, if the statement still stands there.
function point(error, sql) {
  if (!error.position || $("sql").value !== sql) return;
  const from = before(sql, error.position).length, word = /^\w+|^./.exec(sql.slice(from));
  $("sql").focus();
  $("sql").setSelectionRange(from, from + (word ? word[0].length : 0));
}
function result(column) {
  const data = column.end && column.end.result;
  if (!data) return el("p", column.active() ? "It runs." : "No result yet.", "note");
  if (!data.columns) return el("p", data.tag);
  const box = el("div"), table = el("table", null, "rows"), head = el("tr"), numeric = data.numeric || [];
  const align = i => numeric[i] ? "number" : "";
  data.columns.forEach((name, i) => head.append(el("th", name, align(i))));
  const rows = data.rows.map(values => {
    const row = el("tr");
    values.forEach((value, i) => row.append(value === null ? el("td", "null", "null " + align(i)) : el("td", value, align(i))));
    return row;
  });
  table.append(head, ...rows);
  const text = data.rows.length < data.row_count ? `The first ${number(data.rows.length)} of ${count(data.row_count, "row")}.` : count(data.row_count, "row") + ".";
  box.append(table, el("p", text, "note"));
  return box;
}
// What a node says of itself: a text, and of what is so or not so the name.
function details(node) {
  const known = ["Node Type", "Plan Rows", "Total Cost", "Plans", "id"];
  const found = Object.entries(node).filter(([key, value]) => !known.includes(key) && typeof value === "string");
  return found.map(([key, value]) => value === "yes" ? key : `${key}: ${value}`);
}
const PLAN = [["operator"], ["rows"], ["rows expected", "wide"], ["tasks", "wide"], ["reads"], ["bytes", "wide"], ["waited"], ["ran"], ["wait : run", "wide"]];
function planRow(node, depth, figures) {
  const [rows, tasks, reads, size, wait, ran] = figures;
  const row = el("tr"), first = el("td");
  first.append(el("span", "  ".repeat(depth) + (depth ? "└ " : "") + node["Node Type"], "operator"));
  const text = el("span", details(node).join("; "), "detail");
  text.style.paddingLeft = 2 * depth + 2 + "ch";
  if (text.textContent) first.append(text);
  const split = el("span", null, "split"), waiting = el("i", null, "wait"), running = el("i", null, "run"), sum = wait + ran || 1;
  waiting.style.width = 100 * wait / sum + "%"; running.style.width = 100 * ran / sum + "%";
  if (wait + ran) split.append(waiting, running);
  const cells = [number(rows), number(node["Plan Rows"]), tasks ? number(tasks) : "", reads ? number(reads) : "", size ? bytes(size) : "", wait ? time(wait) : "", ran ? time(ran) : ""];
  row.append(first, ...cells.map((text, i) => el("td", text, PLAN[i + 1][1])));
  const bar = el("td", null, "wide"); bar.append(split); row.append(bar);
  return row;
}
function plan(column) {
  if (!column.plan) return el("p", "No plan yet: start a run.", "note");
  const table = el("table", null, "plan"), head = el("tr");
  for (const [name, className] of PLAN) head.append(el("th", name, className));
  table.append(head); table.dataset.mode = column.mode.id;
  const walk = (node, depth) => {
    table.append(planRow(node, depth, [...column.nodes.slice(6 * node.id, 6 * node.id + 6), 0, 0, 0, 0, 0, 0]));
    (node.Plans || []).forEach(child => walk(child, depth + 1));
  };
  walk(column.plan, 0);
  const box = el("div");
  box.append(table, el("p", "Waited and ran are summed over all tasks of an operator: with many tasks they exceed the time on the clock.", "note"));
  return box;
}
function tables() {
  if (!schema.length) return el("p", "There are no tables.", "note");
  const table = el("table", null, "schema"), head = el("tr");
  head.append(el("th", "table"), el("th", "rows", "number"), el("th", "columns (key in bold)"), el("th", "indexes"));
  table.append(head);
  for (const t of schema) {
    const row = el("tr"), cells = el("td"), indexes = el("td");
    for (const c of t.columns) { const span = el("span"); span.append(el(c.key ? "b" : "span", c.name), " ", el("i", c.type)); cells.append(span, " "); }
    for (const name of t.indexes) indexes.append(el("span", name), " ");
    row.append(el("td", t.name), el("td", number(t.rows), "number"), cells, indexes);
    table.append(row);
  }
  return table;
}

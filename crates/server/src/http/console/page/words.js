// ---- words and numbers --------------------------------------------------------------------------

const MODES = [
  { id: "serial", title: "Serial", hint: "one task, one read at a time" },
  { id: "static", title: "Static", hint: "parts, one read at a time each" },
  { id: "ooo", title: "Out of order", hint: "split wherever possible" },
];
const TOKEN = document.querySelector("meta[name=dovetail-token]").content;
const PAGE_BYTES = 4096, FULL_RANK = 4294967295;
const $ = id => document.getElementById(id);

function el(tag, text, className) {
  const node = document.createElement(tag);
  if (text !== undefined && text !== null) node.textContent = text;
  if (className) node.className = className;
  return node;
}
const number = n => Math.round(n).toLocaleString("en-US");
const count = (n, noun) => `${number(n)} ${noun}${Math.round(n) === 1 ? "" : "s"}`;
function time(us) {
  if (us < 1e3) return us.toFixed(0) + " µs";
  if (us < 1e6) return (us / 1e3).toFixed(us < 1e4 ? 2 : us < 1e5 ? 1 : 0) + " ms";
  return (us / 1e6).toFixed(us < 1e7 ? 2 : 1) + " s";
}
function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  while (n >= 1024 && at < 4) { n /= 1024; at++; }
  return (at && n < 100 ? n.toFixed(1) : n.toFixed(0)) + " " + units[at];
}
const short = n => n >= 1e6 ? (n / 1e6).toFixed(1) + " M" : n >= 1e3 ? (n / 1e3).toFixed(n < 1e4 ? 1 : 0) + " k" : n.toFixed(0);
const few = n => n.toFixed(n < 9.95 ? 1 : 0);
const percent = share => (100 * share).toFixed(share < 0.1 ? 1 : 0) + " %";
function say(text, bad) { $("status").textContent = text; $("status").className = bad ? "error" : "note"; }

// What the browser keeps for the next visit, if it keeps anything.
function kept(name) { try { return localStorage.getItem(name); } catch { return null; } }
function keep(name, value) { try { localStorage.setItem(name, value); } catch { /* a browser without storage */ } }

async function call(method, path, body) {
  const headers = { "x-dovetail-token": TOKEN };
  if (body !== undefined) headers["content-type"] = "application/json";
  const response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  if (response.ok) return response;
  const text = await response.text();
  if (response.status === 401 && path !== "/api/login") askLogin();
  let error;
  try { error = JSON.parse(text); } catch { error = { message: text.trim() || "status " + response.status }; }
  throw error;
}

//! `/metrics` in the OpenMetrics text format: base units, a unit in every name, counters in
//! `_total`.

use std::fmt::{Display, Write as _};

use engine::{
    ArchiveStatus, CodeTotals, DURATION_BOUNDS, ExecutionMode, Histogram, MergeStatus, Outcome,
    Totals,
};
use runtime::{PORTION_NS_MAX, Portions, RingKind, WorkerStats};

use super::Http;

/// As the OpenMetrics specification, version 1.0, wants it.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The whole text.
pub(crate) fn text(http: &Http) -> String {
    let mut page = Page(String::new());
    build(&mut page);
    connections(&mut page, http);
    queries(&mut page, &http.shared.db().activities().totals);
    programs(&mut page, &http.shared.db().activities().totals);
    transactions(&mut page, &http.shared.db().activities().totals);
    errors(&mut page);
    pool(&mut page, http);
    log(&mut page, http);
    workers(&mut page, &http.shared.db().runtime_handle().stats());
    portions(&mut page, &http.shared.db().runtime_handle().portions());
    rings(&mut page, http);
    code(&mut page, &engine::code_totals());
    page.0.push_str("# EOF\n");
    page.0
}

/// The text as it grows.
struct Page(String);

impl Page {
    /// Begins a family of metrics.
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# TYPE {name} {kind}\n# HELP {name} {help}");
    }

    /// One sample; `labels` with their quotes, or empty.
    fn sample(&mut self, name: &str, labels: &str, value: impl Display) {
        let _ = match labels {
            "" => writeln!(self.0, "{name} {value}"),
            labels => writeln!(self.0, "{name}{{{labels}}} {value}"),
        };
    }

    /// A family of one sample.
    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, "gauge", help);
        self.sample(name, "", value);
    }
}

fn build(page: &mut Page) {
    let name = "dovetail_build";
    page.family(name, "info", "The version of this server.");
    let labels = format!("version=\"{}\"", env!("CARGO_PKG_VERSION"));
    page.sample("dovetail_build_info", &labels, 1);
}

fn connections(page: &mut Page, http: &Http) {
    let name = "dovetail_connections";
    page.family(name, "gauge", "Clients of the PostgreSQL protocol, and how many there may be.");
    let slots = &http.shared.slots;
    page.sample(name, "state=\"open\"", slots.count());
    page.sample(name, "state=\"limit\"", slots.count_max());
}

/// Transactions by how they ended, and what kept statements from being done.
fn transactions(page: &mut Page, totals: &Totals) {
    let totals = &totals.transactions;
    let name = "dovetail_transactions";
    page.family(name, "counter", "Transactions that ended; a statement may be one.");
    page.sample("dovetail_transactions_total", "status=\"committed\"", totals.commits());
    page.sample("dovetail_transactions_total", "status=\"rolled_back\"", totals.rollbacks());
    let name = "dovetail_conflicts";
    page.family(name, "counter", "Errors that other transactions were the reason of.");
    page.sample("dovetail_conflicts_total", "kind=\"deadlock\"", totals.deadlocks());
    page.sample("dovetail_conflicts_total", "kind=\"serialization\"", totals.conflicts());
}

/// Statements by mode and by how they ended; what is no query has no mode.
fn queries(page: &mut Page, totals: &Totals) {
    let modes = ExecutionMode::ALL.into_iter().map(Some).chain([None]);
    let label = |mode: Option<ExecutionMode>| mode.map_or("none", ExecutionMode::name);
    let name = "dovetail_queries";
    page.family(name, "counter", "Statements that ended.");
    for mode in modes.clone() {
        for outcome in Outcome::ALL {
            let labels = format!("mode=\"{}\",status=\"{}\"", label(mode), outcome.name());
            page.sample(&format!("{name}_total"), &labels, totals.statements(mode, outcome));
        }
    }
    let name = "dovetail_query_duration_seconds";
    page.family(name, "histogram", "How long statements took, planning included.");
    for mode in modes {
        histogram(page, name, &format!("mode=\"{}\"", label(mode)), totals.durations(mode));
    }
}

/// Row programs by how they ended.
fn programs(page: &mut Page, totals: &Totals) {
    let name = "dovetail_row_programs";
    page.family(name, "counter", "Plans of few rows that row programs have run.");
    page.sample("dovetail_row_programs_total", "status=\"done\"", totals.programs.done());
    page.sample("dovetail_row_programs_total", "status=\"given_up\"", totals.programs.given_up());
}

fn errors(page: &mut Page) {
    let name = "dovetail_internal_errors";
    page.family(name, "counter", "Errors XX000 that clients were told of: bugs, to be reported.");
    page.sample(&format!("{name}_total"), "", crate::internal::count());
}

fn histogram(page: &mut Page, name: &str, labels: &str, durations: &Histogram) {
    let mut count = 0;
    let bounds = DURATION_BOUNDS.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
    for (bound, bucket) in bounds.zip(durations.buckets()) {
        count += bucket;
        page.sample(&format!("{name}_bucket"), &format!("{labels},le=\"{bound}\""), count);
    }
    page.sample(&format!("{name}_count"), labels, count);
    page.sample(&format!("{name}_sum"), labels, durations.sum().as_secs_f64());
}

fn pool(page: &mut Page, http: &Http) {
    let db = http.shared.db();
    let pool = db.pool();
    let name = "dovetail_bufferpool_frames";
    page.family(name, "gauge", "Frames of the buffer pool by state; dirty ones are resident too.");
    let states = [
        ("free", pool.free),
        ("loading", pool.loading),
        ("resident", pool.resident),
        ("dirty", pool.dirty),
    ];
    for (state, count) in states {
        page.sample(name, &format!("state=\"{state}\""), count);
    }
    let name = "dovetail_bufferpool_waiting_tasks";
    page.gauge(name, "Tasks that wait for a free frame.", pool.waiting);
    let name = "dovetail_file_pages";
    page.gauge(name, "Pages of the database file.", db.page_count());
}

/// What a recovery would have to do, and how often that was cut short.
fn log(page: &mut Page, http: &Http) {
    let db = http.shared.db();
    let (used, capacity) = db.log_usage();
    let name = "dovetail_log_bytes";
    page.family(name, "gauge", "Bytes of the log since the last checkpoint, and its capacity.");
    page.sample(name, "kind=\"used\"", used);
    page.sample(name, "kind=\"capacity\"", capacity);
    let name = "dovetail_checkpoint_number";
    page.gauge(name, "Number of the last checkpoint of the file.", db.checkpoint_number());
    if let Some(status) = db.archive_status() {
        archive(page, &status);
    }
    merges(page, &db.merge_status());
}

/// Merges of column tables in the background.
fn merges(page: &mut Page, status: &MergeStatus) {
    let name = "dovetail_column_merge_running";
    let about = "1 while a column table is merged in the background.";
    page.gauge(name, about, u8::from(status.table.is_some()));
    let name = "dovetail_column_merges";
    page.family(name, "counter", "Parts of column tables made in the background, by their source.");
    page.sample("dovetail_column_merges_total", "source=\"delta\"", status.deltas);
    page.sample("dovetail_column_merges_total", "source=\"part\"", status.parts);
    let counters = [
        ("dovetail_column_merge_rows", "Rows of these parts.", status.rows),
        ("dovetail_column_merges_put_off", "Merges that found others in the way.", status.put_off),
        ("dovetail_column_merge_failures", "Merges that ended with an error.", status.failures),
    ];
    for (name, about, count) in counters {
        page.family(name, "counter", about);
        page.sample(&format!("{name}_total"), "", count);
    }
}

/// How far the archive is behind, and whether it lacks something.
fn archive(page: &mut Page, status: &ArchiveStatus) {
    let name = "dovetail_archive_whole";
    let about = "1 while what is committed is archived; 0: it is not, until the next checkpoint.";
    page.gauge(name, about, u8::from(status.is_whole));
    let name = "dovetail_archive_checkpoint_number";
    page.gauge(name, "Number of the last checkpoint that the archive has.", status.checkpoint);
    let name = "dovetail_archive_waiting_bytes";
    page.gauge(name, "Bytes of commits that the archive does not have yet.", status.waiting_bytes);
    let counters = [
        ("dovetail_archive_written_bytes", "Bytes written to the archive.", status.written_bytes),
        ("dovetail_archive_failures", "Attempts to write to it that failed.", status.failures),
        ("dovetail_archive_lines", "Times it began anew, for a new backup.", status.lines),
    ];
    for (name, about, count) in counters {
        page.family(name, "counter", about);
        page.sample(&format!("{name}_total"), "", count);
    }
}

/// Per worker: counters of what it has done, gauges of its latest slice.
fn workers(page: &mut Page, stats: &[WorkerStats]) {
    type Get = fn(&WorkerStats) -> f64;
    let seconds = 1e-9;
    let counters: [(&str, &str, f64, Get); 11] = [
        ("dovetail_worker_busy_seconds", "Time spent running tasks.", seconds, |s| {
            s.busy_ns as f64
        }),
        ("dovetail_worker_idle_seconds", "Time asleep.", seconds, |s| s.idle_ns as f64),
        ("dovetail_worker_polls", "Polls of tasks.", 1.0, |s| s.poll_count as f64),
        ("dovetail_tasks_spawned", "Tasks made.", 1.0, |s| s.spawn_count as f64),
        ("dovetail_tasks_finished", "Tasks that ended.", 1.0, |s| s.finish_count as f64),
        ("dovetail_tasks_panicked", "Tasks that panicked.", 1.0, |s| s.panic_count as f64),
        ("dovetail_io_operations", "Operations begun.", 1.0, |s| s.op_count as f64),
        ("dovetail_io_writes", "Writes to files.", 1.0, |s| s.write_count as f64),
        ("dovetail_io_written_bytes", "Bytes that they wrote.", 1.0, |s| s.write_bytes as f64),
        ("dovetail_io_syncs", "Times that files were made durable.", 1.0, |s| s.sync_count as f64),
        ("dovetail_io_enters", "System calls into the ring.", 1.0, |s| s.enter_count as f64),
    ];
    for (name, help, unit, get) in counters {
        page.family(name, "counter", help);
        for (core, worker) in stats.iter().enumerate() {
            page.sample(&format!("{name}_total"), &label(core), get(worker) * unit);
        }
    }
    let gauges: [(&str, &str, Get); 3] = [
        ("dovetail_tasks", "Tasks alive.", |s| s.live_task_count as f64),
        ("dovetail_task_frame_bytes", "Bytes of their frames.", |s| s.frame_bytes as f64),
        ("dovetail_io_inflight", "Operations in flight.", |s| s.inflight_count as f64),
    ];
    for (name, help, get) in gauges {
        page.family(name, "gauge", help);
        for (core, worker) in stats.iter().enumerate() {
            page.sample(name, &label(core), get(worker));
        }
    }
}

/// The longest portions of tasks, by the function that they run.
fn portions(page: &mut Page, portions: &[Portions]) {
    let name = "dovetail_longest_portion_seconds";
    page.family(name, "gauge", "The most processor time between two suspensions of a task.");
    for of in portions {
        page.sample(name, &format!("kind=\"{}\"", of.kind), of.cpu_ns_max as f64 * 1e-9);
    }
    let name = "dovetail_long_portions";
    let help =
        format!("Times that a task computed for more than {} ms.", PORTION_NS_MAX / 1_000_000);
    page.family(name, "counter", &help);
    for of in portions {
        page.sample(&format!("{name}_total"), &format!("kind=\"{}\"", of.kind), of.long_count);
    }
}

fn label(core: usize) -> String {
    format!("core=\"{core}\"")
}

fn rings(page: &mut Page, http: &Http) {
    let name = "dovetail_ring_workers";
    page.family(name, "gauge", "Workers by the kind of their ring.");
    let db = http.shared.db();
    let rings = db.rings();
    for (kind, label) in [(RingKind::Uring, "uring"), (RingKind::Threads, "threads")] {
        let count = rings.iter().filter(|ring| ring.kind == kind).count();
        page.sample(name, &format!("kind=\"{label}\""), count);
    }
}

/// Machine code of expressions.
fn code(page: &mut Page, totals: &CodeTotals) {
    let name = "dovetail_code_bytes";
    page.gauge(name, "Bytes of machine code of expressions.", totals.bytes);
    let name = "dovetail_code_functions";
    page.family(name, "counter", "Functions that were compiled, or why they were not.");
    for (outcome, count) in &totals.functions {
        page.sample(&format!("{name}_total"), &format!("outcome=\"{outcome}\""), count);
    }
}

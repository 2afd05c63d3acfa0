//! `EXPLAIN ANALYZE`: the plan with what each node did, and the totals; `EXPLAIN` of what changes rows.

use std::time::Duration;

use exec::NodeSnapshot;
use plan::Plan;
use sql::parse::Explaining;

use crate::figures::QueryFigures;
use crate::settings::Settings;
use crate::traced::Traced;

mod code;

/// The lines of the report.
pub(crate) fn analyzed(
    plan: &Plan,
    figures: &QueryFigures,
    settings: &Settings,
    costs: bool,
) -> Vec<String> {
    let actual = |id: usize| figures.progress.nodes.get(id).map(node).unwrap_or_default();
    let mut lines = sql::explain_text(plan, Some(&actual), costs);
    let tasks = figures.progress.tasks;
    let account = &figures.account;
    lines.push(format!(
        "Execution mode: {}  Tasks: {} created, {} done",
        settings.execution_mode.name(),
        tasks.created,
        tasks.done
    ));
    lines.push(format!(
        "I/O: {} reads, {}  CPU: {}",
        figures.reads(),
        stdx::format_bytes(figures.read_bytes()),
        milliseconds(Duration::from_nanos(account.cpu_ns)),
    ));
    lines.extend(objects(figures));
    if let Some(spread) = figures.static_spread() {
        let (min, max) = (milliseconds(spread.min), milliseconds(spread.max));
        lines.push(format!("Partitions: fastest {min}, slowest {max}"));
    }
    lines.push(format!("Planning Time: {}", milliseconds(figures.planning)));
    lines.extend(code::lines(figures.code.as_ref()));
    lines.push(format!("Execution Time: {}", milliseconds(figures.elapsed)));
    lines
}

/// What all scans together have asked of object stores, if they have.
fn objects(figures: &QueryFigures) -> Option<String> {
    let asked = Asked::of(figures)?;
    let mut line = format!(
        "Objects: {} requests, {}, {} retries, {} hedges  Waited: {}  Processed: {}  CPU: {:.3} s/GB",
        asked.requests,
        stdx::format_bytes(asked.received_bytes),
        asked.retries,
        asked.hedges,
        milliseconds(Duration::from_nanos(asked.waited_ns)),
        milliseconds(Duration::from_nanos(asked.busy_ns)),
        asked.cpu_s_per_gb,
    );
    if asked.cost_ndollars > 0 {
        line += &format!("  Cost: {}", dollars(asked.cost_ndollars));
    }
    Some(line)
}

/// The sums of the scans that have asked object stores for something.
#[derive(Default)]
struct Asked {
    requests: u64,
    retries: u64,
    hedges: u64,
    received_bytes: u64,
    waited_ns: u64,
    /// What these scans computed.
    busy_ns: u64,
    cost_ndollars: u64,
    /// Of the whole query.
    cpu_s_per_gb: f64,
}

impl Asked {
    fn of(figures: &QueryFigures) -> Option<Asked> {
        let mut sum = Asked::default();
        for node in figures.progress.nodes.iter().filter(|node| node.requests > 0) {
            sum.requests += node.requests;
            sum.retries += node.retries;
            sum.hedges += node.hedges;
            sum.received_bytes += node.received_bytes;
            sum.waited_ns += node.waited_ns;
            sum.busy_ns += node.busy_ns;
            sum.cost_ndollars += node.cost_ndollars;
        }
        // Nanoseconds a byte are seconds a GB.
        sum.cpu_s_per_gb = figures.account.cpu_ns as f64 / sum.received_bytes.max(1) as f64;
        (sum.requests > 0).then_some(sum)
    }
}

/// Billionths of a dollar as dollars.
fn dollars(ndollars: u64) -> String {
    format!("${}.{:09}", ndollars / 1_000_000_000, ndollars % 1_000_000_000)
}

/// What a statement that changes rows has done.
pub(crate) struct Changed {
    /// Rows that it inserted, changed or deleted itself.
    pub(crate) rows: u64,
    /// Bytes that it has for the log.
    pub(crate) log_bytes: usize,
    /// How long it took to become durable, where it is a transaction of its own.
    pub(crate) commit: Option<Duration>,
    /// All of it.
    pub(crate) elapsed: Duration,
}

/// The report of a statement that changes rows, with the queries that it runs.
pub(crate) fn changed(
    title: &str,
    queries: &[Traced],
    changed: Option<&Changed>,
    settings: &Settings,
    options: &Explaining,
) -> Vec<String> {
    if options.json {
        return vec![changed_json(title, queries, changed, settings, options.costs)];
    }
    let mut lines = vec![match changed {
        Some(changed) => format!("{title} (actual rows={})", changed.rows),
        None => title.to_owned(),
    }];
    for query in queries {
        let text = match &query.figures {
            Some(figures) => analyzed(&query.plan, figures, settings, options.costs),
            None => sql::explain_text(&query.plan, None, options.costs),
        };
        let indented = text.into_iter().enumerate().map(|(nth, line)| match nth {
            0 => format!("  ->  {line}"),
            _ => format!("      {line}"),
        });
        lines.extend(indented);
    }
    let Some(changed) = changed else { return lines };
    lines.push(format!("Log: {}", stdx::format_bytes(changed.log_bytes as u64)));
    lines.extend(changed.commit.map(|time| format!("Commit Time: {}", milliseconds(time))));
    lines.push(format!("Execution Time: {}", milliseconds(changed.elapsed)));
    lines
}

fn changed_json(
    title: &str,
    queries: &[Traced],
    changed: Option<&Changed>,
    settings: &Settings,
    costs: bool,
) -> String {
    let mut plan = serde_json::Map::new();
    let (operation, relation) = title.split_once(" on ").unwrap_or((title, ""));
    plan.insert("Node Type".into(), "ModifyTable".into());
    plan.insert("Operation".into(), operation.into());
    plan.insert("Relation Name".into(), relation.into());
    let plans = queries.iter().map(|q| report(&q.plan, q.figures.as_ref(), settings, costs).into());
    plan.insert("Plans".into(), serde_json::Value::Array(plans.collect()));
    let mut whole = serde_json::Map::new();
    if let Some(changed) = changed {
        plan.insert("Actual Rows".into(), changed.rows.into());
        whole.insert("Log Bytes".into(), changed.log_bytes.into());
        let time = |d: Duration| serde_json::Value::from(d.as_secs_f64() * 1e3);
        whole.extend(changed.commit.map(|commit| ("Commit Time".to_owned(), time(commit))));
        whole.insert("Execution Time".into(), time(changed.elapsed));
    }
    whole.insert("Plan".into(), plan.into());
    printed(whole)
}

/// The report as JSON, of a plan that was run or not.
pub(crate) fn json(
    plan: &Plan,
    figures: Option<&QueryFigures>,
    settings: &Settings,
    costs: bool,
) -> String {
    printed(report(plan, figures, settings, costs))
}

fn printed(report: serde_json::Map<String, serde_json::Value>) -> String {
    let all = serde_json::Value::Array(vec![report.into()]);
    serde_json::to_string_pretty(&all).unwrap_or_else(|_| all.to_string())
}

fn report(
    plan: &Plan,
    figures: Option<&QueryFigures>,
    settings: &Settings,
    costs: bool,
) -> serde_json::Map<String, serde_json::Value> {
    let actual = |id: usize| {
        let node = figures.and_then(|f| f.progress.nodes.get(id));
        node.map(node_fields).unwrap_or_default()
    };
    let mut report = serde_json::Map::new();
    report.insert("Plan".into(), sql::explain_json(plan, &actual, costs));
    if let Some(figures) = figures {
        let time = |d: Duration| serde_json::Value::from(d.as_secs_f64() * 1e3);
        report.insert("Execution Mode".into(), settings.execution_mode.name().into());
        report.insert("Tasks Created".into(), figures.progress.tasks.created.into());
        report.insert("Reads".into(), figures.reads().into());
        report.insert("Read Bytes".into(), figures.read_bytes().into());
        let cpu = Duration::from_nanos(figures.account.cpu_ns);
        report.insert("CPU Time".into(), time(cpu));
        if let Some(asked) = Asked::of(figures) {
            report.insert("CPU Seconds per GB Received".into(), asked.cpu_s_per_gb.into());
        }
        report.insert("Planning Time".into(), time(figures.planning));
        report.extend(code::json(figures.code.as_ref()).map(|code| ("JIT".to_owned(), code)));
        report.insert("Execution Time".into(), time(figures.elapsed));
    }
    report
}

fn node_fields(n: &NodeSnapshot) -> serde_json::Map<String, serde_json::Value> {
    let milliseconds = |ns: u64| serde_json::Value::from(ns as f64 / 1e6);
    let fields = [
        ("Actual Rows", serde_json::Value::from(n.rows)),
        ("Tasks", n.tasks.into()),
        ("Reads", n.reads.into()),
        ("Read Bytes", n.read_bytes.into()),
        ("Peak Memory", n.memory_max.into()),
        ("Spilled Bytes", n.spilled.into()),
        ("Wait Time", milliseconds(n.wait_ns)),
        ("Run Time", milliseconds(n.busy_ns)),
        ("Files", n.files.into()),
        ("Files Skipped", n.files_skipped.into()),
        ("Chunks", n.chunks.into()),
        ("Chunks Skipped", n.chunks_skipped.into()),
        ("Vectors", n.vectors.into()),
        ("Vectors Skipped", n.vectors_skipped.into()),
        ("Rows Dropped by Joins", n.rows_dropped.into()),
        ("Requests", n.requests.into()),
        ("Request Retries", n.retries.into()),
        ("Request Hedges", n.hedges.into()),
        ("Request Cost", (n.cost_ndollars as f64 / 1e9).into()),
        ("Request Bytes", n.received_bytes.into()),
        ("Request Wait Time", milliseconds(n.waited_ns)),
        ("Request Bytes Ahead", n.ahead_bytes_max.into()),
        ("Request Window", n.window_bytes.into()),
    ];
    let of_chunks = |name: &str| name.starts_with("Chunks") || name.starts_with("Vectors");
    let is_shown = |name: &str| match name {
        name if name.starts_with("Files") => n.files > 0,
        name if of_chunks(name) => n.chunks > 0,
        name if name.starts_with("Request") => n.requests > 0,
        name if name.starts_with("Rows Dropped") => n.rows_dropped > 0,
        _ => true,
    };
    let fields = fields.into_iter().filter(|(name, _)| is_shown(name));
    fields.map(|(name, value)| (name.to_owned(), value)).collect()
}

fn milliseconds(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

/// What one node did, in parentheses after its estimate.
fn node(n: &NodeSnapshot) -> String {
    let mut text = format!("actual rows={}", n.rows);
    if n.tasks > 0 {
        text += &format!(" tasks={}", n.tasks);
    }
    if n.reads > 0 {
        text += &format!(" reads={} bytes={}", n.reads, n.read_bytes);
        text += &format!(" wait={}", milliseconds(Duration::from_nanos(n.wait_ns)));
    }
    if n.files > 0 {
        text += &format!(" files={} of {}", n.files - n.files_skipped, n.files);
    }
    if n.chunks > 0 {
        text += &format!(" chunks={} of {}", n.chunks - n.chunks_skipped, n.chunks);
        text += &format!(" vectors={} of {}", n.vectors - n.vectors_skipped, n.vectors);
    }
    if n.rows_dropped > 0 {
        text += &format!(" dropped={}", n.rows_dropped);
    }
    if n.requests > 0 {
        text += &format!(" requests={} received={}", n.requests, n.received_bytes);
        text += &format!(" retries={} hedges={}", n.retries, n.hedges);
        text += &format!(" waited={}", milliseconds(Duration::from_nanos(n.waited_ns)));
        text += &format!(" ahead={} of {}", n.ahead_bytes_max, n.window_bytes);
    }
    if n.cost_ndollars > 0 {
        text += &format!(" cost={}", dollars(n.cost_ndollars));
    }
    if n.memory_max > 0 {
        text += &format!(" memory={}", n.memory_max);
    }
    if n.spilled > 0 {
        text += &format!(" spilled={}", n.spilled);
    }
    text + &format!(" run={}", milliseconds(Duration::from_nanos(n.busy_ns)))
}

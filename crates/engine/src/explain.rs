//! `EXPLAIN ANALYZE`: the plan with what each node did, and the totals.

use std::time::Duration;

use exec::NodeSnapshot;
use sql::plan::Plan;

use crate::query::QueryFigures;
use crate::settings::Settings;

/// The lines of the report.
pub(crate) fn analyzed(plan: &Plan, figures: &QueryFigures, settings: &Settings) -> Vec<String> {
    let actual = |id: usize| figures.progress.nodes.get(id).map(node).unwrap_or_default();
    let mut lines = sql::explain_text(plan, Some(&actual));
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
    if let Some(spread) = figures.static_spread() {
        let (min, max) = (milliseconds(spread.min), milliseconds(spread.max));
        lines.push(format!("Partitions: fastest {min}, slowest {max}"));
    }
    lines.push(format!("Planning Time: {}", milliseconds(figures.planning)));
    lines.push(format!("Execution Time: {}", milliseconds(figures.elapsed)));
    lines
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
    text + &format!(" run={}", milliseconds(Duration::from_nanos(n.busy_ns)))
}

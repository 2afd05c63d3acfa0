//! `pg_stat_statements`, as version 1.10 of PostgreSQL's extension of this name has it. What is not
//! counted is null.

use engine::StatementStatistics;
use sql::SystemValue;
use types::SqlResult;

use crate::objects::DATABASE;
use crate::rows::Rows;
use crate::view::View;

/// What is shown of another role's statement, as PostgreSQL puts it.
const HIDDEN: &str = "<insufficient privilege>";

pub(super) fn pg_stat_statements(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for statement in view.activities().statistics.all() {
        push(view, &statement, rows);
    }
    Ok(())
}

fn push(view: &View, statement: &StatementStatistics, rows: &mut Rows) {
    let role = view.access().role(&statement.user).map(|role| i64::from(role.id));
    let visible = *statement.user == *view.user() || view.sees_all_statistics();
    let (query, id) = match visible {
        true => (statement.shape.text.as_str(), Some(statement.shape.id)),
        false => (HIDDEN, None),
    };
    let (planning, execution) = (&statement.planning, &statement.execution);
    let float = SystemValue::Float;
    rows.push([
        ("userid", role.into()),
        ("dbid", DATABASE.into()),
        ("toplevel", true.into()),
        ("queryid", id.into()),
        ("query", query.into()),
        ("plans", (planning.count as i64).into()),
        ("total_plan_time", float(planning.total)),
        ("min_plan_time", float(planning.min)),
        ("max_plan_time", float(planning.max)),
        ("mean_plan_time", float(planning.mean)),
        ("stddev_plan_time", float(planning.deviation())),
        ("calls", (execution.count as i64).into()),
        ("total_exec_time", float(execution.total)),
        ("min_exec_time", float(execution.min)),
        ("max_exec_time", float(execution.max)),
        ("mean_exec_time", float(execution.mean)),
        ("stddev_exec_time", float(execution.deviation())),
        ("rows", (statement.rows as i64).into()),
        ("shared_blks_read", (statement.reads as i64).into()),
    ]);
}

pub(super) fn pg_stat_statements_info(view: &View, rows: &mut Rows) -> SqlResult<()> {
    let (forgotten, since_us) = view.activities().statistics.info();
    rows.push([("dealloc", (forgotten as i64).into()), ("stats_reset", since_us.into())]);
    Ok(())
}

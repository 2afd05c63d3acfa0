//! What runs now: sessions, queries, and the workers that run their tasks.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::system::{AdvisoryKey, LockShown, TreeId};
use engine::{Activity, StatementActivity, TransactionStatus};
use sql::SystemValue;
use types::{SqlResult, oid};

use crate::objects::{DATABASE, index_oid, table_oid};
use crate::rows::Rows;
use crate::view::View;

/// What is shown of another role's statement, as PostgreSQL puts it.
const HIDDEN: &str = "<insufficient privilege>";

/// The sessions that have run a statement, each with its last one.
fn statements(view: &View) -> Vec<(Arc<Activity>, StatementActivity)> {
    let sessions = view.activities().sessions();
    let last = |activity: Arc<Activity>| {
        let statement = activity.statement()?;
        Some((activity, statement))
    };
    sessions.into_iter().filter_map(last).collect()
}

/// What a session does, in PostgreSQL's words.
fn state_of(activity: &Activity, statement: &StatementActivity) -> &'static str {
    match (statement.elapsed, activity.transaction_status()) {
        (None, _) => "active",
        (Some(_), TransactionStatus::Idle) => "idle",
        (Some(_), TransactionStatus::Open) => "idle in transaction",
        (Some(_), TransactionStatus::Failed) => "idle in transaction (aborted)",
    }
}

/// True if the role may see what a session does.
fn is_visible(view: &View, statement: &StatementActivity) -> bool {
    *statement.user == *view.user() || view.sees_all_statistics()
}

fn text(view: &View, statement: &StatementActivity) -> SystemValue {
    if is_visible(view, statement) { &*statement.text } else { HIDDEN }.into()
}

/// When the session, its transaction and its statement began, and since when it is in its state.
fn times(activity: &Activity, statement: &StatementActivity) -> [(&'static str, SystemValue); 4] {
    let query_us = statement.started_us;
    let alone = statement.elapsed.is_none().then_some(query_us);
    let took_us = statement.elapsed.map_or(0, |elapsed| elapsed.as_micros() as i64);
    [
        ("backend_start", activity.entered_us.into()),
        ("xact_start", activity.block_started_us().or(alone).into()),
        ("query_start", query_us.into()),
        ("state_change", (query_us + took_us).into()),
    ]
}

pub(super) fn pg_stat_activity(view: &View, rows: &mut Rows) -> SqlResult<()> {
    let waits = waits(view);
    for (activity, statement) in statements(view) {
        let state = state_of(&activity, &statement);
        let (wait_type, wait) = match waits.get(&activity.session_id) {
            Some((wait_type, wait)) => (Some(*wait_type), Some(*wait)),
            None if state != "active" => (Some("Client"), Some("ClientRead")),
            None => (None, None),
        };
        let times = is_visible(view, &statement).then(|| times(&activity, &statement));
        let shown = [
            ("datid", DATABASE.into()),
            ("datname", view.database().into()),
            ("pid", i64::from(statement.pid).into()),
            ("usename", (&*statement.user).into()),
            ("application_name", (&*statement.application_name).into()),
            ("wait_event_type", wait_type.into()),
            ("wait_event", wait.into()),
            ("state", state.into()),
            ("query_id", (statement.query_id as i64).into()),
            ("query", text(view, &statement)),
            ("backend_type", "client backend".into()),
        ];
        rows.push_some(shown.into_iter().chain(times.into_iter().flatten()));
    }
    if let Some(table) = view.activities().merging() {
        rows.push([
            ("datid", DATABASE.into()),
            ("datname", view.database().into()),
            ("state", "active".into()),
            ("query", format!("merge of table \"{table}\"").into()),
            ("backend_type", "column merger".into()),
        ]);
    }
    Ok(())
}

/// The numbers by which clients know sessions.
fn pids(view: &View) -> impl Fn(u64) -> SystemValue {
    let sessions = view.activities().sessions();
    move |session| {
        let activity = sessions.iter().find(|activity| activity.session_id == session);
        let signals = activity.and_then(|activity| activity.signals());
        signals.map_or(SystemValue::Null, |signals| i64::from(signals.pid).into())
    }
}

/// Advisory locks, the right to write, and keys of tables and indexes.
pub(super) fn pg_locks(view: &View, rows: &mut Rows) -> SqlResult<()> {
    let pid = pids(view);
    let relations = trees(view);
    for lock in view.locks() {
        let (kind, relation, mode) = match lock.what {
            LockShown::Right(kind) => {
                let (of, mode) = kind.names();
                (of, None, mode)
            }
            LockShown::Keys(tree, mode) => {
                let kind = if lock.is_granted { "relation" } else { "tuple" };
                (kind, relations.get(&tree), mode.name(lock.is_granted))
            }
        };
        rows.push([
            ("locktype", kind.into()),
            ("database", DATABASE.into()),
            ("relation", relation.copied().into()),
            ("pid", lock.session.map_or(SystemValue::Null, &pid)),
            ("mode", mode.into()),
            ("granted", lock.is_granted.into()),
        ]);
    }
    for lock in view.advisory_locks() {
        let low = |number: i64| number & 0xffff_ffff;
        let (class, object, fields) = match lock.key {
            AdvisoryKey::One(key) => (low(key >> 32), low(key), 1),
            AdvisoryKey::Two(first, second) => (low(first.into()), low(second.into()), 2),
        };
        rows.push([
            ("locktype", "advisory".into()),
            ("database", DATABASE.into()),
            ("classid", class.into()),
            ("objid", object.into()),
            ("objsubid", fields.into()),
            ("pid", pid(lock.session)),
            ("mode", if lock.shared { "ShareLock" } else { "ExclusiveLock" }.into()),
            ("granted", lock.granted.into()),
        ]);
    }
    Ok(())
}

/// The tables and indexes of trees.
fn trees(view: &View) -> BTreeMap<TreeId, i64> {
    let mut trees = BTreeMap::new();
    for table in view.tables() {
        let Some((tree, of_indexes)) = view.trees(table.id) else { continue };
        trees.insert(tree, table_oid(table));
        trees
            .extend(of_indexes.into_iter().zip(table.indexes.iter().map(|index| index_oid(index))));
    }
    trees
}

/// What each session waits for that waits for others, or for its commit to be durable.
fn waits(view: &View) -> BTreeMap<u64, (&'static str, &'static str)> {
    let committing = view.committing().into_iter();
    let mut waits: BTreeMap<_, _> = committing.map(|id| (id, ("IO", "WALSync"))).collect();
    for lock in view.locks().iter().filter(|lock| !lock.is_granted) {
        let name = match lock.what {
            LockShown::Right(_) => "object",
            LockShown::Keys(..) => "tuple",
        };
        waits.extend(lock.session.map(|session| (session, ("Lock", name))));
    }
    let advisory = view.advisory_locks();
    let waiting = advisory.iter().filter(|lock| !lock.granted);
    waits.extend(waiting.map(|lock| (lock.session, ("Lock", "advisory"))));
    waits
}

/// The session's own.
pub(super) fn pg_prepared_statements(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for (name, statement) in view.prepared_statements() {
        let types = statement.oids.iter().map(|oid| type_name(*oid).into()).collect();
        rows.push([
            ("name", name.into()),
            ("statement", (**statement.text.shown()).into()),
            ("prepare_time", statement.prepared_us.into()),
            ("parameter_types", SystemValue::List(types)),
            ("from_sql", statement.from_sql.into()),
            ("generic_plans", 0.into()),
            ("custom_plans", 0.into()),
        ]);
    }
    Ok(())
}

/// The session's own. None goes back.
pub(super) fn pg_cursors(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for (name, cursor) in view.cursors() {
        rows.push([
            ("name", name.into()),
            ("statement", (**cursor.text.shown()).into()),
            ("is_holdable", cursor.is_held.into()),
            ("is_binary", cursor.binary.into()),
            ("is_scrollable", false.into()),
            ("creation_time", cursor.declared_us.into()),
        ]);
    }
    Ok(())
}

/// The name of a type without its digits or length.
fn type_name(number: u32) -> String {
    match (number, oid::parameter(number, None)) {
        (oid::NUMERIC, _) => "numeric".to_owned(),
        (_, Some(ty)) => ty.to_string(),
        (_, None) => "text".to_owned(),
    }
}

/// Queries with their progress, counted in tasks: those that run, and each session's last one.
pub(super) fn dovetail_queries(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for (activity, statement) in statements(view) {
        let Some(live) = &statement.live else { continue };
        let (tasks, account) = (live.progress.tasks(), live.account.snapshot());
        let running = statement.elapsed.is_none();
        let elapsed = statement.elapsed.unwrap_or_else(|| statement.started.elapsed());
        let share = tasks.done as f64 / tasks.created.max(1) as f64;
        rows.push([
            ("query_id", (statement.query_id as i64).into()),
            ("session_id", (activity.session_id as i64).into()),
            ("pid", i64::from(statement.pid).into()),
            ("state", if running { "running" } else { "ended" }.into()),
            ("execution_mode", live.mode.name().into()),
            ("elapsed_ms", SystemValue::Float(elapsed.as_secs_f64() * 1e3)),
            ("progress", SystemValue::Float(if running { share } else { 1.0 })),
            ("tasks_created", (tasks.created as i64).into()),
            ("tasks_running", (tasks.running as i64).into()),
            ("tasks_waiting", (tasks.waiting as i64).into()),
            ("tasks_done", (tasks.done as i64).into()),
            ("cpu_ms", SystemValue::Float(account.cpu_ns as f64 / 1e6)),
            ("reads", (account.reads as i64).into()),
            ("read_bytes", (account.read_bytes as i64).into()),
            ("query", text(view, &statement)),
        ]);
    }
    Ok(())
}

/// The tasks of each worker.
pub(super) fn dovetail_tasks(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for (core, worker) in view.workers().iter().enumerate() {
        rows.push([
            ("core", (core as i64).into()),
            ("alive", (worker.live_task_count as i64).into()),
            ("frame_bytes", (worker.frame_bytes as i64).into()),
            ("spawned", (worker.spawn_count as i64).into()),
            ("finished", (worker.finish_count as i64).into()),
            ("polls", (worker.poll_count as i64).into()),
            ("busy_ms", SystemValue::Float(worker.busy_ns as f64 / 1e6)),
            ("idle_ms", SystemValue::Float(worker.idle_ns as f64 / 1e6)),
        ]);
    }
    Ok(())
}

/// The longest portions of tasks, by the function that they run.
pub(super) fn dovetail_portions(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for of in view.portions() {
        rows.push([
            ("kind", of.kind.as_str().into()),
            ("longest_ms", SystemValue::Float(of.cpu_ns_max as f64 / 1e6)),
            ("long", (of.long_count as i64).into()),
        ]);
    }
    Ok(())
}

/// The operations of each worker.
pub(super) fn dovetail_io(view: &View, rows: &mut Rows) -> SqlResult<()> {
    for (core, worker) in view.workers().iter().enumerate() {
        rows.push([
            ("core", (core as i64).into()),
            ("inflight", (worker.inflight_count as i64).into()),
            ("operations", (worker.op_count as i64).into()),
            ("enters", (worker.enter_count as i64).into()),
            ("sleeps", (worker.sleep_count as i64).into()),
            ("pool_threads", (worker.pool_thread_count as i64).into()),
        ]);
    }
    Ok(())
}

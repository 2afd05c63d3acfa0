//! One run: a statement in a mode, in a session of its own.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use engine::{
    Activity, CancelHandle, Client, Database, ExecutionMode, LiveQuery, ResultSet, Session,
    SqlError, SqlResult, SqlState, Statement, StatementResult, Template,
};
use runtime::sync::Event;
use runtime::time::{self, Instant};
use runtime::{IoTrace, spawn_on, worker_count};
use serde_json::{Value, json};

use super::visitor::Visitor;

/// Rows that are shown of a result; the page says how many there are.
const ROW_COUNT_MAX: usize = 200;
/// Letters that are shown of a value.
const VALUE_CHARS_MAX: usize = 500;
/// The shortest time between two samples of a run's figures.
const SAMPLE_PAUSE_MIN: Duration = Duration::from_millis(10);
/// Of a run's time so far, the share that is one pause: so a run of any length has some hundreds
/// of samples for each tenfold of its time.
const SAMPLE_PAUSE_SHARE: u32 = 300;

/// What is to be run.
pub(crate) struct Wish {
    pub sql: String,
    pub statement: Statement,
    /// Knows where in the text an error is.
    template: Template,
    pub mode: ExecutionMode,
    pub partitions: Option<usize>,
    /// With an empty buffer pool.
    pub cold: bool,
    /// Whether it may change anything.
    pub may_write: bool,
}

/// The figures of a run at one moment; counters since its start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    /// Microseconds since the start of execution.
    pub time_us: u64,
    /// Tasks created, running, waiting, done.
    pub tasks: [u64; 4],
    pub cpu_us: u64,
    pub reads: u64,
    pub read_bytes: u64,
    /// The sum of the latencies of all requests.
    pub latency_us: u64,
}

/// How a run ended.
pub(crate) struct End {
    /// `done`, `failed` or `cancelled`.
    pub status: &'static str,
    pub error: Option<Value>,
    pub result: Option<Value>,
    pub elapsed: Duration,
    pub planning: Option<Duration>,
}

/// A run, under way or over.
pub(crate) struct Run {
    pub id: u64,
    /// Who started it.
    pub owner: Visitor,
    pub mode: ExecutionMode,
    pub trace: Arc<IoTrace>,
    pub end: OnceLock<End>,
    pub ended: Event,
    cancel: CancelHandle,
    watched: Mutex<Watched>,
    samples: Mutex<Vec<Sample>>,
}

/// Where the figures of a run are.
enum Watched {
    /// In its session.
    Running(Arc<Activity>),
    /// In what is left of its query. The run is kept for long, its session would be seen by others until then.
    Over(Option<LiveQuery>),
}

impl Wish {
    /// What the page asks for.
    ///
    /// # Errors
    /// 22023 for what is no wish, 0A000 for more than one statement, 25006 for one that writes, and
    /// what parsing says.
    pub fn read(body: &[u8], writes: bool) -> SqlResult<Wish> {
        let invalid = |why: String| SqlError::new(SqlState::INVALID_PARAMETER_VALUE, why);
        let wish: Value = serde_json::from_slice(body).map_err(|e| invalid(e.to_string()))?;
        let sql = wish["sql"].as_str().unwrap_or_default().to_owned();
        let mode = wish["mode"].as_str().unwrap_or_default().parse().map_err(invalid)?;
        let partitions = match &wish["partitions"] {
            Value::Null => None,
            given => {
                Some(given.as_u64().and_then(|n| usize::try_from(n).ok()).ok_or_else(|| {
                    invalid(format!("partitions must be a whole number above 0, not {given}"))
                })?)
            }
        };
        for name in ["cold", "writes"] {
            if !matches!(wish[name], Value::Null | Value::Bool(_)) {
                return Err(invalid(format!("{name} must be true or false, not {}", wish[name])));
            }
        }
        let mut templates = Template::all(&sql)?;
        let template = match (templates.pop(), templates.is_empty()) {
            (Some(template), true) => template,
            (None, _) => {
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, "there is no statement"));
            }
            (Some(_), false) => {
                return Err(SqlError::unsupported("more than one statement in a run"));
            }
        };
        let statement = template.bind(&[]).map_err(|error| template.located(error))?;
        let reads = matches!(statement, Statement::Query(_) | Statement::Explain(_));
        let may_write = writes && wish["writes"].as_bool().unwrap_or(false);
        if !reads && !may_write {
            let message = "the console runs SELECT and EXPLAIN only";
            let hint = match writes {
                true => "Tick \"allow writes\" to run other statements.",
                false => "Start the server with --console-writes to allow other statements.",
            };
            return Err(SqlError::new(SqlState("25006"), message).with_hint(hint));
        }
        if matches!(statement, Statement::Transaction(_)) {
            return Err(SqlError::unsupported("transaction blocks here")
                .with_hint("Each run has a session of its own. Use the shell or another client."));
        }
        let cold = wish["cold"].as_bool().unwrap_or(false);
        Ok(Wish { sql, statement, template, mode, partitions, cold, may_write })
    }

    /// Prepares the session that it runs in.
    fn prepare(&self, session: &mut Session) -> SqlResult<()> {
        if self.cold && !session.is_superuser() {
            let message = "permission denied to empty the buffer pool";
            return Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
                .with_hint("Only superusers start cold: all clients have the pool in common."));
        }
        session.settings().set("execution_mode", self.mode.name())?;
        if !self.may_write {
            session.settings().set("default_transaction_read_only", "on")?;
            session.only_reads();
        }
        if let Some(partitions) = self.partitions {
            session.settings().set("static_partitions", &partitions.to_string())?;
        }
        session.activity().announce(&self.sql.as_str().into());
        Ok(())
    }
}

impl Run {
    /// Starts a run on the first worker; its figures are sampled on the last one.
    ///
    /// # Errors
    /// 22023 for settings that cannot be, 42501 for who may not start cold.
    pub fn start(
        (id, owner): (u64, Visitor),
        mut session: Session,
        wish: Wish,
    ) -> SqlResult<Arc<Run>> {
        wish.prepare(&mut session)?;
        let trace = Arc::new(IoTrace::new());
        session.activity().trace_io(trace.clone());
        let run = Arc::new(Run {
            id,
            owner,
            mode: wish.mode,
            trace,
            end: OnceLock::new(),
            ended: Event::new(),
            cancel: session.cancel_handle(),
            watched: Mutex::new(Watched::Running(session.activity().clone())),
            samples: Mutex::default(),
        });
        let (sampled, db) = (run.clone(), session.database().clone());
        drop(spawn_on(worker_count() - 1, move || sampled.sample_until_ended()));
        let performed = run.clone();
        drop(spawn_on(0, move || performed.perform(db, session, wish)));
        Ok(run)
    }

    async fn perform(self: Arc<Self>, db: Database, mut session: Session, wish: Wish) {
        let Wish { statement, template, cold, .. } = wish;
        if cold {
            db.empty_cache().await;
        }
        let started = time::now();
        let outcome = session.run(statement, Client::default()).await;
        let outcome = outcome.map_err(|error| template.located(error));
        self.take_sample();
        self.end.get_or_init(|| End::new(outcome, started));
        let live = self.live();
        *self.watched() = Watched::Over(live);
        drop(session);
        self.ended.set();
    }

    /// Ends the run with 57014; nothing happens when it is over.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// The query, once it has been planned.
    pub fn live(&self) -> Option<LiveQuery> {
        match &*self.watched() {
            Watched::Running(activity) => activity.statement()?.live,
            Watched::Over(live) => live.clone(),
        }
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The samples from number `from` on.
    pub fn samples(&self, from: usize) -> Vec<Sample> {
        self.all_samples().get(from..).unwrap_or_default().to_vec()
    }

    fn all_samples(&self) -> MutexGuard<'_, Vec<Sample>> {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn sample_until_ended(self: Arc<Self>) {
        while !self.ended.is_set() {
            let elapsed = self.take_sample().unwrap_or_default();
            time::sleep(SAMPLE_PAUSE_MIN.max(elapsed / SAMPLE_PAUSE_SHARE)).await;
        }
    }

    /// Notes the figures now; the time since the start of execution.
    fn take_sample(&self) -> Option<Duration> {
        let live = self.live()?;
        let (tasks, account) = (live.progress.tasks(), live.account.snapshot());
        let elapsed = live.started.elapsed();
        self.all_samples().push(Sample {
            time_us: elapsed.as_micros() as u64,
            tasks: [tasks.created, tasks.running, tasks.waiting, tasks.done],
            cpu_us: account.cpu_ns / 1000,
            reads: account.reads,
            read_bytes: account.read_bytes,
            latency_us: self.trace.latency_ns_sum() / 1000,
        });
        Some(elapsed)
    }
}

impl End {
    fn new(outcome: SqlResult<StatementResult>, started: Instant) -> End {
        let mut end = End {
            status: "done",
            error: None,
            result: None,
            elapsed: started.elapsed(),
            planning: None,
        };
        match outcome {
            Ok(StatementResult::Rows(rows)) => {
                if let Some(figures) = &rows.figures {
                    (end.elapsed, end.planning) = (figures.elapsed, Some(figures.planning));
                }
                end.result = Some(result_value(&rows));
            }
            Ok(StatementResult::Command { tag }) => end.result = Some(json!({ "tag": tag })),
            Err(error) => {
                let cancelled = error.state == SqlState::QUERY_CANCELED;
                end.status = if cancelled { "cancelled" } else { "failed" };
                end.error = Some(error_value(&error));
            }
        }
        end
    }
}

/// An error as the page shows it.
pub(crate) fn error_value(error: &SqlError) -> Value {
    crate::internal::note(error);
    json!({
        "state": error.state.0,
        "message": error.message,
        "detail": error.detail,
        "hint": error.hint,
        "position": error.position,
    })
}

/// A result as the page shows it: the first rows, as text.
fn result_value(rows: &ResultSet) -> Value {
    let fields = rows.schema.fields();
    let columns: Vec<&String> = fields.iter().map(|field| field.name()).collect();
    let numeric: Vec<bool> = fields.iter().map(|field| field.data_type().is_numeric()).collect();
    let mut shown = Vec::new();
    for batch in &rows.batches {
        for row in 0..batch.num_rows().min(ROW_COUNT_MAX - shown.len()) {
            let value = |column| types::text::format_value(column, row).map(shortened);
            shown.push(json!(batch.columns().iter().map(|c| value(c)).collect::<Vec<_>>()));
        }
    }
    json!({
        "columns": columns,
        "numeric": numeric,
        "rows": shown,
        "row_count": rows.row_count(),
        "tag": rows.tag,
    })
}

fn shortened(value: String) -> String {
    match value.char_indices().nth(VALUE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value,
    }
}

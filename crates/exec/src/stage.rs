//! A stage: one run of a pipeline over one source.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow_array::RecordBatch;
use types::SqlResult;

use crate::hash_join::SpilledJoin;
use crate::lookup::LookupOp;
use crate::map::Map;
use crate::policy::Driving;
use crate::run::Run;
use crate::scope::{Scope, halted};
use crate::sequential::sequential;
use crate::shared::{Shared, at_once};
use crate::source::{Access, Depth, Part, Source};
use crate::statics::partition;
use crate::target::Target;
use crate::task::TaskGroup;
use crate::timing::busy;

/// A streaming operator.
#[derive(Clone)]
pub(crate) enum Op {
    Map(Arc<dyn Map>),
    Lookup(Arc<LookupOp>),
    /// Keeps all rows: they go on from there when the stage has ended.
    Divert(Arc<SpilledJoin>),
}

/// The operators from some point of a pipeline to its end.
#[derive(Clone)]
pub(crate) struct Tail {
    pub(crate) ops: Vec<Op>,
    pub(crate) target: Target,
}

/// The scan that drives a stage.
#[derive(Clone)]
pub(crate) struct Driver {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) node: usize,
    /// Whether its rows come from a table; otherwise from a breaker, whose output they are.
    pub(crate) is_scan: bool,
}

/// A piece of a stage's work that nobody has started.
pub(crate) enum Piece {
    /// A part of the source.
    Part(Part),
    /// Rows that enter at the stage's first operator.
    Rows(RecordBatch),
}

impl Piece {
    /// Rows at hand.
    pub(crate) fn row_count(&self) -> usize {
        match self {
            Piece::Part(_) => 0,
            Piece::Rows(rows) => rows.num_rows(),
        }
    }
}

/// One run of a pipeline.
pub(crate) struct Stage {
    pub(crate) run: Arc<Run>,
    pub(crate) tasks: Arc<TaskGroup>,
    pub(crate) tail: Tail,
    /// The operator at which the source's rows enter.
    pub(crate) first: usize,
    pub(crate) driver: Option<Driver>,
    /// Whether look-ups become tasks of their own.
    pub(crate) splits: bool,
    pub(crate) depth: Depth,
    pub(crate) shared: Shared,
}

/// What a stage is to do.
pub(crate) struct Order {
    pub(crate) scope: Arc<Scope>,
    pub(crate) tail: Tail,
    pub(crate) first: usize,
    pub(crate) driver: Option<Driver>,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) order_matters: bool,
}

/// Runs a stage to its end: no task of it is left when this returns.
pub(crate) async fn run_stage(run: &Arc<Run>, order: Order) -> SqlResult<()> {
    let driving = run.policy.driving(order.order_matters);
    let stage = Arc::new(Stage {
        run: Arc::clone(run),
        tasks: TaskGroup::new(run, order.scope),
        tail: order.tail,
        first: order.first,
        driver: order.driver,
        splits: driving == Driving::Shared,
        depth: run.policy.depth(),
        shared: Shared::new(run.worker_count),
    });
    stage.parts_known(order.pieces.len());
    let pieces = order.pieces;
    match driving {
        _ if pieces.is_empty() => {}
        Driving::One => {
            stage.tasks.run_here(Box::pin(sequential(Arc::clone(&stage), pieces))).await;
        }
        Driving::Runs(count) => {
            let inner = Arc::clone(&stage);
            let make = move || Box::pin(partition(inner, pieces, count)) as _;
            stage.tasks.launch(runtime::worker(), make);
        }
        Driving::Shared => {
            stage.tasks.run_here(Box::pin(at_once(Arc::clone(&stage), pieces))).await;
        }
    }
    stage.tasks.gone().await;
    stage.shared.clear();
    if stage.is_stopped() { Err(halted()) } else { Ok(()) }
}

impl Stage {
    /// Whether its rows are not wanted any more.
    pub(crate) fn is_stopped(&self) -> bool {
        self.tasks.scope.is_stopped()
    }

    /// Works on one part of the source: rows for the pipeline, and smaller parts.
    pub(crate) async fn step(&self, part: Part) -> SqlResult<(Option<RecordBatch>, Vec<Part>)> {
        let Some(driver) = &self.driver else { return Ok((None, vec![])) };
        let figures = self.run.query.progress.node(driver.node);
        let access = Access { depth: self.depth, io: &figures.io, skips: &figures.skips };
        let step = busy(&figures.busy_ns, driver.source.step(part, access)).await?;
        if driver.is_scan {
            self.parts_known(step.parts.len());
        } else if let Some(rows) = &step.rows {
            figures.produced(rows.num_rows());
        }
        Ok((step.rows, step.parts))
    }

    /// The scan that drives it, if one does.
    pub(crate) fn scan(&self) -> Option<&Driver> {
        self.driver.as_ref().filter(|driver| driver.is_scan)
    }

    fn parts_known(&self, part_count: usize) {
        if let Some(driver) = self.scan() {
            let figures = self.run.query.progress.node(driver.node);
            figures.parts_known.fetch_add(part_count as u64, Relaxed);
        }
    }

    /// Counts a part whose rows have passed the pipeline (or were handed on).
    pub(crate) fn part_done(&self) {
        if let Some(driver) = self.scan() {
            self.run.query.progress.node(driver.node).parts_done.fetch_add(1, Relaxed);
        }
    }

    /// Counts a task made for a part.
    pub(crate) fn part_task(&self) {
        if let Some(driver) = self.scan() {
            self.run.query.progress.node(driver.node).tasks.fetch_add(1, Relaxed);
        }
    }
}

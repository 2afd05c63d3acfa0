//! From a plan to pipelines: cuts at the breakers, runs the inputs first, then the stage itself.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use arrow_array::RecordBatch;
use plan::expr::AggregateExpr;
use plan::{HashJoin, Node, Operator};
use types::{SqlError, SqlResult};

use crate::aggregate::{AggregateSink, Aggregated};
use crate::collect::Collect;
use crate::first::First;
use crate::groups::Grouping;
use crate::hash_join::{BuildSink, Built, JoinRules, Probe, SpilledJoin};
use crate::join_filter::JoinFilter;
use crate::lookup::LookupOp;
use crate::memory::Reservation;
use crate::nested::NestedLoop;
use crate::notify::locked;
use crate::owing::owes_rows;
use crate::run::Run;
use crate::scope::{Scope, halted};
use crate::sideways::{self, Course, Sieve};
use crate::sort::SortSink;
use crate::source::{LocalFuture, Source};
use crate::spine::spine;
use crate::stage::{Driver, Op, Order, Piece, Tail, run_stage};
use crate::streaming::{Filter, Pass, Project, Refuse, ScanRows, Skip};
use crate::target::Target;
use crate::timing::busy;
use crate::unnest::Unnest;
use crate::{batch, cte, recursive, window};

/// Runs the subtree of `node` and passes its rows through `tail`.
pub(crate) fn drive<'a>(
    run: &'a Arc<Run>,
    node: &'a Node,
    scope: Arc<Scope>,
    tail: Tail,
) -> LocalFuture<'a, SqlResult<()>> {
    drive_sifted(run, node, scope, tail, vec![])
}

/// The same; rows that `sieves` drop are wanted by nobody.
fn drive_sifted<'a>(
    run: &'a Arc<Run>,
    node: &'a Node,
    scope: Arc<Scope>,
    tail: Tail,
    sieves: Vec<Sieve>,
) -> LocalFuture<'a, SqlResult<()>> {
    Box::pin(async move {
        let (spine, leaf) = spine(node);
        let course = Course::new(&spine, leaf, sieves);
        let (inputs, sieves) = inputs(run, &spine, leaf, &scope, course).await?;
        let pipeline = assemble(run, &spine, leaf, inputs, tail)?;
        pipeline.run(run, leaf, &scope, sieves).await
    })
}

/// What a node of a pipeline needs before the pipeline can start.
enum Input {
    /// Nothing.
    None,
    /// The finished build side.
    Probe(Arc<Probe>),
    /// The build side on disk, where the probe side is to follow it.
    SpilledJoin(Arc<SpilledJoin>),
    /// The materialised right side.
    Nested(Arc<NestedLoop>),
    /// The rows of a breaker.
    Rows(Rows),
    /// The same where they are not all at hand.
    Source(Arc<dyn Source>),
    /// Nothing, for an error of a value: that of the query once a row asks for what is here.
    Failed(SqlError),
}

impl Input {
    /// Whether nothing comes of rows that meet it.
    fn is_void(&self) -> bool {
        match self {
            Input::Probe(probe) => probe.is_void(),
            Input::Nested(nested) => nested.is_void(),
            Input::None
            | Input::SpilledJoin(_)
            | Input::Rows(_)
            | Input::Source(_)
            | Input::Failed(_) => false,
        }
    }

    /// The filters of a build side, by its keys.
    fn filters(&self) -> &[(usize, Arc<JoinFilter>)] {
        match self {
            Input::Probe(probe) => probe.filters(),
            Input::SpilledJoin(join) => join.filters(),
            _ => &[],
        }
    }
}

/// Rows at hand, and what they are counted in.
struct Rows {
    batches: Vec<RecordBatch>,
    memory: Option<Arc<Reservation>>,
}

/// Whether the pipeline only passes on rows that a statement lists. Nothing asks for their order,
/// but who wrote them one below the other expects them so.
fn is_list(spine: &[&Node], leaf: &Node) -> bool {
    matches!(leaf.operator, Operator::Values(_))
        && spine.iter().all(|node| {
            use Operator::{Filter, Limit, Project, Unnest};
            matches!(node.operator, Filter { .. } | Limit { .. } | Project { .. } | Unnest { .. })
        })
}

/// What an input is computed for.
struct Asked {
    /// Keys of a join of which filters are to be made.
    keys: Vec<usize>,
    /// What its rows must be.
    sieves: Vec<Sieve>,
}

/// Computes the inputs of all nodes of a pipeline, the leaf's last: at once or one after the other. An
/// aggregation for which filters are made waits for them. With the inputs comes what is asked of the leaf.
async fn inputs<'a>(
    run: &'a Arc<Run>,
    spine: &[&'a Node],
    leaf: &'a Node,
    scope: &Arc<Scope>,
    course: Course,
) -> SqlResult<(Vec<Input>, Vec<Sieve>)> {
    let of_node = |(at, node): (usize, &&'a Node)| {
        let asked = Asked { keys: course.keys(at), sieves: course.of_build(at) };
        tried_input(run, node, Arc::clone(scope), asked)
    };
    let mut works: Vec<_> = spine.iter().enumerate().map(of_node).collect();
    let waits = course.has_own() && matches!(leaf.operator, Operator::Aggregate { .. });
    let of_leaf =
        |sieves| tried_input(run, leaf, Arc::clone(scope), Asked { keys: vec![], sieves });
    if !waits {
        works.push(of_leaf(course.of_leaf(std::iter::empty())));
    }
    let mut inputs = all_inputs(run, scope, works).await?;
    let sieves = course.of_leaf(inputs.iter().map(Input::filters));
    if waits {
        // Of what nothing can come nothing need be known.
        let is_void = inputs.iter().any(Input::is_void);
        inputs.push(if is_void { Input::None } else { of_leaf(sieves.clone()).await? });
    }
    Ok((inputs, sieves))
}

async fn all_inputs(
    run: &Arc<Run>,
    scope: &Scope,
    works: Vec<LocalFuture<'_, SqlResult<Input>>>,
) -> SqlResult<Vec<Input>> {
    if run.policy.inputs_at_once() {
        return all(run, scope, works).await;
    }
    let mut inputs = Vec::new();
    for work in works {
        inputs.push(work.await?);
    }
    Ok(inputs)
}

/// Polls all works until all have ended; an error of one stops the query and with it the others.
async fn all<T>(
    run: &Run,
    scope: &Scope,
    mut works: Vec<LocalFuture<'_, SqlResult<T>>>,
) -> SqlResult<Vec<T>> {
    let mut results: Vec<Option<SqlResult<T>>> = works.iter().map(|_| None).collect();
    poll_fn(|cx| {
        let mut open = false;
        for (work, result) in works.iter_mut().zip(&mut results) {
            if result.is_some() {
                continue;
            }
            match work.as_mut().poll(cx) {
                Poll::Ready(Err(error)) => {
                    if !scope.is_stopped() {
                        run.fail_in(scope, error.clone());
                    }
                    *result = Some(Err(error));
                }
                Poll::Ready(done) => *result = Some(done),
                Poll::Pending => open = true,
            }
        }
        if open { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    results.into_iter().map(|r| r.unwrap_or_else(|| Err(halted()))).collect()
}

/// Computes what `node` needs before its pipeline starts. An error of a value is not one before a row
/// of the pipeline asks for it.
fn tried_input<'a>(
    run: &'a Arc<Run>,
    node: &'a Node,
    scope: Arc<Scope>,
    asked: Asked,
) -> LocalFuture<'a, SqlResult<Input>> {
    if owes_rows(node) {
        return input(run, node, scope, asked);
    }
    Box::pin(async move {
        let inside = Scope::catching(&scope);
        let tried = inside.judge(input(run, node, Arc::clone(&inside), asked).await)?;
        Ok(tried.unwrap_or_else(Input::Failed))
    })
}

/// Computes what `node` needs before its pipeline starts.
fn input<'a>(
    run: &'a Arc<Run>,
    node: &'a Node,
    scope: Arc<Scope>,
    asked: Asked,
) -> LocalFuture<'a, SqlResult<Input>> {
    Box::pin(async move {
        let (workers, batch_rows) = (run.worker_count, run.query.batch_rows.max(1));
        let busy_ns = &run.query.progress.node(node.id).busy_ns;
        match &node.operator {
            Operator::HashJoin(join) => built(run, node, join, scope, asked).await,
            Operator::NestedLoopJoin(join) => {
                let memory = run.reserve(node, "nested-loop join");
                let schema = join.right.relaxed();
                let sink = Arc::new(Collect::new(schema, Arc::clone(&memory), workers));
                fill(run, &join.right, scope, Target::unordered(node, sink.clone())).await?;
                let nested = NestedLoop::new(node, join, sink.finish()?, memory, batch_rows);
                Ok(Input::Nested(Arc::new(nested)))
            }
            Operator::Aggregate { input, group_by, aggregates } => {
                let (from, to) = (input.relaxed(), node.relaxed());
                let grouping = Grouping::new(group_by.clone(), aggregates.clone(), from, to)?;
                let sieves = sideways::below_groups(group_by, asked.sieves);
                aggregated(run, node, (input, sieves), grouping, scope).await
            }
            Operator::Sort { input, keys, fetch } => {
                let schema = input.relaxed();
                let space = run.workspace(node, "sort");
                let sink = Arc::new(SortSink::new(keys, *fetch, schema, space)?);
                fill(run, input, Arc::clone(&scope), Target::unordered(node, sink.clone())).await?;
                Ok(Input::Source(Arc::new(busy(busy_ns, sink.finish(&scope)).await?)))
            }
            Operator::Window { input, functions } => {
                Ok(Input::Source(window::rows(run, node, input, functions, &scope).await?))
            }
            Operator::Limit { input, skip, fetch: Some(fetch) } => {
                first_rows(run, node, input, scope, *skip, *fetch).await
            }
            Operator::Recursive(recursion) => {
                let memory = run.reserve(node, "recursion");
                let rows = recursive::rounds(run, node, recursion, &memory, scope).await?;
                let slices = rows.iter().flat_map(|rows| batch::slices(rows, batch_rows));
                Ok(Input::Rows(Rows { batches: slices.collect(), memory: Some(memory) }))
            }
            Operator::CteScan(scan) => Ok(Input::Source(cte::rows(run, node, scan)?)),
            Operator::WorkTable { recursion, columns, .. } => {
                let found = locked(&run.work_tables).get(recursion).cloned();
                let rows = found.ok_or_else(|| SqlError::internal("no such recursion"))?;
                let rows = batch::project(&rows, columns, &node.relaxed())?;
                Ok(Input::Rows(Rows { batches: batch::slices(&rows, batch_rows), memory: None }))
            }
            Operator::Values(listed) => {
                let bindings = run.query.bindings.as_deref();
                let rows = listed.with(bindings.map(|bindings| &bindings.parameters))?;
                Ok(Input::Rows(Rows { batches: batch::slices(&rows, batch_rows), memory: None }))
            }
            _ => Ok(Input::None),
        }
    })
}

/// The build side of a hash join.
async fn built(
    run: &Arc<Run>,
    node: &Node,
    join: &HashJoin,
    scope: Arc<Scope>,
    asked: Asked,
) -> SqlResult<Input> {
    let rules = Arc::new(JoinRules::new(node, join, run.query.batch_rows.max(1))?);
    let space = run.workspace(node, "hash join");
    let sink = Arc::new(BuildSink::new(rules, space, &asked.keys));
    let tail = Tail { ops: vec![], target: Target::unordered(node, sink.clone()) };
    drive_sifted(run, &join.build, Arc::clone(&scope), tail, asked.sieves).await?;
    let busy_ns = &run.query.progress.node(node.id).busy_ns;
    Ok(match busy(busy_ns, sink.finish(run, &scope)).await? {
        Built::Table(probe) => Input::Probe(probe),
        Built::Spilled(join) => Input::SpilledJoin(join),
    })
}

/// The groups of an aggregation.
async fn aggregated(
    run: &Arc<Run>,
    node: &Node,
    (input, sieves): (&Node, Vec<Sieve>),
    grouping: Grouping,
    scope: Arc<Scope>,
) -> SqlResult<Input> {
    let space = run.workspace(node, "aggregate");
    let memory = Some(Arc::clone(&space.memory));
    // Lists have their elements in the order of the rows.
    let ordered = grouping.aggregates.iter().any(AggregateExpr::follows_input);
    let sink = Arc::new(AggregateSink::new(grouping, space));
    let target = Target::Sink { sink: sink.clone(), node: node.id, ordered };
    drive_sifted(run, input, Arc::clone(&scope), Tail { ops: vec![], target }, sieves).await?;
    let busy_ns = &run.query.progress.node(node.id).busy_ns;
    Ok(match busy(busy_ns, sink.finish(run, &scope)).await? {
        Aggregated::Rows(batches) => Input::Rows(Rows { batches, memory }),
        Aggregated::Spilled(groups) => Input::Source(Arc::new(groups)),
    })
}

/// Runs the subtree of `node` into a sink.
pub(crate) fn fill<'a>(
    run: &'a Arc<Run>,
    node: &'a Node,
    scope: Arc<Scope>,
    target: Target,
) -> LocalFuture<'a, SqlResult<()>> {
    drive(run, node, scope, Tail { ops: vec![], target })
}

/// The rows of a limit. What produces them runs in a scope of its own, which ends with the last
/// row.
async fn first_rows(
    run: &Arc<Run>,
    node: &Node,
    input: &Node,
    scope: Arc<Scope>,
    skip: usize,
    fetch: usize,
) -> SqlResult<Input> {
    if fetch == 0 {
        return Ok(Input::None);
    }
    let inside = Scope::inside(&scope);
    let space = run.workspace(node, "limit");
    let sink = Arc::new(First::new(run, &inside, space, skip, fetch));
    let target = Target::Sink { sink: sink.clone(), node: node.id, ordered: true };
    let result = fill(run, input, inside, target).await;
    if scope.is_stopped() {
        return Err(halted());
    }
    if !sink.is_full() {
        result?;
    }
    Ok(Input::Source(Arc::new(sink.finish())))
}

/// A pipeline, ready to run.
struct Pipeline {
    tail: Tail,
    /// Per spine node, lowest first: its plan node, the operator after it, and what it was made of.
    flushes: Vec<(usize, usize, Input)>,
    /// Nothing that enters before this operator can leave it.
    void_until: usize,
    /// Whether an operator depends on the order of its rows (an offset).
    order_matters: bool,
    /// Whether rows leave its leaf in an order to be kept.
    has_order: bool,
    /// What the leaf needs or yields.
    leaf: Input,
}

fn assemble(
    run: &Run,
    spine: &[&Node],
    leaf: &Node,
    mut inputs: Vec<Input>,
    tail: Tail,
) -> SqlResult<Pipeline> {
    let leaf_input = inputs.pop().unwrap_or(Input::None);
    let mut pipeline = Pipeline {
        tail: Tail { ops: leaf_op(leaf), target: tail.target.clone() },
        flushes: vec![],
        void_until: 0,
        order_matters: spine.iter().any(|n| matches!(n.operator, Operator::Limit { .. })),
        has_order: leaf.is_ordered() || is_list(spine, leaf),
        leaf: leaf_input,
    };
    for (node, input) in spine.iter().zip(inputs) {
        let op = streaming_op(run, node, &input)?;
        pipeline.tail.ops.push(op);
        let after = pipeline.tail.ops.len();
        if input.is_void() {
            pipeline.void_until = after;
        }
        pipeline.flushes.push((node.id, after, input));
    }
    pipeline.tail.ops.extend(tail.ops);
    Ok(pipeline)
}

fn leaf_op(leaf: &Node) -> Vec<Op> {
    match &leaf.operator {
        Operator::Scan(scan) => vec![Op::Map(Arc::new(ScanRows::new(leaf, scan)))],
        Operator::Union { .. } => {
            vec![Op::Map(Arc::new(Pass { node: leaf.id, schema: leaf.relaxed() }))]
        }
        _ => vec![],
    }
}

fn streaming_op(run: &Run, node: &Node, input: &Input) -> SqlResult<Op> {
    Ok(match (&node.operator, input) {
        (Operator::Filter { predicate, .. }, _) => {
            Op::Map(Arc::new(Filter { node: node.id, predicate: predicate.clone() }))
        }
        (Operator::Project { exprs, as_words, .. }, _) => {
            let (schema, exprs) = (node.relaxed(), exprs.clone());
            Op::Map(Arc::new(Project { node: node.id, exprs, as_words: *as_words, schema }))
        }
        (Operator::Unnest { columns, .. }, _) => {
            let given = run.query.bindings.as_ref().map(|bindings| &bindings.parameters);
            let (columns, schema) = ((&columns[..], given), node.relaxed());
            let batch_rows = run.query.batch_rows.max(1);
            Op::Map(Arc::new(Unnest::new(node.id, columns, schema, batch_rows)))
        }
        (Operator::Limit { skip, .. }, _) => Op::Map(Arc::new(Skip::new(node.id, *skip))),
        (Operator::LookupJoin(join), _) => {
            let lookup = run.tables.lookup(join)?;
            Op::Lookup(Arc::new(LookupOp::new(node, join, lookup)))
        }
        (_, Input::Probe(probe)) => Op::Map(Arc::clone(probe) as _),
        (_, Input::SpilledJoin(join)) => Op::Divert(Arc::clone(join)),
        (_, Input::Nested(nested)) => Op::Map(Arc::clone(nested) as _),
        (_, Input::Failed(error)) => {
            Op::Map(Arc::new(Refuse { node: node.id, error: error.clone() }))
        }
        _ => return Err(SqlError::internal("not a streaming operator")),
    })
}

impl Pipeline {
    async fn run(
        self,
        run: &Arc<Run>,
        leaf: &Node,
        scope: &Arc<Scope>,
        sieves: Vec<Sieve>,
    ) -> SqlResult<()> {
        let Pipeline { tail, flushes, void_until, order_matters, has_order, leaf: from } = self;
        if scope.is_stopped() {
            return Err(halted());
        }
        if void_until == 0 {
            let order_matters = order_matters || tail.target.order_matters();
            let order_matters = order_matters && has_order;
            let order = Order { order_matters, ..Order::new(scope, &tail) };
            leaf_rows(run, leaf, order, from, sieves).await?;
        }
        for (node, first, input) in flushes {
            if first <= void_until {
                continue;
            }
            if let Input::SpilledJoin(join) = input {
                join.probe_ended().await?;
                from_source(run, node, Order { first, ..Order::new(scope, &tail) }, join).await?;
                continue;
            }
            let rows = match &input {
                Input::Probe(probe) => probe.rest()?,
                Input::Nested(nested) => nested.rest()?,
                _ => vec![],
            };
            produced(run, node, &rows);
            let pieces = rows.into_iter().map(Piece::Rows).collect();
            let order = Order { pieces, first, ..Order::new(scope, &tail) };
            run_stage(run, order).await?;
        }
        Ok(())
    }
}

impl Order {
    fn new(scope: &Arc<Scope>, tail: &Tail) -> Order {
        Order {
            scope: Arc::clone(scope),
            tail: tail.clone(),
            first: 0,
            driver: None,
            pieces: vec![],
            order_matters: false,
        }
    }
}

/// Runs the rows of the leaf through the pipeline.
async fn leaf_rows(
    run: &Arc<Run>,
    leaf: &Node,
    mut order: Order,
    from: Input,
    sieves: Vec<Sieve>,
) -> SqlResult<()> {
    match &leaf.operator {
        Operator::Union { inputs } => {
            for input in inputs {
                let (scope, tail) = (Arc::clone(&order.scope), order.tail.clone());
                drive_sifted(run, input, scope, tail, sieves.clone()).await?;
            }
            Ok(())
        }
        Operator::Scan(scan) => {
            let filters = sideways::of_scan(scan, sieves);
            let source = run.tables.source(scan, &filters)?;
            if !filters.is_empty() && !source.applies_filters() {
                let rows = ScanRows::new(leaf, scan).filtered(filters, &run.query.progress);
                order.tail.ops[0] = Op::Map(Arc::new(rows));
            }
            let pieces = source.roots().into_iter().map(Piece::Part).collect();
            let driver = Some(Driver { source, node: leaf.id, is_scan: true });
            run_stage(run, Order { pieces, driver, ..order }).await
        }
        _ => from_input(run, leaf, order, from).await,
    }
}

/// Runs the rows of a breaker through the pipeline.
async fn from_input(run: &Arc<Run>, leaf: &Node, order: Order, from: Input) -> SqlResult<()> {
    match from {
        Input::Rows(Rows { batches, memory: _held }) => {
            produced(run, leaf.id, &batches);
            let pieces = batches.into_iter().map(Piece::Rows).collect();
            run_stage(run, Order { pieces, ..order }).await
        }
        Input::Source(source) => from_source(run, leaf.id, order, source).await,
        Input::Failed(error) => Err(error),
        _ => Ok(()),
    }
}

/// Runs the rows of a breaker that are not all at hand.
async fn from_source(
    run: &Arc<Run>,
    node: usize,
    order: Order,
    source: Arc<dyn Source>,
) -> SqlResult<()> {
    let pieces = source.roots().into_iter().map(Piece::Part).collect();
    let driver = Some(Driver { source, node, is_scan: false });
    run_stage(run, Order { pieces, driver, ..order }).await
}

fn produced(run: &Run, node: usize, rows: &[RecordBatch]) {
    let figures = run.query.progress.node(node);
    rows.iter().for_each(|b| figures.produced(b.num_rows()));
}

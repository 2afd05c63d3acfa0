//! Hash joins over several nodes: both sides change places by their keys, or the build side goes to
//! all; each node joins what it has. Together they are the join of all rows, by a reference that
//! tests every pair.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use arrow_select::concat::concat_batches;
use exec::{
    Exchange, ExchangeControl, Inputs, Route, Tables, receive_rows, scan_of_exchange, send_rows,
};
use plan::catalog::TableId;
use plan::{HashJoinKind, Node, Plan};
use runtime::net::Socket;
use runtime::sim::NetworkFaults;
use runtime::sync::Cancel;
use runtime::{spawn, spawn_on};
use types::SqlResult;

use super::nodes::{Shape, ended, machine, mesh, seeds, tables, whole};
use crate::build::{HashSpec, expr, hash_join, plan, scan};
use crate::memory::Memory;
use crate::reference::{Cell, evaluate, rows};
use crate::rig::{Dice, Kept};

type Rows = Vec<Vec<Cell>>;

const BUILD: TableId = TableId(11);
const PROBE: TableId = TableId(12);

const KINDS: [HashJoinKind; 10] = [
    HashJoinKind::Inner,
    HashJoinKind::BuildOuter,
    HashJoinKind::ProbeOuter,
    HashJoinKind::FullOuter,
    HashJoinKind::BuildSemi,
    HashJoinKind::BuildAnti,
    HashJoinKind::BuildMark,
    HashJoinKind::ProbeSemi,
    HashJoinKind::ProbeAnti,
    HashJoinKind::ProbeMark,
];

/// Kinds whose answer for a probe row needs nothing but that row and the whole build side.
const BY_PROBE_ROW: [HashJoinKind; 5] = [
    HashJoinKind::Inner,
    HashJoinKind::ProbeOuter,
    HashJoinKind::ProbeSemi,
    HashJoinKind::ProbeAnti,
    HashJoinKind::ProbeMark,
];

/// A join of all nodes.
#[derive(Clone)]
struct Join {
    seed: u64,
    shape: Shape,
    kind: HashJoinKind,
    keys: Vec<&'static str>,
    filter: Option<&'static str>,
    nulls_match: bool,
    null_aware: bool,
    /// The build side goes to all nodes, the probe side stays where it is.
    is_broadcast: bool,
    memories: Vec<Arc<Memory>>,
}

impl Join {
    fn of(seed: u64) -> Join {
        let mut dice = Dice(seed);
        let shape = Shape::random(&mut dice);
        let is_broadcast = dice.chance(30);
        let kinds = if is_broadcast { &BY_PROBE_ROW[..] } else { &KINDS[..] };
        let kind = kinds[dice.roll(kinds.len())];
        let keys = [vec!["c0"], vec!["c1"], vec!["c2"], vec!["c0", "c2"], vec!["c0", "c1", "c5"]];
        let keys = keys[dice.roll(keys.len())].clone();
        let mut memories = tables(&mut dice, shape.nodes, 60);
        if dice.chance(30) {
            memories = memories.iter().map(|memory| skewed(memory)).collect();
        }
        // NOT IN looks at all rows of the other side: they are on one node only if it is broadcast.
        let null_aware =
            is_broadcast && kind == HashJoinKind::ProbeAnti && keys.len() == 1 && dice.chance(50);
        Join {
            seed,
            kind,
            filter: (!null_aware && dice.chance(30)).then_some("c1 < c7"),
            nulls_match: !null_aware && dice.chance(30),
            null_aware,
            shape,
            keys,
            is_broadcast,
            memories,
        }
    }

    fn node(&self, build: Node, probe: Node) -> Node {
        let spec = HashSpec {
            kind: self.kind,
            build_keys: &self.keys,
            probe_keys: &self.keys,
            filter: self.filter,
            null_equals_null: self.nulls_match,
            null_aware: self.null_aware,
        };
        hash_join(build, probe, &spec)
    }

    fn by_keys(&self, table: &str) -> Route {
        let over = scan(table);
        Route::Hash(self.keys.iter().map(|key| expr(key, &over)).collect())
    }

    /// The rows of the join of all tables.
    fn answer(&self) -> Rows {
        let all = |name: &str| {
            let parts: Vec<RecordBatch> =
                self.memories.iter().map(|m| m.tables[name].clone()).collect();
            (name.to_owned(), concat_batches(&parts[0].schema(), &parts).expect("of one schema"))
        };
        let (behaviour, leaf_rows) = (Arc::default(), 1);
        let memory = Memory { tables: HashMap::from([all("t"), all("u")]), behaviour, leaf_rows };
        let mut answer = rows(&[evaluate(&self.node(scan("t"), scan("u")), &memory)]);
        answer.sort();
        answer
    }
}

/// The same tables with one key in nearly all rows.
fn skewed(memory: &Memory) -> Arc<Memory> {
    let skew = |(name, rows): (&String, &RecordBatch)| {
        let mut columns = rows.columns().to_vec();
        let key = |row| if row % 20 == 0 { Some(row % 7) } else { Some(3) };
        let keys: Int32Array = (0..rows.num_rows() as i32).map(key).collect();
        columns[0] = Arc::new(keys) as ArrayRef;
        (name.clone(), RecordBatch::try_new(rows.schema(), columns).expect("the same types"))
    };
    let tables = memory.tables.iter().map(skew).collect();
    let (behaviour, leaf_rows) = (Arc::clone(&memory.behaviour), memory.leaf_rows);
    Arc::new(Memory { tables, behaviour, leaf_rows })
}

/// A side of a join on a node: its table goes into an exchange, whose rows come out at the leaf.
struct Side {
    leaf: Node,
    input: Option<(TableId, Exchange)>,
    plan: Arc<Plan>,
}

fn side(join: &Join, node: usize, id: TableId, route: Route, streams: Vec<Option<Socket>>) -> Side {
    let plan = whole(if id == BUILD { "t" } else { "u" });
    let options = join.shape.options(u64::from(id.0), node, &plan, route);
    let exchange = Exchange::begin(options, streams).expect("an exchange");
    let leaf = scan_of_exchange(id, &plan.root.schema).expect("types of tables");
    Side { leaf, input: Some((id, exchange)), plan }
}

/// A node: its rows of both sides go out, what comes in is joined.
async fn run_node(
    join: Join,
    node: usize,
    build: Vec<Option<Socket>>,
    probe: Vec<Option<Socket>>,
) -> (SqlResult<()>, Rows) {
    let memory = &join.memories[node];
    let build_route = if join.is_broadcast { Route::Broadcast } else { join.by_keys("t") };
    let build = side(&join, node, BUILD, build_route, build);
    let probe = match join.is_broadcast {
        true => Side { leaf: scan("u"), input: None, plan: whole("u") },
        false => side(&join, node, PROBE, join.by_keys("u"), probe),
    };
    let joined = plan(join.node(build.leaf, probe.leaf));
    let (mut inputs, mut controls, mut sending) = (vec![], vec![], vec![]);
    for (input, plan) in [(build.input, build.plan), (probe.input, probe.plan)] {
        let Some((id, Exchange { outgoing, incoming, control })) = input else { continue };
        let query = join.shape.query(&plan, &Cancel::new());
        sending.push(spawn(send_rows(plan, Arc::clone(memory) as _, query, outgoing)));
        inputs.push((id, incoming));
        controls.push(control);
    }
    let kept = Arc::new(Kept { batches: Mutex::default(), wanted: usize::MAX });
    let inputs = Inputs::new(Arc::clone(memory) as Arc<dyn Tables>, inputs);
    let query = join.shape.query(&joined, &Cancel::new());
    let mut result = receive_rows(joined, inputs, query, Arc::clone(&kept) as _, &controls).await;
    for sending in sending {
        result = result.and(sending.await.expect("no panic"));
    }
    result = result.and(all_ended(&controls).await);
    let rows = rows(&kept.batches.lock().unwrap());
    (result, rows)
}

async fn all_ended(controls: &[ExchangeControl]) -> SqlResult<()> {
    for control in controls {
        control.ended().await?;
    }
    Ok(())
}

fn run(join: Join) -> (SqlResult<()>, Rows) {
    let faults = match join.seed % 3 {
        0 => NetworkFaults::default(),
        _ => NetworkFaults::short_and_late(),
    };
    let (seed, workers) = (join.seed, join.shape.workers);
    let (_, runtime) = machine(seed, workers, faults);
    runtime.block_on(move || async move {
        let build = mesh(join.shape.nodes).await;
        let probe = mesh(join.shape.nodes).await;
        let node = |(node, (build, probe))| {
            let join = join.clone();
            spawn_on(node % workers, move || run_node(join, node, build, probe))
        };
        let nodes: Vec<_> = build.into_iter().zip(probe).enumerate().map(node).collect();
        let (mut result, mut rows) = (Ok(()), vec![]);
        for node in nodes {
            let (of_node, rows_of_node) = ended(node, seed).await;
            result = result.and(of_node);
            rows.extend(rows_of_node);
        }
        (result, rows)
    })
}

#[test]
fn joins_of_nodes_are_the_join_of_all_rows() {
    for seed in seeds(60) {
        let join = Join::of(seed);
        let expected = join.answer();
        let text = format!(
            "seed {seed}: {:?} on {:?} by {} nodes, {:?}",
            join.kind, join.keys, join.shape.nodes, join.shape.way
        );
        let (result, mut got) = run(join);
        assert_eq!(result, Ok(()), "{text}");
        got.sort();
        assert_eq!(got, expected, "{text}");
    }
}

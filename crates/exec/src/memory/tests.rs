//! Floors, growth, and who is refused.

use plan::Plan;
use runtime::Runtime;

use super::*;

const MB: usize = 1 << 20;

fn grant(governor: &Governor, floor_bytes: usize, operator_bytes_max: usize) -> Grant {
    let governor = governor.clone();
    Grant(Arc::new(Admission {
        governor,
        floor_bytes,
        operator_bytes_max,
        is_stingy: false,
        _floors: None,
    }))
}

#[test]
fn a_floor_is_never_refused_and_growth_is_shared() {
    let governor = Governor::new(16 * MB);
    let (a, b) = (grant(&governor, MB, usize::MAX), grant(&governor, MB, usize::MAX));
    let (a, b) = (a.reserve("sort"), b.reserve("aggregate"));
    assert!(a.try_grow(13 * MB), "a floor of 1 MB and all 12 MB of growth");
    assert!(!a.try_grow(1));
    assert!(b.try_grow(MB), "its floor");
    assert!(!b.try_grow(1));
    a.shrink(2 * MB);
    assert!(b.try_grow(2 * MB));
    drop((a, b));
    assert_eq!(governor.growth(), (0, 12 * MB));
}

#[test]
fn an_operator_has_a_limit_of_its_own() {
    let governor = Governor::new(16 * MB);
    let sort = grant(&governor, MB, 2 * MB).reserve("sort");
    assert!(sort.try_grow(2 * MB));
    let error = sort.grow(MB).unwrap_err();
    assert_eq!(error.state, SqlState::OUT_OF_MEMORY);
    assert_eq!(error.detail.as_deref(), Some("The sort holds 2 MiB and needs 1 MiB more."));
    assert_eq!(error.hint.as_deref(), Some("Raise work_mem."));
}

/// Two threads that hold and give back what goes beyond a floor: nothing is given back that was not
/// taken.
#[test]
fn an_account_of_two_threads_is_right_at_every_moment() {
    let governor = Governor::new(16 * MB);
    let shared = grant(&governor, MB, usize::MAX).reserve("sort");
    std::thread::scope(|threads| {
        for takes in [
            Reservation::hold as fn(&Reservation, usize),
            |own, bytes| {
                while !own.try_grow(bytes) {}
            },
        ] {
            let (own, governor) = (&shared, &governor);
            threads.spawn(move || {
                for _ in 0..200_000 {
                    takes(own, 3 * MB);
                    assert!(governor.growth().0 <= 5 * MB + 3 * MB, "what is tried counts twice");
                    own.shrink(3 * MB);
                }
            });
        }
    });
    assert_eq!((shared.used(), governor.growth().0), (0, 0));
    assert!(governor.growth().1 <= 8 * MB);
}

#[test]
fn queries_wait_for_floors_in_turn() {
    let config = runtime::Config { workers: 1, ..Default::default() };
    let runtime = Runtime::start(config).expect("a runtime starts");
    runtime.block_on(|| async {
        // A quarter of a megabyte of floors is four of the smallest.
        let governor = Governor::new(MB);
        let plan = Arc::new(sorting_plan());
        let mut admitted = vec![];
        for _ in 0..4 {
            admitted.push(governor.admit(&plan, 0).await);
        }
        let waiting = {
            let (governor, plan) = (governor.clone(), Arc::clone(&plan));
            runtime::spawn(async move { drop(governor.admit(&plan, 0).await) })
        };
        for _ in 0..10 {
            runtime::yield_now().await;
        }
        assert!(!waiting.is_finished(), "the fifth waits");
        admitted.pop();
        waiting.await.expect("it is admitted when another has ended");
    });
}

#[test]
fn a_query_that_gathers_nothing_does_not_wait() {
    let runtime = Runtime::start(runtime::Config::default()).expect("a runtime starts");
    runtime.block_on(|| async {
        let governor = Governor::new(MB);
        let _all = governor.0.floors.acquire_many(governor.0.floor_units).await;
        let plan = Plan { root: Arc::new(values()), node_count: 1, bindings: None, program: None };
        governor.admit(&plan, 0).await;
    });
}

fn node(id: usize, operator: Operator) -> Node {
    let schema = Arc::new(arrow_schema::Schema::empty());
    let mut node = Node::new(operator, schema, 0.0, 0.0);
    node.id = id;
    node
}

fn values() -> Node {
    let schema = Arc::new(arrow_schema::Schema::empty());
    node(0, Operator::Values(arrow_array::RecordBatch::new_empty(schema).into()))
}

fn sorting_plan() -> Plan {
    let sort = Operator::Sort { input: Box::new(values()), keys: vec![], fetch: None };
    Plan { root: Arc::new(node(0, sort)), node_count: 2, bindings: None, program: None }
}

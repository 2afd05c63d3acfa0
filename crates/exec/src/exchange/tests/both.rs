//! Two nodes that keep the rules: memory, large rows, and ends of all kinds.

use std::sync::Arc;

use arrow_array::{ArrayRef, Decimal128Array, Int32Array, RecordBatch, StringViewArray};
use runtime::net::{Socket, Tuning};
use runtime::{Config, RingChoice, Runtime, spawn, time};
use types::{SqlError, SqlResult, SqlState};

use super::{BUFFER_BYTES, EXCHANGE, batch, machine, pair, schema};
use crate::exchange::{Exchange, ExchangeOptions, Incoming, Route};
use crate::memory::{Governor, Grant};
use crate::query::Output;

fn options(node: usize, memory: Grant) -> ExchangeOptions {
    ExchangeOptions {
        memory,
        buffer_bytes: BUFFER_BYTES,
        ..ExchangeOptions::new(EXCHANGE, node, schema(), Route::Broadcast)
    }
}

/// Two nodes, of which each has such memory.
async fn two(memory: impl Fn() -> Grant) -> (Exchange, Exchange) {
    let (one, other): (Socket, Socket) = pair().await;
    let one = Exchange::begin(options(0, memory()), vec![None, Some(one)]);
    let other = Exchange::begin(options(1, memory()), vec![Some(other), None]);
    (one.expect("an exchange"), other.expect("an exchange"))
}

/// All rows that come, counted.
async fn count(incoming: Arc<Incoming>) -> SqlResult<usize> {
    let mut rows = 0;
    while let Some(more) = incoming.next().await? {
        rows += more.num_rows();
    }
    Ok(rows)
}

/// A row with a text of so many bytes.
fn large(bytes: usize) -> RecordBatch {
    let decimals = Decimal128Array::from_iter_values([1]).with_precision_and_scale(20, 2);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from(vec![1])),
        Arc::new(StringViewArray::from_iter_values(["x".repeat(bytes)])),
        Arc::new(decimals.expect("it fits")),
    ];
    RecordBatch::try_new(schema(), columns).expect("a batch")
}

/// Rows of several buffers and small ones, by a node to itself and another one.
fn check_rows(runtime: &Runtime, name: &str) {
    let governor = Governor::new(1 << 30);
    let of = governor.clone();
    runtime.block_on(move || async move {
        let (one, other) = two(|| of.without_plan()).await;
        let counting = spawn(count(other.incoming));
        let own = spawn(count(one.incoming));
        other.outgoing.finish().await.expect("nothing to send");
        for _ in 0..5 {
            assert!(one.outgoing.push(large(100_000)).await.expect("sent"));
            assert!(one.outgoing.push(batch(20)).await.expect("sent"));
        }
        one.outgoing.finish().await.expect("sent");
        assert_eq!(counting.await.expect("no panic"), Ok(105));
        assert_eq!(own.await.expect("no panic"), Ok(105));
        assert_eq!((one.control.ended().await, other.control.ended().await), (Ok(()), Ok(())));
        let figures = (one.control.figures(), other.control.figures());
        assert_eq!((figures.0.own_rows, figures.0.sent_rows), (105, 105));
        assert_eq!(figures.1.received_rows, 105);
        assert!(figures.0.sent_bytes > figures.1.received_bytes, "frames have heads");
    });
    let (now, most) = governor.growth();
    assert_eq!(now, 0, "memory is left: {name}");
    assert!((100_000..2_000_000).contains(&most), "{most}: {name}");
}

#[test]
fn rows_larger_than_all_credits_pass_and_memory_comes_back() {
    check_rows(&machine(3), "a simulation");
}

/// With plain sends and receives, and with lent memory and receives that go on.
#[test]
fn rows_pass_on_real_rings() {
    let all = Tuning { zero_copy: true, multishot_bytes_max: 1 << 20, ..Tuning::default() };
    for (ring, name) in [(RingChoice::Auto, "the best ring"), (RingChoice::Threads, "threads")] {
        for sockets in [Tuning::plain(), all] {
            let name = format!("{name} {sockets:?}");
            let ring = ring.clone();
            let config = Config { workers: 1, ring, pin: false, sockets, ..Config::default() };
            check_rows(&Runtime::start(config).expect("a runtime"), &name);
        }
    }
}

/// Grants that refuse whoever can do without leave one buffer in each direction, and that is
/// enough.
#[test]
fn little_memory_is_enough_and_none_is_an_error() {
    let rows = machine(4).block_on(|| async {
        let (one, other) = two(Grant::spilling).await;
        let counting = spawn(count(other.incoming));
        drop(one.incoming);
        other.outgoing.finish().await.expect("nothing to send");
        for _ in 0..20 {
            one.outgoing.push(batch(100)).await.expect("sent");
        }
        one.outgoing.finish().await.expect("sent");
        counting.await.expect("no panic")
    });
    assert_eq!(rows, Ok(2000));
    let error = machine(4).block_on(|| async {
        let (one, _other) = pair().await;
        let options = options(0, Governor::new(10_000).without_plan());
        Exchange::begin(options, vec![None, Some(one)]).err().expect("no memory")
    });
    assert_eq!(error.state, SqlState::OUT_OF_MEMORY);
}

#[test]
fn ends_of_one_node_are_known_to_the_other() {
    machine(5).block_on(|| async {
        // The plan of one node is dropped before its end.
        let (one, other) = two(Grant::unlimited).await;
        drop(one.outgoing);
        let error = count(other.incoming).await.expect_err("rows are missing");
        assert_eq!(error.state, SqlState::QUERY_CANCELED, "{error:?}");
        assert!(other.outgoing.push(batch(1)).await.is_err());
        // It fails.
        let (one, other) = two(Grant::unlimited).await;
        one.control.fail(SqlError::new(SqlState::DIVISION_BY_ZERO, "division by zero"));
        let error = count(other.incoming).await.expect_err("rows are missing");
        assert_eq!((error.state.0, error.message.as_str()), ("22012", "division by zero"));
        assert_eq!(one.control.ended().await.map_err(|error| error.state.0), Err("22012"));
        // Nobody wants its rows: the producer is told to end, which is no error.
        let (one, other) = two(Grant::unlimited).await;
        drop((one.incoming, other.incoming));
        let mut wanted = true;
        while wanted {
            wanted = one.outgoing.push(batch(10)).await.expect("no error");
            time::sleep(std::time::Duration::from_millis(1)).await;
        }
        one.outgoing.finish().await.expect("no error");
        other.outgoing.finish().await.expect("no error");
        assert_eq!((one.control.ended().await, other.control.ended().await), (Ok(()), Ok(())));
    });
}

#[test]
fn a_node_alone_has_its_own_rows() {
    machine(6).block_on(|| async {
        let alone = Exchange::begin(options(0, Grant::unlimited()), vec![None]);
        let Exchange { outgoing, incoming, control } = alone.expect("an exchange");
        let counting = spawn(count(incoming));
        for _ in 0..50 {
            outgoing.push(batch(30)).await.expect("kept");
        }
        outgoing.finish().await.expect("kept");
        assert_eq!(counting.await.expect("no panic"), Ok(1500));
        assert_eq!(control.ended().await, Ok(()));
        assert!(outgoing.finish().await.is_err(), "finished twice");
    });
}

#[test]
fn streams_that_do_not_fit_are_refused() {
    machine(7).block_on(|| async {
        let begin = |node: usize, peers: Vec<Option<Socket>>| {
            Exchange::begin(options(node, Grant::unlimited()), peers).err().map(|e| e.state.0)
        };
        assert_eq!(begin(0, vec![None, None]), Some("22023"));
        assert_eq!(begin(2, vec![None, None]), Some("22023"));
        assert_eq!(begin(0, vec![]), Some("22023"));
        let (one, _other) = pair().await;
        assert_eq!(begin(0, vec![Some(one), None]), Some("22023"));
    });
}

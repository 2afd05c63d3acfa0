//! What becomes of a transaction whose statement is dropped.

use std::future::{Future, poll_fn};
use std::path::Path;
use std::pin::pin;
use std::task::Poll;

use runtime::sim::Disk;

use crate::activity::status::TransactionStatus;
use crate::database::Database;
use crate::door;
use crate::options::{Options, Simulation};
use crate::result::StatementResult;

#[test]
fn a_statement_that_is_dropped_undoes_its_block() {
    let simulation = Some(Simulation { disk: Disk::new(1), seed: 1 });
    let options = Options { simulation, workers: 1, memory_bytes: 12 << 20, ..Options::few() };
    let db = Database::create(Path::new("/db"), options).expect("a database");
    door::wait(&db.handle(), || {
        Box::pin(async {
            let mut session = db.session();
            let begun = "create table t (a int); begin; insert into t values (1); savepoint s";
            session.run_all(begun).await.expect("begun");
            {
                let insert = session.run_all("insert into t select generate_series(1, 10000)");
                let mut dropped = pin!(insert);
                let begun = poll_fn(|cx| Poll::Ready(dropped.as_mut().poll(cx).is_pending()));
                assert!(begun.await);
            }
            for (text, state) in [("select 1", "25P02"), ("rollback to s", "3B001")] {
                let error = session.run_all(text).await.expect_err(text);
                assert_eq!(error.state.0, state, "{text}");
            }
            assert_eq!(session.transaction_status(), TransactionStatus::Failed);
            let results = session.run_all("rollback; select 1 from t").await.expect("ended");
            assert_eq!(results.last().map(StatementResult::row_count), Some(0));
        })
    });
    db.close().expect("closed");
}

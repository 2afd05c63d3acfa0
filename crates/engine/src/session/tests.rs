use std::path::Path;
use std::time::Duration;

use runtime::sim::Disk;
use runtime::time;

use super::TransactionStatus;
use crate::database::Database;
use crate::door;
use crate::options::{Options, Simulation};
use crate::result::StatementResult;

#[test]
fn a_statement_that_is_dropped_undoes_its_block() {
    let simulation = Some(Simulation { disk: Disk::new(1), seed: 1 });
    let options = Options { simulation, workers: 1, memory_bytes: 12 << 20, ..Options::default() };
    let db = Database::create(Path::new("/db"), options).expect("a database");
    door::wait(&db.handle(), || {
        Box::pin(async {
            let mut session = db.session();
            let begun = "create table t (a int); begin; insert into t values (1); savepoint s";
            session.run_all(begun).await.expect("begun");
            let long = session.run_all("insert into t select 2 from pg_sleep(10)");
            time::timeout(Duration::from_millis(1), long).await.expect_err("too long");
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

//! The embeddable database: catalog, sessions, settings, and the sources that feed `exec` from
//! `storage`.
//!
//! ```no_run
//! use engine::Database;
//! let db = Database::create("shop.dovetail".as_ref(), pg::options())?;
//! let mut session = db.session();
//! session.execute("create table t (a int primary key, b text)")?;
//! session.execute("insert into t values (1, 'one')")?;
//! for result in session.execute("select b from t where a = 1")? {
//!     println!("{result:?}");
//! }
//! db.close()?;
//! # Ok::<(), engine::SqlError>(())
//! ```
//!
//! Rows by their primary key, and SQL, in one transaction that is done again after a conflict:
//!
//! ```no_run
//! use engine::{Database, Datum, KeyRange, TransactionOptions};
//! # let db = Database::open("shop.dovetail".as_ref(), pg::options())?;
//! let again = TransactionOptions { attempts: 5, ..TransactionOptions::default() };
//! let rows = db.transaction(&again, async |tx| {
//!     if let Some(mut row) = tx.get("t", &[1.into()]).await? {
//!         row[1] = Datum::from("uno");
//!         tx.put("t", &row).await?;
//!     }
//!     tx.delete("t", &[2.into()]).await?;
//!     tx.run_all("notify t").await?;
//!     tx.scan("t", &KeyRange::default()).await
//! })?;
//! println!("{rows:?}");
//! # Ok::<(), engine::SqlError>(())
//! ```

mod access;
mod activity;
mod analyze;
mod backup;
mod beside;
mod block;
mod catalog;
mod check;
mod columns;
mod comments;
mod commit;
mod copy;
mod cursors;
mod database;
mod datum;
mod ddl;
mod deferred;
mod device;
mod dml;
mod door;
mod explain;
mod fault;
mod figures;
mod files;
mod freeing;
mod held;
mod input;
mod isolation;
mod lent;
mod load;
mod many;
mod memory;
mod notice;
mod notifications;
mod numbers;
mod objects;
mod options;
mod parts;
mod pipe;
mod planning;
mod plans;
mod prepared;
mod privileges;
mod probed;
mod query;
mod recent;
mod recovery;
mod relation;
mod reorganize;
mod replica;
mod replication;
mod reserved;
mod restore;
mod result;
mod secrecy;
mod secrets;
mod session;
mod settings;
pub mod simulation;
mod sorter;
mod statements;
mod stream;
mod succession;
pub mod system;
mod texts;
mod timeout;
mod traced;
mod versions;
mod view;
mod volume;
mod writing;

pub use crate::access::verifier::{Credentials, Verifier, scram_proof};
pub use crate::activity::cancel::CancelHandle;
pub use crate::activity::merges::{MergeEnded, MergeLog};
pub use crate::activity::replicas::{ReplicaSeen, Replicas, Shown};
pub use crate::activity::statistics::{StatementStatistics, Statistics, Times};
pub use crate::activity::status::TransactionStatus;
pub use crate::activity::totals::{DURATION_BOUNDS, Histogram, Outcome, Totals};
pub use crate::activity::{LiveQuery, StatementActivity};
pub use crate::copy::out::CopyFormatter;
pub use crate::copy::to::nothing_returned;
pub use crate::load::table_loader::{LoadReport, TableLoader};
pub use crate::parts::status::MergeStatus;
pub use crate::session::client::COPY_CHUNKS;
pub use crate::session::client::Client;
pub use crate::session::keyed::KeyRange;
pub use crate::session::program::TransactionOptions;
pub use crate::session::state::Session;
pub use crate::settings::configuration::{Change, Configuration, Origin};
pub use crate::settings::document::settings_markdown;
pub use crate::settings::setting::{Context, Kind, Setting, Unset};
pub use crate::settings::value::Value;
pub use crate::settings::{ExecutionMode, Settings};
pub use activity::{Activities, Activity, Announced};
pub use check::{CHECK_COLUMN, CheckReport, probe_damage};
pub use cursors::CursorInfo;
pub use database::Database;
pub use datum::Row;
pub use device::DeviceChoice;
pub use exec::NodeSnapshot;
pub use figures::{QueryFigures, StaticSpread};
pub use held::{Account, Held};
pub use isolation::Isolation;
pub use lent::Lent;
pub use notice::Notice;
pub use notifications::Notification;
pub use options::{Options, RingKind, Simulation};
pub use pipe::{PipeReceiver, PipeSender, pipe};
pub use plan::catalog::{IndexDef, TableDef, TableStorage};
pub use prepared::{PointExecution, Prepared};
pub use privileges::{STATEMENT_KINDS, statement_kind};
pub use recovery::RecoveryWatch;
pub use relation::partition::Partition;
pub use relation::seek::FoundRows;
pub use replica::{Replica, ReplicaOptions, Upstream, promote, request_path};
pub use replication::ReplicaFigures;
pub use restore::{moment, restore};
pub use result::{ResultSet, StatementResult};
pub use secrecy::without_secrets;
pub use session::parts::Part;
pub use sql::parse::{
    Copied, Copy, CopyFormat, CopySource, CopyTarget, CopyTo, CursorStatement, DeclareCursor,
    Discard, Fetch, RoleStatement, Transaction, Which, no_block, no_cursor,
};
pub use sql::{
    CodeTotals, DeviceProfile, NamedRelation, Parameter, Query, Shape, Statement, Template,
};
pub use sql::{code_totals, explain_json, explain_masked};
pub use statements::{Executed, NamedStatement, no_statement, nulls};
pub use storage::{
    ArchiveOptions, ArchiveStatus, LogPosition, MemberInfo, RestoreProgress, Restored, Until,
    VolumeOptions,
};
pub use storage::{Courier, FollowError, Inbox, SegmentPlace, Shipment};
pub use stream::{Portion, RowStream};
pub use txn::locks::log::{LockLog, LockWaited};
pub use types::{Datum, SqlError, SqlResult, SqlState};
pub use volume::{add_member, members, remove_member};

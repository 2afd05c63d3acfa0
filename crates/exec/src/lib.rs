//! Runs physical plans as trees of tasks.
//!
//! A plan is cut into pipelines (source, streaming operators, sink). How much of a pipeline is in
//! progress at once is the answer of a decomposition [`policy`]: the same operators run one after
//! the other, statically partitioned, or out of order as a tree of tasks (anagodb paper, section
//! 2). The rules that the code keeps are numbered in the crate's README.

mod aggregate;
mod batch;
mod codegen;
mod codes;
mod collect;
mod cte;
mod drive;
mod exchange;
mod execute;
mod first;
mod flow;
mod footprint;
mod group_table;
mod groups;
mod hash_join;
mod in_flight;
mod jobs;
mod join_filter;
mod join_table;
mod keys;
mod limits;
mod locals;
mod lookup;
mod map;
mod memory;
mod nested;
mod notify;
mod owing;
mod pairs;
mod partition;
mod pieces;
mod policy;
mod preempt;
mod program;
mod progress;
mod put_away;
mod query;
mod recursive;
mod run;
mod scope;
mod sequential;
mod shared;
mod sideways;
mod sink;
mod sort;
mod source;
mod spill;
mod spine;
mod stage;
mod statics;
mod streaming;
mod target;
mod task;
mod timing;
mod unnest;
mod window;
mod workspace;

pub use codegen::codegen;
pub use exchange::{
    Exchange, ExchangeControl, ExchangeFigures, ExchangeOptions, Incoming, Inputs, Outgoing, Route,
    receive_rows, scan_of_exchange, send_rows,
};
pub use execute::execute;
pub use footprint::batch_bytes;
pub use join_filter::JoinFilter;
pub use memory::values::ValueAccount;
pub use memory::{Governor, Grant, Reservation};
pub use program::{Found, Room, RowTables, Stopped, batch_of_cells, program_batch, run_program};
pub use progress::{
    NodeFigures, NodeSnapshot, PartitionTime, Progress, ProgressSnapshot, TaskCounts,
};
pub use query::{LOOKUP_BATCH_ROWS, Mode, Output, PARTS_PER_WORKER, Query, RESULT_BATCH_ROWS};
pub use source::{
    Access, Depth, LocalFuture, Lookup, Matches, Part, ScanFilter, Skips, Source, Step, Tables,
};

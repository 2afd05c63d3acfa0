//! `CREATE` and `ALTER` of tables and sequences, `CREATE INDEX`, `DROP`.

pub(crate) mod alter;
pub(crate) mod create;
pub(crate) mod drop;
pub(crate) mod index;
pub(crate) mod names;
pub(crate) mod sequence;

//! `CREATE` and `ALTER` of tables and sequences, `CREATE INDEX`, `DROP`.

pub(crate) mod alter;
pub(crate) mod comment;
pub(crate) mod create;
pub(crate) mod drop;
pub(crate) mod grant;
pub(crate) mod index;
pub(crate) mod names;
pub(crate) mod refresh;
pub(crate) mod roles;
pub(crate) mod secret;
pub(crate) mod sequence;

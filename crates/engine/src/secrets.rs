//! Keys of object stores: `CREATE SECRET` and `DROP SECRET`. They are kept in the catalog and shown
//! nowhere: not by `Debug`, not in errors, not in the text of statements (`secrecy.rs`).

pub(crate) mod of_locations;
pub(crate) mod options;
pub(crate) mod stored;

//! The cursors of a session, as `pg_cursors` shows them. Who serves the session has them; here is what
//! is known of them.

use std::collections::BTreeMap;

use crate::activity::Announced;

/// A cursor.
#[derive(Clone, Debug)]
pub struct CursorInfo {
    /// The statement that declared it, as others see it.
    pub text: Announced,
    /// Whether its rows are in binary format.
    pub binary: bool,
    /// Whether it outlives its transaction.
    pub is_held: bool,
    /// When it was declared, in microseconds since 1970.
    pub declared_us: i64,
}

/// Cursors by name.
pub(crate) type Cursors = BTreeMap<String, CursorInfo>;

impl CursorInfo {
    /// A cursor that is declared now.
    pub fn new(text: Announced, binary: bool, is_held: bool) -> CursorInfo {
        CursorInfo { text, binary, is_held, declared_us: runtime::time::unix_us() }
    }
}

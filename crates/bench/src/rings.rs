//! Both I/O back ends in one run: io_uring beside threads that wait in system calls.

use engine::{Database, RingKind, SqlError, SqlResult};

/// What is compared. The first is what the others are compared with.
pub const RINGS: [RingKind; 2] = [RingKind::Uring, RingKind::Threads];

/// Numbers of [`RINGS`]; who goes first changes from round to round.
pub fn in_turn(round: usize) -> [usize; 2] {
    [round % 2, (round + 1) % 2]
}

/// A back end that is silently another one would be compared with itself.
///
/// # Errors
/// When `db` is served by another one than `ring`.
pub fn must_serve(db: &Database, ring: RingKind) -> SqlResult<()> {
    let serves = db.rings()[0].kind.to_string();
    if ring != RingKind::Auto && serves != ring.name() {
        return Err(SqlError::internal(format!("{serves} serves, {} was asked for", ring.name())));
    }
    Ok(())
}

/// Whether io_uring serves: on a kernel without it there is nothing to compare with.
pub fn is_uring(db: &Database) -> bool {
    db.rings()[0].kind == runtime::RingKind::Uring
}

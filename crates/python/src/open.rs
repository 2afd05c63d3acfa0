//! The databases that this process has open: connections to the same file share one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::{Database, SqlError, SqlResult, SqlState};

/// What a connection may say about its database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wish {
    /// Memory of the database, in bytes.
    pub memory_bytes: Option<usize>,
    /// Worker threads.
    pub workers: Option<usize>,
}

struct Opened {
    db: Database,
    memory_bytes: usize,
    connection_count: usize,
}

static OPEN: Mutex<BTreeMap<PathBuf, Opened>> = Mutex::new(BTreeMap::new());

fn opened() -> MutexGuard<'static, BTreeMap<PathBuf, Opened>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The database of a file, which is created if there is none, and the name that it is open under. Each
/// call wants one of [`leave`].
///
/// # Errors
/// What opening says; 55000 when it is open with other memory or workers than those that are wished for.
pub(crate) fn enter(path: &Path, wish: Wish) -> SqlResult<(PathBuf, Database)> {
    let path = name_of(path)?;
    let mut all = opened();
    if let Some(known) = all.get_mut(&path) {
        known.agrees(wish)?;
        known.connection_count += 1;
        return Ok((path, known.db.clone()));
    }
    let mut options = pg::options();
    options.memory_bytes = wish.memory_bytes.unwrap_or(options.memory_bytes);
    options.workers = wish.workers.unwrap_or(options.workers);
    let memory_bytes = options.memory_bytes;
    let db = match path.exists() {
        true => Database::open(&path, options)?,
        false => Database::create(&path, options)?,
    };
    let connection_count = 1;
    all.insert(path.clone(), Opened { db: db.clone(), memory_bytes, connection_count });
    Ok((path, db))
}

/// A connection has ended, and holds nothing of the database any more. The last one closes it.
///
/// # Errors
/// What closing says; the file is closed in any case.
pub(crate) fn leave(path: &Path) -> SqlResult<()> {
    let mut all = opened();
    let Some(known) = all.get_mut(path) else { return Ok(()) };
    known.connection_count -= 1;
    if known.connection_count > 0 {
        return Ok(());
    }
    // Whoever opens the file next waits until it is closed.
    all.remove(path).map_or(Ok(()), |known| known.db.close())
}

impl Opened {
    fn agrees(&self, wish: Wish) -> SqlResult<()> {
        let other_memory = wish.memory_bytes.is_some_and(|wished| wished != self.memory_bytes);
        let other_workers = wish.workers.is_some_and(|wished| wished != self.db.worker_count());
        if !other_memory && !other_workers {
            return Ok(());
        }
        let message = "this process has the database open with other memory or workers";
        Err(SqlError::new(SqlState("55000"), message)
            .with_hint("Leave them out, or close the other connections."))
    }
}

/// The same path for the same file, however it is named.
fn name_of(path: &Path) -> SqlResult<PathBuf> {
    let absolute = std::path::absolute(path);
    let found = absolute.and_then(|path| match (path.canonicalize(), path.parent()) {
        (Err(_), Some(parent)) => {
            Ok(parent.canonicalize()?.join(path.file_name().unwrap_or_default()))
        }
        (found, _) => found,
    });
    found.map_err(|error| {
        let message = format!("could not open file \"{}\"", path.display());
        SqlError::new(SqlState("58P01"), message).with_detail(error.to_string())
    })
}

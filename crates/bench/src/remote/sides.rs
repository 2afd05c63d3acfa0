//! The same tables twice: with their chunks in the file and that in memory, and as objects in the store.

use std::path::Path;

use engine::{Database, Options, Session, SqlResult, TableStorage};

use super::{Wish, failed};
use crate::tpch::{self, LoadEvent};

pub(super) const BUCKET: &str = "bucket";

/// Where the tables are, each in a folder of its own.
pub(super) const LOCATION: &str = "s3://bucket/tpch";

/// The pool of a database whose file has headers and little else.
const POOL_BYTES: usize = 128 << 20;

/// A database with one session.
pub(super) struct Side {
    pub(super) db: Database,
    pub(super) session: Session,
}

/// Both databases.
pub(super) struct Sides {
    pub(super) local: Side,
    pub(super) remote: Side,
}

/// What makes the store known. Requests cost what they do at S3, $0.40 for a million, so that figures have a price.
pub(super) fn secret(url: &str) -> String {
    format!(
        "create secret store (type s3, key_id 'id', secret 'key', endpoint '{url}', request_price '0.4')"
    )
}

impl Side {
    fn of(db: Database) -> Side {
        let session = db.session();
        Side { db, session }
    }

    fn close(self) -> SqlResult<()> {
        drop(self.session);
        self.db.close()
    }
}

impl Sides {
    /// Makes both in `folder`.
    pub(super) fn load(wish: &Wish, folder: &Path, url: &str) -> SqlResult<Sides> {
        let with = |pool_bytes: usize| Options {
            memory_bytes: pool_bytes + wish.options.memory_bytes,
            pool_bytes: Some(pool_bytes),
            ..wish.options.clone()
        };
        let path = folder.join("local.dovetail");
        let db = Database::create(&path, with(POOL_BYTES))?;
        load(&db, wish, None)?;
        db.close()?;
        // All of it, and room for what is made while it runs.
        let file_bytes = std::fs::metadata(&path).map_err(failed)?.len() as usize;
        let local = Database::open(&path, with(file_bytes + file_bytes / 8 + POOL_BYTES))?;
        let remote = Database::create(&folder.join("remote.dovetail"), with(POOL_BYTES))?;
        remote.session().execute(&secret(url))?;
        load(&remote, wish, Some(LOCATION))?;
        Ok(Sides { local: Side::of(local), remote: Side::of(remote) })
    }

    pub(super) fn close(self) -> SqlResult<()> {
        self.local.close()?;
        self.remote.close()
    }
}

fn load(db: &Database, wish: &Wish, location: Option<&str>) -> SqlResult<()> {
    let place = location.unwrap_or("the file");
    tpch::load(db, wish.scale, TableStorage::Column, location, |event| {
        if let LoadEvent::Writing(table) = event {
            eprintln!("loaded {table}, into {place}");
        }
    })
}

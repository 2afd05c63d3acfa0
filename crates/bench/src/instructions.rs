//! `dovetail bench instructions`: so many executions of one statement, for a program around this
//! one that counts instructions (`tests/compare/instructions.py`). It measures nothing itself.

use std::path::Path;

use engine::{Database, Datum, NamedStatement, Options, RingKind, Session, SqlError, SqlResult};
use stdx::Prng;

/// Rows of the table, whose keys are the even numbers: half of the keys that are drawn are missing.
const ROW_COUNT: u64 = 10_000;

/// Memory of the database: the table is a small part of it.
const MEMORY_BYTES: usize = 256 << 20;

/// The statement or call that is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// `SELECT` of one row by its key.
    LookUp,
    /// `SELECT` of ten rows by a range of keys.
    Range,
    /// `UPDATE` of one row by its key.
    Update,
    /// `INSERT` of one row.
    Insert,
    /// `DELETE` of one row by its key.
    Delete,
    /// `SELECT .. FOR UPDATE` of one row by its key, which has no plan for all values.
    Locked,
    /// `SELECT` of a join of two look-ups.
    Join,
    /// `UPDATE` by a key with a value that has no plan for all values.
    Computed,
    /// `INSERT` of two rows that has no plan for all values.
    Rows,
    /// `Session::get`.
    Get,
    /// `Session::put`.
    Put,
}

impl Work {
    /// Every work, by the name that the command line has for it.
    pub const ALL: [(&'static str, Work); 11] = [
        ("look-up", Work::LookUp),
        ("range", Work::Range),
        ("update", Work::Update),
        ("insert", Work::Insert),
        ("delete", Work::Delete),
        ("locked", Work::Locked),
        ("join", Work::Join),
        ("computed", Work::Computed),
        ("rows", Work::Rows),
        ("get", Work::Get),
        ("put", Work::Put),
    ];

    fn text(self) -> Option<&'static str> {
        match self {
            Work::LookUp => Some("select a, b, c from t where a = $1"),
            Work::Range => Some("select a, b, c from t where a >= $1 and a < $1 + 20 order by a"),
            Work::Update => Some("update t set b = b + 1 where a = $1"),
            Work::Insert => Some("insert into t (a, b, c) values ($1, 1, 'something')"),
            Work::Delete => Some("delete from t where a = $1"),
            Work::Locked => Some("select a, b, c from t where a = $1 for update"),
            Work::Join => Some("select x.b, y.c from t x join t y on y.a = 2 * x.b where x.a = $1"),
            Work::Computed => {
                Some("update t set b = b + 1, c = repeat('x', ($1 % 5)::int) where a = $1")
            }
            Work::Rows => Some(
                "insert into t (a, b, c) values ($1, 1, repeat('x', ($1 % 5)::int)), \
                 (-$1, 2, 'something')",
            ),
            Work::Get | Work::Put => None,
        }
    }
}

/// Makes a table in `folder` and executes `work` so often, prepared, or `as_text` with the values
/// in the text. The keys are drawn by chance; those of inserted rows are new.
///
/// # Errors
/// Those of the engine; 0A000 for a work that has no text.
pub fn run(folder: &Path, work: Work, count: u64, as_text: bool) -> SqlResult<()> {
    let options = Options {
        memory_bytes: MEMORY_BYTES,
        workers: 1,
        ring: RingKind::Threads,
        ..pg::options()
    };
    let db = Database::create(&folder.join("instructions.dovetail"), options)?;
    eprintln!("ring {}", db.file_backend());
    db.session().execute(&format!(
        "create table t (a bigint primary key, b int not null, c text not null);
         insert into t select 2 * i, i, 'row ' || i from generate_series(1, {ROW_COUNT}) i;
         analyze t"
    ))?;
    let session = db.session();
    let task = move || executed(session, work, count, as_text);
    let done = db.runtime_handle().block_on(task);
    db.close()?;
    done
}

async fn executed(mut session: Session, work: Work, count: u64, as_text: bool) -> SqlResult<()> {
    let statement = match work.text() {
        Some(text) if !as_text => Some(session.prepared_text(text).await?),
        None if as_text => return Err(SqlError::unsupported("a work that has no text")),
        _ => None,
    };
    let mut random = Prng::new(7);
    for number in 0..count {
        let key = match work {
            Work::Insert | Work::Rows => 2 * (ROW_COUNT + number) + 1,
            _ => random.below(2 * ROW_COUNT) + 1,
        };
        once(&mut session, work, statement.as_ref(), key as i64).await?;
    }
    Ok(())
}

async fn once(
    session: &mut Session,
    work: Work,
    statement: Option<&NamedStatement>,
    key: i64,
) -> SqlResult<()> {
    match (work, statement) {
        (Work::Get, _) => session.get("t", &[Datum::Int(key)]).await.map(drop),
        (Work::Put, _) => {
            let row = [Datum::Int(key), Datum::Int(1), Datum::Text("put".into())];
            session.put("t", &row).await
        }
        (_, Some(statement)) => session.run_prepared(statement, &[Datum::Int(key)]).await.map(drop),
        (_, None) => {
            let text = work.text().unwrap_or_default().replace("$1", &key.to_string());
            let statement = session.prepared_text(&text).await?;
            session.run_prepared(&statement, &[]).await.map(drop)
        }
    }
}

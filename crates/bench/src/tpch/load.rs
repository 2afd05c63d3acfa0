//! Creates a database with TPC-H data: tables, rows, indexes, statistics.
//!
//! Indexes exist before the rows, so that one pass over the rows makes all trees.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use engine::{Database, SqlResult, TableStorage};

use super::generate::{Table, generate, row_count};
use super::schema::{INDEXES, TABLES, TableSchema, in_columns};

/// What a load is doing, for progress bars.
#[derive(Clone, Debug)]
pub enum LoadEvent<'a> {
    /// Rows of a table were generated: so many of about so many.
    Generated(&'a str, u64, u64),
    /// A table's trees are being written; progress is in [`Database::job`].
    Writing(&'a str),
    /// Statistics are being made.
    Analyzing,
}

/// Batches that may wait between generator and loader: bounds memory at some 20 MB.
const BATCHES_WAITING: usize = 8;

/// Loads all tables at `scale` into an empty database. Column tables have neither keys nor indexes;
/// where there is a location, each has a folder there.
pub fn load(
    db: &Database,
    scale: f64,
    storage: TableStorage,
    location: Option<&str>,
    mut event: impl FnMut(LoadEvent<'_>),
) -> SqlResult<()> {
    let mut session = db.session();
    for table in &TABLES {
        match storage {
            TableStorage::Row => session.execute(table.ddl)?,
            TableStorage::Column => {
                let location = location.map(|location| format!("{location}/{}", table.name));
                session.execute(&in_columns(table.ddl, location.as_deref()))?
            }
        };
    }
    let indexes = INDEXES.iter().filter(|_| storage == TableStorage::Row);
    for (_, ddl) in indexes {
        session.execute(ddl)?;
    }
    for table in &TABLES {
        load_table(db, table, scale, &mut event)?;
    }
    event(LoadEvent::Analyzing);
    session.execute("analyze")?;
    Ok(())
}

fn load_table(
    db: &Database,
    table: &TableSchema,
    scale: f64,
    event: &mut impl FnMut(LoadEvent<'_>),
) -> SqlResult<()> {
    let def = db.tables().into_iter().find(|t| t.name == table.name);
    let schema = def.expect("the table was created").schema.arrow();
    let total = row_count(table.table, scale);
    let mut loader = db.load(table.name)?;
    let (batches, generator) = start_generator(table.table, scale, schema);
    let mut done = 0;
    for batch in batches {
        done += batch.num_rows() as u64;
        loader.push(&batch)?;
        event(LoadEvent::Generated(table.name, done, total.max(done)));
    }
    generator.join().expect("the generator does not panic");
    event(LoadEvent::Writing(table.name));
    loader.finish()?;
    Ok(())
}

/// Generates on a thread of its own, so that the other core encodes and sorts.
fn start_generator(
    table: Table,
    scale: f64,
    schema: SchemaRef,
) -> (Receiver<RecordBatch>, std::thread::JoinHandle<()>) {
    let (sender, receiver) = sync_channel(BATCHES_WAITING);
    let schema = Arc::clone(&schema);
    let generator = std::thread::spawn(move || {
        // The receiver goes away when the load fails: then the rest is not wanted.
        generate(table, scale, (1, 1), &schema, |batch| sender.send(batch)).ok();
    });
    (receiver, generator)
}

//! `COPY`, to and from.

use runtime::sync::Cancel;
use sql::Statement;
use sql::dml::Defaults;
use sql::parse::{Copy, CopyFormat, CopySource, Insert, file_insert};
use txn::waiting::unless_cancelled;
use types::zone::Context;
use types::{SqlError, SqlResult, SqlState, zone};

use super::rejects::Rejects;
use super::rows::Rows;
use crate::dml::incoming::{Incoming, RowSource, take_all};
use crate::dml::insert::insert_batches;
use crate::door;
use crate::input::files::FileReader;
use crate::input::pieces::Input;
use crate::objects::file::ObjectFile;
use crate::objects::path::{ObjectPath, is_object};
use crate::objects::stream::ObjectStream;
use crate::objects::tally::Tally;
use crate::pipe::PipeReceiver;
use crate::result::StatementResult;
use crate::session::state::Session;
use crate::writing::Writing;

impl Session {
    /// Runs `COPY .. FROM`; `input` is what the client sends. What it ignores is left to be put away.
    pub(crate) async fn copy_from(
        &self,
        copy: &Copy,
        input: Option<PipeReceiver<Vec<u8>>>,
    ) -> SqlResult<(StatementResult, Rejects)> {
        self.copied(copy)?;
        let input = match (&copy.source, input) {
            (CopySource::File(path), _) => {
                Input::File(Box::new(Box::pin(self.file_reader(path)).await?))
            }
            (CopySource::Stdin, Some(input)) => Input::Client(input),
            (CopySource::Stdin, None) => {
                let message = "COPY FROM STDIN needs data from the client";
                return Err(SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, message)
                    .with_hint("Use a file name, or the shell's \\copy."));
            }
        };
        let writing = self.writing_table(&copy.table).await?;
        // Who changed the table before may have changed them.
        let ordinals = self.copied(copy)?;
        let copied = Box::pin(copy_from(&writing, copy, &ordinals, input, zone::current()));
        let (count, rejects) = copied.await?;
        Ok((StatementResult::Command { tag: format!("COPY {count}") }, rejects))
    }

    /// A file of the server or an object, to be read.
    async fn file_reader(&self, path: &str) -> SqlResult<FileReader> {
        if !is_object(path) {
            return FileReader::open(path).await;
        }
        let (path, snapshot) = (ObjectPath::parse(path)?, self.database().snapshot());
        let object = ObjectFile::open(&snapshot, &path);
        let object = unless_cancelled(&self.lock_wait().cancel, object).await??;
        Ok(FileReader::Object(ObjectStream::new(object, None, Tally::default())))
    }

    /// Reads the input of a `COPY .. FROM` as the statement would, and keeps nothing; the number of
    /// rows. It is for trying what input does, from an ordinary thread.
    ///
    /// # Errors
    /// Those of the statement, as far as they come from its input alone.
    pub fn read_copy(&self, statement: &Statement, input: &[u8]) -> SqlResult<u64> {
        let Statement::Copy(copy) = statement else {
            return Err(SqlError::internal("no COPY FROM"));
        };
        let (ordinals, snapshot) = (self.copied(copy)?, self.database().snapshot());
        let def = snapshot.table(&copy.table)?.def.clone();
        let schema = sql::incoming_schema(&def);
        let defaults = Defaults::new(&def, &*snapshot)?;
        let (input, cancel) = (Input::Memory(Some(input.to_vec())), Cancel::default());
        let sort_bytes = self.database().shares().sort();
        door::wait(&self.database().handle(), || {
            Box::pin(async {
                let (columns, limits) = ((&schema, &ordinals[..]), (sort_bytes, &cancel));
                let mut rows = Rows::new(copy, columns, input, defaults, self.context(), limits);
                let mut count = 0;
                while let Some(batch) = rows.next().await? {
                    count += batch.num_rows() as u64;
                }
                Ok(count)
            })
        })
    }

    /// The columns of `COPY .. FROM`, when it may run.
    fn copied(&self, copy: &Copy) -> SqlResult<Vec<usize>> {
        if copy.options.format == CopyFormat::Parquet {
            super::parquet::check_source(&copy.source)?;
        }
        let snapshot = self.database().snapshot();
        let ordinals = super::to::ordinals(&snapshot, &copy.table, &copy.columns)?;
        let entry = snapshot.table(&copy.table)?;
        let name = |ordinal: &usize| entry.def.schema.columns[*ordinal].name.clone();
        let names: Vec<String> = ordinals.iter().map(name).collect();
        let options = &copy.options;
        super::to::check_forced("FORCE_NOT_NULL", &options.force_not_null, &names, Some(entry))?;
        super::to::check_forced("FORCE_NULL", &options.force_null, &names, Some(entry))?;
        super::rejects::check_table(options.ignored.as_ref(), &snapshot)?;
        Ok(ordinals)
    }

    /// `COPY .. FROM` of a Parquet file as an `INSERT`, if the file has as many columns as are copied.
    ///
    /// # Errors
    /// 22P04, and those of opening the file.
    pub(crate) async fn copied_insert(&self, copy: &Copy) -> SqlResult<Insert> {
        let CopySource::File(path) = &copy.source else {
            return Err(super::parquet::refuse_client());
        };
        let (ordinals, snapshot) = (self.copied(copy)?, self.database().snapshot());
        let schema = &snapshot.table(&copy.table)?.def.schema;
        let name = |ordinal: &usize| schema.columns[*ordinal].name.as_str();
        let names: Vec<&str> = ordinals.iter().map(name).collect();
        let (insert, query) = file_insert(&copy.table, &names, path)?;
        let found = self.plan(&query, &self.lock_wait().cancel).await?.1.root.schema.fields().len();
        if found == names.len() {
            return Ok(insert);
        }
        let (table, expected) = (&copy.table, names.len());
        let message = format!("file \"{path}\" has {found} columns, expected {expected}");
        Err(SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, message)
            .with_hint("Name the columns of the table that the file has, in the order of the file.")
            .with_context(format!("COPY {table}")))
    }

    /// How many columns `COPY .. FROM STDIN` takes. A client is asked for data only when it may run.
    ///
    /// # Errors
    /// What is wrong with the statement itself.
    pub fn start_copy_in(&self, statement: &Statement) -> SqlResult<usize> {
        let Statement::Copy(copy) = statement else {
            return Err(SqlError::internal("no COPY FROM"));
        };
        let db = self.database();
        crate::privileges::check(&db.snapshot(), &**db.system(), self.role(), statement)?;
        self.copied(copy).map(|ordinals| ordinals.len())
    }
}

/// Copies rows of `input` into the columns at `ordinals`, the others take their defaults; the number
/// of rows, and those that were ignored.
pub(crate) async fn copy_from(
    writing: &Writing<'_>,
    copy: &Copy,
    ordinals: &[usize],
    input: Input,
    context: Context,
) -> SqlResult<(u64, Rejects)> {
    let entry = writing.entry(&copy.table)?;
    let schema = sql::incoming_schema(&entry.def);
    let defaults = Defaults::new(&entry.def, &writing.catalog)?;
    let (columns, limits) = ((&schema, ordinals), (writing.db.shares().sort(), &writing.cancel));
    let mut rows = Rows::new(copy, columns, input, defaults, context, limits);
    match take_all(writing, &entry, "copying", &mut rows).await? {
        Incoming::Few(batches) => {
            let count = batches.iter().map(|b| b.num_rows() as u64).sum();
            let inserted = insert_batches(writing, &entry, &batches).await;
            inserted.map_err(|error| rows.at_row(error, count))?;
            Ok((count, rows.rejects))
        }
        Incoming::Many(loader, count) => {
            writing.note_numbers();
            loader.finish(writing.db, None).await?;
            Ok((count, rows.rejects))
        }
    }
}

//! `COPY .. TO` as a statement: what is copied, how it is written, and where it goes.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use exec::LocalFuture;
use plan::constraints::ColumnDefault;
use runtime::sync::Cancel;
use sql::Query;
use sql::parse::{Copied, CopyFormat, CopyTarget, CopyTo, ForcedColumns, table_query};
use txn::waiting::unless_cancelled;
use types::{SqlError, SqlResult, SqlState};

use super::out::CopyFormatter;
use super::parquet::ParquetWriter;
use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;
use crate::input::files::FileWriter;
use crate::objects::path::{ObjectPath, is_object};
use crate::objects::writer::ObjectWriter;
use crate::pipe::PipeSender;
use crate::query::{Run, Watch};
use crate::result::StatementResult;
use crate::session::client::Client;
use crate::session::state::Session;
use crate::stream::RowStream;
use crate::stream::rows::QueryRows;
use crate::system::catalog::SystemCatalog;

/// Bytes that are gathered before they are written.
const BLOCK_BYTES: usize = 64 << 10;

/// 0A000 for a statement that returns nothing.
pub fn nothing_returned() -> SqlError {
    let message = "COPY query must have a RETURNING clause";
    SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

/// The ordinals of the columns that a `COPY` is about: those named, or all that are not generated.
pub(crate) fn ordinals(
    snapshot: &Snapshot,
    table: &str,
    names: &[String],
) -> SqlResult<Vec<usize>> {
    let entry = snapshot.table(table)?;
    let generated = |ordinal: &usize| {
        let default = entry.def.constraints.default_of(*ordinal);
        matches!(default, Some(ColumnDefault::Generated(_)))
    };
    if names.is_empty() {
        let all = 0..entry.def.schema.columns.len();
        return Ok(all.filter(|ordinal| !generated(ordinal)).collect());
    }
    let ordinals = crate::catalog::snapshot::ordinals(snapshot, table, names)?;
    match ordinals.iter().find(|ordinal| generated(ordinal)) {
        None => Ok(ordinals),
        Some(ordinal) => {
            let name = &entry.def.schema.columns[*ordinal].name;
            let message = format!("column \"{name}\" is a generated column");
            Err(SqlError::new(SqlState::INVALID_COLUMN_REFERENCE, message)
                .with_detail("Generated columns cannot be used in COPY."))
        }
    }
}

/// Checks the columns that the option `name` is about.
pub(crate) fn check_forced(
    option: &str,
    names: &[String],
    copied: &[String],
    entry: Option<&TableEntry>,
) -> SqlResult<()> {
    let Some(name) = names.iter().find(|name| !copied.contains(name)) else { return Ok(()) };
    let exists = entry.is_some_and(|e| e.def.schema.ordinal(name).is_some());
    let (state, message) = match entry {
        _ if exists => {
            let message = format!("{option} column \"{name}\" not referenced by COPY");
            (SqlState::INVALID_COLUMN_REFERENCE, message)
        }
        Some(entry) => {
            let table = &entry.def.name;
            let message = format!("column \"{name}\" of relation \"{table}\" does not exist");
            (SqlState::UNDEFINED_COLUMN, message)
        }
        None => (SqlState::UNDEFINED_COLUMN, format!("column \"{name}\" does not exist")),
    };
    Err(SqlError::new(state, message))
}

impl Session {
    /// Begins `COPY .. TO STDOUT` of a table or query; call it in a task of the database's runtime.
    ///
    /// # Errors
    /// What is wrong with the statement; 0A000 for what writes, which is performed instead.
    pub fn start_copy<'a>(
        &'a mut self,
        copy: &'a CopyTo,
    ) -> LocalFuture<'a, SqlResult<(RowStream, CopyFormatter)>> {
        Box::pin(async move {
            let Some(query) = self.copied_query(&copy.copied)? else {
                return Err(nothing_returned());
            };
            let rows = self.start(&query).await?;
            let formatter = self.copy_formatter(copy, rows.schema())?;
            Ok((rows, formatter))
        })
    }

    /// What writes the rows of a `COPY .. TO`.
    ///
    /// # Errors
    /// 42703 and 42P10 for columns of `FORCE_QUOTE`.
    pub fn copy_formatter(&self, copy: &CopyTo, schema: &Schema) -> SqlResult<CopyFormatter> {
        let _entered = types::zone::enter(self.context());
        if let ForcedColumns::Named(names) = &copy.options.force_quote {
            let snapshot = self.database().snapshot();
            let entry = match &copy.copied {
                Copied::Table { table, .. } => snapshot.table(table).ok(),
                _ => None,
            };
            let copied: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
            check_forced("FORCE_QUOTE", names, &copied, entry.map(Arc::as_ref))?;
        }
        CopyFormatter::new(&copy.options, schema)
    }

    /// The query whose rows are copied; `None` for those that a statement returns.
    fn copied_query(&self, copied: &Copied) -> SqlResult<Option<Query>> {
        let (table, columns) = match copied {
            Copied::Query(query) => return Ok(Some(query.clone())),
            Copied::Returning(_) => return Ok(None),
            Copied::Table { table, columns } => (table, columns),
        };
        self.mean_names(table.schema.as_deref() == Some("public"), [table.name.clone()].into());
        let snapshot = self.database().snapshot();
        let is_ours = match table.schema.as_deref() {
            None => self.settings.finds_public() || snapshot.is_temporary(table),
            Some(schema) => schema == "public" || table.is_temporary(),
        };
        if !is_ours {
            // A system relation, or none.
            return table_query(table, columns).map(Some);
        }
        if snapshot.views.contains_key(&table.name) {
            let message = format!("cannot copy from view \"{table}\"");
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message)
                .with_hint("Try the COPY (SELECT ...) TO variant."));
        }
        let Ok(entry) = snapshot.table(table) else {
            // A system relation, or none.
            return table_query(table, columns).map(Some);
        };
        let ordinals = ordinals(&snapshot, table, columns)?;
        let name = |ordinal: &usize| entry.def.schema.columns[*ordinal].name.clone();
        let columns: Vec<String> = ordinals.iter().map(name).collect();
        table_query(table, &columns).map(Some)
    }

    /// Runs `COPY .. TO` into a file, or into the pipe of a client that takes it whole.
    pub(crate) async fn copy_to(
        &mut self,
        copy: &CopyTo,
        cancel: Cancel,
        output: Option<PipeSender<Vec<u8>>>,
    ) -> SqlResult<StatementResult> {
        self.look_alone();
        let (schema, mut rows) = self.copied_rows(&copy.copied, cancel.clone()).await?;
        if let CopyTarget::File(path) = &copy.target {
            rows.check_target(path)?;
        }
        if let (CopyFormat::Parquet, CopyTarget::File(path)) = (copy.options.format, &copy.target) {
            let writer = ParquetWriter::new(&schema, copy.options.parquet)?;
            let mut output = self.target(path).await?;
            let written = Box::pin(write_parquet(&mut rows, writer, &mut output));
            let written = unless_cancelled(&cancel, written).await.flatten();
            return self.copied_all(&rows, written, output).await;
        }
        let formatter = self.copy_formatter(copy, &schema)?;
        let mut output = match (&copy.target, output) {
            (CopyTarget::File(path), _) => self.target(path).await?,
            (CopyTarget::Stdout, Some(output)) => Target::Client(output),
            (CopyTarget::Stdout, None) => {
                return Err(SqlError::unsupported("COPY TO STDOUT without a client")
                    .with_hint("Copy to a file, or use copy_out."));
            }
        };
        let written = Box::pin(write_all(&mut rows, &formatter, &mut output));
        let written = unless_cancelled(&cancel, written).await.flatten();
        self.copied_all(&rows, written, output).await
    }

    /// A file of the server or an object, to be written.
    async fn target(&self, path: &str) -> SqlResult<Target> {
        if !is_object(path) {
            return FileWriter::create(path).await.map(Target::File);
        }
        let db = self.database();
        let path = ObjectPath::parse(path)?;
        let writer = ObjectWriter::new(&db.snapshot(), &path, db.shares().sort())?;
        Ok(Target::Object(Box::new(writer)))
    }

    /// Ends a copy of which so many rows were written.
    async fn copied_all(
        &mut self,
        rows: &CopiedRows,
        written: SqlResult<u64>,
        output: Target,
    ) -> SqlResult<StatementResult> {
        // Before an object is there.
        let saved = match (self.looked(written), rows) {
            (Ok(count), CopiedRows::Running(_, catalog)) => {
                self.save_numbers(catalog.given()).await.map(|()| count)
            }
            (written, _) => written,
        };
        match saved {
            Ok(count) => {
                Box::pin(output.finish()).await?;
                Ok(StatementResult::Command { tag: format!("COPY {count}") })
            }
            Err(error) => {
                output.give_up();
                Err(error)
            }
        }
    }

    async fn copied_rows(
        &mut self,
        copied: &Copied,
        cancel: Cancel,
    ) -> SqlResult<(SchemaRef, CopiedRows)> {
        let Copied::Returning(statement) = copied else {
            let query = self.copied_query(copied)?.ok_or_else(nothing_returned)?;
            let (catalog, plan, planning) = self.plan(&query, &cancel).await?;
            let watch = Watch { cancel, activity: self.activity() };
            let (db, settings, own) = (self.database(), &self.settings, catalog.clone());
            let rows = QueryRows::start(Run::new(db, own, &plan, settings, watch, planning));
            return Ok((rows.schema.clone(), CopiedRows::Running(Box::new(rows), catalog)));
        };
        let dispatched = self.dispatch((**statement).clone(), Client::default(), cancel);
        match Box::pin(dispatched).await? {
            StatementResult::Rows(result) => {
                Ok((result.schema, CopiedRows::Collected(result.batches.into_iter())))
            }
            StatementResult::Command { .. } => Err(nothing_returned()),
        }
    }
}

/// Rows, wherever they come from.
enum CopiedRows {
    Running(Box<QueryRows>, SystemCatalog),
    Collected(std::vec::IntoIter<RecordBatch>),
}

impl CopiedRows {
    /// 55006 for a file that the rows come from, which would be gone.
    fn check_target(&self, path: &str) -> SqlResult<()> {
        match self {
            CopiedRows::Running(_, catalog) if catalog.reads_file(path) => {
                let message = format!("cannot write to file \"{path}\", which the query reads");
                Err(SqlError::new(SqlState::OBJECT_IN_USE, message))
            }
            _ => Ok(()),
        }
    }

    async fn next(&mut self) -> SqlResult<Option<RecordBatch>> {
        match self {
            CopiedRows::Running(rows, _) => rows.next().await,
            CopiedRows::Collected(batches) => Ok(batches.next()),
        }
    }
}

/// Where the data goes.
enum Target {
    Client(PipeSender<Vec<u8>>),
    File(FileWriter),
    Object(Box<ObjectWriter>),
}

impl Target {
    async fn write(&mut self, block: &mut Vec<u8>) -> SqlResult<()> {
        let block = std::mem::take(block);
        let written = match self {
            Target::Client(pipe) => pipe.send(block).await,
            Target::File(file) => file.write(&block).await.map_err(|e| e.to_string()),
            Target::Object(object) => return Box::pin(object.write(&block)).await,
        };
        written.map_err(|e| {
            SqlError::new(SqlState::IO_ERROR, format!("could not write to COPY file: {e}"))
        })
    }

    /// Not all could be written.
    fn give_up(self) {
        match self {
            Target::Client(_) | Target::File(_) => {}
            Target::Object(object) => object.give_up(),
        }
    }

    /// All has been written. An object is there from now on, so one whose rows failed is not.
    async fn finish(self) -> SqlResult<()> {
        match self {
            Target::Client(pipe) => {
                pipe.finish();
                Ok(())
            }
            Target::File(_) => Ok(()),
            Target::Object(object) => object.finish().await,
        }
    }
}

async fn write_all(
    rows: &mut CopiedRows,
    formatter: &CopyFormatter,
    output: &mut Target,
) -> SqlResult<u64> {
    let (mut block, mut count) = (vec![], 0);
    formatter.begin(&mut block);
    while let Some(batch) = rows.next().await? {
        for row in 0..batch.num_rows() {
            formatter.row(&batch, row, &mut block)?;
            if block.len() > BLOCK_BYTES {
                output.write(&mut block).await?;
            }
        }
        count += batch.num_rows() as u64;
        if runtime::need_preempt() {
            runtime::yield_now().await;
        }
    }
    formatter.end(&mut block);
    output.write(&mut block).await?;
    Ok(count)
}

/// Writes rows as a Parquet file; their number.
async fn write_parquet(
    rows: &mut CopiedRows,
    mut writer: ParquetWriter,
    output: &mut Target,
) -> SqlResult<u64> {
    let (mut block, mut count) = (vec![], 0);
    while let Some(batch) = rows.next().await? {
        writer.write(&batch, &mut block).await?;
        if block.len() > BLOCK_BYTES {
            output.write(&mut block).await?;
        }
        count += batch.num_rows() as u64;
    }
    block.extend(writer.finish()?);
    output.write(&mut block).await?;
    Ok(count)
}

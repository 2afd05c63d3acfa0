//! What programs that embed the engine do without SQL: rows by their primary key, and prepared statements
//! with typed values. All of it runs as statements do, in the transaction of the session.

use std::ops::Bound;
use std::sync::Arc;

use exec::LocalFuture;
use plan::catalog::TableDef;
use sql::{Parameter, Template};
use types::{Datum, SqlError, SqlResult, SqlState, oid};

use super::calls::{Call, KnownCall, check_count, end};
use super::client::Client;
use super::state::Session;
use crate::activity::Announced;
use crate::datum::Row;
use crate::prepared::Prepared;
use crate::result::{ResultSet, StatementResult};
use crate::statements::{Executed, NamedStatement};

/// Tables of which a session remembers statements.
const TABLES_MAX: usize = 16;

/// Statements about one table: the three calls by whole keys, and some ranges.
const CALLS_MAX: usize = 8;

/// Rows that follow each other by the primary key.
#[derive(Clone, Debug)]
pub struct KeyRange {
    /// Values of the first columns of the key; all of them may be left open.
    pub prefix: Vec<Datum>,
    /// Where the next column of the key begins.
    pub from: Bound<Datum>,
    /// Where it ends.
    pub to: Bound<Datum>,
    /// Last rows first.
    pub descending: bool,
    /// So many rows at most.
    pub limit: Option<u64>,
}

impl Default for KeyRange {
    /// All rows.
    fn default() -> KeyRange {
        let (from, to) = (Bound::Unbounded, Bound::Unbounded);
        KeyRange { prefix: vec![], from, to, descending: false, limit: None }
    }
}

impl Session {
    /// The row of a table with this primary key, whose values are in the order of its columns. Call it in a
    /// task of the database's runtime, as all of these.
    ///
    /// # Errors
    /// 42P01 for a table that there is not, 42P10 for one without a primary key, 42601 for another number of
    /// values; and those of a `SELECT`.
    pub fn get<'a>(
        &'a mut self,
        table: &'a str,
        key: &'a [Datum],
    ) -> LocalFuture<'a, SqlResult<Option<Row>>> {
        Box::pin(
            async move { Ok(rows(self.run_call(table, Call::Get, key).await?)?.rows()?.pop()) },
        )
    }

    /// Puts a row into a table, in the place of the one with the same primary key if there is one. It has a
    /// value for each column that is not generated, in their order.
    ///
    /// # Errors
    /// As [`Session::get`], and those of an `INSERT .. ON CONFLICT .. DO UPDATE`: 428C9 for a table with a
    /// column that is `GENERATED ALWAYS AS IDENTITY`, whose values are never given.
    pub fn put<'a>(
        &'a mut self,
        table: &'a str,
        row: &'a [Datum],
    ) -> LocalFuture<'a, SqlResult<()>> {
        Box::pin(async move { self.run_call(table, Call::Put, row).await.map(drop) })
    }

    /// Deletes the row with this primary key; whether there was one.
    ///
    /// # Errors
    /// As [`Session::get`], and those of a `DELETE`.
    pub fn delete<'a>(
        &'a mut self,
        table: &'a str,
        key: &'a [Datum],
    ) -> LocalFuture<'a, SqlResult<bool>> {
        Box::pin(async move { Ok(self.run_call(table, Call::Delete, key).await?.row_count() > 0) })
    }

    /// The rows of a table in the order of its primary key.
    ///
    /// # Errors
    /// As [`Session::get`]; 42601 for more values than the key has columns, and for an end where none is left.
    pub fn scan<'a>(
        &'a mut self,
        table: &'a str,
        range: &'a KeyRange,
    ) -> LocalFuture<'a, SqlResult<Vec<Row>>> {
        Box::pin(async move {
            let ((from, first), (to, last)) = (end(&range.from), end(&range.to));
            let (prefix, descending, limit) = (range.prefix.len(), range.descending, range.limit);
            let call = Call::Scan { prefix, from, to, descending, limit };
            let values: Vec<Datum> =
                range.prefix.iter().chain(first).chain(last).cloned().collect();
            rows(self.run_call(table, call, &values).await?)?.rows()
        })
    }

    /// Prepares the one statement of a text: the types of its parameters follow from where they stand.
    ///
    /// # Errors
    /// What parsing and binding say; 42601 for several statements.
    pub fn prepared_text<'a>(
        &'a self,
        text: &'a str,
    ) -> LocalFuture<'a, SqlResult<NamedStatement>> {
        Box::pin(async move { self.statement(Some(only(text)?), vec![], text.into(), false).await })
    }

    /// Runs a prepared statement with values for its parameters, in the transaction that is open, or as one.
    ///
    /// # Errors
    /// 08P01 for another number of values; what planning says, and those of the statement.
    pub fn run_prepared<'a>(
        &'a mut self,
        statement: &'a NamedStatement,
        values: &'a [Datum],
    ) -> LocalFuture<'a, SqlResult<StatementResult>> {
        Box::pin(async move {
            let result = self.run_bound(statement, values).await;
            self.end_transaction();
            self.or_fail(result)
        })
    }

    async fn run_bound(
        &mut self,
        statement: &NamedStatement,
        values: &[Datum],
    ) -> SqlResult<StatementResult> {
        let NamedStatement { statement: Some(prepared), oids, text, shape, .. } = statement else {
            return Err(SqlError::unsupported("running an empty statement"));
        };
        if values.len() != oids.len() {
            let message = format!("{} values are given, {} wanted", values.len(), oids.len());
            return Err(SqlError::new(SqlState::PROTOCOL_VIOLATION, message));
        }
        let parameter = |(oid, value): (&u32, &Datum)| Parameter::of_type(*oid, value.clone());
        let parameters: Vec<Parameter> = oids.iter().zip(values).map(parameter).collect();
        self.activity.announce(text);
        if let Some(shape) = shape {
            self.activity.announce_shape(shape.clone());
        }
        match self.bound(prepared, &parameters).map_err(|error| statement.located(error))? {
            Executed::Statement(statement) => self.run(*statement, Client::default()).await,
            Executed::Point(point) => {
                self.check_not_failed()?;
                let look_up = async |session: &mut Session, cancel| {
                    session.run_look_up(&point, cancel).await.map(StatementResult::Rows)
                };
                self.watched(look_up).await
            }
        }
    }

    /// The table of this name, which has a primary key.
    fn keyed_table(&self, table: &str) -> SqlResult<Arc<TableDef>> {
        let def = self.db.snapshot().table(table)?.def.clone();
        match def.primary_columns().is_empty() {
            true => Err(SqlError::new(
                SqlState::INVALID_COLUMN_REFERENCE,
                format!("table \"{table}\" has no primary key"),
            )),
            false => Ok(def),
        }
    }

    /// Runs a call. An error of that is one of the statement, and fails the transaction, too.
    async fn run_call(
        &mut self,
        table: &str,
        call: Call,
        values: &[Datum],
    ) -> SqlResult<StatementResult> {
        self.check_not_failed()?;
        let known = self.known_call(table, call, values.len());
        let known = self.or_fail(known)?;
        self.run_prepared(&known, values).await
    }

    /// The statement of a call with so many values, which is made once for a table as it is.
    fn known_call(
        &mut self,
        table: &str,
        call: Call,
        count: usize,
    ) -> SqlResult<Arc<NamedStatement>> {
        let def = self.keyed_table(table)?;
        let calls = self.keyed.get(table).map(Vec::as_slice).unwrap_or_default();
        if let Some(known) = calls.iter().find(|known| known.call == call)
            && Arc::ptr_eq(&known.def, &def)
        {
            check_count(known.statement.oids.len(), count)?;
            return Ok(known.statement.clone());
        }
        let columns = call.columns(&def, count)?;
        let oids: Vec<u32> = columns.iter().map(|c| oid::of_logical(c.ty).oid).collect();
        let statement = Arc::new(known(&call.text(&def, &columns), &oids)?);
        if self.keyed.len() >= TABLES_MAX && !self.keyed.contains_key(table) {
            self.keyed.clear();
        }
        let calls = self.keyed.entry(table.to_owned()).or_default();
        calls.retain(|known| known.call != call);
        if calls.len() >= CALLS_MAX {
            calls.remove(0);
        }
        calls.push(KnownCall { call, def, statement: statement.clone() });
        Ok(statement)
    }
}

/// A statement whose parameters have these types.
fn known(text: &str, oids: &[u32]) -> SqlResult<NamedStatement> {
    let template = only(text)?;
    let shape = Some(Arc::new(template.shape()));
    let statement = Some(Arc::new(Prepared::new(template)));
    // A session keeps a few of these only.
    Ok(NamedStatement::new(statement, oids.to_vec(), Announced::from(text), shape))
}

/// The one statement of a text.
fn only(text: &str) -> SqlResult<Template> {
    let mut templates = Template::all(text)?;
    match (templates.pop(), templates.is_empty()) {
        (Some(template), true) => Ok(template),
        _ => Err(SqlError::new(SqlState::SYNTAX_ERROR, "one statement is expected")),
    }
}

fn rows(result: StatementResult) -> SqlResult<ResultSet> {
    match result {
        StatementResult::Rows(rows) => Ok(rows),
        StatementResult::Command { tag } => Err(SqlError::internal(format!("{tag} has no rows"))),
    }
}

//! What programs that embed the engine do without SQL: rows by their primary key, and prepared statements
//! with typed values. All of it runs as statements do, in the transaction of the session.

use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use exec::LocalFuture;
use sql::catalog::TableDef;
use sql::constraints::ColumnDefault;
use sql::{Parameter, Template, quote_ident};
use types::{Column, SqlError, SqlResult, SqlState, oid};

use super::client::Client;
use super::state::Session;
use crate::activity::Announced;
use crate::datum::{Datum, Row};
use crate::prepared::Prepared;
use crate::result::{ResultSet, StatementResult};
use crate::statements::{Executed, NamedStatement};

/// Statements that a session remembers: four for each of sixteen tables.
const STATEMENTS_MAX: usize = 64;

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

/// A statement and the values of its parameters, as they are put together.
#[derive(Default)]
struct Draft {
    text: String,
    oids: Vec<u32>,
    values: Vec<Datum>,
}

impl Draft {
    /// A parameter for a column.
    fn value(&mut self, column: &Column, value: &Datum) -> String {
        self.oids.push(oid::of_logical(column.ty).oid);
        self.values.push(value.clone());
        format!("${}", self.values.len())
    }

    /// A condition on columns of a key, one after the other.
    fn equal(&mut self, columns: &[&Column], values: &[Datum]) -> Vec<String> {
        let pairs = columns.iter().zip(values);
        pairs.map(|(c, v)| format!("{} = {}", quote_ident(&c.name), self.value(c, v))).collect()
    }

    fn bound(&mut self, column: &Column, bound: &Bound<Datum>, ops: [&str; 2]) -> Option<String> {
        let (op, value) = match bound {
            Bound::Unbounded => return None,
            Bound::Included(value) => (ops[0], value),
            Bound::Excluded(value) => (ops[1], value),
        };
        Some(format!("{} {op} {}", quote_ident(&column.name), self.value(column, value)))
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
        Box::pin(async move {
            let draft = |session: &Session| session.draft_of_key("select * from", table, key);
            Ok(rows(self.run_draft(draft).await?)?.rows()?.pop())
        })
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
        Box::pin(async move {
            self.run_draft(|session| session.draft_of_put(table, row)).await.map(drop)
        })
    }

    fn draft_of_put(&self, table: &str, row: &[Datum]) -> SqlResult<Draft> {
        let def = self.keyed_table(table)?;
        let is_given = |ordinal: &usize| {
            let default = def.constraints.default_of(*ordinal);
            !matches!(default, Some(ColumnDefault::Generated(_)))
        };
        let given: Vec<usize> = (0..def.schema.columns.len()).filter(is_given).collect();
        check_count(given.len(), row.len())?;
        let mut draft = Draft::default();
        let (mut columns, mut values, mut changes) = (vec![], vec![], vec![]);
        for (ordinal, value) in given.iter().zip(row) {
            let column = &def.schema.columns[*ordinal];
            let name = quote_ident(&column.name);
            values.push(draft.value(column, value));
            if !def.primary_columns().contains(ordinal) {
                changes.push(format!("{name} = excluded.{name}"));
            }
            columns.push(name);
        }
        let then = match changes.is_empty() {
            true => "nothing".to_owned(),
            false => format!("update set {}", changes.join(", ")),
        };
        let key = key_columns(&def).iter().map(|c| quote_ident(&c.name)).collect::<Vec<_>>();
        draft.text = format!(
            "insert into {} ({}) values ({}) on conflict ({}) do {then}",
            quote_ident(&def.name),
            columns.join(", "),
            values.join(", "),
            key.join(", "),
        );
        Ok(draft)
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
        Box::pin(async move {
            let draft = |session: &Session| session.draft_of_key("delete from", table, key);
            Ok(self.run_draft(draft).await?.row_count() > 0)
        })
    }

    /// What is done with the row that has a key.
    fn draft_of_key(&self, what: &str, table: &str, key: &[Datum]) -> SqlResult<Draft> {
        let def = self.keyed_table(table)?;
        let mut draft = Draft::default();
        let condition = draft.equal(&whole_key(&def, key)?, key).join(" and ");
        draft.text = format!("{what} {} where {condition}", quote_ident(&def.name));
        Ok(draft)
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
            rows(self.run_draft(|session| session.draft_of_scan(table, range)).await?)?.rows()
        })
    }

    fn draft_of_scan(&self, table: &str, range: &KeyRange) -> SqlResult<Draft> {
        let def = self.keyed_table(table)?;
        let key = key_columns(&def);
        let mut draft = Draft::default();
        if range.prefix.len() > key.len() {
            check_count(key.len(), range.prefix.len())?;
        }
        let mut conditions = draft.equal(&key, &range.prefix);
        let is_open = (&range.from, &range.to) == (&Bound::Unbounded, &Bound::Unbounded);
        match key.get(range.prefix.len()) {
            Some(next) => {
                conditions.extend(draft.bound(next, &range.from, [">=", ">"]));
                conditions.extend(draft.bound(next, &range.to, ["<=", "<"]));
            }
            None if is_open => {}
            None => {
                let message = "a range with a whole key as its prefix has no ends";
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
            }
        }
        let mut text = format!("select * from {}", quote_ident(&def.name));
        if !conditions.is_empty() {
            text.push_str(&format!(" where {}", conditions.join(" and ")));
        }
        let direction = if range.descending { " desc" } else { "" };
        let order = key.iter().map(|c| format!("{}{direction}", quote_ident(&c.name)));
        text.push_str(&format!(" order by {}", order.collect::<Vec<_>>().join(", ")));
        if let Some(limit) = range.limit {
            text.push_str(&format!(" limit {limit}"));
        }
        Ok(Draft { text, ..draft })
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
        let parameter = |(oid, value): (&u32, &Datum)| Parameter::of_type(*oid, value.text());
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

    /// Runs what is drafted. An error of that is one of the statement, and fails the transaction, too.
    async fn run_draft(
        &mut self,
        draft: impl FnOnce(&Session) -> SqlResult<Draft>,
    ) -> SqlResult<StatementResult> {
        self.check_not_failed()?;
        let drafted = draft(self).and_then(|draft| self.remembered(draft));
        let (known, values) = self.or_fail(drafted)?;
        self.run_prepared(&known, &values).await
    }

    /// The statement of a draft, and its values.
    fn remembered(&mut self, draft: Draft) -> SqlResult<(Arc<NamedStatement>, Vec<Datum>)> {
        let Draft { text, oids, values } = draft;
        let key = (text, oids);
        if let Some(known) = self.keyed.get(&key) {
            return Ok((known.clone(), values));
        }
        let known = Arc::new(known(&key.0, &key.1)?);
        if self.keyed.len() >= STATEMENTS_MAX {
            self.keyed.clear();
        }
        self.keyed.insert(key, known.clone());
        Ok((known, values))
    }
}

/// A statement whose parameters have these types.
fn known(text: &str, oids: &[u32]) -> SqlResult<NamedStatement> {
    let template = only(text)?;
    Ok(NamedStatement {
        shape: Some(Arc::new(template.shape())),
        statement: Some(Prepared::new(template)),
        oids: oids.to_vec(),
        text: Announced::from(text),
        from_sql: false,
        prepared_us: runtime::time::unix_us(),
        told: OnceLock::new(),
        // A session keeps a few of these only.
        held: None,
    })
}

/// The one statement of a text.
fn only(text: &str) -> SqlResult<Template> {
    let mut templates = Template::all(text)?;
    match (templates.pop(), templates.is_empty()) {
        (Some(template), true) => Ok(template),
        _ => Err(SqlError::new(SqlState::SYNTAX_ERROR, "one statement is expected")),
    }
}

fn key_columns(def: &TableDef) -> Vec<&Column> {
    def.primary_columns().iter().map(|ordinal| &def.schema.columns[*ordinal]).collect()
}

/// The columns of the primary key, for which there are as many values.
fn whole_key<'a>(def: &'a TableDef, key: &[Datum]) -> SqlResult<Vec<&'a Column>> {
    check_count(def.primary_columns().len(), key.len())?;
    Ok(key_columns(def))
}

fn check_count(wanted: usize, given: usize) -> SqlResult<()> {
    if wanted == given {
        return Ok(());
    }
    let message = format!("{given} values are given, {wanted} wanted");
    Err(SqlError::new(SqlState::SYNTAX_ERROR, message))
}

fn rows(result: StatementResult) -> SqlResult<ResultSet> {
    match result {
        StatementResult::Rows(rows) => Ok(rows),
        StatementResult::Command { tag } => Err(SqlError::internal(format!("{tag} has no rows"))),
    }
}

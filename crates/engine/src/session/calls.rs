//! Changes of rows by their key, as statements whose parameters are the values.

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;

use plan::catalog::TableDef;
use plan::constraints::ColumnDefault;
use sql::quote_ident;
use types::{Column, Datum, SqlError, SqlResult, SqlState};

use crate::statements::NamedStatement;

/// The call with a key, without the values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Get,
    Put,
    Delete,
    Scan { prefix: usize, from: End, to: End, descending: bool, limit: Option<u64> },
}

/// An end of a range, if it has one, and whether the value itself lies in it.
type End = Option<bool>;

/// The statement of a call, good for the table as it was.
#[derive(Debug)]
pub(crate) struct KnownCall {
    pub(super) call: Call,
    pub(super) def: Arc<TableDef>,
    pub(super) statement: Arc<NamedStatement>,
}

/// The statements of calls, by table.
pub(crate) type Keyed = HashMap<String, Vec<KnownCall>>;

impl Call {
    /// The columns that its values are of.
    pub(super) fn columns<'a>(
        &self,
        def: &'a TableDef,
        count: usize,
    ) -> SqlResult<Vec<&'a Column>> {
        let key = key_columns(def);
        let columns = match self {
            Call::Get | Call::Delete => key,
            Call::Put => {
                let is_given = |ordinal: &usize| {
                    let default = def.constraints.default_of(*ordinal);
                    !matches!(default, Some(ColumnDefault::Generated(_)))
                };
                let all = 0..def.schema.columns.len();
                all.filter(is_given).map(|ordinal| &def.schema.columns[ordinal]).collect()
            }
            Call::Scan { prefix, from, to, .. } => {
                let ends = usize::from(from.is_some()) + usize::from(to.is_some());
                if *prefix > key.len() {
                    check_count(key.len(), *prefix)?;
                }
                if *prefix == key.len() && ends > 0 {
                    let message = "a range with a whole key as its prefix has no ends";
                    return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
                }
                let next = key.get(*prefix).into_iter().flat_map(|c| std::iter::repeat_n(c, ends));
                key[..*prefix].iter().chain(next).copied().collect()
            }
        };
        check_count(columns.len(), count)?;
        Ok(columns)
    }

    /// Its statement, of which these columns' values are the parameters.
    pub(super) fn text(&self, def: &TableDef, columns: &[&Column]) -> String {
        let (table, names) = (quote_ident(&def.name), names(columns));
        let key = key_columns(def);
        match self {
            Call::Get => format!("select * from {table} where {}", equal(&names)),
            Call::Delete => format!("delete from {table} where {}", equal(&names)),
            Call::Put => {
                let key = self::names(&key);
                let changes = names.iter().filter(|name| !key.contains(name));
                let changes: Vec<_> = changes.map(|n| format!("{n} = excluded.{n}")).collect();
                let then = match changes.is_empty() {
                    true => "nothing".to_owned(),
                    false => format!("update set {}", changes.join(", ")),
                };
                let values: Vec<_> = (1..=names.len()).map(|n| format!("${n}")).collect();
                format!(
                    "insert into {table} ({}) values ({}) on conflict ({}) do {then}",
                    names.join(", "),
                    values.join(", "),
                    key.join(", "),
                )
            }
            Call::Scan { prefix, from, to, descending, limit } => {
                let (alike, ends) = names.split_at(*prefix);
                let signs = [(from, [">", ">="]), (to, ["<", "<="])];
                let signs = signs
                    .into_iter()
                    .filter_map(|(end, signs)| end.map(|is_inside| signs[usize::from(is_inside)]));
                let ends = ends.iter().zip(signs).zip(prefix + 1..);
                let ends = ends.map(|((name, sign), number)| format!("{name} {sign} ${number}"));
                let alike = Some(equal(alike)).filter(|_| *prefix > 0);
                let conditions: Vec<_> = alike.into_iter().chain(ends).collect();
                let condition = match conditions.is_empty() {
                    true => String::new(),
                    false => format!(" where {}", conditions.join(" and ")),
                };
                let direction = if *descending { " desc" } else { "" };
                let order = self::names(&key).into_iter().map(|name| name + direction);
                let order = order.collect::<Vec<_>>().join(", ");
                let limit = limit.map_or_else(String::new, |limit| format!(" limit {limit}"));
                format!("select * from {table}{condition} order by {order}{limit}")
            }
        }
    }
}

fn names(columns: &[&Column]) -> Vec<String> {
    columns.iter().map(|column| quote_ident(&column.name)).collect()
}

/// The condition that columns are equal to the first parameters.
fn equal(names: &[String]) -> String {
    let pairs = names.iter().zip(1..).map(|(name, number)| format!("{name} = ${number}"));
    pairs.collect::<Vec<_>>().join(" and ")
}

/// An end of a range, and its value.
pub(super) fn end(bound: &Bound<Datum>) -> (End, Option<&Datum>) {
    match bound {
        Bound::Unbounded => (None, None),
        Bound::Included(value) => (Some(true), Some(value)),
        Bound::Excluded(value) => (Some(false), Some(value)),
    }
}

fn key_columns(def: &TableDef) -> Vec<&Column> {
    def.primary_columns().iter().map(|ordinal| &def.schema.columns[*ordinal]).collect()
}

pub(super) fn check_count(wanted: usize, given: usize) -> SqlResult<()> {
    if wanted == given {
        return Ok(());
    }
    let message = format!("{given} values are given, {wanted} wanted");
    Err(SqlError::new(SqlState::SYNTAX_ERROR, message))
}

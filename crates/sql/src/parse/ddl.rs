//! `CREATE TABLE`, `CREATE INDEX`, `DROP`, and the names of types.

use datafusion_sql::sqlparser::ast::{self, IndexColumn, ObjectType};
use plan::catalog::{IndexMethod, KeyOrder, TableStorage};
use types::{SqlError, SqlResult, SqlState};

use crate::parse::constraint;
use crate::parse::object_name::{identifier, name, relation};
use crate::parse::statement::create::{CreateIndex, CreateTable, Drop, DropObject, OnCommit};
use crate::parse::statement::query::Query;

/// Most columns of a table.
const COLUMNS_MAX: usize = 1000;

/// What the options say of a table.
#[derive(Default)]
struct Options {
    storage: Option<TableStorage>,
    location: Option<String>,
}

/// Reads the options. How full pages are to be is the engine's choice.
fn options(options: &ast::CreateTableOptions) -> SqlResult<Options> {
    let unsupported = |what: &str| {
        Err(SqlError::unsupported(format!("CREATE TABLE with {what}"))
            .with_hint("The options of a table are storage, location and fillfactor."))
    };
    let options = match options {
        ast::CreateTableOptions::None => return Ok(Options::default()),
        ast::CreateTableOptions::With(options) => options,
        _ => return unsupported("these options"),
    };
    let mut said = Options::default();
    for option in options {
        let ast::SqlOption::KeyValue { key, value } = option else {
            return unsupported("an option that has no value");
        };
        match identifier(key).as_str() {
            "fillfactor" => {}
            // Of old: a number for each row, which no table has.
            "oids" if matches!(option_text(value).as_str(), "false" | "off" | "0") => {}
            "oids" => {
                let message = "tables declared WITH OIDS are not supported";
                return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            "storage" => said.storage = Some(TableStorage::of_name(&option_text(value))?),
            "location" => said.location = Some(option_text(value)),
            other => return unsupported(&format!("the option \"{other}\"")),
        }
    }
    Ok(said)
}

/// The value of an option, which may be a word or a text.
fn option_text(value: &ast::Expr) -> String {
    match value {
        ast::Expr::Identifier(word) => identifier(word),
        ast::Expr::Value(value) => match &value.value {
            ast::Value::SingleQuotedString(text) => text.clone(),
            other => other.to_string(),
        },
        other => other.to_string(),
    }
}

pub(super) fn create_table(create: ast::CreateTable) -> SqlResult<CreateTable> {
    let plain = !create.or_replace
        && create.like.is_none()
        && create.inherits.is_none()
        && create.partition_of.is_none()
        && create.partition_by.is_none();
    if !plain {
        return Err(SqlError::unsupported("this form of CREATE TABLE")
            .with_hint("partitioned and inheriting tables do not exist yet"));
    }
    let name = relation(&create.name)?;
    let temporary = create.temporary || name.is_temporary();
    if create.on_commit.is_some() && !temporary {
        let message = "ON COMMIT can only be used on temporary tables";
        return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, message));
    }
    let on_commit = match create.on_commit {
        None | Some(ast::OnCommit::PreserveRows) => OnCommit::PreserveRows,
        Some(ast::OnCommit::DeleteRows) => OnCommit::DeleteRows,
        Some(ast::OnCommit::Drop) => OnCommit::Drop,
    };
    let Options { storage, location } = options(&create.table_options)?;
    let mut table = CreateTable {
        name,
        if_not_exists: create.if_not_exists,
        columns: Vec::new(),
        constraints: Vec::new(),
        query: create.query.map(crate::parse::statement::query::query).transpose()?,
        temporary,
        on_commit,
        storage,
        location,
    };
    for def in &create.columns {
        let spec = match table.query {
            Some(_) => return Err(SqlError::unsupported("column types in CREATE TABLE AS")),
            None => constraint::column(def)?,
        };
        if table.columns.iter().any(|c| c.column.name == spec.column.name) {
            let message = format!("column \"{}\" specified more than once", spec.column.name);
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
        }
        table.columns.push(spec);
    }
    for constraint in &create.constraints {
        table.constraints.push(constraint::table_constraint(constraint)?);
    }
    if table.columns.len() > COLUMNS_MAX {
        return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "too many columns"));
    }
    Ok(table)
}

/// Takes `INTO table` out of a query that has it in its first `SELECT`.
pub(super) fn taken_into(query: &mut ast::Query) -> Option<ast::SelectInto> {
    let mut body = query.body.as_mut();
    loop {
        match body {
            ast::SetExpr::Select(select) => return select.into.take(),
            ast::SetExpr::SetOperation { left, .. } => body = left.as_mut(),
            _ => return None,
        }
    }
}

/// `SELECT .. INTO table` is `CREATE TABLE table AS SELECT ..`.
pub(super) fn select_into(into: &ast::SelectInto, query: Query) -> SqlResult<CreateTable> {
    let name = relation(&into.name)?;
    Ok(CreateTable {
        temporary: into.temporary || name.is_temporary(),
        name,
        if_not_exists: false,
        columns: vec![],
        constraints: vec![],
        query: Some(query),
        on_commit: OnCommit::PreserveRows,
        storage: None,
        location: None,
    })
}

pub(super) fn create_index(create: ast::CreateIndex) -> SqlResult<CreateIndex> {
    if create.predicate.is_some() || !create.with.is_empty() {
        return Err(SqlError::unsupported("CREATE INDEX with WHERE or WITH"));
    }
    if create.nulls_distinct == Some(false) {
        return Err(nulls_not_distinct());
    }
    let method = create.using.as_ref().map(|m| m.to_string().to_lowercase());
    let method = match method.as_deref() {
        None | Some("btree") => IndexMethod::Tree,
        Some("hash") => hash_index(&create)?,
        Some(other) => {
            return Err(SqlError::unsupported(format!("an index by the method {other}")));
        }
    };
    let table = relation(&create.table_name)?;
    let columns = index_columns(&ascending(&create.columns))?;
    let included: Vec<String> = create.include.iter().map(identifier).collect();
    let name = create.name.as_ref().map(name).transpose()?;
    let (unique, if_not_exists) = (create.unique, create.if_not_exists);
    let orders = orders(&create.columns);
    Ok(CreateIndex { name, table, columns, orders, included, unique, method, if_not_exists })
}

/// 0A000 for a key in which nulls are equal.
pub(super) fn nulls_not_distinct() -> SqlError {
    SqlError::unsupported("NULLS NOT DISTINCT")
        .with_hint("Declare the columns NOT NULL, with a value that stands for none.")
}

/// Errors: 0A000 for what a hash index cannot be.
fn hash_index(create: &ast::CreateIndex) -> SqlResult<IndexMethod> {
    let options = || create.columns.iter().map(|column| &column.column.options);
    let lacking = match () {
        () if create.unique => "unique indexes",
        () if !create.include.is_empty() => "included columns",
        () if create.columns.len() > 1 => "multicolumn indexes",
        () if options().any(|o| o.asc.is_some()) => "ASC/DESC options",
        () if options().any(|o| o.nulls_first.is_some()) => "NULLS FIRST/LAST options",
        () => return Ok(IndexMethod::Hash),
    };
    let message = format!("access method \"hash\" does not support {lacking}");
    Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message))
}

/// The order of each column by `ASC`, `DESC` and `NULLS FIRST`; nothing where all have the usual
/// one.
fn orders(columns: &[IndexColumn]) -> Vec<KeyOrder> {
    let order = |column: &IndexColumn| {
        let options = &column.column.options;
        let descending = options.asc == Some(false);
        KeyOrder { descending, nulls_first: options.nulls_first.unwrap_or(descending) }
    };
    let orders: Vec<KeyOrder> = columns.iter().map(order).collect();
    match orders.iter().all(|order| *order == KeyOrder::default()) {
        true => vec![],
        false => orders,
    }
}

/// The columns without `ASC`, `DESC` and `NULLS FIRST`: all indexes are stored in ascending order, and
/// these words change no result (docs/limits.md).
fn ascending(columns: &[IndexColumn]) -> Vec<IndexColumn> {
    let mut columns = columns.to_vec();
    for column in &mut columns {
        column.column.options.asc = None;
        column.column.options.nulls_first = None;
    }
    columns
}

pub(super) fn index_columns(columns: &[IndexColumn]) -> SqlResult<Vec<String>> {
    let column = |c: &IndexColumn| {
        c.operator_class.as_ref().map_or(Ok(()), operator_class)?;
        match (&c.column.expr, c.column.options.asc) {
            (_, Some(false)) => Err(SqlError::unsupported("a descending key column")),
            (ast::Expr::Identifier(ident), _) => Ok(identifier(ident)),
            (other, _) => Err(SqlError::unsupported(format!("an index on the expression {other}"))),
        }
    };
    columns.iter().map(column).collect()
}

/// Texts are in the order of their bytes in every index, so what serves `LIKE` in PostgreSQL is no other
/// order here; nor are the classes of single types.
fn operator_class(class: &ast::ObjectName) -> SqlResult<()> {
    let name = class.0.last().and_then(|part| part.as_ident()).map(identifier).unwrap_or_default();
    let pattern = ["text_pattern_ops", "varchar_pattern_ops", "bpchar_pattern_ops"];
    let own = [
        "text_ops",
        "varchar_ops",
        "bpchar_ops",
        "int2_ops",
        "int4_ops",
        "int8_ops",
        "date_ops",
        "timestamp_ops",
        "timestamptz_ops",
        "numeric_ops",
        "uuid_ops",
        "bool_ops",
    ];
    match pattern.iter().chain(&own).any(|known| *known == name) {
        true => Ok(()),
        false => Err(SqlError::unsupported(format!("the operator class {name}"))),
    }
}

pub(super) fn drop(
    object: ObjectType,
    if_exists: bool,
    names: &[ast::ObjectName],
    cascade: bool,
) -> SqlResult<Drop> {
    let object = match object {
        ObjectType::Table => DropObject::Table,
        ObjectType::Index => DropObject::Index,
        ObjectType::View => DropObject::View,
        ObjectType::Sequence => DropObject::Sequence,
        other => return Err(SqlError::unsupported(format!("DROP {other}"))),
    };
    let names = names.iter().map(relation).collect::<SqlResult<_>>()?;
    Ok(Drop { object, names, if_exists, cascade })
}

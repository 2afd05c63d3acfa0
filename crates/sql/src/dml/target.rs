//! The rows that `UPDATE` and `DELETE` are about, as queries.

use std::sync::Arc;

use datafusion_sql::sqlparser::ast::{self, Ident, SelectItem, TableFactor, TableWithJoins};
use datafusion_sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion_sql::sqlparser::parser::Parser;
use plan::catalog::{ColumnStatistics, TableDef, TableId};
use plan::constraints::ColumnDefault;
use plan::generated::NAME_MAX;
use types::{Column, LogicalType, SqlError, SqlResult, SqlState};

use super::assign::{cast_to, literal_of};
use crate::catalog::missing::table_not_found;
use crate::catalog::view::ViewDef;
use crate::catalog::{Catalog, function};
use crate::dml::assign::literal_as;
use crate::dml::insert::unknown_column;
use crate::parse::dialect::Postgres;
use crate::parse::dml::{Assignment, Delete, Update};
use crate::parse::statement::query::Query;
use crate::quote::unspelled::{apart, unspelled};

/// A catalog in which the tables that change, or whose rows are locked, have a second name, under which
/// the hidden row id is a column, behind all others.
pub struct TargetCatalog<'a> {
    inner: &'a dyn Catalog,
    targets: Vec<Arc<TableDef>>,
}

impl<'a> TargetCatalog<'a> {
    /// The catalog around a change of the table `name`.
    ///
    /// Errors: 42P01 for an unknown table, 42809 for a system relation, 0A000 for a view.
    pub fn new(inner: &'a dyn Catalog, name: &str) -> SqlResult<TargetCatalog<'a>> {
        TargetCatalog::of_tables(inner, &[name])
    }

    /// The same with several tables.
    ///
    /// Errors: those of one.
    pub fn of_tables(inner: &'a dyn Catalog, names: &[&str]) -> SqlResult<TargetCatalog<'a>> {
        let table = |name: &&str| match inner.table(name) {
            Some(table) => Ok(Arc::new(with_key(&table))),
            None => Err(not_changeable(inner, name)),
        };
        let targets = names.iter().map(table).collect::<SqlResult<_>>()?;
        Ok(TargetCatalog { inner, targets })
    }

    /// The table with its hidden row id.
    pub(super) fn target(&self) -> &TableDef {
        &self.targets[0]
    }

    /// The tables with their hidden row ids.
    pub(super) fn targets(&self) -> &[Arc<TableDef>] {
        &self.targets
    }

    /// The one of that second name.
    fn named(&self, name: &str) -> Option<&Arc<TableDef>> {
        let may_be = name.len() > NAME_MAX;
        let mut numbered = self.targets.iter().enumerate().filter(|_| may_be);
        numbered.find(|(number, _)| target_name(*number) == name).map(|(_, target)| target)
    }
}

/// What a table that changes is called in its query: no other relation has this name.
pub(super) fn target_name(number: usize) -> String {
    apart("target", number)
}

/// A table whose hidden row id is a column and its key, if it has no other.
fn with_key(table: &TableDef) -> TableDef {
    let mut target = table.clone();
    if !target.primary_key.is_empty() {
        return target;
    }
    target.primary_key = vec![target.schema.columns.len()];
    let row_id = Column { name: unspelled("row id"), ty: LogicalType::Int64, nullable: false };
    target.schema.columns.push(row_id);
    let mut statistics = (*target.statistics).clone();
    if !statistics.columns.is_empty() {
        let row_id = ColumnStatistics {
            distinct_count: statistics.row_count as f64,
            width: 8.0,
            correlation: 1.0,
            ..ColumnStatistics::default()
        };
        statistics.columns = statistics.columns.iter().cloned().chain([row_id]).collect();
    }
    target.statistics = Arc::new(statistics);
    target
}

/// Why a relation cannot be changed.
fn not_changeable(catalog: &dyn Catalog, name: &str) -> SqlError {
    if catalog.view(name).is_some() {
        return SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("cannot change view \"{name}\""),
        )
        .with_hint("change the tables that the view reads");
    }
    if catalog.system_table("pg_catalog", name).is_some() {
        let message = format!("permission denied: \"{name}\" is a system catalog");
        return SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message);
    }
    table_not_found(catalog, name)
}

impl Catalog for TargetCatalog<'_> {
    fn table(&self, name: &str) -> Option<Arc<TableDef>> {
        self.named(name).cloned().or_else(|| self.inner.table(name))
    }

    fn read_table(&self, schema: Option<&str>, name: &str) -> Option<Arc<TableDef>> {
        self.named(name).cloned().or_else(|| self.inner.read_table(schema, name))
    }

    fn hides_public(&self, name: &str) -> bool {
        self.inner.hides_public(name)
    }

    fn database(&self) -> Option<String> {
        self.inner.database()
    }

    fn view(&self, name: &str) -> Option<Arc<ViewDef>> {
        self.inner.view(name)
    }

    fn tables(&self) -> Vec<Arc<TableDef>> {
        self.inner.tables()
    }

    fn system_table(&self, schema: &str, name: &str) -> Option<Arc<TableDef>> {
        self.inner.system_table(schema, name)
    }

    fn now_us(&self) -> Option<i64> {
        self.inner.now_us()
    }

    fn check_read(
        &self,
        name: &str,
        table: Option<TableId>,
        within: Option<&str>,
    ) -> SqlResult<()> {
        // What reading the target needs is checked with what changing it needs.
        match self.named(name) {
            Some(_) => Ok(()),
            None => self.inner.check_read(name, table, within),
        }
    }

    fn system_function(&self, name: &str) -> Option<function::SystemFunction> {
        self.inner.system_function(name)
    }
}

/// The query of an `UPDATE`, to be planned in a [`TargetCatalog`], and the ordinals of the columns
/// that are assigned. Its rows are the table's columns, the row id if it has one, the new values.
///
/// Errors: 42703 for a column that does not exist, 428C9 for a column that is computed.
pub fn update_query(
    update: &Update,
    catalog: &TargetCatalog<'_>,
) -> SqlResult<(Query, Vec<usize>)> {
    let (mut ordinals, mut values) = (vec![], vec![]);
    for Assignment { column, value } in &update.assignments {
        let (ordinal, value) = assigned(catalog.target(), column, value)?;
        ordinals.push(ordinal);
        values.push(value);
    }
    let query = target_query(
        catalog.target(),
        update.alias.as_deref().unwrap_or(&update.table),
        values,
        &update.from,
        update.selection.clone(),
    )?
    .below(update.with.clone());
    Ok((query, ordinals))
}

/// The query of a `DELETE`, to be planned in a [`TargetCatalog`]: the table's columns and the row id
/// if it has one.
pub fn delete_query(delete: &Delete, catalog: &TargetCatalog<'_>) -> SqlResult<Query> {
    let alias = delete.alias.as_deref().unwrap_or(&delete.table);
    let selection = delete.selection.clone();
    Ok(target_query(catalog.target(), alias, vec![], &delete.using, selection)?
        .below(delete.with.clone()))
}

/// A query for the rows of a [`TargetCatalog`]'s table whose columns at `ordinals` have one of the
/// given values (as texts, a list per row): the table's columns and the row id if it has one. Where `types` has
/// other types than the columns, these are cast before they are compared.
///
/// # Errors
/// What planning says.
pub fn rows_with_keys(
    catalog: &TargetCatalog<'_>,
    ordinals: &[usize],
    types: &[LogicalType],
    keys: &[&Vec<String>],
) -> SqlResult<Query> {
    let column = |(&i, ty): (&usize, &LogicalType)| {
        let column = &catalog.target().schema.columns[i];
        let name = ast::Expr::Identifier(quoted(&column.name));
        if column.ty == *ty { Ok(name) } else { cast_to(name, *ty) }
    };
    let columns = ordinals.iter().zip(types).map(column).collect::<SqlResult<Vec<_>>>()?;
    let one = |mut exprs: Vec<ast::Expr>| match exprs.len() {
        1 => exprs.remove(0),
        _ => ast::Expr::Tuple(exprs),
    };
    let literal = |(text, &ty): (&String, &LogicalType)| {
        let value = ast::Value::SingleQuotedString(text.clone());
        literal_of(ast::Expr::Value(value.into()), ty)
    };
    let key = |key: &&Vec<String>| {
        Ok(one(key.iter().zip(types).map(literal).collect::<SqlResult<Vec<_>>>()?))
    };
    let list = keys.iter().map(key).collect::<SqlResult<Vec<_>>>()?;
    let expr = Box::new(one(columns));
    let selection = ast::Expr::InList { expr, list, negated: false };
    target_query(catalog.target(), &catalog.target().name, vec![], &[], Some(selection))
}

/// The ordinal of an assigned column, and the value as an expression of a query.
pub(super) fn assigned(
    table: &TableDef,
    column: &str,
    value: &ast::Expr,
) -> SqlResult<(usize, ast::Expr)> {
    let ordinal = table.schema.ordinal(column).ok_or_else(|| unknown_column(column, table))?;
    let default = table.constraints.default_of(ordinal);
    let is_default = is_default(value);
    match default {
        Some(ColumnDefault::Generated(_)) if !is_default => {
            let message = format!("column \"{column}\" can only be updated to DEFAULT");
            return Err(SqlError::new(SqlState::GENERATED_ALWAYS, message)
                .with_detail(format!("Column \"{column}\" is a generated column.")));
        }
        Some(ColumnDefault::Identity(identity)) if identity.always && !is_default => {
            let message = format!("column \"{column}\" can only be updated to DEFAULT");
            let detail =
                format!("Column \"{column}\" is an identity column defined as GENERATED ALWAYS.");
            return Err(SqlError::new(SqlState::GENERATED_ALWAYS, message).with_detail(detail));
        }
        _ => {}
    }
    let value = match (is_default, default) {
        (false, _) => literal_as(value.clone(), &table.schema.columns[ordinal])?,
        (true, Some(ColumnDefault::Expression(text))) => {
            literal_as(parsed(text)?, &table.schema.columns[ordinal])?
        }
        (true, Some(ColumnDefault::Identity(_))) => {
            let name = crate::quote::quote_ident(&table.sequence_name(ordinal)).replace('\'', "''");
            parsed(&format!("nextval('{name}')"))?
        }
        (true, _) => null(),
    };
    Ok((ordinal, value))
}

/// Whether a value is the word `DEFAULT`.
pub(crate) fn is_default(value: &ast::Expr) -> bool {
    matches!(value, ast::Expr::Identifier(name)
        if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("default"))
}

/// An expression of the catalog's, as text.
pub(crate) fn parsed(text: &str) -> SqlResult<ast::Expr> {
    let dialect = Postgres::for_length(text.len());
    let parser = Parser::new(&dialect).try_with_sql(text);
    let parsed = parser.and_then(|mut p| p.parse_expr());
    parsed.map_err(|e| SqlError::internal(format!("an expression of the catalog: {e}")))
}

fn null() -> ast::Expr {
    ast::Expr::Value(ast::Value::Null.into())
}

fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

fn target_query(
    table: &TableDef,
    alias: &str,
    values: Vec<ast::Expr>,
    from: &[TableWithJoins],
    selection: Option<ast::Expr>,
) -> SqlResult<Query> {
    let mut ast = skeleton()?;
    let ast::SetExpr::Select(select) = ast.body.as_mut() else {
        return Err(SqlError::internal("a select is no select"));
    };
    let old = table.schema.columns.iter().enumerate().map(|(i, c)| {
        let parts = vec![Ident::with_quote('"', alias), Ident::with_quote('"', &c.name)];
        named(ast::Expr::CompoundIdentifier(parts), format!("old_{i}"))
    });
    let new = values.into_iter().enumerate().map(|(i, v)| named(v, format!("new_{i}")));
    select.projection = old.chain(new).collect();
    let mut target = select.from.remove(0);
    if let TableFactor::Table { name, alias: as_alias, .. } = &mut target.relation {
        *name = Ident::with_quote('"', target_name(0)).into();
        if let Some(as_alias) = as_alias {
            as_alias.name = Ident::with_quote('"', alias);
        }
    }
    select.from = std::iter::once(target).chain(from.iter().cloned()).collect();
    select.selection = selection;
    Ok(Query::new(Box::new(ast)))
}

fn named(expr: ast::Expr, alias: String) -> SelectItem {
    SelectItem::ExprWithAlias { expr, alias: Ident::new(alias) }
}

fn skeleton() -> SqlResult<ast::Query> {
    let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql("select 1 from t as t");
    let parsed = parser.and_then(|mut p| p.parse_query());
    parsed.map(|q| *q).map_err(|e| SqlError::internal(e.to_string()))
}

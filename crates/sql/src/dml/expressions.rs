//! Expressions over the rows of a table: `RETURNING`, checks, generated columns.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, SchemaRef};
use datafusion_common::DFSchema;
use datafusion_sql::sqlparser::ast::{self, SelectItem, SelectItemQualifiedWildcardKind};
use plan::catalog::TableDef;
use plan::constraints::ColumnDefault;
use plan::expr::Expr;
use types::cells::Cells;
use types::described::{Declared, Origin, Place, with_origin};
use types::{SqlResult, SqlState};

use super::formula::{Formula, Inputs};
use super::target::parsed;
use crate::analyze::expression::bind_scalar;
use crate::catalog::{Catalog, missing};
use crate::error::{from_arrow, from_library, guarded};
use crate::expr::scalar;
use crate::parse::dml;
use crate::rewrite::names;

/// Columns computed from rows of a table.
pub struct RowExprs {
    /// Names and types of the columns.
    pub schema: SchemaRef,
    /// The columns of the table.
    table: SchemaRef,
    columns: Vec<Formula>,
}

impl RowExprs {
    /// The columns for each row of `rows`, which has all columns of the table in order.
    ///
    /// # Errors
    /// Those of computing them.
    pub fn evaluate(&self, rows: &RecordBatch) -> SqlResult<RecordBatch> {
        self.batch(rows.num_rows(), |column| column.evaluate(rows))
    }

    /// The same of rows of values, behind which there may be a row id.
    ///
    /// # Errors
    /// The same.
    pub fn of_cells(&self, rows: &Cells) -> SqlResult<RecordBatch> {
        let inputs = Inputs::of(&self.table, rows);
        self.batch(rows.len(), |column| column.vector(&inputs))
    }

    fn batch(
        &self,
        count: usize,
        of: impl Fn(&Formula) -> SqlResult<ArrayRef>,
    ) -> SqlResult<RecordBatch> {
        let columns = self.columns.iter().map(of).collect::<SqlResult<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
            .map_err(from_arrow)
    }
}

/// The columns of a table as the binder sees them under a name.
pub(super) fn qualified(table: &TableDef, alias: &str) -> SqlResult<DFSchema> {
    DFSchema::try_from_qualified_schema(alias.to_owned(), &table.schema.arrow())
        .map_err(from_library)
}

/// A bound expression over the table's columns.
pub(super) fn compiled(
    expr: ast::Expr,
    schema: &DFSchema,
    catalog: &dyn Catalog,
) -> SqlResult<Expr> {
    guarded::guarded(|| scalar::compile(&bind_scalar(expr, schema, catalog)?, schema))
}

/// The `RETURNING` list of a statement over the table, which it calls `alias`.
///
/// Errors: 42703 and 42P01 for unknown names, 0A000 for subqueries.
pub(crate) fn returning_items(
    items: &[SelectItem],
    table: &TableDef,
    alias: &str,
    catalog: &dyn Catalog,
) -> SqlResult<RowExprs> {
    let (schema, input) = (qualified(table, alias)?, table.schema.arrow());
    let (mut fields, mut columns) = (vec![], vec![]);
    let mut add = |name: String, expr: Expr| {
        let field = Field::new(name, expr.data_type().clone(), true);
        fields.push(with_origin(field, origin_of(table, &expr)));
        columns.push(Formula::new(expr, &input));
    };
    for item in items {
        let (expr, name) = match item {
            SelectItem::UnnamedExpr(expr) => (expr, names::item_name(item)),
            SelectItem::ExprWithAlias { expr, .. } => (expr, names::item_name(item)),
            SelectItem::Wildcard(_)
            | SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(_), _) => {
                for (i, column) in table.schema.columns.iter().enumerate() {
                    let name = column.name.clone();
                    add(name.clone(), Expr::column(i, &name, column.ty.arrow()));
                }
                continue;
            }
            _ => return Err(types::SqlError::unsupported("this form of RETURNING")),
        };
        add(name, compiled(expr.clone(), &schema, catalog)?);
    }
    if columns.is_empty() {
        let message = "RETURNING must have at least one column";
        return Err(types::SqlError::new(SqlState::SYNTAX_ERROR, message));
    }
    Ok(RowExprs { schema: Arc::new(Schema::new(fields)), table: input, columns })
}

fn origin_of(table: &TableDef, expr: &Expr) -> Origin {
    let Some(index) = expr.is_column() else { return Origin::default() };
    let Some(column) = table.schema.columns.get(index) else { return Origin::default() };
    let number = i16::try_from(index + 1).ok();
    let place = number.map(|column| Place { relation: table.id.oid(), column });
    Origin { place, declared: Some(Declared::Own(column.ty)) }
}

/// The `RETURNING` list of a statement; `None` when it has none.
pub trait Returning {
    /// The table, the name it goes by, the list.
    #[doc(hidden)]
    fn parts(&self) -> (&str, &str, &[SelectItem]);
}

macro_rules! returning_of {
    ($($statement:ty),*) => {$(
        impl Returning for $statement {
            fn parts(&self) -> (&str, &str, &[SelectItem]) {
                let alias = self.alias.as_deref().unwrap_or(&self.table);
                (&self.table, alias, &self.returning)
            }
        }
    )*};
}

returning_of!(dml::Insert, dml::Update, dml::Delete);

/// The `RETURNING` list of a statement over its table; `None` when it has none.
///
/// Errors: 42P01 and 42703 for unknown names, 0A000 for subqueries.
pub fn returning(statement: &impl Returning, catalog: &dyn Catalog) -> SqlResult<Option<RowExprs>> {
    let (table, alias, items) = statement.parts();
    if items.is_empty() {
        return Ok(None);
    }
    let Some(def) = catalog.table(table) else {
        return Err(missing::table_not_found(catalog, table));
    };
    returning_items(items, &def, alias, catalog).map(Some)
}

/// The conditions that rows of the table must not make false, with their constraints' names.
pub(crate) fn checks(table: &TableDef, catalog: &dyn Catalog) -> SqlResult<Vec<(String, Expr)>> {
    let schema = qualified(table, &table.name)?;
    let check = |c: &plan::constraints::Check| {
        let expr = compiled(parsed(&c.expression)?, &schema, catalog)?;
        if *expr.data_type() != arrow_schema::DataType::Boolean && !expr.data_type().is_null() {
            let message = format!(
                "argument of CHECK must be type boolean, not type {}",
                crate::render::type_name(expr.data_type())
            );
            return Err(types::SqlError::new(SqlState::DATATYPE_MISMATCH, message));
        }
        Ok((c.name.clone(), expr))
    };
    table.constraints.checks.iter().map(check).collect()
}

/// The columns of the table that are computed from the others, by their ordinals.
pub(super) fn generated_columns(
    table: &TableDef,
    catalog: &dyn Catalog,
) -> SqlResult<Vec<(usize, Expr)>> {
    let schema = qualified(table, &table.name)?;
    let column = |ordinal: usize| match table.constraints.default_of(ordinal) {
        Some(ColumnDefault::Generated(text)) => {
            let expr = parsed(text).and_then(|expr| compiled(expr, &schema, catalog));
            Some(expr.map(|expr| (ordinal, expr)))
        }
        _ => None,
    };
    (0..table.schema.columns.len()).filter_map(column).collect()
}

/// The values of an expression over the table's columns, as a column's type.
///
/// Errors: what binding, computing and assigning says.
pub fn converted(
    table: &TableDef,
    expression: &str,
    column: &types::Column,
    batch: &RecordBatch,
    catalog: &dyn Catalog,
) -> SqlResult<ArrayRef> {
    let schema = qualified(table, &table.name)?;
    let expr = compiled(parsed(expression)?, &schema, catalog)?;
    super::assign(&expr.evaluate(batch)?, column)
}

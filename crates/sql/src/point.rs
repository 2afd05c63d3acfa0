//! Look-ups by key, planned once for all values: `SELECT .. FROM t WHERE key = $1`.
//!
//! Such a query must have the same plan whatever the values are, so the form is narrow: one table,
//! and each parameter once, alone on one side of an equality with a column that nothing else
//! restricts, joined to the rest by AND. The values then stand nowhere in the plan but in the
//! prefix of the key range. What does not have this form is planned for its values each time.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_sql::sqlparser::ast;
use plan::catalog::TableDef;
use plan::{Access, IndexRef, KeyRange, Node, Operator, Plan, Scan};
use types::{Datum, LogicalType, SqlResult};

use crate::catalog::Catalog;
use crate::options::PlannerOptions;
use crate::parse::object_name::{self, RelationName};
use crate::parse::parameter::Parameter;
use crate::parse::statement::Statement;
use crate::parse::template::Template;
use crate::planner::plan_query;

/// A look-up by key and its plan.
#[derive(Debug)]
pub struct PointQuery {
    plan: Arc<Plan>,
    table: Arc<TableDef>,
    index: IndexRef,
    fetch: bool,
    /// The range as it was planned; parameters take their places in the prefix.
    range: KeyRange,
    /// For each value of the prefix: the number of the parameter and the column's type.
    slots: Vec<Option<(usize, LogicalType)>>,
}

/// Plans a statement for all values of its parameters; `None` when it is no look-up by key. The values
/// given decide nothing but whether an index pays, as for any other plan.
///
/// # Errors
/// What parsing and planning say.
pub fn plan_point(
    template: &Template,
    parameters: &[Parameter],
    catalog: &dyn Catalog,
    options: &PlannerOptions,
) -> SqlResult<Option<PointQuery>> {
    let Statement::Query(query) = template.unbound()? else { return Ok(None) };
    if query.row_locks().is_some() {
        return Ok(None);
    }
    let Some((table, columns)) = looked_up(&query.ast, template.parameter_count()) else {
        return Ok(None);
    };
    let Some(table) = catalog.read_table(table.schema.as_deref(), &table) else {
        return Ok(None);
    };
    let Statement::Query(bound) = template.bind(parameters)? else { return Ok(None) };
    let plan = Arc::new(plan_query(&bound, catalog, options)?);
    Ok(PointQuery::new(plan, table, &columns, parameters))
}

impl PointQuery {
    fn new(
        plan: Arc<Plan>,
        table: Arc<TableDef>,
        columns: &[String],
        parameters: &[Parameter],
    ) -> Option<PointQuery> {
        let scan = only_scan(&plan.root)?;
        let Access::Range { index, ranges, fetch } = &scan.access else { return None };
        let ([range], true) = (&ranges[..], scan.table.id == table.id) else { return None };
        let (range, index, fetch) = (range.clone(), index.clone(), *fetch);
        let key = index.key_columns(&table);
        let slot = |(_, ordinal): (&ScalarValue, &usize)| {
            let column = &table.schema.columns[*ordinal];
            let number = columns.iter().position(|name| *name == column.name)?;
            Some((number, column.ty))
        };
        let slots: Vec<_> = range.prefix.iter().zip(key).map(slot).collect();
        let is_placed = |number: usize| slots.iter().flatten().any(|(n, _)| *n == number);
        if !(0..columns.len()).all(is_placed) {
            return None;
        }
        let point = PointQuery { plan, table, index, fetch, range, slots };
        // The planner must have put there what a binding would put there.
        let planned = point.prefix(parameters)? == point.range.prefix;
        planned.then_some(point)
    }

    /// The plan: right but for the access path of its scan, which each execution has of its own.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// The table as it was planned for.
    pub fn table(&self) -> &Arc<TableDef> {
        &self.table
    }

    /// The access path for these values; `None` for values that need a plan of their own: nulls, and
    /// what is no value of the column's type.
    pub fn access(&self, parameters: &[Parameter]) -> Option<Access> {
        let (lower, upper) = (self.range.lower.clone(), self.range.upper.clone());
        let range = KeyRange { prefix: self.prefix(parameters)?, lower, upper };
        Some(Access::Range { index: self.index.clone(), ranges: [range].into(), fetch: self.fetch })
    }

    fn prefix(&self, parameters: &[Parameter]) -> Option<Vec<ScalarValue>> {
        let value = |(planned, slot): (&ScalarValue, &Option<(usize, LogicalType)>)| match slot {
            Some((number, ty)) => value(parameters.get(*number)?, *ty),
            None => Some(planned.clone()),
        };
        self.range.prefix.iter().zip(&self.slots).map(value).collect()
    }
}

/// A parameter as a value of a column's type, where that is beyond doubt.
pub(crate) fn value(parameter: &Parameter, ty: LogicalType) -> Option<ScalarValue> {
    let (given, wanted) = (parameter.ty, ty.arrow());
    match wanted {
        DataType::Int16 | DataType::Int32 | DataType::Int64 => {
            let whole = [LogicalType::Int16, LogicalType::Int32, LogicalType::Int64];
            given.is_none_or(|given| whole.contains(&given)).then_some(())?;
            let number = match &parameter.value {
                Datum::Int(number) => *number,
                Datum::Text(text) => text.parse().ok()?,
                _ => return None,
            };
            let fits_given = match given {
                Some(LogicalType::Int16) => i16::try_from(number).is_ok(),
                Some(LogicalType::Int32) => i32::try_from(number).is_ok(),
                _ => true,
            };
            fits_given.then_some(())?;
            Some(match wanted {
                DataType::Int16 => ScalarValue::Int16(Some(number.try_into().ok()?)),
                DataType::Int32 => ScalarValue::Int32(Some(number.try_into().ok()?)),
                _ => ScalarValue::Int64(Some(number)),
            })
        }
        DataType::Utf8View if matches!(ty, LogicalType::Text | LogicalType::Varchar(_)) => {
            given.is_none_or(|given| given == LogicalType::Text).then_some(())?;
            let Datum::Text(text) = &parameter.value else { return None };
            Some(ScalarValue::Utf8View(Some(text.clone())))
        }
        _ => None,
    }
}

/// The one scan of a plan whose other operators take rows in and give rows out.
fn only_scan(node: &Node) -> Option<&Scan> {
    match &node.operator {
        Operator::Scan(scan) if node.is_row() && scan.filter.is_none() => Some(scan),
        _ => None,
    }
}

/// The table of a look-up, and the column that each parameter is compared with.
fn looked_up(query: &ast::Query, parameter_count: usize) -> Option<(RelationName, Vec<String>)> {
    let ast::SetExpr::Select(select) = query.body.as_ref() else { return None };
    let [ast::TableWithJoins { relation: ast::TableFactor::Table { name, .. }, joins }] =
        select.from.as_slice()
    else {
        return None;
    };
    if query.with.is_some() || !joins.is_empty() || parameter_count == 0 {
        return None;
    }
    let mut names = Names::default();
    // The visit itself never stops.
    let _ = ast::Visit::visit(query, &mut names);
    let condition = select.selection.as_ref()?;
    let mut restricting = Names::default();
    let _ = ast::Visit::visit(condition, &mut restricting);
    if names.is_volatile || names.queries != 1 || names.placeholders != parameter_count {
        return None;
    }
    let mut columns = vec![None; parameter_count];
    conjuncts(condition, &mut |conjunct| {
        if let Some((number, column)) = equality(conjunct)
            && restricting.columns.iter().filter(|name| **name == column).count() == 1
            && let Some(place) = columns.get_mut(number)
        {
            *place = Some(column);
        }
    });
    let columns = columns.into_iter().collect::<Option<Vec<_>>>()?;
    Some((object_name::relation(name).ok()?, columns))
}

pub(crate) fn conjuncts(condition: &ast::Expr, visit: &mut impl FnMut(&ast::Expr)) {
    match condition {
        ast::Expr::BinaryOp { left, op: ast::BinaryOperator::And, right } => {
            conjuncts(left, visit);
            conjuncts(right, visit);
        }
        ast::Expr::Nested(inner) => conjuncts(inner, visit),
        other => visit(other),
    }
}

/// The number of the parameter and the column of `column = $number`.
fn equality(conjunct: &ast::Expr) -> Option<(usize, String)> {
    let ast::Expr::BinaryOp { left, op: ast::BinaryOperator::Eq, right } = conjunct else {
        return None;
    };
    let (number, column) = match (placeholder(left), placeholder(right)) {
        (Some(number), None) => (number, right),
        (None, Some(number)) => (number, left),
        _ => return None,
    };
    Some((number, column_name(column)?))
}

pub(crate) fn placeholder(expr: &ast::Expr) -> Option<usize> {
    let ast::Expr::Value(value) = expr else { return None };
    let ast::Value::Placeholder(name) = &value.value else { return None };
    name.strip_prefix('$')?.parse::<usize>().ok()?.checked_sub(1)
}

fn column_name(expr: &ast::Expr) -> Option<String> {
    match expr {
        ast::Expr::Identifier(ident) => Some(object_name::identifier(ident)),
        ast::Expr::CompoundIdentifier(parts) => parts.last().map(object_name::identifier),
        _ => None,
    }
}

/// Functions whose value follows from their arguments alone.
const STABLE: &[&str] =
    &["abs", "avg", "coalesce", "count", "length", "lower", "max", "min", "sum", "upper"];

fn is_stable(name: &ast::ObjectName) -> bool {
    STABLE.contains(&name.to_string().to_lowercase().as_str())
}

/// What occurs in a query.
#[derive(Default)]
struct Names {
    queries: usize,
    placeholders: usize,
    /// Something in it may have another value at the next execution, or in another session.
    is_volatile: bool,
    columns: Vec<String>,
}

impl ast::Visitor for Names {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &ast::Query) -> ControlFlow<()> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
        self.is_volatile |= match expr {
            ast::Expr::Function(function) => !is_stable(&function.name),
            // `'now'::timestamp` and `'t'::regclass` are looked up when they are planned.
            ast::Expr::Cast { .. } | ast::Expr::TypedString(_) => true,
            _ => false,
        };
        self.placeholders += usize::from(placeholder(expr).is_some());
        self.columns.extend(column_name(expr));
        ControlFlow::Continue(())
    }
}

//! Where the columns of a result come from: clients want to know the table, the column and the type
//! that was declared for it. Found on the bound plan, before any rule takes it apart.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion_common::metadata::FieldMetadata;
use datafusion_common::{NullEquality, Result};
use datafusion_expr::expr::{Case, ScalarFunction};
use datafusion_expr::logical_plan::{Distinct, Join};
use datafusion_expr::{Expr, JoinType, LogicalPlan, LogicalPlanBuilder, ScalarUDF};
use types::described::{Declared, Origin, Place};
use types::{ANY_LENGTH, LogicalType, oid};

use crate::analyze::column_types::{self, ANY_NUMERIC};
use crate::analyze::tables::CatalogTable;
use crate::catalog::Catalog;

/// The origins of a plan's columns, in order.
pub(crate) fn origins(plan: &LogicalPlan, catalog: &dyn Catalog) -> Vec<Origin> {
    let finder = Finder { catalog };
    (0..plan.schema().fields().len()).map(|column| finder.of_column(plan, column)).collect()
}

/// Functions and types leave the query by their names, as PostgreSQL shows them; they are numbers as
/// long as they are in it.
pub(crate) fn show_names(
    plan: LogicalPlan,
    origins: &mut [Origin],
    catalog: &dyn Catalog,
) -> Result<LogicalPlan> {
    let shown: Vec<_> = origins.iter_mut().map(|origin| namer(origin, catalog)).collect();
    if shown.iter().all(Option::is_none) {
        return Ok(plan);
    }
    let outputs = plan.schema().iter().zip(shown).map(|((qualifier, field), function)| {
        let column = Expr::Column((qualifier, field).into());
        match function {
            Some(function) => Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![column]))
                .alias_qualified(qualifier.cloned(), field.name()),
            None => column,
        }
    });
    let outputs: Vec<Expr> = outputs.collect();
    LogicalPlanBuilder::from(plan).project(outputs)?.build()
}

/// The function that names the values of a column which is declared as numbers of something.
fn namer(origin: &mut Origin, catalog: &dyn Catalog) -> Option<Arc<ScalarUDF>> {
    let name = match origin.declared {
        Some(Declared::Text(oid::REGPROC)) => "regprocout",
        Some(Declared::Text(oid::REGTYPE)) => "regtypeout",
        _ => return None,
    };
    origin.declared = None;
    catalog.system_function(name).map(crate::catalog::function::library_function)
}

const VIEW: &str = "view";
const COLUMN: &str = "view_column";

/// Marks an output of a view's query as the view's column of this number, from 1.
pub(crate) fn of_view(oid: u32, column: usize) -> FieldMetadata {
    let notes = [(VIEW, oid.to_string()), (COLUMN, column.to_string())];
    let notes: BTreeMap<String, String> = notes.map(|(k, v)| (k.to_owned(), v)).into();
    FieldMetadata::from(notes)
}

fn view_place(notes: Option<&FieldMetadata>) -> Option<Place> {
    let notes = notes?.inner();
    let number = |key| notes.get(key)?.parse::<u32>().ok();
    Some(Place { relation: number(VIEW)?, column: number(COLUMN)?.try_into().ok()? })
}

/// A relation by its name.
const REGCLASS: Option<Declared> = Some(Declared::Text(oid::REGCLASS));

struct Finder<'a> {
    catalog: &'a dyn Catalog,
}

impl Finder<'_> {
    fn of_column(&self, plan: &LogicalPlan, column: usize) -> Origin {
        match plan {
            LogicalPlan::Projection(p) => self.of_nth(&p.expr, column, &p.input),
            LogicalPlan::Distinct(Distinct::On(on)) => {
                self.of_nth(&on.select_expr, column, &on.input)
            }
            LogicalPlan::Distinct(Distinct::All(input)) => self.of_column(input, column),
            LogicalPlan::SubqueryAlias(alias) => self.of_column(&alias.input, column),
            LogicalPlan::Filter(filter) => self.of_column(&filter.input, column),
            LogicalPlan::Sort(sort) => self.of_column(&sort.input, column),
            LogicalPlan::Limit(limit) => self.of_column(&limit.input, column),
            LogicalPlan::Window(window) => match column < width(&window.input) {
                true => self.of_column(&window.input, column),
                false => Origin::default(),
            },
            LogicalPlan::Aggregate(aggregate) => match aggregate.group_expr.as_slice() {
                [Expr::GroupingSet(_)] => Origin::default(),
                groups if column < groups.len() => self.of_nth(groups, column, &aggregate.input),
                groups => {
                    let nth = aggregate.aggr_expr.get(column - groups.len());
                    nth.map_or(Origin::default(), |call| self.of_aggregate(call, &aggregate.input))
                }
            },
            LogicalPlan::Join(join) if is_set_operation(join) => {
                self.of_union(&[Arc::clone(&join.left), Arc::clone(&join.right)], column)
            }
            LogicalPlan::Join(join) => match (join.join_type, width(&join.left)) {
                (JoinType::RightSemi | JoinType::RightAnti, _) => {
                    self.of_column(&join.right, column)
                }
                (_, left) if column < left => self.of_column(&join.left, column),
                (_, left) if column < left + width(&join.right) => {
                    self.of_column(&join.right, column - left)
                }
                _ => Origin::default(),
            },
            LogicalPlan::Union(union) => self.of_union(&union.inputs, column),
            LogicalPlan::TableScan(scan) => {
                let Some(table) = scan.source.downcast_ref::<CatalogTable>() else {
                    return Origin::default();
                };
                let projected = scan.projection.as_ref().and_then(|p| p.get(column).copied());
                self.of_table(table, projected.unwrap_or(column))
            }
            _ => Origin::default(),
        }
    }

    fn of_table(&self, table: &CatalogTable, ordinal: usize) -> Origin {
        let Some(column) = table.def.schema.columns.get(ordinal) else {
            return Origin::default();
        };
        let number = i16::try_from(ordinal + 1).ok();
        let place = number.map(|column| Place { relation: table.def.id.oid(), column });
        let own = Declared::Own(column.ty);
        let declared = match table.def.id.is_system() {
            true => self.catalog.system_type(&table.def, ordinal).map_or(own, Declared::Text),
            false => own,
        };
        Origin { place, declared: Some(declared) }
    }

    /// What is the same in all branches of a set operation: a type, but no place.
    fn of_union(&self, inputs: &[Arc<LogicalPlan>], column: usize) -> Origin {
        let types = inputs.iter().map(|input| self.of_column(input, column).declared);
        Origin { place: None, declared: common(types) }
    }

    fn of_nth(&self, exprs: &[Expr], column: usize, input: &LogicalPlan) -> Origin {
        exprs.get(column).map_or(Origin::default(), |expr| self.of_expr(expr, input))
    }

    fn of_expr(&self, expr: &Expr, input: &LogicalPlan) -> Origin {
        match expr {
            Expr::Alias(alias) => {
                let inner = self.of_expr(&alias.expr, input);
                match view_place(alias.metadata.as_ref()) {
                    Some(place) => Origin { place: Some(place), ..inner },
                    None => inner,
                }
            }
            Expr::Column(column) => match input.schema().index_of_column(column) {
                Ok(index) => self.of_column(input, index),
                Err(_) => Origin::default(),
            },
            Expr::ScalarSubquery(subquery) => {
                Origin { place: None, ..self.of_column(&subquery.subquery, 0) }
            }
            Expr::Cast(cast) => Origin { place: None, declared: cast_type(&cast.field) },
            Expr::Case(case) => Origin { place: None, declared: self.of_results(case, input) },
            Expr::ScalarFunction(call) => match (call.func.name(), call.args.as_slice()) {
                ("array_or_empty", [array]) | ("elements_cut", [array, ..]) => {
                    Origin { place: None, ..self.of_expr(array, input) }
                }
                ("coalesce", all) => {
                    let types = all.iter().map(|expr| self.of_expr(expr, input).declared);
                    Origin { place: None, declared: common(types).filter(|ty| is_text(*ty)) }
                }
                ("array_element", [array, _]) => {
                    let array = self.of_expr(array, input).declared.and_then(Declared::column_type);
                    let element = match array {
                        Some(LogicalType::Array(element)) => Some(Declared::Own(*element)),
                        _ => None,
                    };
                    Origin { place: None, declared: element.filter(|ty| is_text(*ty)) }
                }
                ("regclassout", _) => Origin { place: None, declared: REGCLASS },
                (name, _) => Origin { place: None, declared: result_type(name) },
            },
            _ => Origin::default(),
        }
    }

    /// What the results of a `CASE` are to clients, where they are `text` here: `json`, say. Nulls have
    /// the type of the others.
    fn of_results(&self, case: &Case, input: &LogicalPlan) -> Option<Declared> {
        let results = case.when_then_expr.iter().map(|(_, then)| then).chain(&case.else_expr);
        let results = results.filter(|result| !is_null(result));
        common(results.map(|result| self.of_expr(result, input).declared)).filter(|ty| is_text(*ty))
    }

    /// An array of names is one to clients too.
    fn of_aggregate(&self, call: &Expr, input: &LogicalPlan) -> Origin {
        let call = match call {
            Expr::Alias(alias) => &alias.expr,
            other => other,
        };
        let Expr::AggregateFunction(call) = call else { return Origin::default() };
        let ("array_agg", [element]) = (call.func.name(), call.params.args.as_slice()) else {
            return Origin::default();
        };
        match self.of_expr(element, input).declared {
            Some(Declared::Text(element)) => {
                let declared = oid::array_of(element).map(Declared::Text);
                Origin { place: None, declared }
            }
            Some(Declared::Own(ty @ LogicalType::Varchar(_))) => {
                Origin { place: None, declared: Some(Declared::Own(ty.array_of())) }
            }
            _ => Origin::default(),
        }
    }
}

/// The common type of values: the type that all have, or of texts that of the first.
fn common(mut types: impl Iterator<Item = Option<Declared>>) -> Option<Declared> {
    let first = types.next().flatten()?;
    let (mut same, mut texts) = (true, true);
    for ty in types {
        same &= ty == Some(first);
        texts &= ty.is_none_or(is_text);
    }
    let is_varchar = matches!(first.column_type(), Some(LogicalType::Varchar(_)));
    match same {
        true => Some(first),
        false => (is_varchar && texts).then_some(Declared::Own(LogicalType::Varchar(ANY_LENGTH))),
    }
}

/// True if it is `text` here.
fn is_text(declared: Declared) -> bool {
    match declared {
        Declared::Own(ty) => {
            matches!(ty, LogicalType::Text | LogicalType::Varchar(_) | LogicalType::Char(_))
        }
        Declared::Text(oid) => !oid::is_array(oid),
    }
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(value, _) if value.is_null())
}

/// Whether the library made this join of `INTERSECT` or `EXCEPT`: no other takes nulls for equal.
fn is_set_operation(join: &Join) -> bool {
    matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
        && join.null_equality == NullEquality::NullEqualsNull
}

fn width(plan: &LogicalPlan) -> usize {
    plan.schema().fields().len()
}

/// What a function gives that is `text` here and another type to clients.
fn result_type(function: &str) -> Option<Declared> {
    let ty = crate::signatures::result(function)?;
    matches!(ty, oid::VOID | oid::NAME | oid::JSON).then_some(Declared::Text(ty))
}

fn cast_type(field: &arrow_schema::Field) -> Option<Declared> {
    match field.data_type() == &ANY_NUMERIC {
        true => None,
        false => column_types::declared(field),
    }
}

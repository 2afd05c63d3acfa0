//! Object identifier types and `ARRAY(subquery)`, which the library's binder does not have.
//!
//! A value of `regclass`, `regtype` and so on is an oid; where it is shown or becomes text it is the
//! name. So a cast to such a type becomes a function that gives the oid, inside of another that
//! gives the name where the value leaves the query, is concatenated or is cast to text.

mod table_oids;

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    ArrayElemTypeDef, BinaryOperator, DataType, Expr, Function, FunctionArgumentClause,
    FunctionArguments, GroupByExpr, Ident, ObjectNamePart, OrderByExpr, OrderByKind, Query, Select,
    SelectItem, SetExpr, TableFactor, Value, VisitorMut,
};

use crate::parse::expressions::{call_with, take};
use crate::parse::{object_name, set_functions, vectors};
use crate::rewrite::having::is_of_many_rows;
use crate::walk::WalkMut;

/// Rewrites a whole query.
pub(crate) fn rewrite(query: &mut Query) {
    show_names(&mut query.body);
    table_oids::replace(query);
    let ControlFlow::Continue(()) = query.walk_mut(&mut Rewrite);
}

/// The object identifier types that a cast can name.
const OBJECT_TYPES: [&str; 7] =
    ["regclass", "regtype", "regproc", "regprocedure", "regnamespace", "regrole", "regoper"];

enum Never {}

struct Rewrite;

impl VisitorMut for Rewrite {
    type Break = Never;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Never> {
        match expr {
            Expr::Cast { expr: inner, data_type, .. } if is_text(data_type) => show(inner),
            Expr::BinaryOp { left, op: BinaryOperator::StringConcat, right } => {
                show(left);
                show(right);
            }
            Expr::AnyOp { compare_op: BinaryOperator::Eq, right, .. }
            | Expr::AllOp { compare_op: BinaryOperator::NotEq, right, .. } => {
                if let Some(query) = rows_of_array(right) {
                    **right = Expr::Subquery(query);
                }
            }
            Expr::Function(function) => {
                if let Some(aggregate) = array_of_subquery(function) {
                    *expr = aggregate;
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Never> {
        if let Expr::Cast { expr: inner, data_type, .. } = expr {
            if let Some(kind) = object_type(data_type) {
                let inner = take(inner);
                *expr = call(&format!("{kind}in"), inner);
            } else if is_list_of_types(data_type) {
                let inner = take(inner);
                *expr = call("regtype_names", inner);
            }
        }
        ControlFlow::Continue(())
    }
}

fn is_text(ty: &DataType) -> bool {
    match ty {
        DataType::Text | DataType::Varchar(_) | DataType::CharacterVarying(_) => true,
        DataType::Custom(name, _) => name.to_string().eq_ignore_ascii_case("name"),
        _ => false,
    }
}

/// The object identifier type's name.
fn object_type(ty: &DataType) -> Option<&'static str> {
    if matches!(ty, DataType::Regclass) {
        return Some("regclass");
    }
    let DataType::Custom(name, _) = ty else { return None };
    let [ObjectNamePart::Identifier(ident)] = name.0.as_slice() else { return None };
    OBJECT_TYPES.into_iter().find(|t| *t == object_name::identifier(ident))
}

/// `regtype[]`: lists of types are shown by their names.
fn is_list_of_types(ty: &DataType) -> bool {
    let DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) = ty else { return false };
    object_type(element) == Some("regtype")
}

/// The results of a query show names. In `UNION` and the like the first query says whether an output is an object
/// identifier or an oid, which a column may be.
fn show_names(body: &mut SetExpr) {
    let mut selects = vec![];
    collect_selects(body, &mut selects);
    let Some((first, others)) = selects.split_first_mut() else { return };
    for place in 0..first.projection.len() {
        let Some(expr) = output(first, place).filter(|expr| !is_column(expr)) else { continue };
        let kind = kind_of(expr);
        show(expr);
        for expr in others.iter_mut().filter_map(|select| output(select, place)) {
            match kind.filter(|_| is_column(expr)) {
                Some(kind) => *expr = call(&format!("{kind}out"), take(expr)),
                None => show(expr),
            }
        }
    }
}

/// The queries whose rows a body has.
fn collect_selects<'a>(body: &'a mut SetExpr, into: &mut Vec<&'a mut Select>) {
    match body {
        SetExpr::Select(select) => into.push(select),
        SetExpr::Query(query) => collect_selects(&mut query.body, into),
        SetExpr::SetOperation { left, right, .. } => {
            collect_selects(left, into);
            collect_selects(right, into);
        }
        _ => {}
    }
}

fn output(select: &mut Select, place: usize) -> Option<&mut Expr> {
    match select.projection.get_mut(place)? {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }
}

fn is_column(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
}

/// The object identifier type that an expression is cast to.
fn kind_of(expr: &Expr) -> Option<&'static str> {
    match expr {
        Expr::Nested(inner) => kind_of(inner),
        Expr::Cast { data_type, .. } => object_type(data_type),
        _ => None,
    }
}

/// Makes text of an object identifier that is the value of the expression.
fn show(expr: &mut Expr) {
    match expr {
        Expr::Nested(inner) => show(inner),
        Expr::Case { conditions, else_result, .. } => {
            conditions.iter_mut().for_each(|when| show(&mut when.result));
            else_result.iter_mut().for_each(|e| show(e));
        }
        Expr::Function(function) => {
            // `to_regclass(..)` gives the type that it is named after.
            let name = function.name.to_string().to_lowercase();
            if let Some(kind) = name.strip_prefix("to_").filter(|n| OBJECT_TYPES.contains(n)) {
                let inner = take(expr);
                *expr = call(&format!("{kind}out"), inner);
            }
        }
        Expr::Cast { data_type, .. } => {
            if let Some(kind) = object_type(data_type) {
                let inner = take(expr);
                *expr = call(&format!("{kind}out"), inner);
            }
        }
        _ => {}
    }
}

/// The query that an array is made of: a value that equals an element of it equals a row of the
/// query, whose rows can be joined.
fn rows_of_array(expr: &mut Expr) -> Option<Box<Query>> {
    let function = match expr {
        Expr::Nested(inner) => return rows_of_array(inner),
        Expr::Function(function) => function,
        _ => return None,
    };
    let [ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else { return None };
    match &function.args {
        FunctionArguments::Subquery(query) if name.value.eq_ignore_ascii_case("array") => {
            Some(query.clone())
        }
        _ => None,
    }
}

/// `ARRAY(SELECT e .. ORDER BY o)` as `(SELECT array_agg(e ORDER BY o) ..)`, empty when null; where `e` is
/// not a value of each row, as an array of the rows of the query.
fn array_of_subquery(function: &mut Function) -> Option<Expr> {
    let [ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else { return None };
    if !name.value.eq_ignore_ascii_case("array") {
        return None;
    }
    let FunctionArguments::Subquery(query) = &mut function.args else { return None };
    show_names(&mut query.body);
    let order = orders(query)?;
    let Some(item) = value_of_each_row(query, &order) else {
        return array_of_rows(query, &[]);
    };
    if is_set_function(item) {
        let item = take(item);
        let SetExpr::Select(select) = query.body.as_mut() else { return None };
        select.projection = vec![SelectItem::UnnamedExpr(item)];
        query.order_by = None;
        return array_of_rows(query, &order);
    }
    let value = take(item);
    let order = order.into_iter().map(|o| positional(o, &value)).collect::<Vec<_>>();
    let clauses =
        if order.is_empty() { vec![] } else { vec![FunctionArgumentClause::OrderBy(order)] };
    *item = call_with("array_agg", vec![value], clauses);
    query.order_by = None;
    Some(call_with("array_or_empty", vec![Expr::Subquery(query.clone())], vec![]))
}

/// The output of a query without groups, windows, `DISTINCT` and `LIMIT`.
fn value_of_each_row<'a>(query: &'a mut Query, order: &[OrderByExpr]) -> Option<&'a mut Expr> {
    let is_whole = query.limit_clause.is_none() && query.fetch.is_none();
    let SetExpr::Select(select) = query.body.as_mut() else { return None };
    let is_grouped = select.having.is_some()
        || !matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
    if !is_whole || is_grouped || select.distinct.is_some() {
        return None;
    }
    let [SelectItem::UnnamedExpr(item) | SelectItem::ExprWithAlias { expr: item, .. }] =
        select.projection.as_mut_slice()
    else {
        return None;
    };
    let is_of_each = !order.iter().map(|o| &o.expr).chain([&*item]).any(is_of_many_rows);
    is_of_each.then_some(item)
}

/// Whether it gives rows, which no aggregate takes.
fn is_set_function(expr: &Expr) -> bool {
    let Expr::Function(function) = expr else { return false };
    let name = function.name.0.last().and_then(ObjectNamePart::as_ident);
    let name = name.map(object_name::identifier).unwrap_or_default();
    name == "unnest" || set_functions::SET_FUNCTIONS.iter().any(|(set, _)| *set == name)
}

/// The array of the rows of a query, in their order or in this one of its output.
fn array_of_rows(query: &Query, order: &[OrderByExpr]) -> Option<Expr> {
    let item = Expr::Identifier(Ident::new("__item"));
    let ordered = order.iter().map(|o| {
        let positional = positional(o.clone(), &item);
        (positional.expr == item).then_some(positional)
    });
    let ordered = ordered.collect::<Option<Vec<_>>>()?;
    let order_by = (!ordered.is_empty()).then_some(FunctionArgumentClause::OrderBy(ordered));
    let mut outer = vectors::parsed("select 1 from (select 1) __rows(__item)")?;
    if let SetExpr::Select(select) = outer.body.as_mut()
        && let Some(TableFactor::Derived { subquery, .. }) =
            select.from.first_mut().map(|from| &mut from.relation)
    {
        **subquery = query.clone();
        let list = call_with("array_agg", vec![item], order_by.into_iter().collect());
        select.projection = vec![SelectItem::UnnamedExpr(list)];
    }
    Some(call_with("array_or_empty", vec![Expr::Subquery(Box::new(outer))], vec![]))
}

fn orders(query: &Query) -> Option<Vec<OrderByExpr>> {
    match query.order_by.as_ref().map(|o| &o.kind) {
        None => Some(vec![]),
        Some(OrderByKind::Expressions(orders)) => Some(orders.clone()),
        Some(OrderByKind::All(_)) => None,
    }
}

/// `ORDER BY 1` orders by the one output.
fn positional(mut order: OrderByExpr, output: &Expr) -> OrderByExpr {
    if let Expr::Value(value) = &order.expr
        && matches!(&value.value, Value::Number(n, _) if n == "1")
    {
        order.expr = output.clone();
    }
    order
}

fn call(name: &str, argument: Expr) -> Expr {
    call_with(name, vec![argument], vec![])
}

//! Aggregates with `FILTER`: what they are given is asked for only of rows that they count.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion_sql::sqlparser::ast::{
    CaseWhen, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value,
};

use crate::walk::visit_expressions;

/// Puts each argument that has a subquery into a `CASE` of the filter: the library computes arguments for all
/// rows, and a subquery of two rows is an error where a row asks for it.
pub(crate) fn ask_where_counted(expr: &mut Expr) {
    let Expr::Function(Function {
        args: FunctionArguments::List(list), filter: Some(filter), ..
    }) = expr
    else {
        return;
    };
    // It is asked twice then.
    if notices_calls(filter) {
        return;
    }
    for arg in &mut list.args {
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) = arg else { continue };
        if has_subquery(value) {
            let condition = CaseWhen {
                condition: filter.as_ref().clone(),
                result: std::mem::replace(value, Expr::Value(Value::Null.into())),
            };
            *value = Expr::Case {
                case_token: AttachedToken::empty(),
                end_token: AttachedToken::empty(),
                operand: None,
                conditions: vec![condition],
                else_result: None,
            };
        }
    }
}

/// Functions that have effects, or another value each time.
const NOTICING: [&str; 9] = [
    "clock_timestamp",
    "gen_random_uuid",
    "lastval",
    "nextval",
    "random",
    "set_config",
    "setval",
    "timeofday",
    "uuid_generate_v4",
];

/// Whether it makes a difference how often it is computed. The system's own functions lock, sleep and the like.
fn notices_calls(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |expr| match expr {
        Expr::Function(function) => {
            let name = function.name.0.last().and_then(|part| part.as_ident());
            let name = name.map(|ident| ident.value.to_lowercase()).unwrap_or_default();
            match NOTICING.contains(&name.as_str()) || name.starts_with("pg_") {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

fn has_subquery(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |expr| match expr {
        Expr::Subquery(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

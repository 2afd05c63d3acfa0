//! Aggregates with `FILTER`: what they are given is asked for only of rows that they count.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion_sql::sqlparser::ast::{
    CaseWhen, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value,
    visit_expressions,
};

/// Puts each argument that has a subquery into a `CASE` of the filter: the library computes arguments for all
/// rows, and a subquery of two rows is an error where a row asks for it.
pub(super) fn ask_where_counted(expr: &mut Expr) {
    let Expr::Function(Function {
        args: FunctionArguments::List(list), filter: Some(filter), ..
    }) = expr
    else {
        return;
    };
    // It is asked twice then, which a function may notice.
    if calls_functions(filter) {
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

fn calls_functions(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |expr| match expr {
        Expr::Function(_) => ControlFlow::Break(()),
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

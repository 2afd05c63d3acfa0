//! Whole numbers that columns are made of, while types of parameters are found: to the library's binder
//! all are bigint, and a parameter beside such a column would be too.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    CastKind, DataType, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Query, SelectItem,
    SetExpr, Value, VisitMut, VisitorMut,
};

use crate::library::SERIES;
use crate::parse::last_name;

/// Says of outputs and bounds of series that are integers in PostgreSQL that they are.
pub(super) fn say_types(query: &mut Query) {
    // The visit itself never stops.
    let _ = query.visit(&mut Columns);
}

struct Columns;

impl VisitorMut for Columns {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        outputs(&mut query.body);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(call) = expr
            && last_name(&call.name) == SERIES
            && let FunctionArguments::List(list) = &mut call.args
        {
            for arg in &mut list.args {
                if let FunctionArg::Unnamed(FunctionArgExpr::Expr(bound)) = arg {
                    say(bound);
                }
            }
        }
        ControlFlow::Continue(())
    }
}

fn outputs(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => {
            for item in &mut select.projection {
                if let SelectItem::ExprWithAlias { expr, .. } = item {
                    say(expr);
                }
            }
        }
        SetExpr::SetOperation { left, right, .. } => {
            outputs(left);
            outputs(right);
        }
        _ => {}
    }
}

fn say(expr: &mut Expr) {
    let is_integer = match &*expr {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.parse::<i32>().is_ok(),
            _ => false,
        },
        _ => false,
    };
    if is_integer {
        *expr = Expr::Cast {
            kind: CastKind::Cast,
            expr: Box::new(expr.clone()),
            data_type: DataType::Integer(None),
            array: false,
            format: None,
        };
    }
}

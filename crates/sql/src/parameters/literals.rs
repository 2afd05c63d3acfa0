//! Whole numbers that columns are made of, while types of parameters are found: to the library's binder
//! all are bigint, and a parameter beside such a column would be too.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{Query, SelectItem, SetExpr, VisitMut, VisitorMut};

use crate::parse::say_integer;

/// Says of outputs that are integers in PostgreSQL that they are.
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
}

fn outputs(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => {
            for item in &mut select.projection {
                if let SelectItem::ExprWithAlias { expr, .. } = item {
                    say_integer(expr);
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

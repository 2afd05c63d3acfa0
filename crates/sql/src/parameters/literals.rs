//! Whole numbers that columns are made of, while types of parameters are found: those of the outermost query,
//! too.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{Query, VisitMut, VisitorMut};

use crate::parse::say_integers;

/// Says of outputs that are integers in PostgreSQL that they are.
pub(super) fn say_types(query: &mut Query) {
    // The visit itself never stops.
    let _ = query.visit(&mut Columns);
}

struct Columns;

impl VisitorMut for Columns {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        say_integers(&mut query.body);
        ControlFlow::Continue(())
    }
}

//! The privileges that `INSERT`, `UPDATE` and `DELETE` need on their table, as PostgreSQL asks for
//! them: whoever reads a row on the way must be allowed to.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{self, Expr, Visitor};

use super::dml::{Arbiter, Assignment};
use crate::parse::dml::{Delete, Insert, Update};
use crate::parse::role::Privilege;
use crate::parse::statement::alter::{AlterTable, Alteration};
use crate::parse::statement::constraint::{ConstraintSpec, ForeignKeySpec};
use crate::parse::statement::create::CreateTable;
use crate::walk::Walk;

impl Insert {
    /// What the statement does to its table.
    pub fn privileges(&self) -> Vec<Privilege> {
        let mut needed = vec![Privilege::Insert];
        let update = self.conflict.as_ref().and_then(|conflict| conflict.update.as_ref());
        if update.is_some() {
            needed.push(Privilege::Update);
        }
        let arbitrates = self.conflict.as_ref().is_some_and(|c| !matches!(c.target, Arbiter::Any));
        if update.is_some() || arbitrates || self.returns_rows() {
            needed.push(Privilege::Select);
        }
        needed
    }
}

impl Update {
    /// What the statement does to its table.
    pub fn privileges(&self) -> Vec<Privilege> {
        let plain = self.selection.is_none() && self.returning.is_empty() && self.from.is_empty();
        let reads = !plain || self.assignments.iter().any(reads_a_column);
        let select = reads.then_some(Privilege::Select);
        [Privilege::Update].into_iter().chain(select).collect()
    }
}

impl Delete {
    /// What the statement does to its table.
    pub fn privileges(&self) -> Vec<Privilege> {
        let plain = self.selection.is_none() && self.returning.is_empty() && self.using.is_empty();
        let select = (!plain).then_some(Privilege::Select);
        [Privilege::Delete].into_iter().chain(select).collect()
    }
}

impl CreateTable {
    /// The tables that its foreign keys refer to.
    pub fn referenced_tables(&self) -> Vec<&str> {
        let of_columns = self.columns.iter().flat_map(|column| &column.constraints);
        of_columns.chain(&self.constraints).filter_map(referenced).collect()
    }
}

impl AlterTable {
    /// The tables that its new foreign keys refer to.
    pub fn referenced_tables(&self) -> Vec<&str> {
        self.alterations.iter().flat_map(new_constraints).filter_map(referenced).collect()
    }
}

fn new_constraints(alteration: &Alteration) -> &[ConstraintSpec] {
    match alteration {
        Alteration::AddColumn { column, .. } => &column.constraints,
        Alteration::AddConstraint(constraint) => std::slice::from_ref(constraint),
        _ => &[],
    }
}

/// The table that a foreign key refers to.
fn referenced(constraint: &ConstraintSpec) -> Option<&str> {
    match constraint {
        ConstraintSpec::ForeignKey(ForeignKeySpec { table, .. }) => Some(table),
        _ => None,
    }
}

fn reads_a_column(assignment: &Assignment) -> bool {
    assignment.value.walk(&mut Columns).is_break()
}

/// Stops at the first column.
struct Columns;

impl Visitor for Columns {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            // `DEFAULT` comes as a name too.
            Expr::Identifier(ident) if !is_default(ident) => ControlFlow::Break(()),
            Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

fn is_default(ident: &ast::Ident) -> bool {
    ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default")
}

//! Expressions of operators that keep rows, as columns of the rows: a projection computes them for
//! as many rows at once as are good, and the operator counts their values with its rows.

use std::sync::Arc;

use arrow_schema::{Field, Schema};
use datafusion_common::{Column, DFSchema, TableReference};
use datafusion_expr::Expr as Logical;
use plan::Operator;
use plan::expr::Expr;
use types::SqlResult;

use super::{Built, Physical, built_as, column_of, column_position, projected};
use crate::error::from_library;
use crate::expr::scalar;

impl Physical<'_> {
    /// The input with those of the expressions that may take long, or much memory, as columns
    /// behind its own, each in a relation whose name begins with `prefix` and by the name that
    /// EXPLAIN shows the expression by. Each expression becomes its column.
    ///
    /// # Errors
    /// Those of compiling an expression.
    pub(super) fn computed<'e>(
        &self,
        input: Built,
        prefix: &str,
        exprs: impl IntoIterator<Item = &'e mut Logical>,
    ) -> SqlResult<Built> {
        let (mut known, mut compiled): (Vec<Logical>, Vec<Expr>) = (vec![], vec![]);
        let table = |at: usize| TableReference::bare(format!("{prefix}{at}"));
        for expr in exprs {
            if column_position(expr, &input.schema).is_some() {
                continue;
            }
            let value = scalar::compile(expr, &input.schema)?;
            if !value.is_heavy() {
                continue;
            }
            let at = match known.iter().position(|other| other == expr && !value.is_volatile()) {
                Some(at) => at,
                None => {
                    known.push(expr.clone());
                    compiled.push(value);
                    known.len() - 1
                }
            };
            *expr = Logical::Column(Column::new(Some(table(at)), name_of(&compiled[at], &input)));
        }
        if compiled.is_empty() {
            return Ok(input);
        }
        let mut profile = input.profile.clone();
        profile.columns.extend(projected(&known, &input).columns);
        let field = |e: &Expr| Field::new(name_of(e, &input), e.data_type().clone(), true);
        let field = |e: &Expr| Arc::new(field(e));
        let added: Vec<_> = compiled.iter().map(field).collect();
        let names = input.schema.iter().map(|(table, field)| (table.cloned(), Arc::clone(field)));
        let own = added.iter().enumerate().map(|(at, field)| (Some(table(at)), Arc::clone(field)));
        let names = names.chain(own).collect();
        let names = DFSchema::new_with_metadata(names, input.schema.metadata().clone());
        let schema = Arc::new(names.map_err(from_library)?);
        let fields = input.node.schema.fields().iter().cloned().chain(added);
        let types = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let width = input.node.schema.fields().len();
        let mut exprs: Vec<Expr> = (0..width).map(|at| column_of(&input.node, at)).collect();
        exprs.extend(compiled);
        let cost = input.node.cost + self.costs.output(profile.rows);
        let operator = Operator::Project { input: Box::new(input.node), exprs, as_words: false };
        Ok(built_as(operator, types, schema, profile, cost))
    }
}

/// The name of the column that computes the expression: its text, changed until no column of the
/// input without a relation has it, since the library holds such a pair of names ambiguous.
fn name_of(expr: &Expr, input: &Built) -> String {
    let is_taken = |name: &str| {
        input.schema.iter().any(|(table, field)| table.is_none() && field.name() == name)
    };
    let mut name = expr.text().to_owned();
    while is_taken(&name) {
        name = format!("({name})");
    }
    name
}

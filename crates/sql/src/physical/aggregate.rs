//! Grouping and aggregation.

use std::sync::Arc;

use arrow_schema::{Field, Schema};
use datafusion_expr::{Aggregate, LogicalPlan};
use plan::catalog::TableStorage;
use plan::expr::{AggregateExpr, Expr, as_words};
use plan::{Node, Operator};
use types::SqlResult;

use super::{Built, Physical, built_as, projected};
use crate::estimate::{ColumnProfile, KeyProfile, Profile};
use crate::expr::{aggregate, scalar};

impl Physical<'_> {
    pub(super) fn aggregate(&self, aggregate: &Aggregate) -> SqlResult<Built> {
        let input = self.build(&aggregate.input)?;
        let all = aggregate.group_expr.iter().chain(&aggregate.aggr_expr);
        let input = self.keep_used(input, all);
        let mut group_by = aggregate
            .group_expr
            .iter()
            .map(|e| scalar::compile(e, &input.schema))
            .collect::<SqlResult<Vec<_>>>()?;
        let mut aggregates = aggregate
            .aggr_expr
            .iter()
            .map(|e| aggregate::compile(e, &input.schema))
            .collect::<SqlResult<Vec<_>>>()?;
        let groups = projected(&aggregate.group_expr, &input);
        let profile = grouped(groups, aggregates.len());
        let cost = input.node.cost + self.costs.aggregate(input.profile.rows, profile.rows);
        let types = group_by.iter().map(|e| e.data_type().clone());
        let types = types.chain(aggregates.iter().map(AggregateExpr::data_type));
        let names = aggregate.schema.fields().iter();
        let fields: Vec<Field> =
            names.zip(types).map(|(f, ty)| Field::new(f.name(), ty, true)).collect();
        let mut node = computed_before(input.node, &mut group_by, &mut aggregates);
        // Keys are compared as they are.
        if group_by.iter().all(|key| as_words(key.data_type()).is_none()) {
            give_words(&mut node);
        }
        let operator = Operator::Aggregate { input: Box::new(node), group_by, aggregates };
        let schema = Arc::clone(&aggregate.schema);
        Ok(built_as(operator, Arc::new(Schema::new(fields)), schema, profile, cost))
    }

    pub(super) fn distinct(&self, input: &LogicalPlan) -> SqlResult<Built> {
        let input = self.build(input)?;
        let columns = 0..input.profile.columns.len();
        let group_by = columns.map(|i| super::column_of(&input.node, i)).collect();
        let types = Arc::clone(&input.node.schema);
        let cost = input.node.cost + self.costs.aggregate(input.profile.rows, input.profile.rows);
        let profile = grouped(input.profile, 0);
        let operator =
            Operator::Aggregate { input: Box::new(input.node), group_by, aggregates: vec![] };
        Ok(built_as(operator, types, input.schema, profile, cost))
    }
}

/// The input with what may take long, or much memory, as columns: a projection computes it for as
/// many rows at once as are good.
fn computed_before(input: Node, group_by: &mut [Expr], aggregates: &mut [AggregateExpr]) -> Node {
    let args = aggregates.iter_mut().flat_map(|call| call.args.iter_mut().chain(&mut call.filter));
    let heavy: Vec<&mut Expr> =
        group_by.iter_mut().chain(args).filter(|expr| expr.is_heavy()).collect();
    if heavy.is_empty() {
        return input;
    }
    let width = input.schema.fields().len();
    let mut exprs: Vec<Expr> = (0..width).map(|at| super::column_of(&input, at)).collect();
    for expr in heavy {
        let at = match exprs[width..].iter().position(|known| !expr.is_volatile() && known == expr)
        {
            Some(at) => width + at,
            None => {
                exprs.push(expr.clone());
                exprs.len() - 1
            }
        };
        *expr = Expr::column(at, expr.text(), expr.data_type().clone());
    }
    let own = input.schema.fields().iter().map(|field| Field::clone(field));
    let more = exprs[width..].iter().map(|e| Field::new(e.text(), e.data_type().clone(), true));
    let schema = Arc::new(Schema::new(own.chain(more).collect::<Vec<_>>()));
    let (rows, cost) = (input.rows, input.cost);
    let operator = Operator::Project { input: Box::new(input), exprs, as_words: false };
    Node::new(operator, schema, rows, cost)
}

/// Has decimals come as words of 64 bits from a scan of a column table, where they are stored so: between it and what
/// reads the rows of `node` are expressions alone.
fn give_words(node: &mut Node) {
    match &mut node.operator {
        Operator::Scan(scan) => scan.as_words = scan.table.storage == TableStorage::Column,
        Operator::Filter { input, .. } => give_words(input),
        Operator::Project { input, as_words, .. } => {
            *as_words = true;
            give_words(input);
        }
        _ => {}
    }
}

/// The profile of the groups, given that of their columns over the input's rows.
fn grouped(columns: Profile, aggregate_count: usize) -> Profile {
    let rows = if columns.columns.is_empty() {
        1.0
    } else {
        columns.group_count(&columns.columns.iter().collect::<Vec<_>>())
    };
    let mut profile = Profile { rows, ..columns }.without_order();
    profile.keys = match profile.columns.len() {
        0 => Vec::new(),
        n => vec![KeyProfile { columns: (0..n).collect(), domain: rows }],
    };
    profile.columns.extend(vec![ColumnProfile::of_domain(rows); aggregate_count]);
    profile
}

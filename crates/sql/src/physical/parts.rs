//! Scans whose condition is a disjunction: each of its parts by a path of its own.

use std::sync::Arc;

use datafusion_expr::utils::split_binary;
use datafusion_expr::{Expr, Operator as Op, TableScan};
use plan::catalog::TableStorage;
use plan::{Node, Operator};
use types::SqlResult;

use super::scan::{Wanted, restricted, wanted};
use super::{Built, Physical, built_as};

/// Parts that are read apart, at most: each tests what those before it have found.
const PARTS_MAX: usize = 4;

/// The share of the cost of one scan that all parts may cost together.
const COST_MAX: f64 = 0.5;

impl Physical<'_> {
    /// The rows of a scan as those of each part of one of its conditions, if all parts together
    /// cost far less than one scan. A row belongs to the first part that is true for it.
    pub(super) fn by_parts(
        &self,
        scan: &TableScan,
        whole: &Wanted<'_>,
        produced: &[usize],
        cost: f64,
    ) -> SqlResult<Option<Built>> {
        if whole.def.storage != TableStorage::Row {
            return Ok(None);
        }
        for (number, predicate) in whole.predicates.iter().enumerate() {
            let parts = split_binary(predicate, Op::Or);
            if !(2..=PARTS_MAX).contains(&parts.len()) || predicate.is_volatile() {
                continue;
            }
            let others = whole.predicates.iter().enumerate().filter(|(other, _)| *other != number);
            let others: Vec<&Expr> = others.map(|(_, predicate)| *predicate).collect();
            let scans: Vec<TableScan> =
                (0..parts.len()).map(|at| part(scan, &others, &parts[..=at])).collect();
            if self.cost_of(&scans, whole, produced)? < cost * COST_MAX {
                return self.united(&scans, scan, whole, produced).map(Some);
            }
        }
        Ok(None)
    }

    fn cost_of(
        &self,
        scans: &[TableScan],
        whole: &Wanted<'_>,
        produced: &[usize],
    ) -> SqlResult<f64> {
        let mut cost = 0.0;
        for scan in scans {
            cost += self.cheapest(&wanted(whole.def, scan, produced)?).cost();
        }
        Ok(cost)
    }

    fn united(
        &self,
        scans: &[TableScan],
        scan: &TableScan,
        whole: &Wanted<'_>,
        produced: &[usize],
    ) -> SqlResult<Built> {
        let inputs = scans.iter().map(|scan| self.scan(scan).map(|built| built.node));
        let inputs = inputs.collect::<SqlResult<Vec<Node>>>()?;
        let cost = inputs.iter().map(|input| input.cost).sum();
        let schema = whole.def.schema.project(produced);
        let names = Arc::clone(&scan.projected_schema);
        let profile = restricted(whole, produced);
        Ok(built_as(Operator::Union { inputs }, schema, names, profile, cost))
    }
}

/// The scan of the rows for which the last of some parts is true, and none before it.
fn part(scan: &TableScan, others: &[&Expr], parts: &[&Expr]) -> TableScan {
    let (last, earlier) = parts.split_last().expect("a disjunction has parts");
    let earlier = earlier.iter().map(|part| Expr::IsNotTrue(Box::new((*part).clone())));
    let filters = others.iter().chain([last]).map(|part| (*part).clone()).chain(earlier).collect();
    TableScan { filters, fetch: None, ..scan.clone() }
}

//! Predicates that the source of a column table tests: a column compared with constants (K4).

use std::collections::BTreeSet;
use std::ops::Bound;

use datafusion_common::{ScalarValue, TableReference};
use datafusion_expr::{BinaryExpr, Expr as Logical, Operator};
use plan::catalog::{TableDef, TableStorage};
use plan::{Restriction, RestrictionTest};
use types::{LogicalType, SqlResult};

use super::ranges::{Demand, DemandKind, demands};
use super::scan::{Wanted, names};
use crate::cast::exact::exactly;
use crate::expr::runtime_parameter::Valued;
use crate::expr::scalar;

/// Most values that one restriction compares with: each is one look at the values of a column.
const VALUES_MAX: usize = 16;

/// The restrictions of a scan, and the numbers of the predicates that say nothing else.
pub(super) fn restrictions(
    wanted: &Wanted<'_>,
    table: &TableReference,
) -> SqlResult<(Vec<Restriction>, Vec<usize>)> {
    let (mut found, mut complete) = (vec![], vec![]);
    if wanted.def.storage != TableStorage::Column {
        return Ok((found, complete));
    }
    for (number, predicate) in wanted.predicates.iter().enumerate() {
        let Some((column, test, says_all)) = restriction(predicate, number, wanted.def) else {
            continue;
        };
        if !has_order(wanted.def.schema.columns[column].ty) {
            continue;
        }
        let predicate = scalar::compile(predicate, &names(table, wanted.def, &[column])?)?;
        found.push(Restriction { column, test, predicate });
        complete.extend(says_all.then_some(number));
    }
    Ok((found, complete))
}

/// The columns that restrictions of a scan are compared with, and the predicates that these are of.
pub(super) fn restricted_columns(wanted: &Wanted<'_>) -> (BTreeSet<usize>, Vec<usize>) {
    let found = wanted.predicates.iter().enumerate().filter_map(|(number, predicate)| {
        let (column, ..) = restriction(predicate, number, wanted.def)?;
        has_order(wanted.def.schema.columns[column].ty).then_some((column, number))
    });
    found.unzip()
}

/// Whether stored values of a type are compared.
fn has_order(ty: LogicalType) -> bool {
    !matches!(ty.plain(), LogicalType::Interval | LogicalType::Array(_))
}

/// The column, what its values are compared with, and whether the predicate says nothing else.
fn restriction(
    predicate: &Logical,
    number: usize,
    def: &TableDef,
) -> Option<(usize, RestrictionTest, bool)> {
    let column = |expr: &Logical| match expr {
        Logical::Column(column) => def.schema.ordinal(&column.name),
        _ => None,
    };
    match predicate {
        Logical::IsNull(of) => Some((column(of)?, RestrictionTest::IsNull, true)),
        Logical::IsNotNull(of) => Some((column(of)?, RestrictionTest::IsNotNull, true)),
        Logical::Column(_) => flag(column(predicate)?, true, def),
        Logical::Not(of) => flag(column(of)?, false, def),
        Logical::BinaryExpr(compared) if compared.op == Operator::NotEq => {
            let (column, value) = not_equal(compared, def)?;
            Some((column, RestrictionTest::NotEqual(value), true))
        }
        _ => demanded(demands(predicate, number, def, Valued::default()).pop()?),
    }
}

/// A boolean column as a predicate.
fn flag(column: usize, value: bool, def: &TableDef) -> Option<(usize, RestrictionTest, bool)> {
    let is_flag = def.schema.columns[column].ty == LogicalType::Bool;
    let test = RestrictionTest::OneOf(vec![ScalarValue::Boolean(Some(value))]);
    is_flag.then_some((column, test, true))
}

fn not_equal(compared: &BinaryExpr, def: &TableDef) -> Option<(usize, ScalarValue)> {
    let (column, value) = match (compared.left.as_ref(), compared.right.as_ref()) {
        (Logical::Column(column), Logical::Literal(value, _))
        | (Logical::Literal(value, _), Logical::Column(column)) => (column, value),
        _ => return None,
    };
    let ordinal = def.schema.ordinal(&column.name)?;
    Some((ordinal, exactly(value, &def.schema.columns[ordinal].ty.arrow())?))
}

fn demanded(demand: Demand) -> Option<(usize, RestrictionTest, bool)> {
    let test = match demand.kind {
        DemandKind::OneOf(values) if values.len() > VALUES_MAX => {
            let (first, last) = (values.first()?.clone(), values.last()?.clone());
            let test = RestrictionTest::Between(Bound::Included(first), Bound::Included(last));
            return Some((demand.column, test, false));
        }
        DemandKind::OneOf(values) => RestrictionTest::OneOf(values),
        DemandKind::Between(lower, upper) => RestrictionTest::Between(lower, upper),
        // It is about several columns.
        DemandKind::Beyond(_) => return None,
    };
    Some((demand.column, test, demand.complete))
}

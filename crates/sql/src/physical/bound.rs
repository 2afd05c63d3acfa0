//! Scans whose ranges follow from parameters: how they are found for the values of an execution.

use std::sync::Arc;

use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::Expr;
use plan::catalog::TableDef;
use plan::{Access, KeyRange};
use types::{SqlError, SqlResult};

use super::Physical;
use super::ranges::{Demand, Ranges, demands, equalities, ranges};
use super::scan::{Path, Wanted};
use crate::estimate::{Named, Profile, conjunction};
use crate::expr::runtime_parameter::{Valued, is_within, with_values};

/// So many times as many rows as were expected, or as few, are worth a plan of their own.
const ROWS_RATIO_MAX: f64 = 10.0;

/// Fewer rows than these cost no more than looking for them.
const ROWS_MIN: f64 = 100.0;

/// A scan with parameters among its predicates.
pub(crate) struct BoundScan {
    table: Arc<TableDef>,
    predicates: Vec<Expr>,
    /// The key that its ranges are of, where it has some.
    key: Option<Key>,
    names: DFSchema,
    profile: Profile,
    /// The rows that were expected when it was planned.
    rows: f64,
    /// The form of the ranges of that time.
    planned: Option<Form>,
}

/// A form of ranges, whatever values they have.
struct Form {
    /// Predicates that the ranges guarantee.
    guaranteed: Vec<usize>,
    /// Predicates that shaped them.
    used: Vec<usize>,
    /// Predicates that say nothing but what they say.
    complete: Vec<usize>,
    /// Leading columns that the first of them fixes.
    fixed: Option<usize>,
    /// How many they are; any number is the same form.
    count: usize,
}

impl Form {
    fn of(found: &Ranges) -> Form {
        Form {
            guaranteed: found.guaranteed.clone(),
            used: found.used.clone(),
            complete: found.complete.clone(),
            fixed: found.ranges.first().map(|range| range.prefix.len()),
            count: found.ranges.len(),
        }
    }

    fn is_like(&self, other: &Form) -> bool {
        let Form { guaranteed, used, complete, fixed, count: _ } = self;
        *guaranteed == other.guaranteed
            && *used == other.used
            && *complete == other.complete
            && *fixed == other.fixed
    }
}

/// A key with ranges.
#[derive(PartialEq, Eq)]
struct Key {
    columns: Vec<usize>,
    is_hash: bool,
    /// True if each range is one row at most, so that their number is all that is to be known.
    are_rows: bool,
    /// True if the plan holds for as many ranges alone: it relies on their order, or on the one
    /// row.
    is_counted: bool,
    /// True if only the first entries are read, so many for all values.
    has_first: bool,
}

impl Key {
    fn ranges(&self, predicates: &[Expr], def: &TableDef, valued: Valued<'_>) -> Option<Ranges> {
        let numbered = predicates.iter().enumerate();
        let all: Vec<Demand> = numbered.flat_map(|(i, p)| demands(p, i, def, valued)).collect();
        match self.is_hash {
            true => ranges(&self.columns, &equalities(&all), def),
            false => ranges(&self.columns, &all, def),
        }
    }
}

impl BoundScan {
    /// The ranges for these values, where they follow from them. `None` where they are of another
    /// form than those that were planned, or have many more or fewer rows.
    pub(crate) fn ranges(&self, values: &[ScalarValue]) -> Option<Option<Arc<[KeyRange]>>> {
        let expected = || {
            let valued = |predicate: &Expr| with_values(predicate, Some(values)).ok();
            let predicates = self.predicates.iter().map(valued).collect::<Option<Vec<_>>>()?;
            Some(self.expected(&predicates))
        };
        let Some(key) = &self.key else {
            return self.is_expected(expected()?).then_some(None);
        };
        let found = key.ranges(&self.predicates, &self.table, Valued(Some(values)))?;
        let rows = match (key.has_first, key.are_rows) {
            (true, _) => self.rows,
            (false, true) => found.ranges.len() as f64,
            (false, false) => expected()?,
        };
        let planned = self.planned.as_ref()?;
        let is_counted = !key.is_counted || found.ranges.len() == planned.count;
        let is_like = is_counted && Form::of(&found).is_like(planned) && self.is_expected(rows);
        is_like.then_some(Some(found.ranges.into()))
    }

    /// True if the plan is good for so many rows.
    fn is_expected(&self, rows: f64) -> bool {
        let (now, planned) = (rows.max(ROWS_MIN), self.rows.max(ROWS_MIN));
        now <= planned * ROWS_RATIO_MAX && now * ROWS_RATIO_MAX >= planned
    }

    fn expected(&self, predicates: &[Expr]) -> f64 {
        let named = Named { schema: &self.names, profile: &self.profile };
        conjunction(predicates.iter(), &named) * self.profile.rows
    }

    fn is_same(&self, other: &BoundScan) -> bool {
        self.table.id == other.table.id
            && self.predicates == other.predicates
            && self.key == other.key
    }
}

impl Physical<'_> {
    /// The number of a scan among those with parameters, if it is one.
    ///
    /// # Errors
    /// 0A000 where its source tests the parameters.
    pub(super) fn slot(
        &self,
        wanted: &Wanted,
        path: &Path,
        is_restricted: bool,
    ) -> SqlResult<Option<usize>> {
        if !wanted.predicates.iter().any(|predicate| is_within(predicate)) {
            return Ok(None);
        }
        if is_restricted {
            return Err(SqlError::unsupported("a parameter that a source tests"));
        }
        let key = match &path.access {
            Access::Range { index, ranges, .. } if !ranges.iter().any(KeyRange::is_all) => {
                let columns = index.key_columns(wanted.def).to_vec();
                let are_rows = path.access.are_rows(wanted.def);
                let has_first = path.first.is_some();
                let is_counted = has_first || path.access.is_row(wanted.def);
                Some(Key { columns, is_hash: index.is_hash(), are_rows, is_counted, has_first })
            }
            _ => None,
        };
        let predicates = wanted.predicates.iter().map(|predicate| (*predicate).clone()).collect();
        let mut scan = BoundScan {
            table: Arc::clone(wanted.def),
            predicates,
            key,
            names: wanted.names.clone(),
            profile: wanted.profile.clone(),
            rows: 0.0,
            planned: None,
        };
        let key = scan.key.as_ref();
        let planned =
            key.and_then(|key| key.ranges(&scan.predicates, &scan.table, Valued::default()));
        scan.rows = match &planned {
            Some(planned) if key.is_some_and(|key| key.are_rows) => planned.ranges.len() as f64,
            _ => scan.expected(&scan.predicates),
        };
        scan.planned = planned.as_ref().map(Form::of);
        let mut known = self.bound.borrow_mut();
        let slot = known.iter().position(|other| other.is_same(&scan)).unwrap_or(known.len());
        if slot == known.len() {
            known.push(scan);
        }
        Ok(Some(slot))
    }
}

//! Predicates as key ranges.

use std::cmp::Ordering;
use std::ops::Bound;

use arrow_array::Array;
use arrow_ord::sort::sort;
use datafusion_common::ScalarValue;
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::utils::split_binary;
use datafusion_expr::{Expr, Operator};
use plan::KeyRange;
use plan::catalog::TableDef;

use super::row_bounds::RowBound;
use crate::cast::exact::exactly;
use crate::expr::runtime_parameter::Valued;

/// Most ranges of one scan: each is a part of it, and costs a descent, by which the planner prices
/// it. What is longer is tested for each row.
const RANGES_MAX: usize = 20_000;

/// What a predicate demands of one column.
#[derive(Clone, Debug)]
pub(super) struct Demand {
    /// Table ordinal.
    pub column: usize,
    /// Which predicate of the scan said so.
    pub predicate: usize,
    /// What it is.
    pub kind: DemandKind,
    /// The demand is all that the predicate says, so that it need not be tested again.
    pub complete: bool,
}

/// A sargable demand.
#[derive(Clone, Debug)]
pub(super) enum DemandKind {
    /// One of these values, of the column's type, ascending and distinct.
    OneOf(Vec<ScalarValue>),
    /// Between bounds.
    Between(Bound<ScalarValue>, Bound<ScalarValue>),
    /// In a row before or behind one whose first column it is.
    Beyond(RowBound),
}

/// The demands of `predicate` (number `number`) on single columns of the table, with these values
/// of run-time parameters.
pub(super) fn demands(
    predicate: &Expr,
    number: usize,
    def: &TableDef,
    valued: Valued<'_>,
) -> Vec<Demand> {
    let demand = |column, kind, complete| Demand { column, predicate: number, kind, complete };
    match predicate {
        // A short IN list reaches us as alternatives.
        Expr::BinaryExpr(b) if b.op == Operator::Or => {
            let found = alternatives(predicate, def, valued).or_else(|| {
                let bound = RowBound::of(predicate, def, valued)?;
                Some((bound.columns[0], DemandKind::Beyond(bound)))
            });
            found.map(|(column, kind)| demand(column, kind, true)).into_iter().collect()
        }
        Expr::BinaryExpr(b) => {
            let oriented = match (b.left.as_ref(), b.right.as_ref()) {
                (Expr::Column(c), other) => valued.value(other).map(|v| (c, b.op, v)),
                (other, Expr::Column(c)) => {
                    valued.value(other).and_then(|v| b.op.swap().map(|op| (c, op, v)))
                }
                _ => None,
            };
            let found = oriented.and_then(|(c, op, v)| {
                let (column, value) = typed(def, &c.name, v)?;
                Some(demand(column, compared(op, value)?, true))
            });
            found.into_iter().collect()
        }
        Expr::Between(b) if !b.negated => {
            let found = between(b, def, valued);
            found.map(|(column, kind)| demand(column, kind, true)).into_iter().collect()
        }
        Expr::InList(list) if !list.negated && list.list.len() <= RANGES_MAX => {
            in_list(list, def, valued)
                .map(|(column, kind)| demand(column, kind, true))
                .into_iter()
                .collect()
        }
        Expr::ScalarFunction(call) if call.func.name() == "any_eq" => any_of(call, def, valued)
            .map(|(column, kind)| demand(column, kind, true))
            .into_iter()
            .collect(),
        Expr::Like(like) if !like.negated && !like.case_insensitive => {
            like_prefix(like, def, valued)
                .map(|(column, kind)| demand(column, kind, false))
                .into_iter()
                .collect()
        }
        _ => Vec::new(),
    }
}

/// The demands that a hash index can meet.
pub(super) fn equalities(demands: &[Demand]) -> Vec<Demand> {
    let equal = demands.iter().filter(|d| matches!(d.kind, DemandKind::OneOf(_)));
    equal.cloned().collect()
}

fn compared(op: Operator, value: ScalarValue) -> Option<DemandKind> {
    let (lower, upper) = match op {
        Operator::Eq => return Some(DemandKind::OneOf(vec![value])),
        Operator::Lt => (Bound::Unbounded, Bound::Excluded(value)),
        Operator::LtEq => (Bound::Unbounded, Bound::Included(value)),
        Operator::Gt => (Bound::Excluded(value), Bound::Unbounded),
        Operator::GtEq => (Bound::Included(value), Bound::Unbounded),
        _ => return None,
    };
    Some(DemandKind::Between(lower, upper))
}

fn between(
    b: &datafusion_expr::Between,
    def: &TableDef,
    valued: Valued<'_>,
) -> Option<(usize, DemandKind)> {
    let Expr::Column(column) = b.expr.as_ref() else { return None };
    let (low, high) = (valued.value(&b.low)?, valued.value(&b.high)?);
    let (ordinal, low) = typed(def, &column.name, low)?;
    let (_, high) = typed(def, &column.name, high)?;
    Some((ordinal, DemandKind::Between(Bound::Included(low), Bound::Included(high))))
}

fn in_list(
    list: &datafusion_expr::expr::InList,
    def: &TableDef,
    valued: Valued<'_>,
) -> Option<(usize, DemandKind)> {
    let Expr::Column(column) = list.expr.as_ref() else { return None };
    let mut values = Vec::new();
    let mut ordinal = None;
    for item in &list.list {
        let (found, value) = typed(def, &column.name, valued.value(item)?)?;
        ordinal = Some(found);
        values.push(value);
    }
    sort_distinct(&mut values)?;
    Some((ordinal?, DemandKind::OneOf(values)))
}

/// `x = ANY (array)`: nulls among the elements are equal to nothing.
fn any_of(
    call: &ScalarFunction,
    def: &TableDef,
    valued: Valued<'_>,
) -> Option<(usize, DemandKind)> {
    let [Expr::Column(column), array] = call.args.as_slice() else { return None };
    let ScalarValue::List(list) = valued.value(array)? else { return None };
    let ordinal = def.schema.ordinal(&column.name)?;
    let ty = def.schema.columns[ordinal].ty.arrow();
    let elements = list.is_valid(0).then(|| list.value(0))?;
    if elements.len() > RANGES_MAX || ty.is_floating() {
        return None;
    }
    // In order as a vector, nulls first: single values are slow to compare.
    let elements = sort(&elements, None).ok()?;
    let is_it = *elements.data_type() == ty;
    let mut values = Vec::with_capacity(elements.len());
    for at in elements.null_count()..elements.len() {
        let value = ScalarValue::try_from_array(&elements, at).ok()?;
        let value = if is_it { value } else { exactly(&value, &ty)? };
        if values.last() != Some(&value) {
            values.push(value);
        }
    }
    if !is_it {
        sort_distinct(&mut values)?;
    }
    Some((ordinal, DemandKind::OneOf(values)))
}

/// `x = 1 OR x = 2 OR ..`, all on one column.
fn alternatives(
    predicate: &Expr,
    def: &TableDef,
    valued: Valued<'_>,
) -> Option<(usize, DemandKind)> {
    let mut values = Vec::new();
    let mut column = None;
    for part in split_binary(predicate, Operator::Or) {
        let found = demands(part, 0, def, valued);
        let [Demand { column: c, kind: DemandKind::OneOf(v), .. }] = &found[..] else {
            return None;
        };
        if *column.get_or_insert(*c) != *c {
            return None;
        }
        values.extend(v.iter().cloned());
    }
    sort_distinct(&mut values)?;
    (values.len() <= RANGES_MAX).then_some((column?, DemandKind::OneOf(values)))
}

/// Sorts values and drops repetitions; `None` where two do not compare (NaN).
fn sort_distinct(values: &mut Vec<ScalarValue>) -> Option<()> {
    let mut comparable = true;
    values.sort_by(|a, b| {
        a.partial_cmp(b).unwrap_or_else(|| {
            comparable = false;
            Ordering::Equal
        })
    });
    values.dedup();
    comparable.then_some(())
}

/// `x LIKE 'abc%'` lies between `abc` and `abd`.
fn like_prefix(
    like: &datafusion_expr::Like,
    def: &TableDef,
    valued: Valued<'_>,
) -> Option<(usize, DemandKind)> {
    let Expr::Column(column) = like.expr.as_ref() else { return None };
    let pattern = valued.value(&like.pattern)?.try_as_str()??;
    let special = |c: char| matches!(c, '%' | '_' | '\\') || Some(c) == like.escape_char;
    let prefix: String = pattern.chars().take_while(|c| !special(*c)).collect();
    let mut above = prefix.clone();
    let last = above.pop()?;
    // The next character in the order of code points, which is the order of UTF-8 bytes.
    above.push(char::from_u32(last as u32 + 1)?);
    let text = |s: String| ScalarValue::Utf8View(Some(s));
    let (ordinal, low) = typed(def, &column.name, &text(prefix))?;
    let (_, high) = typed(def, &column.name, &text(above))?;
    Some((ordinal, DemandKind::Between(Bound::Included(low), Bound::Excluded(high))))
}

/// The column and the value as exactly its type; `None` when it has no such value.
pub(super) fn typed(
    def: &TableDef,
    name: &str,
    value: &ScalarValue,
) -> Option<(usize, ScalarValue)> {
    let ordinal = def.schema.ordinal(name)?;
    let ty = def.schema.columns[ordinal].ty.arrow();
    exactly(value, &ty).map(|v| (ordinal, v))
}

/// Key ranges of one tree that hold all rows the predicates allow.
#[derive(Clone, Debug)]
pub(super) struct Ranges {
    /// Disjoint and ascending.
    pub ranges: Vec<KeyRange>,
    /// Predicates that the ranges guarantee.
    pub guaranteed: Vec<usize>,
    /// Predicates that shaped the ranges.
    pub used: Vec<usize>,
    /// Predicates that say nothing but what the ranges say, if those with one bound exclude nulls.
    pub complete: Vec<usize>,
}

/// The tightest ranges of a key with these columns.
pub(super) fn ranges(key: &[usize], demands: &[Demand], def: &TableDef) -> Option<Ranges> {
    let mut found =
        Ranges { ranges: Vec::new(), guaranteed: vec![], used: vec![], complete: vec![] };
    let mut prefixes: Vec<Vec<ScalarValue>> = vec![Vec::new()];
    for (at, &column) in key.iter().enumerate() {
        let of_column: Vec<&Demand> = demands.iter().filter(|d| d.column == column).collect();
        if let Some((demand, values)) = smallest_list(&of_column)
            && prefixes.len() * values.len() <= RANGES_MAX
        {
            prefixes = extend(prefixes, values);
            found.note(demand, demand.complete);
            continue;
        }
        if let Some(beyond) = beyond(&key[at..], &of_column) {
            found.ranges = found.beyond(beyond, &prefixes, (&key[at..], def));
            return Some(found);
        }
        let (lower, upper, shaping) = intersect(&of_column);
        if shaping.is_empty() {
            break;
        }
        let half = matches!((&lower, &upper), (Bound::Unbounded, _) | (_, Bound::Unbounded));
        // Where nulls are stored within the order is not the planner's business.
        let sure = !(half && def.schema.columns[column].nullable);
        shaping.iter().for_each(|d| found.note(d, d.complete && sure));
        found.ranges = prefixes
            .into_iter()
            .map(|prefix| KeyRange { prefix, lower: lower.clone(), upper: upper.clone() })
            .collect();
        return Some(found);
    }
    if found.used.is_empty() {
        return None;
    }
    let all = |prefix| KeyRange { prefix, lower: Bound::Unbounded, upper: Bound::Unbounded };
    found.ranges = prefixes.into_iter().map(all).collect();
    Some(found)
}

/// The row that those of the table lie beyond, with conditions that bound its first column on the
/// other side.
fn beyond<'a>(key: &[usize], of_column: &[&'a Demand]) -> Option<(&'a Demand, Interval<'a>)> {
    let bound = |demand: &&&Demand| match &demand.kind {
        DemandKind::Beyond(bound) => bound.columns_of(key),
        _ => 0,
    };
    let found = of_column.iter().filter(|demand| bound(demand) > 0).max_by_key(bound)?;
    let DemandKind::Beyond(row) = &found.kind else { return None };
    let is_other = |demand: &&&Demand| match &demand.kind {
        DemandKind::Between(lower, upper) => {
            *if row.is_above() { lower } else { upper } == Bound::Unbounded
        }
        _ => false,
    };
    let others: Vec<&Demand> = of_column.iter().filter(is_other).copied().collect();
    Some((found, intersect(&others)))
}

impl Ranges {
    /// The ranges beyond a row, behind each prefix of a key that goes on with these columns.
    fn beyond(
        &mut self,
        (demand, (lower, upper, others)): (&Demand, Interval<'_>),
        prefixes: &[Vec<ScalarValue>],
        (key, def): (&[usize], &TableDef),
    ) -> Vec<KeyRange> {
        let DemandKind::Beyond(row) = &demand.kind else { return vec![] };
        let count = row.columns_of(key);
        let sure = key[..count].iter().all(|at| !def.schema.columns[*at].nullable);
        let is_whole = count == row.columns.len();
        self.used.push(demand.predicate);
        self.complete.extend(is_whole.then_some(demand.predicate));
        self.guaranteed.extend((is_whole && sure).then_some(demand.predicate));
        others.iter().for_each(|other| self.note(other, other.complete && sure));
        let other = if row.is_above() { upper } else { lower };
        prefixes.iter().flat_map(|prefix| row.ranges(prefix, count, &other)).collect()
    }

    fn note(&mut self, demand: &Demand, guaranteed: bool) {
        self.used.push(demand.predicate);
        if demand.complete {
            self.complete.push(demand.predicate);
        }
        if guaranteed {
            self.guaranteed.push(demand.predicate);
        }
    }
}

fn smallest_list<'a>(demands: &[&'a Demand]) -> Option<(&'a Demand, &'a [ScalarValue])> {
    let lists = demands.iter().filter_map(|d| match &d.kind {
        DemandKind::OneOf(values) => Some((*d, values.as_slice())),
        DemandKind::Between(..) | DemandKind::Beyond(_) => None,
    });
    lists.min_by_key(|(_, values)| values.len())
}

fn extend(prefixes: Vec<Vec<ScalarValue>>, values: &[ScalarValue]) -> Vec<Vec<ScalarValue>> {
    let with = |prefix: &Vec<ScalarValue>, v: &ScalarValue| {
        prefix.iter().chain(std::iter::once(v)).cloned().collect()
    };
    prefixes.iter().flat_map(|p| values.iter().map(move |v| with(p, v))).collect()
}

type Interval<'a> = (Bound<ScalarValue>, Bound<ScalarValue>, Vec<&'a Demand>);

/// The intersection of all intervals of a column.
fn intersect<'a>(demands: &[&'a Demand]) -> Interval<'a> {
    let mut result: Interval = (Bound::Unbounded, Bound::Unbounded, Vec::new());
    for demand in demands {
        if let DemandKind::Between(lower, upper) = &demand.kind {
            if tighter(lower, &result.0, Ordering::Greater) {
                result.0 = lower.clone();
            }
            if tighter(upper, &result.1, Ordering::Less) {
                result.1 = upper.clone();
            }
            result.2.push(demand);
        }
    }
    result
}

/// Whether `new` restricts more than `old` on the side where `inward` values are further in.
fn tighter(new: &Bound<ScalarValue>, old: &Bound<ScalarValue>, inward: Ordering) -> bool {
    match (new, old) {
        (Bound::Unbounded, _) => false,
        (_, Bound::Unbounded) => true,
        (Bound::Included(n), Bound::Included(o) | Bound::Excluded(o)) => {
            n.partial_cmp(o) == Some(inward)
        }
        (Bound::Excluded(n), Bound::Excluded(o)) => n.partial_cmp(o) == Some(inward),
        (Bound::Excluded(n), Bound::Included(o)) => {
            matches!(n.partial_cmp(o), Some(Ordering::Equal)) || n.partial_cmp(o) == Some(inward)
        }
    }
}

//! Sums, counts, averages and extremes of words and decimals, without a call for each row.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, PrimitiveArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use ir::{Value, Words};
use types::{SqlError, SqlResult, SqlState};

use super::super::average;
use super::rows::{GroupRows, Kept, Numbers, count_rows, fold_rows, sum_rows};

/// An aggregate of one argument that is computed over words and decimals.
#[derive(Clone, Debug)]
pub struct Total {
    kind: Kind,
    /// The type of the result; of an average, that of its sum.
    ty: DataType,
}

/// The state of one aggregate.
pub(super) struct Totals {
    total: Total,
    /// One for each group; a sum beyond 128 bits is as large as there is one, and stays so.
    numbers: Vec<i128>,
    counts: Vec<i64>,
    seen: Seen,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Count,
    Sum,
    Average,
    Least,
    Greatest,
}

/// Which groups have had a value.
enum Seen {
    /// All there are.
    All,
    These(Vec<bool>),
}

impl Total {
    /// The function of this name over all values of an argument of type `arg`, with a result of
    /// type `ty`, if it is one of these.
    pub fn of(name: &str, arg: &DataType, ty: &DataType) -> Option<Total> {
        let kind = match name {
            "count" if *ty == DataType::Int64 => Kind::Count,
            "sum" if sums_up(arg, ty) => Kind::Sum,
            "min" if Value::is_words(arg) && arg == ty => Kind::Least,
            "max" if Value::is_words(arg) && arg == ty => Kind::Greatest,
            _ => return None,
        };
        Some(Total { kind, ty: ty.clone() })
    }

    /// The average of the values whose sum this is; `None` if it is no sum.
    #[must_use]
    pub fn average(self) -> Option<Total> {
        (self.kind == Kind::Sum).then_some(Total { kind: Kind::Average, ..self })
    }
}

impl Totals {
    /// No groups.
    pub(super) fn new(total: Total) -> Totals {
        Totals { total, numbers: vec![], counts: vec![], seen: Seen::All }
    }

    /// True if the values of the argument matter, or only which are null.
    pub(super) fn takes_words(&self) -> bool {
        self.total.kind != Kind::Count
    }

    /// True if its results are the sums of that one, for the same values.
    pub(super) fn is_sum_of(&self, average: &Totals) -> bool {
        (self.total.kind, average.total.kind) == (Kind::Sum, Kind::Average)
            && self.total.ty == average.total.ty
    }

    /// Adds the rows of an argument that is words.
    pub(super) fn add_words(
        &mut self,
        words: &Words,
        rows: &GroupRows<'_>,
        filter: Option<&BooleanArray>,
    ) {
        let kept = Kept::of(words.nulls.as_ref(), filter);
        self.add_numbers(Numbers::Words(&words.values), rows.groups(), &kept, rows.total());
        self.add_counts(rows, &kept);
    }

    /// Adds the rows of an argument.
    pub(super) fn add(
        &mut self,
        arg: &ArrayRef,
        rows: &GroupRows<'_>,
        filter: Option<&BooleanArray>,
    ) -> SqlResult<()> {
        let nulls = arg.logical_nulls();
        let kept = Kept::of(nulls.as_ref(), filter);
        if self.total.kind != Kind::Count {
            self.add_array(arg, rows.groups(), &kept, rows.total())?;
        }
        self.add_counts(rows, &kept);
        Ok(())
    }

    fn add_array(
        &mut self,
        arg: &ArrayRef,
        groups: &[usize],
        kept: &Kept,
        total_groups: usize,
    ) -> SqlResult<()> {
        if let Ok(Value::Words(words)) = Value::load(arg) {
            self.add_numbers(Numbers::Words(&words.values), groups, kept, total_groups);
            return Ok(());
        }
        let wide = arg.as_primitive_opt::<Decimal128Type>().ok_or_else(mismatch)?;
        self.add_numbers(Numbers::Wide(wide.values()), groups, kept, total_groups);
        Ok(())
    }

    fn add_numbers(&mut self, values: Numbers<'_>, groups: &[usize], kept: &Kept, total: usize) {
        self.see(kept, groups, total);
        let numbers = &mut self.numbers;
        match self.total.kind {
            Kind::Count => {}
            Kind::Sum | Kind::Average => sum_rows(numbers, values, groups, kept, total),
            Kind::Least => fold_rows((numbers, i128::MAX), i128::min, values, groups, kept, total),
            Kind::Greatest => {
                fold_rows((numbers, i128::MIN), i128::max, values, groups, kept, total);
            }
        }
    }

    fn add_counts(&mut self, rows: &GroupRows<'_>, kept: &Kept) {
        if matches!(self.total.kind, Kind::Count | Kind::Average) {
            count_rows(&mut self.counts, rows, kept);
        }
    }

    /// Notes which groups have a value now. Each group that a batch is the first to have has a row
    /// in it.
    fn see(&mut self, kept: &Kept, groups: &[usize], total_groups: usize) {
        let known = self.numbers.len();
        if let (Seen::All, Kept::Some(_)) = (&self.seen, kept) {
            self.seen = Seen::These(vec![true; known]);
        }
        if let Seen::These(seen) = &mut self.seen {
            seen.resize(total_groups, false);
            kept.each(groups.len(), |row| seen[groups[row]] = true);
        }
    }

    /// Adds the state of other groups.
    pub(super) fn merge(
        &mut self,
        state: &[ArrayRef],
        groups: &[usize],
        total_groups: usize,
    ) -> SqlResult<()> {
        let (numbers, counts) = match (self.total.kind, state) {
            (Kind::Count, [counts]) => (None, Some(counts)),
            (Kind::Average, [sums, counts]) => (Some(sums), Some(counts)),
            (_, [numbers]) => (Some(numbers), None),
            _ => return Err(mismatch()),
        };
        if let Some(counts) = counts {
            self.counts.resize(total_groups, 0);
            let more = counts.as_primitive_opt::<Int64Type>().ok_or_else(mismatch)?;
            for (group, count) in groups.iter().zip(more.values()) {
                self.counts[*group] += count;
            }
        }
        match numbers {
            Some(numbers) => {
                self.add_array(numbers, groups, &Kept::of(numbers.nulls(), None), total_groups)
            }
            None => Ok(()),
        }
    }

    /// Takes the state of all groups.
    pub(super) fn state(&mut self) -> SqlResult<Vec<ArrayRef>> {
        Ok(match self.total.kind {
            Kind::Count => vec![self.take_counts()],
            Kind::Average => vec![self.take_numbers()?, self.take_counts()],
            Kind::Sum | Kind::Least | Kind::Greatest => vec![self.take_numbers()?],
        })
    }

    /// Takes the result for each group.
    pub(super) fn evaluate(&mut self) -> SqlResult<ArrayRef> {
        match self.total.kind {
            Kind::Count => Ok(self.take_counts()),
            Kind::Average => self.averages_and_sums().map(|(averages, _)| averages),
            Kind::Sum | Kind::Least | Kind::Greatest => self.take_numbers(),
        }
    }

    /// Takes the averages and the sums that they were made of.
    pub(super) fn averages_and_sums(&mut self) -> SqlResult<(ArrayRef, ArrayRef)> {
        let sums = self.take_numbers()?;
        let averages = average::divide(&sums, &self.take_counts())?;
        Ok((averages, sums))
    }

    /// Bytes held.
    pub(super) fn size(&self) -> usize {
        let seen = match &self.seen {
            Seen::All => 0,
            Seen::These(seen) => seen.capacity(),
        };
        self.numbers.capacity() * size_of::<i128>()
            + self.counts.capacity() * size_of::<i64>()
            + seen
    }

    fn take_counts(&mut self) -> ArrayRef {
        Arc::new(Int64Array::from(std::mem::take(&mut self.counts)))
    }

    fn take_numbers(&mut self) -> SqlResult<ArrayRef> {
        let numbers = std::mem::take(&mut self.numbers);
        let nulls = match std::mem::replace(&mut self.seen, Seen::All) {
            Seen::All => None,
            Seen::These(seen) => Some(NullBuffer::from(seen)).filter(|n| n.null_count() > 0),
        };
        if matches!(self.total.kind, Kind::Sum | Kind::Average) {
            check_sums(&numbers, &self.total.ty)?;
        }
        if matches!(self.total.ty, DataType::Decimal128(..)) {
            let array = PrimitiveArray::<Decimal128Type>::new(numbers.into(), nulls);
            return Ok(Arc::new(array.with_data_type(self.total.ty.clone())));
        }
        // A group without a value has a bound that is no value of the type.
        let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let word = |(row, number): (usize, &i128)| if is_null(row) { 0 } else { *number as i64 };
        let values: Vec<i64> = numbers.iter().enumerate().map(word).collect();
        Value::Words(Words { values: values.into(), nulls })
            .into_array(&self.total.ty)
            .map_err(|_| mismatch())
    }
}

/// True if sums of that type are of the other.
fn sums_up(arg: &DataType, ty: &DataType) -> bool {
    match (arg, ty) {
        (DataType::Decimal128(_, from), DataType::Decimal128(_, to)) => from == to,
        (DataType::Int64, DataType::Int64) => true,
        _ => false,
    }
}

/// 22003 for a sum that the type does not hold.
fn check_sums(sums: &[i128], ty: &DataType) -> SqlResult<()> {
    let limit = match ty {
        DataType::Decimal128(digits, _) => 10_u128.pow(u32::from(*digits)),
        _ => 1 << 63,
    };
    match sums.iter().all(|sum| sum.unsigned_abs() < limit) {
        true => Ok(()),
        false => {
            let state = SqlState::NUMERIC_VALUE_OUT_OF_RANGE;
            Err(SqlError::new(state, "numeric field overflow"))
        }
    }
}

fn mismatch() -> SqlError {
    SqlError::internal("the values of an aggregate are not of its type")
}

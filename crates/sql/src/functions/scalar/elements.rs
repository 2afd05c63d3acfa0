//! Functions that look for elements of arrays, add them and take them out.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, Int32Array, ListArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};
use datafusion_common::ScalarValue;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use crate::cast::moments::{cast_moments, is_of_moments};
use crate::cast::strict::STRICT_CAST;
use crate::cast::text::cast_text;
use crate::error::{from_arrow, from_library};
use crate::functions::order::comparator;
use crate::functions::scalar::arrays::{element, list_of};
use crate::functions::scalar::overload::{Args, Functions, Overload, Ty};
use crate::functions::scalar::returns::{boolean, int};

pub(crate) fn register(functions: &mut Functions) {
    let mut add = |name, params, result, body| {
        functions.add(name, Overload { params, variadic: false, result, nulls: true, body });
    };
    add("arraycontains", &[Ty::List, Ty::List], boolean, |args| related(args, 0, 1, has_all));
    add("arraycontained", &[Ty::List, Ty::List], boolean, |args| related(args, 1, 0, has_all));
    add("arrayoverlap", &[Ty::List, Ty::List], boolean, |args| related(args, 0, 1, has_any));
    add("array_position", &[Ty::List, Ty::Any], int, position);
    add("array_position", &[Ty::List, Ty::Any, Ty::Int], int, position);
    add("array_positions", &[Ty::List, Ty::Any], ints, positions);
    add("array_append", &[Ty::List, Ty::Any], widened, append);
    add("array_prepend", &[Ty::Any, Ty::List], widened, prepend);
    add("array_remove", &[Ty::List, Ty::Any], widened, remove);
    add("array_replace", &[Ty::List, Ty::Any, Ty::Any], widened, replace);
}

fn ints(_: &[DataType], _: &[Option<&ScalarValue>]) -> DataType {
    LogicalType::Int32.array_of().arrow()
}

/// A list of what the elements of a list and the other arguments have in common.
fn widened(args: &[DataType], _: &[Option<&ScalarValue>]) -> DataType {
    let (lists, others): (Vec<_>, Vec<_>) =
        args.iter().partition(|ty| matches!(ty, DataType::List(_)));
    let own = lists.first().map_or(DataType::Null, |list| element(list));
    list_of(&others.into_iter().fold(own, |ty, other| wider(&ty, other)))
}

/// The type that elements and a value have in common: the wider number, of a date and a moment the
/// moment, else that of the elements.
pub(crate) fn wider(elements: &DataType, value: &DataType) -> DataType {
    let rank = |ty: &DataType| match ty {
        DataType::Int16 => Some((0, 0)),
        DataType::Int32 => Some((0, 1)),
        DataType::Int64 => Some((0, 2)),
        DataType::Decimal128(..) | DataType::Decimal256(..) => Some((0, 3)),
        DataType::Float32 => Some((0, 4)),
        DataType::Float64 => Some((0, 5)),
        DataType::Date32 => Some((1, 0)),
        DataType::Timestamp(_, None) => Some((1, 1)),
        DataType::Timestamp(_, Some(_)) => Some((1, 2)),
        _ => None,
    };
    match (rank(elements), rank(value)) {
        (Some((kind, a)), Some((of_value, b))) if kind == of_value && b > a => value.clone(),
        _ if elements.is_null() => value.clone(),
        _ => elements.clone(),
    }
}

/// The type in which elements and a value are compared: that of the elements but for numbers, which keep
/// all their digits, and moments, which keep their time.
pub(crate) fn common(elements: &DataType, value: &DataType) -> DataType {
    let scale = |ty: &DataType| match ty {
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => *scale,
        _ => 0,
    };
    match wider(elements, value) {
        _ if elements == value => value.clone(),
        DataType::Decimal128(..) | DataType::Decimal256(..) => {
            DataType::Decimal256(76, scale(elements).max(scale(value)))
        }
        wider => wider,
    }
}

/// Lists and values of one type.
struct Elements {
    lists: ListArray,
    values: Vec<ArrayRef>,
}

impl Elements {
    fn of(args: &Args<'_>, list: usize, values: &[usize]) -> SqlResult<Elements> {
        let own = element(args.arrays[list].data_type());
        let ty = values.iter().fold(own, |ty, i| wider(&ty, args.arrays[*i].data_type()));
        let lists = cast(&args.arrays[list], &list_of(&ty))?;
        let values = values.iter().map(|i| cast(&args.arrays[*i], &ty));
        Ok(Elements { values: values.collect::<SqlResult<_>>()?, lists: lists.as_list().clone() })
    }

    /// The elements' places of a row; none where the list is null.
    fn places(&self, row: usize) -> std::ops::Range<usize> {
        let start = self.lists.value_offsets()[row] as usize;
        let length = if self.lists.is_null(row) { 0 } else { self.lists.value_length(row) };
        start..start + length as usize
    }

    /// Whether the element at a place is the row's value; nulls are alike.
    fn equal(&self) -> SqlResult<impl Fn(usize, usize) -> bool> {
        let (values, elements) = (self.values[0].clone(), self.lists.values().clone());
        let compare = comparator(&values, &elements)?;
        Ok(move |row: usize, at: usize| match (values.is_null(row), elements.is_null(at)) {
            (false, false) => compare(row, at) == Ordering::Equal,
            (value, element) => value && element,
        })
    }

    /// New lists: per row, of which source (0 the elements, then the values) and where there;
    /// `None` is null.
    fn rebuilt(&self, rows: Vec<Option<Vec<(usize, usize)>>>) -> SqlResult<ArrayRef> {
        let nulls: NullBuffer = rows.iter().map(Option::is_some).collect::<Vec<bool>>().into();
        let lengths: Vec<usize> = rows.iter().map(|row| row.as_ref().map_or(0, Vec::len)).collect();
        let places: Vec<(usize, usize)> = rows.into_iter().flatten().flatten().collect();
        let sources = [self.lists.values()].into_iter().chain(&self.values);
        let sources: Vec<&dyn Array> = sources.map(AsRef::as_ref).collect();
        let values = arrow_select::interleave::interleave(&sources, &places).map_err(from_arrow)?;
        let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
        let offsets = OffsetBuffer::from_lengths(lengths);
        let lists = ListArray::try_new(field, offsets, values, Some(nulls));
        Ok(Arc::new(lists.map_err(from_arrow)?))
    }
}

/// The values as another type: texts are read, moments go by the zone of the session.
pub(crate) fn cast(array: &ArrayRef, ty: &DataType) -> SqlResult<ArrayRef> {
    match (array.data_type(), ty) {
        (from, to) if from.is_string() && !to.is_string() => {
            cast_text(array, ty).map_err(from_library)
        }
        (from, to) if is_of_moments(from, to) => cast_moments(array, ty).map_err(from_library),
        (DataType::List(from), DataType::List(to))
            if is_of_moments(from.data_type(), to.data_type()) =>
        {
            let lists = array.as_list::<i32>();
            let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
            let values = cast(lists.values(), to.data_type())?;
            let lists = ListArray::try_new(Arc::clone(to), offsets, values, nulls);
            Ok(Arc::new(lists.map_err(from_arrow)?))
        }
        _ => arrow_cast::cast_with_options(array, ty, &STRICT_CAST).map_err(from_arrow),
    }
}

/// For each row whether the list at `outer` has elements of the one at `inner`, as `how` says.
fn related(args: &Args<'_>, outer: usize, inner: usize, how: Relation) -> SqlResult<ArrayRef> {
    let of = |i: usize| element(args.arrays[i].data_type());
    let ty = list_of(&wider(&of(outer), &of(inner)));
    let (outer, inner) = (cast(&args.arrays[outer], &ty)?, cast(&args.arrays[inner], &ty)?);
    let (outer, inner) = (outer.as_list::<i32>(), inner.as_list::<i32>());
    let (left, right) = (outer.values(), inner.values());
    let compare = comparator(left, right)?;
    // Nulls are like nothing, not even each other.
    let equal = |a: usize, b: usize| {
        left.is_valid(a) && right.is_valid(b) && compare(a, b) == Ordering::Equal
    };
    let places = |list: &ListArray, row: usize| {
        let start = list.value_offsets()[row] as usize;
        start..start + list.value_length(row) as usize
    };
    let rows = (0..args.rows).map(|row| {
        let known = outer.is_valid(row) && inner.is_valid(row);
        known.then(|| how(places(outer, row), places(inner, row), &equal))
    });
    Ok(Arc::new(BooleanArray::from_iter(rows)))
}

/// How the elements at the first places have to do with those at the second.
type Relation = fn(Range<usize>, Range<usize>, &dyn Fn(usize, usize) -> bool) -> bool;

fn has_all(outer: Range<usize>, inner: Range<usize>, equal: &dyn Fn(usize, usize) -> bool) -> bool {
    inner.into_iter().all(|b| outer.clone().any(|a| equal(a, b)))
}

fn has_any(outer: Range<usize>, inner: Range<usize>, equal: &dyn Fn(usize, usize) -> bool) -> bool {
    inner.into_iter().any(|b| outer.clone().any(|a| equal(a, b)))
}

fn position(args: &Args<'_>) -> SqlResult<ArrayRef> {
    let elements = Elements::of(args, 0, &[1])?;
    let equal = elements.equal()?;
    let first = |row: usize| -> SqlResult<usize> {
        match args.arrays.get(2) {
            Some(start) if start.is_null(row) => {
                let message = "initial position must not be null";
                Err(SqlError::new(SqlState("22004"), message))
            }
            Some(_) => Ok(args.int(2, row).max(1) as usize - 1),
            None => Ok(0),
        }
    };
    let found = (0..args.rows).map(|row| {
        let places = elements.places(row);
        let begin = places.start;
        let found = places.skip(first(row)?).find(|at| equal(row, *at));
        Ok(found.map(|at| (at - begin + 1) as i32))
    });
    Ok(Arc::new(found.collect::<SqlResult<Int32Array>>()?))
}

fn positions(args: &Args<'_>) -> SqlResult<ArrayRef> {
    let elements = Elements::of(args, 0, &[1])?;
    let equal = elements.equal()?;
    let rows = (0..args.rows).map(|row| {
        let places = elements.places(row);
        let begin = places.start;
        let found = places.filter(|at| equal(row, *at)).map(|at| Some((at - begin + 1) as i32));
        (!elements.lists.is_null(row)).then(|| found.collect::<Vec<_>>())
    });
    Ok(Arc::new(ListArray::from_iter_primitive::<arrow_array::types::Int32Type, _, _>(rows)))
}

fn append(args: &Args<'_>) -> SqlResult<ArrayRef> {
    let elements = Elements::of(args, 0, &[1])?;
    let old = |row| elements.places(row).map(|at| (0, at));
    elements.rebuilt((0..args.rows).map(|row| Some(old(row).chain([(1, row)]).collect())).collect())
}

fn prepend(args: &Args<'_>) -> SqlResult<ArrayRef> {
    let elements = Elements::of(args, 1, &[0])?;
    let old = |row| elements.places(row).map(|at| (0, at));
    let new = |row| [(1, row)].into_iter().chain(old(row)).collect();
    elements.rebuilt((0..args.rows).map(|row| Some(new(row))).collect())
}

fn remove(args: &Args<'_>) -> SqlResult<ArrayRef> {
    let elements = Elements::of(args, 0, &[1])?;
    let equal = elements.equal()?;
    let kept = |row| elements.places(row).filter(|at| !equal(row, *at)).map(|at| (0, at)).collect();
    let row = |row| (!elements.lists.is_null(row)).then(|| kept(row));
    elements.rebuilt((0..args.rows).map(row).collect())
}

fn replace(args: &Args<'_>) -> SqlResult<ArrayRef> {
    let elements = Elements::of(args, 0, &[1, 2])?;
    let equal = elements.equal()?;
    let place = |row, at| if equal(row, at) { (2, row) } else { (0, at) };
    let new = |row| elements.places(row).map(|at| place(row, at)).collect();
    let row = |row| (!elements.lists.is_null(row)).then(|| new(row));
    elements.rebuilt((0..args.rows).map(row).collect())
}

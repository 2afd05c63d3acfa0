//! Values that are equal have one form, and others have others.

use std::sync::Arc;

use arrow_array::types::Float64Type;
use arrow_array::{
    Array, ArrayRef, Float32Array, Float64Array, IntervalMonthDayNanoArray, ListArray,
};
use arrow_buffer::{IntervalMonthDayNano, OffsetBuffer};
use arrow_schema::{DataType, Field, IntervalUnit};

use super::{canonical, canonical_type, has_lookalikes};

/// All values of the array have one form, and it is of the type that was said.
fn check(values: ArrayRef) {
    assert!(has_lookalikes(values.data_type()));
    let form = canonical(&values);
    assert_eq!(form.data_type(), &canonical_type(values.data_type()));
    for row in 1..form.len() {
        assert_eq!(form.slice(row, 1).to_data(), form.slice(0, 1).to_data(), "row {row}");
    }
}

fn spans() -> IntervalMonthDayNanoArray {
    const DAY: i64 = 86_400_000_000_000;
    let span = IntervalMonthDayNano::new;
    let spans = [span(1, 0, 0), span(0, 30, 0), span(0, 0, 30 * DAY), span(2, -31, DAY)];
    IntervalMonthDayNanoArray::from_iter_values(spans)
}

#[test]
fn equal_values_have_one_form() {
    check(Arc::new(Float64Array::from(vec![0.0, -0.0])));
    check(Arc::new(Float32Array::from(vec![0.0, -0.0])));
    check(Arc::new(Float64Array::from(vec![
        f64::NAN,
        -f64::NAN,
        f64::from_bits(0x7FF8_0000_0000_0001),
    ])));
    check(Arc::new(spans()));
}

#[test]
fn so_have_arrays_of_them() {
    let floats = [vec![Some(0.0), None], vec![Some(-0.0), None]];
    let floats = floats.into_iter().map(Some);
    let lists = ListArray::from_iter_primitive::<Float64Type, _, _>(floats);
    assert_eq!(canonical(&(Arc::new(lists.clone()) as ArrayRef)).data_type(), lists.data_type());
    let elements = canonical(lists.values());
    assert_eq!(elements.slice(0, 1).to_data(), elements.slice(2, 1).to_data());
    let field = Field::new_list_field(DataType::Interval(IntervalUnit::MonthDayNano), true);
    let offsets = OffsetBuffer::from_lengths([1, 1, 1, 1]);
    let lists: ArrayRef =
        Arc::new(ListArray::new(Arc::new(field), offsets, Arc::new(spans()), None));
    let forms = canonical(&lists);
    assert_eq!(forms.data_type(), &canonical_type(lists.data_type()));
}

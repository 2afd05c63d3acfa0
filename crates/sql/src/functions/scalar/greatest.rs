//! `greatest` and `least` of values that the library orders in another way: intervals and arrays.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use types::SqlResult;

use crate::error::from_arrow;
use crate::functions::order::comparator;
use crate::functions::scalar::overload::{Args, Functions, Overload, Ty};

pub(crate) fn register(functions: &mut Functions) {
    let mut add = |name, body| {
        let params = &[Ty::Any, Ty::Any];
        functions.add(name, Overload { params, variadic: true, result: first, nulls: true, body });
    };
    add("greatest_in_order", |args| best(args, Ordering::Greater));
    add("least_in_order", |args| best(args, Ordering::Less));
}

fn first(args: &[DataType], _: &[Option<&ScalarValue>]) -> DataType {
    args[0].clone()
}

/// For each row the first of the arguments, all of one type, that no other surpasses on that side;
/// null only where all are.
fn best(args: &Args<'_>, side: Ordering) -> SqlResult<ArrayRef> {
    let mut best: Vec<(usize, usize)> = (0..args.rows).map(|row| (0, row)).collect();
    for (at, values) in args.arrays.iter().enumerate().skip(1) {
        let others = args.arrays[..at].iter().map(|other| comparator(values, other));
        let others = others.collect::<SqlResult<Vec<_>>>()?;
        for (row, best) in best.iter_mut().enumerate().filter(|(row, _)| values.is_valid(*row)) {
            let is_better = args.arrays[best.0].is_null(row) || others[best.0](row, row) == side;
            if is_better {
                *best = (at, row);
            }
        }
    }
    let values: Vec<&dyn Array> = args.arrays.iter().map(AsRef::as_ref).collect();
    Ok(Arc::new(arrow_select::interleave::interleave(&values, &best).map_err(from_arrow)?))
}

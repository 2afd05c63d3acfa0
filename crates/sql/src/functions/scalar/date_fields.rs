//! `extract` and `date_part` of dates.

use std::cell::RefCell;
use std::sync::Arc;

use arrow_array::{ArrayRef, Decimal128Array, Float64Array};
use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use types::datetime::infinite::is_finite_date;
use types::{SqlError, SqlResult};

use crate::functions::scalar::date_parts::{MILLION, Part, of_point};
use crate::functions::scalar::dates::DAY;
use crate::functions::scalar::overload::{Args, Functions, Ty, invalid_parameter};
use crate::functions::scalar::returns::double;

pub(crate) fn register(functions: &mut Functions) {
    functions.strict("extract", &[Ty::Text, Ty::Date], of_dates, extract_date);
    functions.strict("date_part", &[Ty::Text, Ty::Date], double, extract_date);
}

/// Fields of a date are whole numbers, even the seconds since 1970.
fn of_dates(_: &[DataType], _: &[Option<&ScalarValue>]) -> DataType {
    DataType::Decimal128(20, 0)
}

fn extract_date(args: &Args<'_>) -> SqlResult<ArrayRef> {
    const CLOCK: [&str; 17] = [
        "hour",
        "hours",
        "minute",
        "minutes",
        "second",
        "seconds",
        "millisecond",
        "milliseconds",
        "microsecond",
        "microseconds",
        "timezone",
        "timezone_hour",
        "timezone_minute",
        "timezone_h",
        "timezone_m",
        "msec",
        "usec",
    ];
    // The field is a constant as a rule: its name is looked at once.
    let last = RefCell::new((String::new(), String::new()));
    let value = |row: usize| -> SqlResult<Part> {
        let (name, mut last) = (args.text(0).value(row), last.borrow_mut());
        if last.0 != name {
            let field = name.to_ascii_lowercase();
            if CLOCK.contains(&field.as_str()) {
                return Err(SqlError::unsupported(format!("unit \"{field}\" for type date")));
            }
            *last = (name.to_owned(), field);
        }
        let field = last.1.as_str();
        let day = args.date(1, row);
        let (is_infinite, is_late) = (!is_finite_date(day), day > 0);
        // All fields that a day has are asked of one that is sure to have them.
        let found = of_point(field, if is_infinite { 0 } else { i64::from(day) * DAY });
        match found {
            Some(_) if is_infinite => Ok(Part::of_infinity(field, is_late)),
            Some(millionths) => Ok(Part::Number(millionths / MILLION)),
            None => {
                let message = format!("unit \"{field}\" not recognized for type date");
                Err(invalid_parameter(message))
            }
        }
    };
    match args.ty {
        DataType::Decimal128(..) => {
            let values = args.each::<_, Decimal128Array>(|row| value(row)?.exact())?;
            Ok(Arc::new(values.with_data_type(args.ty.clone())))
        }
        _ => Ok(Arc::new(args.each::<_, Float64Array>(|row| Ok(value(row)?.float(1.0)))?)),
    }
}

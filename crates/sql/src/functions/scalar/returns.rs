//! Results of one type, whatever the arguments are.

use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use datafusion_common::ScalarValue;
use types::LogicalType;

/// A result of one type, for `Functions::strict`.
macro_rules! returns {
    ($name:ident, $ty:expr) => {
        pub(crate) fn $name(_: &[DataType], _: &[Option<&ScalarValue>]) -> DataType {
            $ty
        }
    };
}

returns!(text, DataType::Utf8View);
returns!(boolean, DataType::Boolean);
returns!(int, DataType::Int32);
returns!(big, DataType::Int64);
returns!(double, DataType::Float64);
returns!(date, DataType::Date32);
returns!(timestamp, DataType::Timestamp(TimeUnit::Microsecond, None));
returns!(timestamptz, LogicalType::TimestampTz.arrow());
returns!(time_of_day, DataType::Time64(TimeUnit::Microsecond));
returns!(interval, DataType::Interval(IntervalUnit::MonthDayNano));
returns!(text_array, LogicalType::Text.array_of().arrow());
returns!(bytes, DataType::BinaryView);

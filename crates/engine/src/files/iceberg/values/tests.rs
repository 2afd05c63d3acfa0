//! Values of types that have changed.

use iceberg::Value;
use plan::ScalarValue;
use types::LogicalType;

use super::scalar;

#[test]
fn values_are_those_of_their_type_or_none() {
    let decimal = |precision| LogicalType::Decimal { precision, scale: 2 };
    let cases = [
        (LogicalType::Int32, Value::Long(-7), Some(ScalarValue::Int32(Some(-7)))),
        (LogicalType::Int32, Value::Long(1 << 31), None),
        (LogicalType::Int64, Value::Int(-7), Some(ScalarValue::Int64(Some(-7)))),
        (LogicalType::Float32, Value::Double(0.5), Some(ScalarValue::Float32(Some(0.5)))),
        (LogicalType::Float32, Value::Double(0.1), None),
        (LogicalType::Float32, Value::Double(1e300), None),
        (LogicalType::Float64, Value::Float(0.5), Some(ScalarValue::Float64(Some(0.5)))),
        (decimal(3), Value::Decimal(-999), Some(ScalarValue::Decimal128(Some(-999), 3, 2))),
        (decimal(3), Value::Decimal(1000), None),
        (decimal(38), Value::Decimal(i128::MIN), None),
        (LogicalType::Time, Value::Time(86_400_000_001), None),
        (LogicalType::Text, Value::Int(1), None),
    ];
    for (ty, value, expected) in cases {
        assert_eq!(scalar(&value, ty), expected, "{value:?} as {ty}");
    }
}

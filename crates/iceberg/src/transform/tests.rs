//! Hashes of the specification's appendix B, and ranges of partitions.

use super::{hash, shortest};
use crate::schema::Type;
use crate::transform::Transform;
use crate::value::Value;

/// The table of appendix B, "32-bit hash requirements".
#[test]
fn hashes_are_those_of_the_specification() {
    let uuid: [u8; 16] = 0xf79c_3e09_677c_4bbd_a479_3f34_9cb7_85e7u128.to_be_bytes();
    let cases = [
        (Value::Int(34), 2_017_239_379),
        (Value::Long(34), 2_017_239_379),
        (Value::Decimal(1420), -500_754_589),
        (Value::Date(17_486), -653_330_422),
        (Value::Time(81_068_000_000), -662_762_989),
        (Value::Timestamp(1_510_871_468_000_000), -2_047_944_441),
        (Value::String("iceberg".to_owned()), 1_210_000_089),
        (Value::Uuid(uuid), 1_488_055_340),
        (Value::Binary(vec![0, 1, 2, 3]), -188_683_207),
    ];
    for (value, expected) in cases {
        assert_eq!(hash(&value).map(|hash| hash as i32), Some(expected), "{value:?}");
    }
    assert_eq!(shortest(&[0, 0]), [0]);
    assert_eq!(shortest(&[0xff, 0x80]), [0x80]);
    assert_eq!(shortest(&[0, 0x80]), [0, 0x80]);
}

#[test]
fn partitions_say_in_which_range_values_are() {
    const DAY_US: i64 = 86_400_000_000;
    let check = |text: &str, ty: Type, value: i32, expected: (Value, Value)| {
        let (low, high) = Transform::parse(text).range(&ty, &Value::Int(value));
        assert_eq!((low, high), (Some(expected.0), Some(expected.1)), "{text} {value}");
    };
    check("identity", Type::Int, 5, (Value::Int(5), Value::Int(5)));
    check("truncate[10]", Type::Int, -10, (Value::Int(-10), Value::Int(-1)));
    check("day", Type::Date, 3, (Value::Date(3), Value::Date(3)));
    check("month", Type::Date, 1, (Value::Date(31), Value::Date(58)));
    check("year", Type::Date, 2, (Value::Date(730), Value::Date(1095)));
    check("month", Type::Date, 649, (Value::Date(19_754), Value::Date(19_782)));
    let moments = (Value::Timestamp(DAY_US), Value::Timestamp(2 * DAY_US - 1));
    check("day", Type::Timestamp, 1, moments);
    // The day before it is in there, too.
    check("day", Type::Timestamp, -1, (Value::Timestamp(-2 * DAY_US), Value::Timestamp(-1)));
    for text in ["bucket[4]", "void", "zorder", "bucket[0]", "truncate[x]"] {
        assert_eq!(
            Transform::parse(text).range(&Type::Int, &Value::Int(1)),
            (None, None),
            "{text}"
        );
    }
}

#[test]
fn what_is_too_far_away_has_no_range() {
    let (min, max) = (Value::Int(i32::MIN), Value::Int(i32::MAX));
    for ty in [Type::Date, Type::Timestamp, Type::TimestampTz] {
        for text in ["year", "month", "day"] {
            let transform = Transform::parse(text);
            assert_eq!(transform.range(&ty, &min), (None, None), "{text}");
            assert_eq!(transform.range(&ty, &max), (None, None), "{text}");
        }
    }
    let wide = Transform::parse("truncate[4294967295]");
    assert_eq!(wide.range(&Type::Int, &max), (Some(max), None));
}

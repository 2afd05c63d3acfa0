//! Values by their bytes.

use super::unscaled;
use crate::schema::Type;
use crate::value::Value;

#[test]
fn values_are_read_from_their_bytes() {
    let decimal = Type::Decimal { precision: 9, scale: 2 };
    let cases: [(Type, &[u8], Option<Value>); 12] = [
        (Type::Boolean, &[1], Some(Value::Boolean(true))),
        (Type::Int, &[254, 255, 255, 255], Some(Value::Int(-2))),
        (Type::Int, &[1, 0, 0, 0, 0, 0, 0, 0], None),
        (Type::Long, &[254, 255, 255, 255], Some(Value::Long(-2))),
        (Type::Long, &[1, 0, 0, 0, 0, 0, 0, 1], Some(Value::Long((1 << 56) + 1))),
        (Type::Double, &1.5f32.to_le_bytes(), Some(Value::Double(1.5))),
        (decimal.clone(), &[0x30, 0x39], Some(Value::Decimal(12345))),
        (decimal.clone(), &[0xff], Some(Value::Decimal(-1))),
        (decimal, &[0; 17], None),
        (Type::String, b"ab", Some(Value::String("ab".to_owned()))),
        (Type::String, &[0xff], None),
        (Type::Uuid, &[0; 15], None),
    ];
    for (ty, bytes, expected) in cases {
        assert_eq!(Value::from_bytes(&ty, bytes), expected, "{ty:?} {bytes:?}");
    }
    assert_eq!(unscaled(&[]), None);
}

//! Which texts look like values of which types.

use types::LogicalType;

use super::{CANDIDATES, reads};

#[test]
fn texts_look_like_values() {
    let cases = [
        ("TRUE", Some(LogicalType::Bool)),
        ("t", None),
        ("12", Some(LogicalType::Int64)),
        ("-12", Some(LogicalType::Int64)),
        ("007", None),
        ("9223372036854775808", Some(LogicalType::Float64)),
        ("1.5e3", Some(LogicalType::Float64)),
        ("0.5", Some(LogicalType::Float64)),
        ("nan", None),
        ("2024-02-29", Some(LogicalType::Date)),
        ("2023-02-29", None),
        ("12:30:00", Some(LogicalType::Time)),
        ("2024-02-29 12:30:00", Some(LogicalType::Timestamp)),
        ("2024-02-29T12:30:00Z", Some(LogicalType::TimestampTz)),
        ("2024-02-29 12:30:00+02", Some(LogicalType::TimestampTz)),
        ("today", None),
        ("", None),
    ];
    for (text, expected) in cases {
        let found = CANDIDATES.into_iter().find(|ty| reads(*ty, text));
        assert_eq!(found, expected, "{text}");
    }
}

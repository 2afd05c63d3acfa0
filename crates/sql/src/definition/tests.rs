//! What PostgreSQL 15 printed for the same definitions.

use types::{Column, LogicalType, Schema};

fn schema() -> Schema {
    let column = |name: &str, ty| Column { name: name.into(), ty, nullable: true };
    Schema {
        columns: vec![
            column("a", LogicalType::Int32),
            column("b", LogicalType::Int64),
            column("n", LogicalType::Decimal { precision: 10, scale: 2 }),
            column("f", LogicalType::Float64),
            column("t", LogicalType::Text),
            column("v", LogicalType::Varchar(9)),
            column("d", LogicalType::Date),
            column("Q", LogicalType::Bool),
        ],
    }
}

#[test]
fn conditions_have_the_types_of_their_constants() {
    let cases = [
        ("n > 0", "(n > (0)::numeric)", "n > 0::numeric"),
        ("a > 0 AND b < 5", "((a > 0) AND (b < 5))", "a > 0 AND b < 5"),
        ("v = 'x'", "((v)::text = 'x'::text)", "v::text = 'x'::text"),
        ("a BETWEEN 1 AND 3", "((a >= 1) AND (a <= 3))", "a >= 1 AND a <= 3"),
        (
            "t IN ('a', 'b')",
            "(t = ANY (ARRAY['a'::text, 'b'::text]))",
            "t = ANY (ARRAY['a'::text, 'b'::text])",
        ),
        ("length(v) > 2", "(length((v)::text) > 2)", "length(v::text) > 2"),
        ("\"Q\" OR a IS NOT NULL", "(\"Q\" OR (a IS NOT NULL))", "\"Q\" OR a IS NOT NULL"),
        ("f > 1", "(f > (1)::double precision)", "f > 1::double precision"),
        ("d > '2020-01-01'", "(d > '2020-01-01'::date)", "d > '2020-01-01'::date"),
        ("t LIKE 'a%'", "(t ~~ 'a%'::text)", "t ~~ 'a%'::text"),
        (
            "v IN ('a', 'b')",
            "((v)::text = ANY ((ARRAY['a'::character varying, 'b'::character varying])::text[]))",
            "v::text = ANY (ARRAY['a'::character varying, 'b'::character varying]::text[])",
        ),
        ("NOT (a > 1)", "(NOT (a > 1))", "NOT a > 1"),
        (
            "(a + b) * 2 > 1 OR NOT (a > 1 AND b > 1)",
            "((((a + b) * 2) > 1) OR (NOT ((a > 1) AND (b > 1))))",
            "((a + b) * 2) > 1 OR NOT (a > 1 AND b > 1)",
        ),
        (
            "a > 0 AND (a BETWEEN 1 AND 3) AND \"Q\"",
            "((a > 0) AND ((a >= 1) AND (a <= 3)) AND \"Q\")",
            "a > 0 AND a >= 1 AND a <= 3 AND \"Q\"",
        ),
        (
            "n * 2 >= n + 1",
            "((n * (2)::numeric) >= (n + (1)::numeric))",
            "(n * 2::numeric) >= (n + 1::numeric)",
        ),
        ("v IN ('a')", "((v)::text = 'a'::text)", "v::text = 'a'::text"),
        (
            "f IS NULL OR (a IN (1, 2) AND b > 0)",
            "((f IS NULL) OR ((a = ANY (ARRAY[1, 2])) AND (b > 0)))",
            "f IS NULL OR (a = ANY (ARRAY[1, 2])) AND b > 0",
        ),
        ("n > -1.5", "(n > '-1.5'::numeric)", "n > '-1.5'::numeric"),
        ("COALESCE(a, 0) > 1", "(COALESCE(a, 0) > 1)", "COALESCE(a, 0) > 1"),
        ("t || 'x' <> v", "((t || 'x'::text) <> (v)::text)", "(t || 'x'::text) <> v::text"),
        ("d > CURRENT_DATE", "(d > CURRENT_DATE)", "d > CURRENT_DATE"),
    ];
    for (text, full, pretty) in cases {
        let printed = |pretty| super::condition(text, &schema(), pretty).unwrap_or_default();
        assert_eq!((printed(false).as_str(), printed(true).as_str()), (full, pretty), "{text}");
    }
}

#[test]
fn defaults_show_no_last_conversion() {
    let numeric = LogicalType::Decimal { precision: 10, scale: 2 };
    let cases = [
        ("'none'", LogicalType::Text, "'none'::text"),
        ("'none'", LogicalType::Varchar(9), "'none'::character varying"),
        ("0", numeric, "0"),
        ("1.50", numeric, "1.50"),
        ("-1", LogicalType::Int32, "'-1'::integer"),
        ("true", LogicalType::Bool, "true"),
        ("now()", LogicalType::Timestamp, "now()"),
        ("CURRENT_TIMESTAMP", LogicalType::Timestamp, "CURRENT_TIMESTAMP"),
        ("'{}'", LogicalType::Int32.array_of(), "'{}'::integer[]"),
    ];
    for (text, ty, wanted) in cases {
        assert_eq!(super::default(text, ty, false).as_deref(), Some(wanted), "{text}");
    }
}

//! What a masked plan shows.

use super::masked::masked;

#[test]
fn constants_are_masked_and_names_are_not() {
    let cases = [
        ("(a = 5 AND b2 >= -1.5e3)", "(a = ? AND b2 >= -?)"),
        ("(name = 'it''s 5')", "(name = ?)"),
        (
            "substr(t1.x, 1, 2) LIKE 'a%' OR y = Utf8(\"s\")",
            "substr(t1.x, ?, ..) LIKE ? OR y = Utf8(?)",
        ),
        ("Index Scan on t1 using t1_pkey", "Index Scan on t1 using t1_pkey"),
        ("x IN ({1,2,3}, 'a', 'b') OR y = 4", "x IN ({?, ..}, ?, ..) OR y = ?"),
        ("Limit 5 offset 7", "Limit ? offset ?"),
        ("'never ends", "?"),
    ];
    for (text, expected) in cases {
        assert_eq!(masked(text), expected);
    }
}

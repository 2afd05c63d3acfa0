//! Which names match which patterns.

use super::is_match;

#[test]
fn names_match_patterns() {
    let cases = [
        ("*", "a", true),
        ("*", ".a", false),
        (".*", ".a", true),
        ("a*b?c", "axxbyc", true),
        ("a*b?c", "abc", false),
        ("*.parquet", "a.parquet", true),
        ("*.parquet", "a.parquet.tmp", false),
        ("**", "abc", true),
        ("?", "ä", true),
        ("?", "", false),
        ("a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
        ("[a]", "[a]", true),
    ];
    for (pattern, name, expected) in cases {
        assert_eq!(is_match(pattern, name), expected, "{pattern} {name}");
    }
}

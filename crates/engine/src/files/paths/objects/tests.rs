//! Which names of objects match a pattern.

use super::fits;

#[test]
fn names_match_patterns_part_by_part() {
    let check = |pattern: &str, name: &str, expected: bool| {
        let (p, n): (Vec<_>, Vec<_>) = (pattern.split('/').collect(), name.split('/').collect());
        assert_eq!(fits(&p, &n), expected, "{pattern} {name}");
    };
    check("*.csv", "a.csv", true);
    check("*.csv", "d/a.csv", false);
    check("**/*.csv", "a.csv", true);
    check("**/*.csv", "d/e/a.csv", true);
    check("**/*.csv", "d/e/a.txt", false);
    check("**/*.csv", ".d/a.csv", false);
    check("**", "d/e/a", true);
    check("**", "d/e/", false);
    check("*", "", false);
    check("y=*/m=?/x", "y=1/m=2/x", true);
    check("y=*/m=?/x", "y=1/m=22/x", false);
}

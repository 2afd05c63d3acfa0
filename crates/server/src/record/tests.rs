//! What of a message is logged.

use super::without_values;

#[test]
fn only_what_the_statement_says_is_quoted() {
    let text = "select a::int from t where b = $1";
    let cases = [
        ("relation \"t\" does not exist", "relation \"t\" does not exist"),
        (
            "invalid input syntax for type integer: \"canary\"",
            "invalid input syntax for type integer: \"..\"",
        ),
        (
            "value \"99\" is out of range for type integer",
            "value \"..\" is out of range for type integer",
        ),
        ("column \"a\" of \"t\" is missing", "column \"..\" is missing"),
        ("it's unpaired", "it'.."),
        ("invalid: \"a\"canary\"", "invalid: \"..\""),
        ("division by zero", "division by zero"),
    ];
    for (message, expected) in cases {
        assert_eq!(without_values(message, text), expected);
    }
}

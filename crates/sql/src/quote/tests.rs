//! Names, quoted and taken apart.

use super::{parse_name, quote_ident};

#[test]
fn names_are_quoted_where_they_must_be() {
    for (name, quoted) in
        [("t", "t"), ("T", "\"T\""), ("select", "\"select\""), ("a\"b", "\"a\"\"b\""), ("", "\"\"")]
    {
        assert_eq!(quote_ident(name), quoted);
    }
    assert_eq!(parse_name("public.\"A b\"").ok(), Some(vec!["public".into(), "A b".into()]));
    assert_eq!(parse_name(" T ").ok(), Some(vec!["t".into()]));
    for wrong in ["", "a.", "\"a", "a b\"c"] {
        assert!(parse_name(wrong).is_err(), "{wrong}");
    }
}

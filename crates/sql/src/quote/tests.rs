//! Names, quoted and taken apart.

use plan::generated::NAME_MAX;

use super::unspelled::{apart, meaning, shown, unspelled};
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

#[test]
fn unspelled_names_are_longer_than_names_are_cut_to_and_are_not_shown() {
    for name in [unspelled(""), unspelled("row id"), apart("", 0), apart("a", 17)] {
        assert!(name.len() > NAME_MAX, "{name}");
    }
    assert_eq!((meaning(&unspelled("a b")), meaning("a b")), (Some("a b"), None));
    assert_ne!(apart("a", 1), apart("a", 2));
    let text = format!("\"{}\" and {}, {}", apart("a 1", 12), apart(&apart("b", 1), 3), "c2");
    assert_eq!(shown(&text), "\"a 1\" and b, c2");
    assert_eq!(shown(&unspelled("row id")), "row id");
    assert_eq!(shown("plain \u{1}\u{1f}"), "plain \u{1}\u{1f}");
}

//! What paths say.

use super::{decoded, pairs};

#[test]
fn directories_are_columns() {
    let some = |text: &str| Some(text.to_owned());
    let found = pairs("/data/year=2024/city=S%C3%A3o%2FPaulo/x=__HIVE_DEFAULT_PARTITION__/a=b.csv");
    let expected = [
        ("year".to_owned(), some("2024")),
        ("city".to_owned(), some("São/Paulo")),
        ("x".to_owned(), None),
    ];
    assert_eq!(found, expected);
    assert_eq!(pairs("a=b.csv"), []);
    assert_eq!(pairs("/=b/c.csv"), []);
}

#[test]
fn what_is_no_code_stays() {
    assert_eq!(decoded("50%"), "50%");
    assert_eq!(decoded("%zz%4"), "%zz%4");
    assert_eq!(decoded("%FF"), "%FF");
}

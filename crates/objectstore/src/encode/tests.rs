//! Names with all characters, both ways.

use proptest::prelude::*;

use super::*;

#[test]
fn only_plain_characters_stay() {
    assert_eq!(percent("a/b c~ü%", true), "a/b%20c~%C3%BC%25");
    assert_eq!(percent("a/b", false), "a%2Fb");
    assert_eq!(hex(&[0, 0xab, 0xff]), "00abff");
    for wrong in ["%", "%4", "%zz", "%ff", "%+1"] {
        assert_eq!(unpercent(wrong), None, "{wrong}");
    }
}

proptest! {
    #[test]
    fn names_go_both_ways(name in "\\PC*") {
        prop_assert_eq!(unpercent(&percent(&name, false)), Some(name));
    }
}

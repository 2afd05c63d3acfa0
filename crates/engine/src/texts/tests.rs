//! What a statement is kept for.

use std::collections::HashSet;

use super::key;

#[test]
fn texts_with_other_types_have_other_keys() {
    let types: [&[u32]; 9] = [
        &[],
        &[0],
        &[0, 0],
        &[23],
        &[0xd800],
        &[0xdfff, 1],
        &[0x1_0000],
        &[u32::MAX],
        &[0x1_0000, 0x1_0000],
    ];
    let keys: HashSet<String> =
        types.iter().map(|types| key("select $1", types).into_owned()).collect();
    assert_eq!(keys.len(), types.len());
    assert_eq!(key("select 1", &[]), "select 1");
}

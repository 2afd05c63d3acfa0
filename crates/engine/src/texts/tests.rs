//! Keys of statements, and how many are kept.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Known, MEMORY_PER_STATEMENT, STATEMENTS_MAX, Texts, key};
use crate::statements::Described;

/// How many of so many statements are kept by a database with so much memory.
fn kept(memory: usize, count: usize) -> usize {
    let texts = Texts::new(memory);
    let keys: Vec<String> = (0..count).map(|number| format!("select {number}")).collect();
    for key in &keys {
        let described = Arc::new(Described::new(Arc::new(()), None));
        texts.keep(key.clone(), Known { described, statement: None });
    }
    keys.iter().filter(|key| texts.of(key).is_some()).count()
}

#[test]
fn statements_take_a_share_of_the_memory() {
    assert_eq!(kept(3 * MEMORY_PER_STATEMENT, 10), 3);
    assert_eq!(kept(1 << 40, STATEMENTS_MAX + 1), STATEMENTS_MAX);
}

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

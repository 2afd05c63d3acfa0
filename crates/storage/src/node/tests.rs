//! Nodes against a sorted map, over many shapes of keys.

use std::collections::BTreeMap;

use stdx::Prng;

use super::build::{Shape, build, bytes_needed, separator};
use super::layout::{entry_len_max, key_len_max};
use super::split::plan_split;
use super::*;
use crate::page::Identity;

const IDENTITY: Identity = Identity { pid: 7, tree: 3, epoch: 1 };

/// A key with a long common beginning now and then, and zero bytes at the end (heads cannot tell
/// those apart).
fn random_key(dice: &mut Prng) -> Vec<u8> {
    let mut key = vec![b'p'; (dice.below(4) * dice.below(20)) as usize];
    for _ in 0..dice.below(7) {
        key.push([0, 1, b'a', b'b', 255][dice.below(5) as usize]);
    }
    key
}

fn empty_leaf(lower: &[u8], upper: Option<&[u8]>) -> Vec<u8> {
    let mut page = vec![0; 4096];
    build(&mut page, IDENTITY, Shape { level: 0, lower, upper }, std::iter::empty());
    page
}

fn entries_of(page: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let node = Node::new(page);
    (0..node.count()).map(|i| (node.key(i), node.value(i).bytes.to_vec())).collect()
}

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Fills the page; returns what is in it, and the entry that did not fit.
fn fill(page: &mut [u8], dice: &mut Prng) -> (Model, Vec<u8>, Vec<u8>) {
    let mut model = BTreeMap::new();
    loop {
        let key = random_key(dice);
        let value = vec![b'v'; dice.below(60) as usize];
        let node = Node::new(page);
        if !node.covers(&key) {
            continue;
        }
        let (position, found) = node.lower_bound(&key);
        assert_eq!(found, model.contains_key(&key));
        if found {
            continue;
        }
        if !insert(page, position, &key, Value::inline(&value)) {
            return (model, key, value);
        }
        model.insert(key, value);
    }
}

#[test]
fn insertions_keep_order_until_the_node_is_full() {
    for seed in 0..60 {
        let mut dice = Prng::new(seed);
        let mut page = empty_leaf(b"", None);
        let (model, _, _) = fill(&mut page, &mut dice);
        assert_eq!(verify(&page), Ok(()), "seed {seed}");
        assert_eq!(entries_of(&page), model.into_iter().collect::<Vec<_>>(), "seed {seed}");
    }
}

#[test]
fn entries_that_come_go_and_change_agree_with_a_sorted_map() {
    for seed in 0..60 {
        let mut dice = Prng::new(seed);
        let mut page = empty_leaf(b"", Some(&[255; 9]));
        let mut model = Model::new();
        let mut refused = 0;
        for _ in 0..2000 {
            let (key, value) = (random_key(&mut dice), vec![b'v'; dice.below(90) as usize]);
            let (position, found) = Node::new(&page).lower_bound(&key);
            assert_eq!(found, model.contains_key(&key), "seed {seed}");
            match (found, dice.chance(0.45)) {
                (true, true) => {
                    remove(&mut page, position);
                    model.remove(&key);
                }
                (true, false) if replace(&mut page, position, Value::inline(&value)) => {
                    model.insert(key, value);
                }
                (false, _) if insert(&mut page, position, &key, Value::inline(&value)) => {
                    model.insert(key, value);
                }
                _ => refused += 1,
            }
            assert_eq!(verify(&page), Ok(()), "seed {seed}");
        }
        assert!(refused > 0, "seed {seed}: the node was never full");
        // Nothing is lost in holes: as much fits as in a node that is written at once.
        let (lower, upper) = (Node::new(&page).lower().to_vec(), [255; 9]);
        let len = model.iter().map(|(key, value)| key.len() + value.len()).sum();
        let needed = bytes_needed(&lower, Some(&upper), model.len(), len);
        assert_eq!(Node::new(&page).used_bytes(), needed, "seed {seed}");
        assert_eq!(entries_of(&page), model.into_iter().collect::<Vec<_>>(), "seed {seed}");
    }
}

#[test]
fn lower_bound_agrees_with_a_sorted_map_for_any_key() {
    for seed in 0..60 {
        let mut dice = Prng::new(seed);
        let mut page = empty_leaf(b"pp", Some(b"ppb"));
        let (model, _, _) = fill(&mut page, &mut dice);
        let node = Node::new(&page);
        assert_eq!(node.prefix(), b"pp");
        for _ in 0..500 {
            let key = random_key(&mut dice);
            let expected = model.range(..key.clone()).count();
            let found = node.lower_bound(&key);
            assert_eq!(found, (expected, model.contains_key(&key)), "seed {seed} key {key:?}");
        }
    }
}

#[test]
fn a_split_keeps_every_entry_and_separates_the_halves() {
    for seed in 0..60 {
        let mut dice = Prng::new(seed);
        let mut page = empty_leaf(b"", Some(&[255; 9]));
        let (mut model, key, value) = fill(&mut page, &mut dice);
        let node = Node::new(&page);
        let split = plan_split(&node, &key, Value::inline(&value));
        model.insert(key, value);
        let (mut left, mut right) = (vec![0; 4096], vec![0; 4096]);
        split.build_left(&mut left, IDENTITY);
        split.build_right(&mut right, IDENTITY);
        assert_eq!((verify(&left), verify(&right)), (Ok(()), Ok(())), "seed {seed}");
        assert_eq!(Node::new(&left).upper(), Some(Node::new(&right).lower()));
        let mut joined = entries_of(&left);
        joined.extend(entries_of(&right));
        assert_eq!(joined, model.into_iter().collect::<Vec<_>>(), "seed {seed}");
    }
}

#[test]
fn the_largest_entries_and_fences_still_split() {
    let key_max = key_len_max(4096);
    let value_max = entry_len_max(4096) - key_max;
    let long = |first: u8| [vec![first], vec![b'x'; key_max - 1]].concat();
    let mut page = empty_leaf(&long(1), Some(&long(200)));
    let mut byte = 1;
    let full = loop {
        byte += 1;
        let key = long(byte);
        let position = Node::new(&page).lower_bound(&key).0;
        if !insert(&mut page, position, &key, Value::inline(&vec![b'v'; value_max])) {
            break key;
        }
    };
    let node = Node::new(&page);
    let value = vec![b'v'; value_max];
    let split = plan_split(&node, &full, Value::inline(&value));
    let (mut left, mut right) = (vec![0; 4096], vec![0; 4096]);
    split.build_left(&mut left, IDENTITY);
    split.build_right(&mut right, IDENTITY);
    assert_eq!((verify(&left), verify(&right)), (Ok(()), Ok(())));
}

#[test]
fn separators_are_as_short_as_they_can_be() {
    assert_eq!(separator(b"smith", b"smythe"), b"smy");
    assert_eq!(separator(b"a", b"ab"), b"ab");
    assert_eq!(separator(b"", b"zebra"), b"z");
}

#[test]
fn verification_survives_any_damage() {
    let mut dice = Prng::new(1);
    let mut page = empty_leaf(b"", Some(b"zz"));
    fill(&mut page, &mut dice);
    let mut noticed = 0;
    for _ in 0..20_000 {
        let at = 40 + dice.below(4096 - 40) as usize;
        let bit = 1 << dice.below(8);
        page[at] ^= bit;
        noticed += usize::from(verify(&page).is_err());
        page[at] ^= bit;
    }
    assert!(noticed > 1000, "structure checks noticed only {noticed} flips");
    assert_eq!(verify(&page), Ok(()));
}

#[test]
fn keys_are_ordered_as_their_bytes_are() {
    let mut random = Prng::new(11);
    let mut key = || -> Vec<u8> {
        let len = random.below(20) as usize;
        (0..len).map(|_| [0, 1, 255][random.below(3) as usize]).collect()
    };
    for _ in 0..100_000 {
        let (a, b) = (key(), key());
        assert_eq!(order::compare(&a, &b), a.cmp(&b), "{a:?} {b:?}");
        assert!(order::compare(&a, &a).is_eq());
    }
}

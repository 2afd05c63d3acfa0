//! Positions of deleted rows, and the memory for them.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use types::SqlError;

use super::{Deleted, Loaded, Positions};

/// What a file of deletes has, and the memory that was taken for it.
fn loaded(path: &str, all: &[i64]) -> (Arc<Loaded>, usize) {
    let (mut positions, taken) = (Positions::default(), Cell::new(0));
    for position in all {
        let keep = |bytes| {
            taken.set(taken.get() + bytes);
            Ok(())
        };
        positions.push(*position, keep).expect("memory");
    }
    positions.sort();
    assert!(positions.0.capacity() * 8 <= taken.get(), "all of it is counted");
    (Arc::new(Loaded::Positions(BTreeMap::from([(path.to_owned(), positions)]))), taken.get())
}

#[test]
fn positions_are_kept_once_for_all_data_files() {
    let (one, taken) = loaded("f", &[7, 3, 3, 1000]);
    assert_eq!(taken, 32);
    let ((two, _), (other, _)) = (loaded("f", &[4]), loaded("g", &[5]));
    let deleted = Deleted::new(vec![one.clone(), two, other.clone()], &[], &[], "f");
    let deleted = deleted.expect("some are");
    // They are held where they were counted, and what is not about the file is not held at all.
    assert_eq!((Arc::strong_count(&one), Arc::strong_count(&other)), (2, 1));
    let kept = deleted.kept(&[], 2, 6).expect("marked").expect("some are not kept");
    assert_eq!(kept.iter().flatten().collect::<Vec<_>>(), [true, false, false, true, true, false]);
    assert!(deleted.kept(&[], 8, 6).expect("marked").is_none());
    assert!(Deleted::new(vec![other], &[], &[], "f").is_none());
}

#[test]
fn a_position_without_memory_is_refused() {
    let mut positions = Positions::default();
    let refused = positions.push(1, |_| Err(SqlError::internal("none is left")));
    assert_eq!((refused.is_err(), positions.0.capacity()), (true, 0));
}

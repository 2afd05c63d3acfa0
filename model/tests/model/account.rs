//! The account of memory: what an operator has beside what all have taken.

#[path = "../../../crates/exec/src/memory/account.rs"]
#[allow(dead_code, reason = "a model needs a part of it")]
mod account_of_exec;

use std::sync::Arc;

use loom::thread;

use crate::check::check;
use account_of_exec::{Common, Own};

/// Three units of an operator whose floor is one: what is given back was taken (the account asserts
/// it), and nothing is left.
fn takes_and_gives(holds: bool) {
    let (common, own) = (Arc::new(Common::new(8)), Arc::new(Own::new(1)));
    let work = move |common: &Common, own: &Own| {
        match holds {
            true => assert!(own.hold(common, 3) >= 3, "what is held is counted"),
            false => assert!(own.take(common, 3, 8).is_some(), "there is room for both"),
        }
        assert!(common.taken() >= 2, "what this one holds is counted");
        own.shrink(common, 3);
    };
    let other = {
        let (common, own) = (Arc::clone(&common), Arc::clone(&own));
        thread::spawn(move || work(&common, &own))
    };
    work(&common, &own);
    other.join().unwrap();
    assert_eq!((common.taken(), own.used()), (0, 0));
    assert!((2..=8).contains(&common.high()));
}

#[test]
fn what_is_held_is_counted() {
    check("account, held", || takes_and_gives(true));
}

#[test]
fn what_is_taken_is_counted() {
    check("account, taken", || takes_and_gives(false));
}

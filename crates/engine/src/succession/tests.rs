//! States beside each other: how many there may be.

use std::sync::Arc;
use std::time::Duration;

use super::{STATES_MAX, Standing, State, Succession};

struct Numbered {
    number: usize,
    standing: Standing<Numbered>,
}

impl State for Numbered {
    fn standing(&self) -> Option<&Standing<Numbered>> {
        Some(&self.standing)
    }
}

fn advance(states: &Arc<Succession<Numbered>>) -> Arc<Numbered> {
    states.advance(true, |before, standing| Numbered {
        number: before.map_or(0, |before| before.number + 1),
        standing,
    });
    states.current().expect("it has just begun")
}

fn over(held: &[Arc<Numbered>]) -> Vec<usize> {
    let over = held.iter().filter(|state| state.standing.is_over());
    over.map(|state| state.number).collect()
}

#[test]
fn the_next_state_waits_while_all_are_in_use() {
    let states = Succession::new();
    // Nobody but the succession has these.
    (0..2 * STATES_MAX).for_each(|_| drop(advance(&states)));
    assert!(!states.is_full());
    let mut held = vec![];
    for count in 1..=STATES_MAX {
        assert!(!states.is_full(), "{count} are in use");
        held.push(advance(&states));
    }
    assert!(states.is_full());
    // A state that nobody has any more leaves room.
    drop(held.remove(1));
    assert!(!states.is_full());
    held.push(advance(&states));
    assert!(states.is_full());
    states.end_former(None);
    assert_eq!(over(&held), Vec::<usize>::new());
    states.end_former(Some(Duration::ZERO));
    assert_eq!(over(&held).len(), held.len() - 1, "the last one goes on");
    // Those that are over are about to go.
    assert!(!states.is_full());
}

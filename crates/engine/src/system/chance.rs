//! The random numbers of a session: those of PostgreSQL 15 (xoroshiro128**), so that a seed gives the same
//! ones.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What the session's numbers come from; unforeseeable until somebody gives it a seed.
#[derive(Debug, Default)]
pub(crate) struct Chance(Mutex<Option<Generator>>);

impl Chance {
    fn generator(&self) -> MutexGuard<'_, Option<Generator>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From 0 to 1 without 1.
    pub(crate) fn fraction(&self) -> f64 {
        self.generator().get_or_insert_with(Generator::fresh).fraction()
    }

    /// What follows is the same after the same seed.
    pub(crate) fn seed(&self, seed: u64) {
        *self.generator() = Some(Generator::seeded(seed));
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Generator {
    s0: u64,
    s1: u64,
}

impl Generator {
    /// One that nobody can foresee.
    fn fresh() -> Generator {
        Generator::seeded(u64::from_ne_bytes(runtime::entropy()))
    }

    fn seeded(mut seed: u64) -> Generator {
        let (s0, s1) = (split_mix(&mut seed), split_mix(&mut seed));
        Generator { s0, s1 }
    }

    fn next(&mut self) -> u64 {
        let mixed = self.s1 ^ self.s0;
        let value = self.s0.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        self.s0 = self.s0.rotate_left(24) ^ mixed ^ (mixed << 16);
        self.s1 = mixed.rotate_left(37);
        value
    }

    /// From 0 to 1 without 1, with 52 bits.
    fn fraction(&mut self) -> f64 {
        (self.next() >> 12) as f64 / (1u64 << 52) as f64
    }
}

pub(crate) fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = *state;
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

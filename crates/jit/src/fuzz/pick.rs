//! Random choices.

use stdx::Prng;

/// One of several.
pub(super) fn pick<'a, T>(random: &mut Prng, of: &'a [T]) -> &'a T {
    &of[random.below(of.len() as u64) as usize]
}

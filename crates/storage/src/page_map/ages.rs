//! Groups of images that share an extent: those that will die together, as far as their past tells
//! (J. Wang et al., "Separating Data via Block Invalidation Time Inference for Write Amplification
//! Reduction in Log-Structured Storage", FAST 2022, section 3).

/// Extents that are filled at the same time, at most. Of what is written: pages that were written
/// lately, others. Of what the cleaner moves: from extents of the first kind, and by age.
pub(super) const CLASSES: usize = 6;

/// Pages that are written soon again.
const HOT: usize = 0;
const COLD: usize = 1;
/// The first class of what the cleaner moves.
pub(super) const MOVED: usize = 2;

/// Extents in use from which on all classes have one of their own: with fewer, those that are
/// filled would be too great a part of them.
const EXTENTS_FOR_ALL: usize = 64;

/// Hot extents over whose lives the average is taken.
const LIVES: u64 = 16;

/// Ages, in images that were written.
pub(super) struct Ages {
    /// Images that were written, those that the cleaner moved not counted.
    clock: u64,
    /// How long hot extents are needed, on the average; none has come to its end yet at first.
    hot_life: Option<u64>,
}

impl Ages {
    pub fn new() -> Ages {
        Ages { clock: 0, hot_life: None }
    }

    pub fn now(&self) -> u64 {
        self.clock
    }

    /// An image is written.
    pub fn tick(&mut self) {
        self.clock += 1;
    }

    /// The class of an image that is written, whose page had one that was written at `before`.
    pub fn of_write(&self, before: Option<u64>) -> usize {
        let Some(before) = before else { return COLD };
        match self.hot_life {
            Some(life) if self.clock.saturating_sub(before) >= life => COLD,
            _ => HOT,
        }
    }

    /// The class of an image that was written at `written` and is moved from an extent of class
    /// `class`, when so many extents are in use.
    pub fn of_move(&self, class: usize, written: u64, extent_count: usize) -> usize {
        let age = self.clock.saturating_sub(written);
        let life = self.hot_life.unwrap_or(u64::MAX);
        match class {
            _ if extent_count < EXTENTS_FOR_ALL => MOVED,
            HOT => MOVED,
            _ if age < life.saturating_mul(4) => MOVED + 1,
            _ if age < life.saturating_mul(16) => MOVED + 2,
            _ => MOVED + 3,
        }
    }

    /// An extent of this class, in use since `begin`, is needed no more.
    pub fn note_end(&mut self, class: usize, begin: u64) {
        if class == HOT {
            let life = self.clock.saturating_sub(begin).max(1);
            let before = self.hot_life.unwrap_or(life);
            self.hot_life = Some((before * (LIVES - 1) + life) / LIVES);
        }
    }
}

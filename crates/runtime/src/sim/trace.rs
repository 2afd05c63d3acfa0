//! The fingerprint of a run.

/// A running hash over everything that happened (FNV-1a over words, finally mixed).
#[derive(Clone, Debug)]
pub(super) struct Trace(u64);

impl Default for Trace {
    fn default() -> Trace {
        Trace(0xCBF2_9CE4_8422_2325)
    }
}

impl Trace {
    pub(super) fn note(&mut self, words: &[u64]) {
        for word in words {
            self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(23);
        }
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.note(&[u64::from_le_bytes(word)]);
        }
    }

    pub(super) fn hash(&self) -> u64 {
        let mixed = (self.0 ^ self.0 >> 31).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 29
    }
}

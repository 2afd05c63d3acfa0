//! Keys of rows, and which rows are wanted.

use std::fmt;

use stdx::Prng;

/// Longest key in bytes.
pub(super) const KEY_LEN_MAX: usize = 64;

/// How rows are keyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyForm {
    /// Eight bytes: the number of the row, as CoroBase has it.
    Dense,
    /// Eight bytes: a permutation of the numbers of 64 bits, so nothing can be guessed from a key.
    Scattered,
    /// 64 bytes: a word, the number in decimal digits, and filler.
    Long,
    /// 16 bytes: a hash of the number, then the number, as in a hash index; rows are looked up by it.
    Hashed,
}

impl KeyForm {
    /// Writes the key of a row, and returns it.
    #[inline]
    pub(super) fn key(self, row: u64, place: &mut [u8; KEY_LEN_MAX]) -> &[u8] {
        match self {
            KeyForm::Dense | KeyForm::Scattered => {
                place[..8].copy_from_slice(&self.number(row).to_be_bytes());
            }
            KeyForm::Long => {
                place[..4].copy_from_slice(b"user");
                let mut rest = row;
                for digit in place[4..24].iter_mut().rev() {
                    *digit = b'0' + (rest % 10) as u8;
                    rest /= 10;
                }
                place[24..].fill(b'.');
                return &place[..];
            }
            KeyForm::Hashed => {
                place[..8].copy_from_slice(&scatter(row).to_be_bytes());
                place[8..16].copy_from_slice(&row.to_be_bytes());
                return &place[..16];
            }
        }
        &place[..8]
    }

    /// A number by which the keys of rows are in order.
    pub(super) fn number(self, row: u64) -> u64 {
        match self {
            KeyForm::Dense | KeyForm::Long => row,
            KeyForm::Scattered | KeyForm::Hashed => scatter(row),
        }
    }
}

/// A bijection of the numbers of 64 bits (the finalizer of splitmix64).
fn scatter(row: u64) -> u64 {
    let z = (row ^ (row >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Which rows transactions want.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Each as often as any other.
    Uniform,
    /// By Zipf's law with this exponent, below 1; the frequent ones lie anywhere in the table.
    Zipf(f64),
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distribution::Uniform => f.write_str("uniform"),
            Distribution::Zipf(theta) => write!(f, "zipf{theta}"),
        }
    }
}

impl Distribution {
    /// So many rows of `rows`.
    pub(super) fn draw(self, rows: u64, count: u64, seed: u64) -> Vec<u64> {
        let mut random = Prng::new(seed);
        match self {
            Distribution::Uniform => (0..count).map(|_| random.below(rows)).collect(),
            Distribution::Zipf(theta) => {
                let zipf = Zipf::new(rows, theta);
                (0..count).map(|_| scatter(zipf.rank(random.unit())) % rows).collect()
            }
        }
    }
}

/// Ranks by Zipf's law in constant time (Gray et al., "Quickly generating billion-record synthetic
/// databases", 1994).
struct Zipf {
    rows: f64,
    theta: f64,
    zeta: f64,
    eta: f64,
}

impl Zipf {
    fn new(rows: u64, theta: f64) -> Zipf {
        let zeta = |n: u64| (1..=n).map(|rank| (rank as f64).powf(-theta)).sum::<f64>();
        let (all, two) = (zeta(rows), zeta(2));
        let rows = rows as f64;
        let eta = (1.0 - (2.0 / rows).powf(1.0 - theta)) / (1.0 - two / all);
        Zipf { rows, theta, zeta: all, eta }
    }

    fn rank(&self, unit: f64) -> u64 {
        let scaled = unit * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < 1.0 + 0.5f64.powf(self.theta) {
            return 1;
        }
        let share = (self.eta * unit - self.eta + 1.0).powf(1.0 / (1.0 - self.theta));
        (self.rows * share) as u64
    }
}

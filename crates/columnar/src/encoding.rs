//! How values are stored.

/// How the values of a vector are stored (`docs/format/block.md`, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// One value, or only nulls.
    Constant,
    /// The values as they are.
    Plain,
    /// Frame of reference and bit packing.
    Packed,
    /// A dictionary of the vector.
    Dictionary,
    /// Run lengths.
    Runs,
    /// Differences with restarts.
    Delta,
    /// Symbols of one to eight bytes (FSST).
    Symbols,
    /// Integers and powers of ten (ALP).
    Digits,
    /// Decimals as words and one power of ten.
    Scaled,
    /// The dictionary of the column.
    Shared,
}

impl Encoding {
    const ALL: [Encoding; 10] = [
        Encoding::Constant,
        Encoding::Plain,
        Encoding::Packed,
        Encoding::Dictionary,
        Encoding::Runs,
        Encoding::Delta,
        Encoding::Symbols,
        Encoding::Digits,
        Encoding::Scaled,
        Encoding::Shared,
    ];

    /// The number in the header.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The encoding with that number.
    pub(crate) fn of_number(number: u8) -> Option<Encoding> {
        Encoding::ALL.get(usize::from(number)).copied()
    }
}

//! What the vectors of a column share: it lies in the header (`docs/format/block.md`, section 5).

use crate::error::Result;
use crate::layout::VECTOR_ROWS;
use crate::strings::{Stored, Symbols, Texts};
use crate::view::View;

/// The shared part of a column, ready for use.
#[derive(Clone, Debug)]
pub(crate) enum Shared {
    Nothing,
    Symbols(Symbols),
    Dictionary(Texts),
}

impl Shared {
    /// Reads the shared part of that kind, in a view of its own.
    pub fn parse(kind: u8, view: View<'_>) -> Result<Shared> {
        match kind {
            0 if view.len() == 0 => Ok(Shared::Nothing),
            1 => Ok(Shared::Symbols(Symbols::parse(view)?)),
            2 => {
                let count = view.count(0, VECTOR_ROWS)?;
                Ok(Shared::Dictionary(Stored::parse(view, 8, count)?.decode()?))
            }
            _ => Err(view.damage(0, "a shared part of a kind that is not known")),
        }
    }
}

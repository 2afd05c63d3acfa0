//! What becomes of values for identity columns.

/// What an `INSERT` does with values for identity columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overriding {
    /// They are taken, but by those that always make their own.
    #[default]
    Nothing,
    /// `OVERRIDING SYSTEM VALUE`: they are taken.
    System,
    /// `OVERRIDING USER VALUE`: they are left aside.
    User,
}

//! Sides of operations.

/// One side of an operation.
#[derive(Clone, Copy)]
pub(crate) enum Side<'a, T = i64> {
    Vector(&'a [T]),
    Constant(T),
}

impl<T: Copy> Side<'_, T> {
    /// The value of a row.
    pub(crate) fn at(self, row: usize) -> T {
        match self {
            Side::Vector(values) => values[row],
            Side::Constant(value) => value,
        }
    }
}

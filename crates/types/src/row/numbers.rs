//! A column of numbers in the making.

use std::sync::Arc;

use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::NullBufferBuilder;

use super::batch::is_null;
use crate::logical::LogicalType;

/// Values and which of them are null.
pub(super) struct Numbers<T: ArrowPrimitiveType> {
    ty: LogicalType,
    values: Vec<T::Native>,
    nulls: NullBufferBuilder,
}

impl<T: ArrowPrimitiveType> Numbers<T> {
    pub(super) fn new(ty: LogicalType, room: usize) -> Numbers<T> {
        Numbers { ty, values: Vec::with_capacity(room), nulls: NullBufferBuilder::new(room) }
    }

    pub(super) fn append_value(&mut self, value: T::Native) {
        self.values.push(value);
        self.nulls.append_non_null();
    }

    pub(super) fn append_null(&mut self) {
        self.values.push(T::Native::default());
        self.nulls.append_null();
    }

    /// The values of rows whose null bit is `bit`, each made of the bytes from `offset` on.
    #[inline]
    pub(super) fn append_rows(
        &mut self,
        rows: &[&[u8]],
        (bit, offset): (usize, usize),
        of: impl Fn(&[u8]) -> T::Native,
    ) {
        if rows.iter().any(|row| is_null(row, bit)) {
            for row in rows {
                match is_null(row, bit) {
                    true => self.append_null(),
                    false => self.append_value(of(&row[offset..])),
                }
            }
            return;
        }
        self.values.extend(rows.iter().map(|row| of(&row[offset..])));
        self.nulls.append_n_non_nulls(rows.len());
    }

    /// The array; nothing is left.
    pub(super) fn finish(&mut self) -> ArrayRef {
        let array =
            PrimitiveArray::<T>::new(std::mem::take(&mut self.values).into(), self.nulls.finish());
        Arc::new(array.with_data_type(self.ty.arrow()))
    }
}

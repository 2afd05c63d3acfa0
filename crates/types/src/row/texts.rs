//! A column of strings in the making, of texts or of bytes.

use std::sync::Arc;

use arrow_array::builder::make_view;
use arrow_array::types::ByteViewType;
use arrow_array::{ArrayRef, GenericByteViewArray};
use arrow_buffer::{Buffer, NullBufferBuilder};

/// Bytes of a string that stands in its view.
const INLINE_BYTES: usize = 12;

/// Bytes of a block from which on the next long string begins another one.
const BLOCK_BYTES: usize = 1 << 20;

/// Views of strings, those that are too long to stand in them, and which are null.
pub(crate) struct Texts<T: ByteViewType> {
    views: Vec<u128>,
    /// Full blocks of long strings.
    blocks: Vec<Buffer>,
    block: Vec<u8>,
    nulls: NullBufferBuilder,
    of: std::marker::PhantomData<T>,
}

impl<T: ByteViewType> Texts<T> {
    pub(crate) fn new(room: usize) -> Texts<T> {
        Texts {
            views: Vec::with_capacity(room),
            blocks: vec![],
            block: vec![],
            nulls: NullBufferBuilder::new(room),
            of: std::marker::PhantomData,
        }
    }

    #[inline]
    pub(crate) fn append_value(&mut self, value: &T::Native) {
        let bytes: &[u8] = value.as_ref();
        if bytes.len() > INLINE_BYTES {
            self.append_long(bytes);
        } else {
            self.views.push(make_view(bytes, 0, 0));
        }
        self.nulls.append_non_null();
    }

    fn append_long(&mut self, bytes: &[u8]) {
        if self.block.len() >= BLOCK_BYTES {
            self.blocks.push(std::mem::take(&mut self.block).into());
        }
        let (block, offset) = (self.blocks.len() as u32, self.block.len() as u32);
        self.block.extend_from_slice(bytes);
        self.views.push(make_view(bytes, block, offset));
    }

    pub(crate) fn append_null(&mut self) {
        self.views.push(0);
        self.nulls.append_null();
    }

    /// The array; nothing is left.
    pub(crate) fn finish(&mut self) -> ArrayRef {
        let mut blocks = std::mem::take(&mut self.blocks);
        if !self.block.is_empty() {
            blocks.push(std::mem::take(&mut self.block).into());
        }
        let (views, nulls) = (std::mem::take(&mut self.views), self.nulls.finish());
        // SAFETY: each view was made of a value of the type, a string of UTF-8 in a column of texts, and refers
        // to its bytes in a block by the block's number and their place there; a null is an empty string.
        Arc::new(unsafe { GenericByteViewArray::<T>::new_unchecked(views.into(), blocks, nulls) })
    }
}

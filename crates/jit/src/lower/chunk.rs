//! The function that is made and the chunk of rows at hand, as the steps of a row see them.

use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::FunctionBuilder;

use super::typed::Typed;
use crate::batch::ColumnKind;

/// Parameters of a function: columns, rows, values, validity, whether to stop.
pub(crate) const PARAMETERS: usize = 5;

/// The flag of a vector that the interpreter would refuse.
pub(crate) const REFUSED: i64 = 1;

/// The flag of a proxy that has panicked.
pub(crate) const PANICKED: i64 = 2;

/// Memory of vectors: aligned, and never a trap.
pub(super) const TRUSTED: MemFlagsData = MemFlagsData::trusted();

/// A column's addresses, which are the same for all rows.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) position: usize,
    pub(super) kind: ColumnKind,
    pub(super) values: Value,
    pub(super) validity: Value,
    pub(super) array: Value,
}

/// The function that is made.
pub(super) struct Function<'a> {
    pub(super) typed: &'a Typed,
    pub(super) is_nullable: bool,
    pub(super) parameters: [Value; PARAMETERS],
    pub(super) places: Vec<Place>,
}

/// The rows of a chunk, and what is known of all of them.
pub(super) struct Chunk {
    pub(super) begin: Value,
    pub(super) end: Value,
    /// The number of the chunk, in bytes of words with a bit for each row.
    pub(super) at: Value,
    /// Validity and truths of each column, where it has them.
    pub(super) bits: Vec<[Option<Value>; 2]>,
}

/// A truth that is the same in each row.
pub(super) fn byte(builder: &mut FunctionBuilder<'_>, truth: bool) -> Value {
    builder.ins().iconst(types::I8, i64::from(truth))
}

/// A block that nothing jumps to yet.
pub(super) fn cold(builder: &mut FunctionBuilder<'_>) -> Block {
    let block = builder.create_block();
    builder.set_cold_block(block);
    block
}

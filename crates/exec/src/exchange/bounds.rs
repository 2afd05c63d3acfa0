//! The bounds of a message of rows: its buffers lie in its body, and the values of each vector in
//! its buffers. The library checks values, but takes lengths of bitmaps for granted and panics
//! otherwise.

use arrow_ipc::{Buffer, FieldNode, RecordBatch};
use arrow_schema::{DataType, Schema};

/// The longest vector: what positions of 32 bits can name.
const ROWS_MAX: i64 = u32::MAX as i64;

/// True if vectors of this type can be checked: those that plans have.
pub(super) fn is_known(ty: &DataType) -> bool {
    match ty {
        DataType::Null
        | DataType::Boolean
        | DataType::Utf8
        | DataType::Binary
        | DataType::Utf8View
        | DataType::BinaryView => true,
        DataType::FixedSizeBinary(width) => *width > 0,
        DataType::List(element) => is_known(element.data_type()),
        DataType::Struct(fields) => fields.iter().all(|field| is_known(field.data_type())),
        other => other.primitive_width().is_some(),
    }
}

/// True if the rows of a message are `body_bytes` bytes of vectors of this schema.
pub(super) fn hold(schema: &Schema, rows: &RecordBatch<'_>, body_bytes: usize) -> bool {
    let mut vectors = Vectors {
        nodes: rows.nodes().into_iter().flatten(),
        buffers: rows.buffers().into_iter().flatten(),
        counts: rows.variadicBufferCounts().into_iter().flatten(),
        body_bytes: body_bytes as u64,
    };
    let fields = schema.fields().iter();
    let is_inside = fields.map(|field| vectors.take(field.data_type(), Some(rows.length())));
    (0..=ROWS_MAX).contains(&rows.length())
        && is_inside.into_iter().all(|vector| vector.is_some())
        && vectors.is_at_end()
}

/// The vectors of a message that were not taken yet.
struct Vectors<N, B, C> {
    nodes: N,
    buffers: B,
    counts: C,
    body_bytes: u64,
}

impl<'a, N, B, C> Vectors<N, B, C>
where
    N: Iterator<Item = &'a FieldNode>,
    B: Iterator<Item = &'a Buffer>,
    C: Iterator<Item = i64>,
{
    /// Takes a vector, of `len` values if that is known; `None` where it does not hold.
    fn take(&mut self, ty: &DataType, len: Option<i64>) -> Option<()> {
        let node = self.nodes.next()?;
        let (count, null_count) = (node.length(), node.null_count());
        let is_long = len.is_some_and(|len| len != count) || !(0..=ROWS_MAX).contains(&count);
        if is_long || !(0..=count).contains(&null_count) {
            return None;
        }
        let count = count as u64;
        if *ty == DataType::Null {
            return Some(());
        }
        let bytes = count.div_ceil(8);
        self.buffer(if null_count > 0 { bytes } else { 0 }, 1)?;
        let offsets = if count > 0 { count + 1 } else { 0 };
        match ty {
            DataType::Boolean => self.buffer(bytes, 1),
            DataType::Utf8 | DataType::Binary => {
                self.buffer(offsets, 4)?;
                self.buffer(0, 1)
            }
            DataType::Utf8View | DataType::BinaryView => {
                self.buffer(count, 16)?;
                let texts = self.counts.next().filter(|texts| *texts >= 0)?;
                (0..texts).try_for_each(|_| self.buffer(0, 1))
            }
            DataType::FixedSizeBinary(width) => self.buffer(count, u64::try_from(*width).ok()?),
            DataType::List(element) => {
                self.buffer(offsets, 4)?;
                self.take(element.data_type(), None)
            }
            DataType::Struct(fields) => {
                fields.iter().try_for_each(|field| self.take(field.data_type(), Some(count as i64)))
            }
            other => self.buffer(count, other.primitive_width()? as u64),
        }
    }

    /// Takes a buffer of `count` values at least, each of `width` bytes.
    fn buffer(&mut self, count: u64, width: u64) -> Option<()> {
        let buffer = self.buffers.next()?;
        let start = u64::try_from(buffer.offset()).ok()?;
        let len = u64::try_from(buffer.length()).ok()?;
        let is_inside = start.checked_add(len)? <= self.body_bytes;
        // The library reads a buffer as values, all of it.
        (is_inside && len >= count * width && len % width == 0).then_some(())
    }

    fn is_at_end(&mut self) -> bool {
        self.nodes.next().is_none() && self.buffers.next().is_none() && self.counts.next().is_none()
    }
}

//! Where records end, told by the bytes alone: what a record says is read elsewhere.

use super::record::RecordFormat;

/// Bytes that are looked at at once: as many as two vector instructions compare.
pub(crate) const STRIDE_BYTES: usize = 32;

/// Follows the data from its begin.
pub(crate) struct Borders {
    format: RecordFormat,
    /// Bytes that may end a record or keep another one from it.
    marks: [u8; 3],
    /// Within quotes of CSV.
    is_quoted: bool,
    /// The byte before was one behind which the next one stands for itself.
    is_escaped: bool,
}

/// What stands at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Border {
    /// The last byte of a record.
    Record,
    /// A line feed within a record.
    Line,
}

impl Borders {
    pub(crate) fn new(format: RecordFormat) -> Borders {
        let marks = match format {
            RecordFormat::Csv { quote, escape, .. } => [b'\n', quote, escape],
            RecordFormat::Text { .. } => [b'\n', b'\\', b'\\'],
        };
        Borders { format, marks, is_quoted: false, is_escaped: false }
    }

    /// The first border in the bytes that come next and how many bytes it takes to get behind it; `None` when
    /// there is none in them. They are passed over that far, or as a whole.
    pub(crate) fn next(&mut self, bytes: &[u8]) -> Option<(Border, usize)> {
        let mut at = 0;
        loop {
            if std::mem::take(&mut self.is_escaped) {
                // It may be a line feed all the same.
                match bytes.get(at) {
                    None => {
                        self.is_escaped = true;
                        return None;
                    }
                    Some(b'\n') => return Some((Border::Line, at + 1)),
                    Some(_) => at += 1,
                }
            }
            at += self.marked(&bytes[at..])?;
            let border = self.pass(bytes[at]);
            at += 1;
            if let Some(border) = border {
                return Some((border, at));
            }
        }
    }

    /// Passes over a byte that stands for more than itself.
    fn pass(&mut self, byte: u8) -> Option<Border> {
        let RecordFormat::Csv { quote, escape, .. } = self.format else {
            self.is_escaped = byte == b'\\';
            return (byte == b'\n').then_some(Border::Record);
        };
        if !self.is_quoted {
            self.is_quoted = byte == quote && byte != b'\n';
            return (byte == b'\n').then_some(Border::Record);
        }
        // Where a quote stands before one that is kept, quotes end there and begin again.
        self.is_escaped = byte == escape && escape != quote;
        self.is_quoted = byte != quote;
        (byte == b'\n').then_some(Border::Line)
    }

    /// Where the first of the marks is.
    fn marked(&self, bytes: &[u8]) -> Option<usize> {
        let [a, b, c] = self.marks;
        let is_mark = |byte: &u8| (*byte == a) | (*byte == b) | (*byte == c);
        let has_none = |stride: &[u8]| !stride.iter().fold(false, |any, byte| any | is_mark(byte));
        let strides = bytes.chunks_exact(STRIDE_BYTES).take_while(|stride| has_none(stride));
        let from = strides.count() * STRIDE_BYTES;
        bytes[from..].iter().position(is_mark).map(|at| from + at)
    }
}

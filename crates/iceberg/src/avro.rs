//! Object containers of Apache Avro, as far as manifests need them: records whose fields have ids.
//!
//! A container says itself how its records are written. Blocks are decompressed up to a limit, and each value but a
//! few takes a byte that is there, so neither memory nor time follows from what a length claims.

mod codec;
mod datum;
mod shape;

use std::borrow::Cow;
use std::collections::BTreeMap;

pub(crate) use datum::{Datum, Record};

use crate::{Error, Result};
use codec::Codec;
use datum::Reader;
use shape::Shapes;

const MAGIC: &[u8] = b"Obj\x01";
const SYNC_BYTES: usize = 16;

/// What the head of a file says: manifests have six pairs, and programs add some of their own.
const PAIRS_MAX: usize = 1024;

/// Bytes of a schema: that of a manifest has some thousand, and a hundred for each field of a partition. In memory it
/// takes up to twenty times as much.
const SCHEMA_BYTES_MAX: usize = 1 << 20;

/// A container of which the head is read.
pub(crate) struct Container<'a> {
    shapes: Shapes,
    codec: Codec,
    sync: &'a [u8],
    blocks: Reader<'a>,
    /// The block that is being read.
    block: Cow<'a, [u8]>,
    at: usize,
    records_left: i64,
}

impl<'a> Container<'a> {
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Container<'a>> {
        let rest = bytes.strip_prefix(MAGIC);
        let mut head = Reader::new(rest.ok_or_else(|| Error::damaged("it is no Avro file"))?);
        let mut pairs = BTreeMap::new();
        head.blocks(|head| {
            let name = head.bytes()?;
            pairs.insert(name, head.bytes()?);
            match pairs.len() > PAIRS_MAX {
                true => Err(Error::too_large(format!("a head of more than {PAIRS_MAX} pairs"))),
                false => Ok(()),
            }
        })?;
        let sync = head.take(SYNC_BYTES)?;
        let schema = pairs.get(b"avro.schema".as_slice());
        let schema = schema.ok_or_else(|| Error::damaged("it has no Avro schema"))?;
        if schema.len() > SCHEMA_BYTES_MAX {
            let what = format!("an Avro schema of more than {SCHEMA_BYTES_MAX} bytes");
            return Err(Error::too_large(what));
        }
        let codec = Codec::parse(pairs.get(b"avro.codec".as_slice()).copied())?;
        Ok(Container {
            shapes: Shapes::parse(schema)?,
            codec,
            sync,
            blocks: head,
            block: Cow::default(),
            at: 0,
            records_left: 0,
        })
    }

    /// The next record; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Record>> {
        while self.records_left <= 0 {
            if self.at != self.block.len() {
                return Err(Error::damaged("a block has more bytes than records"));
            }
            if self.blocks.is_at_end() {
                return Ok(None);
            }
            self.next_block()?;
        }
        let mut reader = Reader::new(&self.block[self.at..]);
        let record = reader.record(&self.shapes)?;
        self.at = self.block.len() - reader.left();
        self.records_left -= 1;
        Ok(Some(record))
    }

    fn next_block(&mut self) -> Result<()> {
        self.records_left = self.blocks.long()?;
        self.block = self.codec.decompressed(self.blocks.bytes()?)?;
        self.at = 0;
        match self.blocks.take(SYNC_BYTES)? == self.sync {
            true => Ok(()),
            false => Err(Error::damaged("a block does not end with the mark of the file")),
        }
    }
}

#[cfg(test)]
mod tests;

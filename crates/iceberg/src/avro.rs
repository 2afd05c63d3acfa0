//! Object containers of Apache Avro, as far as manifests need them: records whose fields have ids.
//!
//! A container says itself how its records are written. Blocks are decompressed up to a limit, and each value
//! costs a step of a number that follows from the bytes that there are, so neither memory nor time follows from
//! what a length claims.

mod codec;
mod datum;
mod shape;

use std::collections::BTreeMap;

pub(crate) use datum::{Datum, Record};

use crate::{Error, Result};
use codec::Codec;
use datum::Reader;
use shape::Shapes;

const MAGIC: &[u8] = b"Obj\x01";
const SYNC_BYTES: usize = 16;

/// A container of which the head is read.
pub(crate) struct Container<'a> {
    shapes: Shapes,
    codec: Codec,
    sync: &'a [u8],
    blocks: Reader<'a>,
}

impl<'a> Container<'a> {
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Container<'a>> {
        let rest = bytes.strip_prefix(MAGIC);
        let mut head = Reader::new(rest.ok_or_else(|| Error::damaged("it is no Avro file"))?);
        let mut pairs = BTreeMap::new();
        head.blocks(|head| {
            let name = head.bytes()?;
            pairs.insert(name, head.bytes()?);
            Ok(())
        })?;
        let sync = head.take(SYNC_BYTES)?;
        let schema = pairs.get(b"avro.schema".as_slice());
        let schema = schema.ok_or_else(|| Error::damaged("it has no Avro schema"))?;
        let codec = Codec::parse(pairs.get(b"avro.codec".as_slice()).copied())?;
        Ok(Container { shapes: Shapes::parse(schema)?, codec, sync, blocks: head })
    }

    /// Gives all records, one after the other.
    pub(crate) fn records(mut self, mut each: impl FnMut(Record) -> Result<()>) -> Result<()> {
        while !self.blocks.is_at_end() {
            let count = self.blocks.long()?;
            let bytes = self.codec.decompressed(self.blocks.bytes()?)?;
            if self.blocks.take(SYNC_BYTES)? != self.sync {
                return Err(Error::damaged("a block does not end with the mark of the file"));
            }
            let mut block = Reader::new(&bytes);
            for _ in 0..count {
                each(block.record(&self.shapes)?)?;
            }
            if !block.is_at_end() {
                return Err(Error::damaged("a block has more bytes than records"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

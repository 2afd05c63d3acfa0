//! Object containers of Apache Avro, as far as manifests need them: records whose fields have ids.
//!
//! A container says itself how its records are written. Blocks are decompressed up to a limit, and each value but a
//! few takes a byte that is there, so neither memory nor time follows from what a length claims.

mod codec;
pub(crate) mod datum;
mod shape;

use std::collections::BTreeMap;

use crate::fault::{Error, Result};
use codec::{Block, Codec};
use datum::{Reader, Record};
use shape::Shapes;

const MAGIC: &[u8] = b"Obj\x01";
const SYNC_BYTES: usize = 16;

/// What the head of a file says: manifests have six pairs, and programs add some of their own.
const PAIRS_MAX: usize = 1024;

/// Bytes of a schema: that of a manifest has some thousand, and a hundred for each field of a partition. In memory it
/// takes up to twenty times as much.
const SCHEMA_BYTES_MAX: usize = 1 << 20;

/// What a step of reading gives.
pub(crate) enum Next {
    Record(Record),
    /// Nothing yet: whoever reads may do other things before the next step.
    More,
    End,
}

/// A container of which the head is read.
pub(crate) struct Container<'a> {
    pairs: BTreeMap<&'a [u8], &'a [u8]>,
    shapes: Shapes,
    codec: Codec,
    sync: &'a [u8],
    blocks: Reader<'a>,
    /// The block that is being read.
    block: Block<'a>,
    at: usize,
    /// Bytes of all blocks so far.
    plain_bytes: u64,
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
            pairs,
            codec,
            sync,
            blocks: head,
            block: Block::default(),
            at: 0,
            plain_bytes: 0,
            records_left: 0,
        })
    }

    /// One step: it takes no longer than a record or a piece of a block does.
    pub(crate) fn next(&mut self) -> Result<Next> {
        if self.block.is_packed() {
            return self.unpack();
        }
        let block = self.block.plain();
        if self.records_left > 0 {
            let mut reader = Reader::new(&block[self.at..]);
            let record = reader.record(&self.shapes)?;
            self.at = block.len() - reader.left();
            self.records_left -= 1;
            return Ok(Next::Record(record));
        }
        if self.at != block.len() {
            return Err(Error::damaged("a block has more bytes than records"));
        }
        match self.blocks.is_at_end() {
            true => Ok(Next::End),
            false => self.next_block(),
        }
    }

    fn unpack(&mut self) -> Result<Next> {
        let before = self.block.plain().len();
        self.block.unpack()?;
        self.plain_bytes += (self.block.plain().len() - before) as u64;
        Ok(Next::More)
    }

    fn next_block(&mut self) -> Result<Next> {
        self.records_left = self.blocks.long()?;
        let bytes = self.blocks.bytes()?;
        if self.blocks.take(SYNC_BYTES)? != self.sync {
            return Err(Error::damaged("a block does not end with the mark of the file"));
        }
        (self.block, self.at) = (self.codec.begin(bytes)?, 0);
        self.plain_bytes += self.block.plain().len() as u64;
        Ok(Next::More)
    }

    /// Bytes of all blocks so far, without compression.
    pub(crate) fn plain_bytes(&self) -> u64 {
        self.plain_bytes
    }

    /// Bytes that it holds beside those that it reads.
    pub(crate) fn own_bytes(&self) -> usize {
        self.block.own_bytes()
    }

    /// Whether its records have the field of an id.
    pub(crate) fn has_field(&self, id: i32) -> bool {
        self.shapes.fields(self.shapes.root()).iter().any(|(known, _)| *known == id)
    }

    /// What its head says of itself under a name.
    pub(crate) fn said(&self, name: &str) -> Option<&'a [u8]> {
        self.pairs.get(name.as_bytes()).copied()
    }
}

#[cfg(test)]
pub(crate) mod tests;

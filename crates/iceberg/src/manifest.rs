//! Manifest lists and manifests: which files a snapshot has, and what is known of each.

use crate::avro::datum::{Datum, Record};
use crate::avro::{Container, Next};
use crate::fault::{Error, Result};
use crate::metadata::TableMetadata;
use crate::partition::PartitionSpec;
use crate::schema::{DELETED_PATH_FIELD, Field, Schema, Type};
use crate::value::{Value, unscaled};

/// Entries of manifests that tell of a file that is there no more.
const STATUS_DELETED: i64 = 2;

/// Entries of files that came with the snapshot that wrote the manifest.
const STATUS_ADDED: i64 = 1;

/// Bytes that an allocation takes beside its own.
const ALLOCATION_BYTES: usize = 16;

/// The field of an entry that says when its file was added.
const SEQUENCE_NUMBER: i32 = 3;

/// A manifest of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Where it lies.
    pub path: String,
    /// How its files are partitioned.
    pub spec_id: i32,
    /// Whether it has delete files, and no data files.
    pub is_of_deletes: bool,
    /// Bytes that it has, as far as the list knows.
    pub bytes: u64,
    sequence_number: i64,
}

/// What a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Rows.
    Data,
    /// Positions of deleted rows in data files.
    PositionDeletes,
    /// Values that deleted rows have.
    EqualityDeletes,
}

/// A file of rows or deletes.
#[derive(Clone, Debug, PartialEq)]
pub struct DataFile {
    /// What it has.
    pub content: Content,
    /// Where it lies.
    pub path: String,
    /// Its format, in capital letters.
    pub format: String,
    /// How it is partitioned.
    pub spec_id: i32,
    /// Its rows.
    pub record_count: u64,
    /// Its bytes.
    pub file_bytes: u64,
    /// The columns whose values delete rows.
    pub equality_ids: Vec<i32>,
    /// When it was added; deletes count for rows that came earlier.
    pub sequence_number: i64,
    /// The values of its partition, in the order of its spec; `None` for what is not known.
    partition: Vec<PartitionValue>,
    partition_key: Vec<u8>,
    referenced_file: Option<String>,
    /// By the ids of columns, which ascend.
    null_counts: Vec<(i32, u64)>,
    lower: Vec<(i32, Vec<u8>)>,
    upper: Vec<(i32, Vec<u8>)>,
}

/// The value of a partition: not known, null, or what it is.
type PartitionValue = Option<Option<Value>>;

/// The manifests of a snapshot, step by step: whoever reads them may do other things between two steps, and not each
/// of them gives one.
pub struct ManifestList<'a>(Container<'a>);

impl<'a> ManifestList<'a> {
    /// Begins to read the list of a snapshot's manifests.
    ///
    /// # Errors
    /// Damaged, and unsupported for another compression.
    pub fn open(bytes: &'a [u8]) -> Result<ManifestList<'a>> {
        Container::open(bytes).map(ManifestList)
    }

    /// Bytes that were read so far, without compression.
    pub fn plain_bytes(&self) -> u64 {
        self.0.plain_bytes()
    }

    /// Bytes that it holds beside those that it reads.
    pub fn own_bytes(&self) -> usize {
        self.0.own_bytes()
    }
}

impl Iterator for ManifestList<'_> {
    type Item = Result<Option<Manifest>>;

    fn next(&mut self) -> Option<Self::Item> {
        step(&mut self.0, |record| Manifest::of(record).map(Some))
    }
}

impl Manifest {
    fn of(mut record: Record) -> Result<Manifest> {
        Ok(Manifest {
            path: text(record.take(500), "path of a manifest")?,
            spec_id: int(record.take(502), "partition spec of a manifest")?,
            is_of_deletes: whole_if(record.take(517))? == Some(1),
            bytes: whole_if(record.take(501))?.unwrap_or(0).max(0).cast_unsigned(),
            sequence_number: whole_if(record.take(515))?.unwrap_or(0),
        })
    }
}

/// What a step gives that makes something of a record.
fn step<T>(
    container: &mut Container<'_>,
    of: impl FnOnce(Record) -> Result<Option<T>>,
) -> Option<Result<Option<T>>> {
    match container.next() {
        Ok(Next::Record(record)) => Some(of(record)),
        Ok(Next::More) => Some(Ok(None)),
        Ok(Next::End) => None,
        Err(error) => Some(Err(error)),
    }
}

/// The files of a manifest that are still there, step by step: whoever reads them may do other things between two
/// steps, and not each of them gives one.
pub struct ManifestFiles<'a> {
    container: Container<'a>,
    entries: Entries<'a>,
}

/// What is known of the entries of a manifest.
struct Entries<'a> {
    manifest: &'a Manifest,
    /// Whether it was written when there were no sequence numbers.
    is_first_version: bool,
    spec: &'a PartitionSpec,
    /// The types of the values of partitions.
    types: Vec<Option<Type>>,
}

impl<'a> ManifestFiles<'a> {
    /// Begins to read a manifest.
    ///
    /// # Errors
    /// Damaged, and unsupported for another compression.
    pub fn open(
        bytes: &'a [u8],
        manifest: &'a Manifest,
        metadata: &'a TableMetadata,
    ) -> Result<ManifestFiles<'a>> {
        let spec = metadata.spec(manifest.spec_id)?;
        let types = spec.fields.iter().map(|field| field.ty(metadata.schemas())).collect();
        let container = Container::open(bytes)?;
        let is_first_version = match container.said("format-version") {
            Some(version) => version == b"1",
            None => !container.has_field(SEQUENCE_NUMBER),
        };
        let entries = Entries { manifest, is_first_version, spec, types };
        Ok(ManifestFiles { container, entries })
    }

    /// Bytes that were read so far, without compression.
    pub fn plain_bytes(&self) -> u64 {
        self.container.plain_bytes()
    }

    /// Bytes that it holds beside those that it reads.
    pub fn own_bytes(&self) -> usize {
        self.container.own_bytes()
    }
}

impl Iterator for ManifestFiles<'_> {
    type Item = Result<Option<DataFile>>;

    fn next(&mut self) -> Option<Self::Item> {
        let entries = &self.entries;
        step(&mut self.container, |entry| entries.file(entry))
    }
}

impl Entries<'_> {
    /// The file of an entry; `None` of one that tells of a file that is gone.
    fn file(&self, mut entry: Record) -> Result<Option<DataFile>> {
        let status = whole(entry.take(0), "status of an entry")?;
        if status == STATUS_DELETED {
            return Ok(None);
        }
        let sequence_number = match whole_if(entry.take(SEQUENCE_NUMBER))? {
            Some(number) => number,
            // They go before all that came later, also when the table has become one of version 2.
            None if self.is_first_version => 0,
            // It was not known yet when the manifest was written.
            None if status == STATUS_ADDED || self.manifest.sequence_number == 0 => {
                self.manifest.sequence_number
            }
            None => return Err(Error::damaged("an entry has no sequence number")),
        };
        let Datum::Record(file) = entry.take(2) else {
            return Err(Error::damaged("an entry has no file"));
        };
        let file = DataFile::of(file, self.spec, &self.types, sequence_number)?;
        match (file.content != Content::Data) == self.manifest.is_of_deletes {
            true => Ok(Some(file)),
            false => Err(Error::damaged("data files and delete files are mixed")),
        }
    }
}

impl DataFile {
    fn of(
        mut file: Record,
        spec: &PartitionSpec,
        types: &[Option<Type>],
        sequence_number: i64,
    ) -> Result<DataFile> {
        let content = match whole_if(file.take(134))?.unwrap_or(0) {
            0 => Content::Data,
            1 => Content::PositionDeletes,
            2 => Content::EqualityDeletes,
            other => return Err(Error::damaged(format!("a file has the content {other}"))),
        };
        let (partition, partition_key) = partition(file.take(102), spec, types);
        let equality_ids = list(file.take(135));
        let equality_ids = equality_ids.into_iter().map(|id| int(id, "equality id"));
        Ok(DataFile {
            content,
            path: text(file.take(100), "path of a file")?,
            format: text(file.take(101), "format of a file")?.to_ascii_uppercase(),
            spec_id: spec.id,
            record_count: count(file.take(103), "number of rows")?,
            file_bytes: count(file.take(104), "size of a file")?,
            equality_ids: equality_ids.collect::<Result<_>>()?,
            sequence_number,
            partition,
            partition_key,
            referenced_file: match file.take(143) {
                Datum::String(path) => Some(path),
                _ => None,
            },
            null_counts: pairs(file.take(110), |datum| count(datum, "number of nulls"))?,
            lower: pairs(file.take(125), bytes)?,
            upper: pairs(file.take(128), bytes)?,
        })
    }

    /// The value that a field of its partition spec has for all of its rows; `None` where that is not known.
    pub fn partition_value(&self, field: usize) -> Option<Option<&Value>> {
        self.partition.get(field)?.as_ref().map(Option::as_ref)
    }

    /// What all files of one partition have, and no file of another one.
    pub(crate) fn partition_key(&self) -> (i32, &[u8]) {
        (self.spec_id, &self.partition_key)
    }

    /// Bounds of a column: nothing is smaller, and nothing larger.
    pub fn bounds(&self, field: &Field) -> (Option<Value>, Option<Value>) {
        let bound = |all: &[(i32, Vec<u8>)]| Value::from_bytes(&field.ty, of_id(all, field.id)?);
        (bound(&self.lower), bound(&self.upper))
    }

    /// Bytes that it takes in memory, also what finds the deletes of its partition.
    pub fn memory_bytes(&self) -> usize {
        let bound = size_of::<(i32, Vec<u8>)>() + ALLOCATION_BYTES;
        let bounds = |all: &[(i32, Vec<u8>)]| {
            all.iter().map(|(_, bytes)| bytes.len() + bound).sum::<usize>()
        };
        let texts = self.path.len() + self.format.len() + 2 * self.partition_key.len();
        size_of::<DataFile>()
            + texts
            + self.referenced_file.as_ref().map_or(0, String::len)
            + self.equality_ids.len() * size_of::<i32>()
            + self.partition.len() * size_of::<PartitionValue>()
            + self.null_counts.len() * size_of::<(i32, u64)>()
            + bounds(&self.lower)
            + bounds(&self.upper)
    }

    /// How many nulls a column has.
    pub fn null_count(&self, id: i32) -> Option<u64> {
        of_id(&self.null_counts, id).copied()
    }

    /// Whether position deletes may be about a file.
    pub(crate) fn may_refer_to(&self, path: &str) -> bool {
        if let Some(referenced) = &self.referenced_file {
            return referenced == path;
        }
        let bound = |all| of_id::<Vec<u8>>(all, DELETED_PATH_FIELD).map(Vec::as_slice);
        let path = path.as_bytes();
        bound(&self.lower).is_none_or(|lower| lower <= path)
            && bound(&self.upper).is_none_or(|upper| upper >= path)
    }
}

fn of_id<T>(all: &[(i32, T)], id: i32) -> Option<&T> {
    let at = all.binary_search_by_key(&id, |(id, _)| *id).ok()?;
    Some(&all[at].1)
}

/// The values of a partition, and bytes that are the same for the same ones.
fn partition(
    datum: Datum,
    spec: &PartitionSpec,
    types: &[Option<Type>],
) -> (Vec<PartitionValue>, Vec<u8>) {
    let Datum::Record(mut record) = datum else { return (vec![], vec![]) };
    let (mut values, mut key) = (vec![], vec![]);
    for (field, ty) in spec.fields.iter().zip(types) {
        let has_it = record.0.iter().any(|(id, _)| *id == field.field_id);
        let datum = match (record.take(field.field_id), ty) {
            // Some writers do not say that the bytes are a number.
            (Datum::Bytes(bytes), Some(Type::Decimal { .. })) => {
                unscaled(&bytes).map_or(Datum::Bytes(bytes), Datum::Decimal)
            }
            (datum, _) => datum,
        };
        datum.key(&mut key);
        values.push(match (datum, ty) {
            (Datum::Null, _) => has_it.then_some(None),
            (datum, Some(ty)) => value(datum, ty).map(Some),
            (_, None) => None,
        });
    }
    (values, key)
}

/// The value of a type.
fn value(datum: Datum, ty: &Type) -> Option<Value> {
    let int = |number: i64| i32::try_from(number).ok();
    Some(match (ty, datum) {
        (Type::Boolean, Datum::Boolean(value)) => Value::Boolean(value),
        (Type::Int, Datum::Whole(number)) => Value::Int(int(number)?),
        (Type::Long, Datum::Whole(number)) => Value::Long(number),
        (Type::Float, Datum::Float(number)) => Value::Float(number),
        (Type::Double, Datum::Float(number)) => Value::Double(number.into()),
        (Type::Double, Datum::Double(number)) => Value::Double(number),
        (Type::Decimal { .. }, Datum::Decimal(number)) => Value::Decimal(number),
        (Type::Date, Datum::Whole(number)) => Value::Date(int(number)?),
        (Type::Time, Datum::Whole(number)) => Value::Time(number),
        (Type::Timestamp, Datum::Whole(number)) => Value::Timestamp(number),
        (Type::TimestampTz, Datum::Whole(number)) => Value::TimestampTz(number),
        (Type::String, Datum::String(text)) => Value::String(text),
        (Type::Uuid, Datum::Bytes(bytes)) => Value::Uuid(bytes.try_into().ok()?),
        (Type::Binary | Type::Fixed(_), Datum::Bytes(bytes)) => Value::Binary(bytes),
        _ => return None,
    })
}

fn missing(what: &str) -> Error {
    Error::damaged(format!("the {what} is missing"))
}

fn text(datum: Datum, what: &str) -> Result<String> {
    match datum {
        Datum::String(text) => Ok(text),
        _ => Err(missing(what)),
    }
}

fn bytes(datum: Datum) -> Result<Vec<u8>> {
    match datum {
        Datum::Bytes(bytes) => Ok(bytes),
        _ => Err(missing("bound of a column")),
    }
}

fn whole_if(datum: Datum) -> Result<Option<i64>> {
    match datum {
        Datum::Null => Ok(None),
        Datum::Whole(number) => Ok(Some(number)),
        _ => Err(Error::damaged("a number is none")),
    }
}

fn whole(datum: Datum, what: &str) -> Result<i64> {
    whole_if(datum)?.ok_or_else(|| missing(what))
}

fn int(datum: Datum, what: &str) -> Result<i32> {
    let wrong = |_| Error::damaged(format!("the {what} is out of range"));
    i32::try_from(whole(datum, what)?).map_err(wrong)
}

fn count(datum: Datum, what: &str) -> Result<u64> {
    let wrong = |_| Error::damaged(format!("the {what} is negative"));
    u64::try_from(whole(datum, what)?).map_err(wrong)
}

fn list(datum: Datum) -> Vec<Datum> {
    match datum {
        Datum::Array(all) => all,
        _ => vec![],
    }
}

/// A map from the ids of columns, which is written as a list of pairs.
fn pairs<T>(datum: Datum, read: impl Fn(Datum) -> Result<T>) -> Result<Vec<(i32, T)>> {
    let pair = |datum: Datum| {
        let Datum::Record(pair) = datum else { return Err(missing("pair of a map")) };
        let mut fields = pair.0.into_iter().map(|(_, datum)| datum);
        let (Some(id), Some(value)) = (fields.next(), fields.next()) else {
            return Err(missing("pair of a map"));
        };
        Ok((int(id, "id of a column")?, read(value)?))
    };
    let mut pairs = list(datum).into_iter().map(pair).collect::<Result<Vec<_>>>()?;
    pairs.sort_by_key(|(id, _)| *id);
    Ok(pairs)
}

/// A field of the newest schema that has it.
pub(crate) fn newest(schemas: &[Schema], id: i32) -> Option<&Field> {
    schemas.iter().rev().find_map(|schema| schema.field(id))
}

#[cfg(test)]
mod tests;

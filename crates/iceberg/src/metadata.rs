//! The metadata file of a table: its schemas, partition specs and snapshots.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use serde_json::Value as Json;

use crate::document::Object;
use crate::fault::{Error, Result};
use crate::partition::PartitionSpec;
use crate::schema::{NameMapping, Schema};

/// Bytes of a metadata file at most: a snapshot takes about a kilobyte, and tables keep some thousand.
pub const METADATA_BYTES_MAX: u64 = 64 << 20;

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];

/// The property that has the ids of columns for files that have none.
const NAME_MAPPING: &str = "schema.name-mapping.default";

/// A table as a metadata file describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableMetadata {
    /// 1 or 2.
    pub format_version: i32,
    /// Where the table lay when the file was written.
    pub location: String,
    schemas: Vec<Schema>,
    current_schema_id: i32,
    specs: Vec<PartitionSpec>,
    snapshots: Vec<Snapshot>,
    current_snapshot_id: Option<i64>,
    /// When which snapshot became the current one.
    log: Vec<(i64, i64)>,
    name_mapping: NameMapping,
}

/// The state of a table after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Its number.
    pub id: i64,
    /// When it was made, in milliseconds since 1970.
    pub timestamp_ms: i64,
    /// Where the list of its manifests lies.
    pub manifest_list: String,
    schema_id: Option<i32>,
}

impl Snapshot {
    fn parse(object: Object<'_>) -> Result<Snapshot> {
        let Some(manifest_list) = object.text_if("manifest-list")? else {
            return Err(Error::unsupported("a snapshot without a manifest list"));
        };
        Ok(Snapshot {
            id: object.long("snapshot-id")?,
            timestamp_ms: object.long("timestamp-ms")?,
            manifest_list: manifest_list.to_owned(),
            schema_id: object.int_if("schema-id")?,
        })
    }
}

impl TableMetadata {
    /// Reads a metadata file, which may be compressed by gzip.
    ///
    /// # Errors
    /// Damaged, and unsupported for tables of version 3.
    pub fn parse(bytes: &[u8]) -> Result<TableMetadata> {
        let json = json_of(&unzipped(bytes)?)?;
        TableMetadata::of_object(Object::of(&json, "it")?)
    }

    /// Reads what a catalog answers who asks for a table.
    ///
    /// # Errors
    /// As [`TableMetadata::parse`].
    pub fn of_answer(bytes: &[u8]) -> Result<TableMetadata> {
        let json = json_of(bytes)?;
        let metadata = Object::of(&json, "it")?.get("metadata");
        let metadata = metadata.ok_or_else(|| Error::damaged("\"metadata\" is missing"))?;
        TableMetadata::of_object(Object::of(metadata, "\"metadata\"")?)
    }

    fn of_object(object: Object<'_>) -> Result<TableMetadata> {
        let format_version = object.int("format-version")?;
        if !(1..=2).contains(&format_version) {
            return Err(Error::unsupported(format!("Iceberg of version {format_version}")));
        }
        let mut schemas = object.objects("schemas")?.into_iter().map(Schema::parse);
        let mut schemas = schemas.by_ref().collect::<Result<Vec<_>>>()?;
        if let Some(only) = object.get("schema").filter(|_| schemas.is_empty()) {
            schemas.push(Schema::parse(Object::of(only, "\"schema\"")?)?);
        }
        let alone = schemas.first().map_or(0, |schema| schema.id);
        let logged = object.objects("snapshot-log")?;
        let logged = logged.iter().map(|e| Ok((e.long("timestamp-ms")?, e.long("snapshot-id")?)));
        let metadata = TableMetadata {
            format_version,
            location: object.text("location")?.trim_end_matches('/').to_owned(),
            current_schema_id: object.int_if("current-schema-id")?.unwrap_or(alone),
            schemas,
            specs: specs(object)?,
            snapshots: snapshots(object)?,
            // There is none yet.
            current_snapshot_id: object.long_if("current-snapshot-id")?.filter(|id| *id != -1),
            log: logged.collect::<Result<_>>()?,
            name_mapping: name_mapping(object)?,
        };
        metadata.schema_of(None)?;
        Ok(metadata)
    }

    /// The snapshot that counts; `None` of a table without rows so far.
    ///
    /// # Errors
    /// Damaged when it is not there.
    pub fn current_snapshot(&self) -> Result<Option<&Snapshot>> {
        let Some(id) = self.current_snapshot_id else { return Ok(None) };
        let found = self.find(id);
        found.map(Some).ok_or_else(|| Error::damaged(format!("snapshot {id} is missing")))
    }

    /// The snapshot of a number.
    ///
    /// # Errors
    /// Absent when there is none.
    pub fn snapshot_of_id(&self, id: i64) -> Result<&Snapshot> {
        self.find(id).ok_or_else(|| Error::absent(format!("there is no snapshot {id}")))
    }

    /// The snapshot that counted at a time, in milliseconds since 1970.
    ///
    /// # Errors
    /// Absent when there was none, or it is not kept any more.
    pub fn snapshot_at(&self, ms: i64) -> Result<&Snapshot> {
        let then =
            self.log.iter().filter(|(since, _)| *since <= ms).max_by_key(|(since, _)| *since);
        let (_, id) = then.ok_or_else(|| Error::absent("there was no snapshot at that time"))?;
        self.snapshot_of_id(*id)
    }

    fn find(&self, id: i64) -> Option<&Snapshot> {
        self.snapshots.iter().find(|snapshot| snapshot.id == id)
    }

    /// The schema that a snapshot was written with; the current one where it says none, or without a snapshot.
    ///
    /// # Errors
    /// Damaged when it is not there.
    pub fn schema_of(&self, snapshot: Option<&Snapshot>) -> Result<&Schema> {
        let said = snapshot.and_then(|snapshot| snapshot.schema_id);
        let id = said.unwrap_or(self.current_schema_id);
        let found = self.schemas.iter().find(|schema| schema.id == id);
        found.ok_or_else(|| Error::damaged(format!("schema {id} is missing")))
    }

    /// All schemas, the latest last.
    pub fn schemas(&self) -> &[Schema] {
        &self.schemas
    }

    /// The partition spec of a number.
    ///
    /// # Errors
    /// Damaged when it is not there.
    pub fn spec(&self, id: i32) -> Result<&PartitionSpec> {
        let found = self.specs.iter().find(|spec| spec.id == id);
        found.ok_or_else(|| Error::damaged(format!("partition spec {id} is missing")))
    }

    /// The ids of columns in files that have none; no ids where the table says nothing of such files.
    pub fn name_mapping(&self) -> &NameMapping {
        &self.name_mapping
    }
}

pub(crate) fn json_of(bytes: &[u8]) -> Result<Json> {
    let json = serde_json::from_slice(bytes);
    json.map_err(|error| Error::damaged(format!("it is no JSON: {error}")))
}

/// The bytes of a metadata file, decompressed if they are compressed by gzip.
///
/// # Errors
/// Damaged, and too large.
pub fn unzipped(bytes: &[u8]) -> Result<Cow<'_, [u8]>> {
    if !bytes.starts_with(GZIP_MAGIC) {
        return Ok(bytes.into());
    }
    let mut unzipped = vec![];
    let read = MultiGzDecoder::new(bytes).take(METADATA_BYTES_MAX + 1).read_to_end(&mut unzipped);
    read.map_err(|_| Error::damaged("it cannot be decompressed"))?;
    match unzipped.len() as u64 > METADATA_BYTES_MAX {
        true => Err(Error::too_large(format!("metadata of more than {METADATA_BYTES_MAX} bytes"))),
        false => Ok(unzipped.into()),
    }
}

fn specs(object: Object<'_>) -> Result<Vec<PartitionSpec>> {
    let specs = object.objects("partition-specs")?.into_iter().map(PartitionSpec::parse);
    let mut specs = specs.collect::<Result<Vec<_>>>()?;
    if specs.is_empty() {
        specs.push(PartitionSpec::of(0, &object.objects("partition-spec")?)?);
    }
    Ok(specs)
}

fn snapshots(object: Object<'_>) -> Result<Vec<Snapshot>> {
    object.objects("snapshots")?.into_iter().map(Snapshot::parse).collect()
}

fn name_mapping(object: Object<'_>) -> Result<NameMapping> {
    let Some(properties) = object.get("properties") else { return Ok(NameMapping::default()) };
    let text = Object::of(properties, "\"properties\"")?.text_if(NAME_MAPPING)?;
    Ok(text.map(NameMapping::parse).transpose()?.unwrap_or_default())
}

#[cfg(test)]
mod tests;

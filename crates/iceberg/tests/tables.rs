//! Tables that pyiceberg has written: what is read of their metadata, and what damage to it does.
#![allow(clippy::disallowed_methods)] // tests read files of their own

use std::path::{Path, PathBuf};

use iceberg::{
    Content, DataFile, Deletes, ErrorKind, Manifest, ManifestFiles, ManifestList, Result,
    TableMetadata, Type, Value, moved, version_of,
};

const TABLES: [&str; 11] = [
    "types",
    "evolved",
    "parted",
    "first_version",
    "mapped",
    "deleted",
    "deleted_parted",
    "deleted_promoted",
    "upgraded",
    "migrated",
    "parted_early",
];

fn folder(table: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(table)
}

fn metadata(table: &str) -> Vec<u8> {
    let names = std::fs::read_dir(folder(table).join("metadata")).expect("a folder");
    let names = names.map(|entry| entry.expect("a file").file_name().into_string().expect("UTF-8"));
    let newest =
        names.filter_map(|name| Some((version_of(&name)?, name))).max().expect("a version");
    std::fs::read(folder(table).join("metadata").join(newest.1)).expect("a file")
}

fn at(table: &str, metadata: &TableMetadata, path: &str) -> Vec<u8> {
    let root = folder(table).to_str().expect("UTF-8").to_owned();
    let path = moved(path, &metadata.location, &root).expect("a file of the table");
    std::fs::read(path).expect("a file")
}

/// The current snapshot: its metadata, the bytes of the list and of the manifests, and all of its files.
struct Table {
    metadata: TableMetadata,
    list: Vec<u8>,
    manifests: Vec<(Manifest, Vec<u8>)>,
    files: Vec<DataFile>,
}

fn read(table: &str) -> Table {
    let metadata = TableMetadata::parse(&metadata(table)).expect("good");
    let snapshot = metadata.current_snapshot().expect("good").expect("there is one");
    let list = at(table, &metadata, &snapshot.manifest_list);
    let manifests = manifests_of_list(&list).expect("good").into_iter();
    let manifests: Vec<_> = manifests
        .map(|manifest| {
            let bytes = at(table, &metadata, &manifest.path);
            (manifest, bytes)
        })
        .collect();
    let files = manifests.iter().map(|(m, bytes)| files_of_manifest(bytes, m, &metadata));
    let files = files.collect::<Result<Vec<_>>>().expect("good").into_iter().flatten().collect();
    Table { metadata, list, manifests, files }
}

fn files_of_manifest(
    bytes: &[u8],
    manifest: &Manifest,
    metadata: &TableMetadata,
) -> Result<Vec<DataFile>> {
    ManifestFiles::open(bytes, manifest, metadata)?.filter_map(Result::transpose).collect()
}

fn manifests_of_list(bytes: &[u8]) -> Result<Vec<Manifest>> {
    ManifestList::open(bytes)?.filter_map(Result::transpose).collect()
}

#[test]
fn columns_keep_their_ids_under_other_names() {
    let table = read("evolved");
    let schema = table.metadata.schema_of(None).expect("there");
    let columns: Vec<_> = schema.fields.iter().map(|f| (f.id, f.name.as_str(), &f.ty)).collect();
    let decimal = Type::Decimal { precision: 18, scale: 2 };
    let expected = [
        (2, "title", &Type::String),
        (1, "id", &Type::Long),
        (3, "name", &Type::Double),
        (4, "n", &decimal),
        (7, "added", &Type::String),
        (8, "gone", &Type::Long),
    ];
    assert_eq!(columns, expected);
    // Of the older file the bounds are of 32 bits.
    let mut bounds: Vec<_> = table.files.iter().map(|f| f.bounds_of_id(schema)).collect();
    bounds.sort_by_key(|(low, _)| *low);
    assert_eq!(bounds, [(1, 4), ((1 << 40) + 1, (1 << 40) + 3)]);
}

/// The bounds of the column `id`.
trait Bounds {
    fn bounds_of_id(&self, schema: &iceberg::Schema) -> (i64, i64);
}

impl Bounds for DataFile {
    fn bounds_of_id(&self, schema: &iceberg::Schema) -> (i64, i64) {
        match self.bounds(schema.field(1).expect("there")) {
            (Some(Value::Long(low)), Some(Value::Long(high))) => (low, high),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn files_have_the_values_of_their_partitions() {
    let table = read("parted");
    let (mut old, mut new) = (0, 0);
    for file in &table.files {
        let spec = table.metadata.spec(file.spec_id).expect("there");
        match spec.fields.len() {
            2 => {
                old += file.record_count;
                let Some(Some(Value::Int(bucket))) = file.partition_value(0) else { panic!() };
                assert!(file.path.contains(&format!("id_bucket={bucket}/")), "{}", file.path);
            }
            _ => new += file.record_count,
        }
        let kind = spec.fields.iter().position(|field| field.source_id == 2).expect("there");
        let kind = match file.partition_value(kind).expect("known") {
            None => "null",
            Some(Value::String(kind)) => kind,
            other => panic!("{other:?}"),
        };
        assert!(file.path.contains(&format!("kind={kind}/")), "{}", file.path);
    }
    assert_eq!((old, new), (12, 5));
}

#[test]
fn deletes_count_for_older_rows_of_their_partition() {
    let count = |name: &str| {
        let table = read(name);
        let (data, deletes): (Vec<_>, Vec<_>) =
            table.files.into_iter().partition(|file| file.content == Content::Data);
        let deletes = Deletes::new(deletes, &table.metadata).expect("good");
        let mut counts: Vec<_> =
            data.iter().map(|file| (file.record_count, deletes.of(file).len())).collect();
        counts.sort_unstable();
        (deletes.files().len(), counts)
    };
    // The rows that came last have none.
    assert_eq!(count("deleted"), (4, vec![(4, 0), (10, 4)]));
    // One of each partition, and one of all of them.
    assert_eq!(count("deleted_parted"), (3, vec![(5, 2), (5, 2)]));
    // One of each, though the values of partitions are written in wider types now.
    assert_eq!(count("deleted_promoted"), (3, vec![(4, 1), (4, 1), (4, 1)]));
    // The rows of version 1 are older than all deletes.
    let upgraded = vec![(1, 1), (1, 1), (2, 0), (3, 1), (3, 1)];
    assert_eq!(count("upgraded"), (2, upgraded));
}

#[test]
fn a_deleted_partition_spec_is_said() {
    let table = read("parted");
    let (manifest, bytes) = &table.manifests[0];
    let mut manifest = manifest.clone();
    manifest.spec_id = 77;
    let error = files_of_manifest(bytes, &manifest, &table.metadata).expect_err("there is none");
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert_eq!(error.to_string(), "partition spec 77 is missing");
}

/// A generator of numbers (SplitMix64, Steele et al. 2014).
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end.max(1) as u64) as usize
    }

    /// Bytes with some of them changed, cut off, left out or put in twice.
    fn damaged(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            let end = bytes.len().min(at + self.below(16));
            match self.below(6) {
                0 => bytes.truncate(at),
                1 => drop(bytes.drain(at..end)),
                2 => {
                    let twice = bytes[at..end].to_vec();
                    bytes.splice(at..at, twice);
                }
                _ if bytes.is_empty() => {}
                3 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][self.below(5)],
                _ => bytes[at] ^= 1 << self.below(8),
            }
        }
        bytes
    }
}

/// Damage is said or does not matter; it never panics. The seeds are printed when one does.
#[test]
fn damaged_metadata_never_panics() {
    const ROUNDS: u64 = 400;
    for name in TABLES {
        let (table, json) = (read(name), metadata(name));
        let mut refused = 0;
        for seed in 0..ROUNDS {
            let outcome = std::panic::catch_unwind(|| {
                let mut draw = Draw(seed);
                let mut all = vec![TableMetadata::parse(&draw.damaged(&json)).map(drop)];
                all.push(manifests_of_list(&draw.damaged(&table.list)).map(drop));
                for (manifest, bytes) in &table.manifests {
                    let files = files_of_manifest(&draw.damaged(bytes), manifest, &table.metadata);
                    all.push(files.map(|files| files.iter().for_each(looked_at)));
                }
                all.iter().filter(|result| result.is_err()).count()
            });
            refused += outcome.unwrap_or_else(|_| panic!("table {name}, seed {seed}"));
        }
        assert!(refused > ROUNDS as usize, "most damage is found: {refused} in {name}");
    }
}

/// Asks a file for everything.
fn looked_at(file: &DataFile) {
    for ty in [Type::Int, Type::Long, Type::String, Type::Decimal { precision: 9, scale: 2 }] {
        for id in 0..20 {
            let field = iceberg::Field { id, name: String::new(), ty: ty.clone() };
            let (low, high) = file.bounds(&field);
            for value in
                [low, high, file.partition_value(0).flatten().cloned()].into_iter().flatten()
            {
                for transform in ["bucket[7]", "truncate[3]", "day", "hour", "year", "identity"] {
                    let transform = iceberg::Transform::parse(transform);
                    let _ = (transform.range(&ty, &value), transform.bucket_of(&value));
                }
            }
        }
    }
}

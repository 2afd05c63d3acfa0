//! The files of a snapshot by its manifests: some of them are read at once, within limits, and others have their
//! turn between two of their entries.

use iceberg::{DataFile, Manifest, ManifestFiles, ManifestList};
use txn::waiting::give_way;
use types::{SqlError, SqlResult, SqlState};

use super::counted::Counted;
use super::lake::{self, Lake, Reader};

/// Files of one table: the metadata of each is in memory as long as the statement.
const FILES_MAX: usize = 100_000;

/// Manifests of a snapshot, and entries of them, those of files that are gone among them: ten for each file.
const ENTRIES_MAX: u64 = 10 * FILES_MAX as u64;

/// Bytes of all manifests, as they are read and without compression: 20 KiB for each file, which is what bounds of
/// some hundred columns take.
const BYTES_MAX: u64 = 2 << 30;

/// Manifests that are read at once: enough to hide the round trips to a store behind each other; and their bytes, as far
/// as the list knows: some of the usual size of 8 MiB.
const READ_AT_ONCE: usize = 32;
const READ_BYTES: u64 = 64 << 20;

/// The data files and delete files of the snapshot that a list of manifests is of.
///
/// # Errors
/// XX001 and others of reading, 54000 for more than is read, 53200 when there is no memory for it.
pub(super) async fn files_of(
    lake: &Lake,
    list: &str,
    reader: &Reader<'_>,
) -> SqlResult<Vec<DataFile>> {
    let list_path = lake.resolve(list)?;
    let mut planning = Planning { lake, reader, effort: Effort::new(), files: vec![] };
    let (manifests, _counted) = planning.manifests(&list_path).await?;
    let mut rest = manifests.as_slice();
    while !rest.is_empty() {
        let some;
        (some, rest) = rest.split_at(at_once(rest));
        let paths = some.iter().map(|manifest| lake.resolve(&manifest.path));
        let paths = paths.collect::<SqlResult<Vec<_>>>()?;
        let all = reader.all(paths.iter().map(String::as_str)).await?;
        for ((manifest, path), bytes) in some.iter().zip(&paths).zip(&all) {
            planning.read(manifest, path, bytes).await?;
        }
    }
    Ok(planning.files)
}

/// How many of these manifests are read at once.
fn at_once(manifests: &[Manifest]) -> usize {
    let mut bytes = 0u64;
    let fits = |manifest: &&Manifest| {
        bytes = bytes.saturating_add(manifest.bytes);
        bytes <= READ_BYTES
    };
    manifests.iter().take(READ_AT_ONCE).take_while(fits).count().max(1)
}

struct Planning<'a> {
    lake: &'a Lake,
    reader: &'a Reader<'a>,
    effort: Effort,
    files: Vec<DataFile>,
}

impl Planning<'_> {
    async fn manifests(&mut self, path: &str) -> SqlResult<(Vec<Manifest>, Counted)> {
        let memory = &self.reader.memory;
        let (mut kept, mut block) = (Counted::new(memory), Counted::new(memory));
        let bytes = self.reader.whole(path).await?;
        self.effort.begin(bytes.len() as u64)?;
        let fault = |error| lake::fault(path, &error);
        let (mut list, mut manifests) = (ManifestList::open(&bytes).map_err(fault)?, vec![]);
        while let Some(step) = list.next() {
            give_way(self.reader.cancel).await?;
            block.set(list.own_bytes())?;
            self.effort.step(list.plain_bytes())?;
            if let Some(manifest) = step.map_err(fault)? {
                kept.add(size_of::<Manifest>() + manifest.path.len())?;
                manifests.push(manifest);
            }
        }
        Ok((manifests, kept))
    }

    /// Adds the files of a manifest.
    async fn read(&mut self, manifest: &Manifest, path: &str, bytes: &[u8]) -> SqlResult<()> {
        let mut block = Counted::new(&self.reader.memory);
        self.effort.begin(bytes.len() as u64)?;
        let fault = |error| lake::fault(path, &error);
        let metadata = &self.lake.metadata;
        let mut entries = ManifestFiles::open(bytes, manifest, metadata).map_err(fault)?;
        while let Some(step) = entries.next() {
            give_way(self.reader.cancel).await?;
            block.set(entries.own_bytes())?;
            self.effort.step(entries.plain_bytes())?;
            if let Some(file) = step.map_err(fault)? {
                // It is kept as long as the table.
                self.reader.memory.grow(file.memory_bytes())?;
                self.files.push(file);
            }
            if self.files.len() > FILES_MAX {
                return Err(too_large(format!("a table of more than {FILES_MAX} files")));
            }
        }
        Ok(())
    }
}

/// What may be read yet.
struct Effort {
    entries_left: u64,
    bytes_left: u64,
    /// Bytes without compression of the file that is being read, which are counted already.
    counted: u64,
}

impl Effort {
    fn new() -> Effort {
        Effort { entries_left: ENTRIES_MAX, bytes_left: BYTES_MAX, counted: 0 }
    }

    /// Begins with a file of so many bytes.
    fn begin(&mut self, bytes: u64) -> SqlResult<()> {
        self.counted = 0;
        self.take(bytes)
    }

    /// A step, after which so many bytes of the file have been seen.
    fn step(&mut self, plain_bytes: u64) -> SqlResult<()> {
        let more = plain_bytes.saturating_sub(self.counted);
        self.counted = plain_bytes;
        self.take(more)?;
        let left = self.entries_left.checked_sub(1);
        let what = || too_large(format!("manifests of more than {ENTRIES_MAX} entries"));
        self.entries_left = left.ok_or_else(what)?;
        Ok(())
    }

    fn take(&mut self, bytes: u64) -> SqlResult<()> {
        let left = self.bytes_left.checked_sub(bytes);
        let what = || too_large(format!("manifests of more than {BYTES_MAX} bytes in a snapshot"));
        self.bytes_left = left.ok_or_else(what)?;
        Ok(())
    }
}

/// 54000
fn too_large(message: String) -> SqlError {
    SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
        .with_hint("Whoever writes the table can compact its files and rewrite its manifests.")
}

#[cfg(test)]
mod tests;

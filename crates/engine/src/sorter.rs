//! External sort of tree entries: runs in memory, spilled to a file each when the budget is full,
//! merged into one ascending stream.

mod run;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::PathBuf;

use runtime::Handle;
use types::SqlResult;

use run::{RunReader, write_run};

/// Takes entries in any order.
pub(crate) struct Sorter {
    handle: Handle,
    /// Spilled runs are `<path>.<number>`.
    path: PathBuf,
    budget_bytes: usize,
    run: Run,
    spilled: Vec<PathBuf>,
    entry_count: u64,
}

/// A run in memory.
#[derive(Default)]
struct Run {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    out_of_order: bool,
}

#[derive(Clone, Copy)]
struct Entry {
    /// The first eight bytes of the key, to compare without following `start`.
    prefix: u64,
    start: usize,
    value_len: u32,
    key_len: u16,
}

impl Run {
    fn key(&self, entry: &Entry) -> &[u8] {
        &self.bytes[entry.start..entry.start + usize::from(entry.key_len)]
    }

    fn value(&self, entry: &Entry) -> &[u8] {
        let start = entry.start + usize::from(entry.key_len);
        &self.bytes[start..start + entry.value_len as usize]
    }

    fn push(&mut self, key: &[u8], value: &[u8]) {
        if let Some(last) = self.entries.last() {
            self.out_of_order |= key < self.key(last);
        }
        self.entries.push(Entry {
            prefix: prefix(key),
            start: self.bytes.len(),
            key_len: key.len() as u16,
            value_len: value.len() as u32,
        });
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
    }

    fn sort(&mut self) {
        if !self.out_of_order {
            return;
        }
        let mut entries = std::mem::take(&mut self.entries);
        entries.sort_by(|a, b| a.prefix.cmp(&b.prefix).then_with(|| self.key(a).cmp(self.key(b))));
        self.entries = entries;
    }

    fn size(&self) -> usize {
        self.bytes.len() + self.entries.len() * size_of::<Entry>()
    }
}

fn prefix(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = key.len().min(8);
    bytes[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(bytes)
}

impl Sorter {
    /// A sorter that spills beyond `budget_bytes` to files that start with `path`.
    pub(crate) fn new(handle: Handle, path: PathBuf, budget_bytes: usize) -> Sorter {
        let run = Run::default();
        Sorter { handle, path, budget_bytes, run, spilled: vec![], entry_count: 0 }
    }

    /// Adds an entry. Blocks the calling thread, which is not a worker, when a run is spilled.
    ///
    /// # Panics
    /// If the key is longer than 65,535 bytes or the value longer than 4 GiB: no tree would take
    /// them.
    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) -> SqlResult<()> {
        assert!(key.len() <= usize::from(u16::MAX), "key of a tree");
        assert!(u32::try_from(value.len()).is_ok(), "value of a tree");
        self.run.push(key, value);
        self.entry_count += 1;
        if self.run.size() >= self.budget_bytes { self.spill() } else { Ok(()) }
    }

    /// Entries so far.
    pub(crate) fn entry_count(&self) -> u64 {
        self.entry_count
    }

    fn spill(&mut self) -> SqlResult<()> {
        let mut run = std::mem::take(&mut self.run);
        let path = self.path.with_added_extension(self.spilled.len().to_string());
        self.spilled.push(path.clone());
        self.handle.block_on(move || async move {
            run.sort();
            write_run(&path, run.entries.iter().map(|e| (run.key(e), run.value(e)))).await
        })
    }

    /// All entries in order.
    pub(crate) fn finish(mut self) -> SqlResult<Sorted> {
        if self.spilled.is_empty() {
            let mut run = std::mem::take(&mut self.run);
            run.sort();
            return Ok(Sorted { source: SortedSource::Memory { run, next: 0 } });
        }
        if !self.run.entries.is_empty() {
            self.spill()?;
        }
        let paths = std::mem::take(&mut self.spilled);
        let runs = paths.into_iter().map(RunReader::new).collect();
        let source = SortedSource::Merge { runs, heap: BinaryHeap::new(), started: false };
        Ok(Sorted { source })
    }
}

impl Drop for Sorter {
    fn drop(&mut self) {
        let paths = std::mem::take(&mut self.spilled);
        if !paths.is_empty() {
            self.handle.block_on(move || run::remove(paths));
        }
    }
}

/// Entries in ascending order of their keys; equal keys are adjacent.
pub(crate) struct Sorted {
    source: SortedSource,
}

enum SortedSource {
    Memory { run: Run, next: usize },
    Merge { runs: Vec<RunReader>, heap: BinaryHeap<Reverse<(Vec<u8>, usize)>>, started: bool },
}

impl Sorted {
    /// Removes the files of entries that nobody reads any more.
    pub(crate) async fn discard(self) {
        if let SortedSource::Merge { runs, .. } = self.source {
            run::remove(runs.into_iter().map(RunReader::into_path).collect()).await;
        }
    }

    /// The next entry.
    pub(crate) async fn next(&mut self) -> SqlResult<Option<(&[u8], &[u8])>> {
        match &mut self.source {
            SortedSource::Memory { run, next } => {
                *next += 1;
                let entry = run.entries.get(*next - 1);
                Ok(entry.map(|e| (run.key(e), run.value(e))))
            }
            SortedSource::Merge { runs, heap, started } => {
                if *started {
                    advance_winner(runs, heap).await?;
                } else {
                    *started = true;
                    start(runs, heap).await?;
                }
                Ok(heap.peek().map(|Reverse((_, winner))| runs[*winner].entry()))
            }
        }
    }
}

type Heap = BinaryHeap<Reverse<(Vec<u8>, usize)>>;

async fn start(runs: &mut [RunReader], heap: &mut Heap) -> SqlResult<()> {
    for (number, run) in runs.iter_mut().enumerate() {
        if run.advance().await? {
            heap.push(Reverse((run.entry().0.to_vec(), number)));
        }
    }
    Ok(())
}

async fn advance_winner(runs: &mut [RunReader], heap: &mut Heap) -> SqlResult<()> {
    let Some(mut top) = heap.peek_mut() else { return Ok(()) };
    let Reverse((key, winner)) = &mut *top;
    if runs[*winner].advance().await? {
        key.clear();
        key.extend_from_slice(runs[*winner].entry().0);
    } else {
        std::collections::binary_heap::PeekMut::pop(top);
    }
    Ok(())
}

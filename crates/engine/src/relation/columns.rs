//! The rows of a scan of a column table: morsels of its chunks, then its delta.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use columnar::{NARROW_DIGITS_MAX, Verdict};
use exec::{Access, LocalFuture, ScanFilter, Source, Step};
use plan::Scan;
use plan::expr::{Expr, as_words};
use types::{SqlError, SqlResult};

use super::partition::Partition;
use super::scan::TableSource;
use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;
use crate::columns::chunk::Chunk;
use crate::columns::deleted::Deleted;
use crate::columns::joined::Joined;
use crate::columns::morsel::{Morsel, Selected, Wanted};
use crate::columns::part::Part;
use crate::columns::restricted::Restricted;
use crate::fault::internal;
use crate::objects::begun::Begun;
use crate::objects::room::Room;

/// Encoded bytes of a morsel, about: what a request reads at most, and all columns of it together what
/// a part of a scan may hold in memory.
pub(crate) const MORSEL_BYTES: u64 = 256 << 10;

/// The same of what is downloaded: as much as a request is worth (AnyBlob paper, section 2.4). It is a
/// whole chunk as a rule.
pub(crate) const DOWNLOADED_BYTES: u64 = 8 << 20;

/// Vectors of a morsel at most: the work of some milliseconds.
pub(crate) const MORSEL_VECTORS_MAX: usize = 32;

/// The source of a column table.
pub(crate) struct ColumnSource {
    parts: Arc<[Part]>,
    wanted: Wanted,
    delta: Delta,
    /// Morsels that hold memory of downloads. For each there is a [`Work::Begun`] in the queue.
    begun: Begun<Box<Selected>>,
    /// The rows that are wanted.
    partition: Partition,
}

/// The rows that are in no part.
pub(crate) struct Delta {
    source: TableSource,
    /// For each restriction where its column stands in the rows of `source`.
    predicates: Vec<(usize, Expr)>,
    /// How many of the columns of `source` are produced: the first ones.
    produced: usize,
}

pub(crate) enum Work {
    /// All of a part.
    Part(usize),
    /// The chunk of a part with these rows.
    Chunk(usize, Range<i64>),
    Morsel(Morsel),
    Selected(Box<Selected>),
    /// A morsel that holds memory, if one is left by now.
    Begun,
    Delta(exec::Part),
}

impl ColumnSource {
    /// The source of a scan; the entry is that of a column table.
    ///
    /// # Errors
    /// XX000 for a table or restrictions that the planner should not have taken for this.
    pub(crate) fn new(
        snapshot: &Snapshot,
        entry: &TableEntry,
        scan: &Scan,
        filters: &[ScanFilter],
        room: Option<Arc<Room>>,
    ) -> SqlResult<ColumnSource> {
        let columns = entry.columns.as_ref();
        let columns = columns.ok_or_else(|| SqlError::internal("a scan of no column table"))?;
        let schema = &entry.def.schema;
        let restricted = |r: &plan::Restriction| Restricted::new(schema.columns[r.column].ty, r);
        let wanted = Wanted {
            columns: scan.columns.clone(),
            column_count: schema.columns.len(),
            restricted: scan.restrictions.iter().map(restricted).collect::<SqlResult<_>>()?,
            joined: filters
                .iter()
                .filter_map(|filter| Joined::new(schema, scan, filter).transpose())
                .collect::<SqlResult<_>>()?,
            schema: match scan.as_words {
                true => words_of(&entry.layout.schema.project(&scan.columns)),
                false => entry.layout.schema.project(&scan.columns),
            },
            as_words: scan.as_words,
            deleted: Deleted(snapshot.visible(columns.deleted.clone())),
            bucket: columns.bucket(snapshot)?,
            room,
        };
        let (delta, partition) = (Delta::new(snapshot, entry, scan)?, Partition::default());
        Ok(ColumnSource {
            parts: columns.parts.clone(),
            wanted,
            delta,
            begun: Begun::default(),
            partition,
        })
    }

    /// Only the rows of a partition.
    pub(crate) fn within(mut self, partition: Option<&Partition>) -> ColumnSource {
        self.partition = partition.cloned().unwrap_or_default();
        self.delta.source = self.delta.source.within(partition);
        self
    }

    /// The vectors of a chunk whose rows are wanted.
    fn vectors(&self, chunk: &Chunk) -> Range<usize> {
        let all = 0..chunk.header.vector_count();
        let is_wanted = |vector: &usize| self.partition.has_row(chunk.row_of(*vector));
        let first = all.clone().find(is_wanted).unwrap_or(all.end);
        first..(first..all.end).find(|vector| !is_wanted(vector)).unwrap_or(all.end)
    }

    async fn work(&self, work: Work, access: Access<'_>) -> SqlResult<Step> {
        match work {
            Work::Part(part) => {
                let chunks = self.parts[part].chunks(access.io).await?;
                let chunks = chunks.into_iter().filter(|rows| self.partition.touches(rows));
                let chunks = chunks.map(|rows| self::part(Work::Chunk(part, rows)));
                Ok(Step { rows: None, parts: chunks.collect() })
            }
            Work::Chunk(part, rows) => self.chunk(part, rows, access).await,
            Work::Morsel(morsel) => self.morsel(morsel, access).await,
            Work::Selected(selected) => self.rows(selected).await,
            Work::Begun => match self.begun.take() {
                Some(selected) => self.rows(selected).await,
                None => Ok(Step { rows: None, parts: vec![] }),
            },
            Work::Delta(work) => self.delta.step(work, access).await,
        }
    }

    /// Cuts a chunk into morsels, unless its bounds say that no row qualifies.
    async fn chunk(&self, part: usize, rows: Range<i64>, access: Access<'_>) -> SqlResult<Step> {
        let tree = &self.parts[part].tree;
        let chunk = Chunk::open(tree, rows, self.wanted.column_count, access.io).await?;
        access.skips.chunks.fetch_add(1, Relaxed);
        let header = &chunk.header;
        let is_none = |restricted: &Restricted| {
            let column = &header.columns()[restricted.column];
            restricted.of_chunk(header.row_count(), column) == Verdict::None
        };
        let of_joins = self.wanted.joined.iter().map(|joined| &joined.bounds);
        if self.wanted.restricted.iter().chain(of_joins).any(is_none) {
            access.skips.chunks_skipped.fetch_add(1, Relaxed);
            return Ok(Step { rows: None, parts: vec![] });
        }
        let Range { start, end } = self.vectors(&chunk);
        let (step, chunk) = (self.morsel_vectors(&chunk), Arc::new(chunk));
        let morsels = (start..end).step_by(step).map(|first| {
            let morsel = Morsel::new(chunk.clone(), first..end.min(first + step));
            self::part(Work::Morsel(morsel))
        });
        Ok(Step { rows: None, parts: morsels.collect() })
    }

    /// How many vectors a morsel of the chunk has.
    fn morsel_vectors(&self, chunk: &Chunk) -> usize {
        let produced = self.wanted.columns.iter().copied();
        let read = produced.chain(self.wanted.restricted.iter().map(|r| r.column));
        let columns = read.filter_map(|column| chunk.header.columns().get(column));
        let vectors = columns.flat_map(|column| column.vectors());
        let bytes: u64 = vectors.map(|vector| vector.bytes.end - vector.bytes.start).sum();
        let per_vector = bytes / chunk.header.vector_count().max(1) as u64;
        let (bytes_max, vectors_max) = match self.wanted.bucket {
            None => (MORSEL_BYTES, MORSEL_VECTORS_MAX),
            Some(_) => (DOWNLOADED_BYTES, usize::MAX),
        };
        let fitting = bytes_max / per_vector.max(1);
        usize::try_from(fitting).unwrap_or(vectors_max).clamp(1, vectors_max)
    }

    async fn morsel(&self, morsel: Morsel, access: Access<'_>) -> SqlResult<Step> {
        match morsel.select(&self.wanted, access, || self.begun.take()).await? {
            Ok(Some(selected)) => self.rows(Box::new(selected)).await,
            Ok(None) => Ok(Step { rows: None, parts: vec![] }),
            Err((morsel, begun)) => {
                let Step { rows, mut parts } = self.rows(begun).await?;
                parts.push(part(Work::Morsel(morsel)));
                Ok(Step { rows, parts })
            }
        }
    }

    async fn rows(&self, mut selected: Box<Selected>) -> SqlResult<Step> {
        let (rows, has_more) = selected.next(&self.wanted).await?;
        let rest = has_more.then(|| self.rest(selected));
        Ok(Step { rows: Some(rows), parts: rest.into_iter().collect() })
    }

    /// The rest of a morsel, as a part for the queue.
    fn rest(&self, selected: Box<Selected>) -> exec::Part {
        let Some(room) = &self.wanted.room else { return part(Work::Selected(selected)) };
        self.begun.put(selected, room);
        part(Work::Begun)
    }
}

/// The schema with decimals of 64 bits where chunks have them.
pub(crate) fn words_of(schema: &Schema) -> SchemaRef {
    let field = |field: &FieldRef| match field.data_type() {
        DataType::Decimal128(..=NARROW_DIGITS_MAX, _) => {
            let words = as_words(field.data_type());
            Arc::new(field.as_ref().clone().with_data_type(words.unwrap_or(DataType::Null)))
        }
        _ => Arc::clone(field),
    };
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

impl Delta {
    fn new(snapshot: &Snapshot, entry: &TableEntry, scan: &Scan) -> SqlResult<Delta> {
        let mut columns = scan.columns.clone();
        let mut predicates = vec![];
        for restriction in &scan.restrictions {
            let known = columns.iter().position(|column| *column == restriction.column);
            let at = known.unwrap_or(columns.len());
            if known.is_none() {
                columns.push(restriction.column);
            }
            predicates.push((at, restriction.predicate.clone()));
        }
        let produced = scan.columns.len();
        let rows = Scan { columns, ..scan.clone() };
        let source = TableSource::new(snapshot, entry, (&rows, &rows.access), None)?;
        Ok(Delta { source, predicates, produced })
    }

    async fn step(&self, work: exec::Part, access: Access<'_>) -> SqlResult<Step> {
        let Step { rows, parts } = self.source.step(work, access).await?;
        let rows = rows.map(|rows| self.restricted(rows)).transpose()?;
        let parts = parts.into_iter().map(|work| part(Work::Delta(work)));
        Ok(Step { rows, parts: parts.collect() })
    }

    /// The rows for which the restrictions hold, in the columns that are produced.
    fn restricted(&self, mut rows: RecordBatch) -> SqlResult<RecordBatch> {
        for (at, predicate) in &self.predicates {
            let column = rows.project(&[*at]).map_err(internal)?;
            let holds = predicate.evaluate(&column)?;
            let holds: &BooleanArray = holds
                .as_any()
                .downcast_ref()
                .ok_or_else(|| SqlError::internal("a restriction is no condition"))?;
            rows = filter_record_batch(&rows, holds).map_err(internal)?;
        }
        let produced: Vec<usize> = (0..self.produced).collect();
        rows.project(&produced).map_err(internal)
    }
}

pub(crate) fn part(work: Work) -> exec::Part {
    exec::Part(Box::new(work))
}

impl Source for ColumnSource {
    fn applies_filters(&self) -> bool {
        true
    }

    fn roots(&self) -> Vec<exec::Part> {
        let parts = (0..self.parts.len()).map(Work::Part);
        let delta = self.delta.source.roots().into_iter().map(Work::Delta);
        parts.chain(delta).map(part).collect()
    }

    fn step<'a>(
        &'a self,
        part: exec::Part,
        access: Access<'a>,
    ) -> LocalFuture<'a, SqlResult<Step>> {
        let work = part.0.downcast::<Work>().expect("parts come from this source");
        Box::pin(self.work(*work, access))
    }
}

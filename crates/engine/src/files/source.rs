//! The rows of a scan of files: row groups of Parquet, or slices of them, batch by batch, and portions of CSV,
//! which is read from its begin to its end. Files of a table of Iceberg are opened when their turn comes, if they
//! may have rows at all.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow_array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;
use exec::{Access, LocalFuture, Part, Source, Step};
use plan::Scan;
use plan::expr::Expr;
use types::{SqlError, SqlResult};

use super::columns::FileColumn;
use super::csv::reading::{CsvRows, Reading};
use super::file::{Content, File};
use super::given::{Given, Opened};
use super::iceberg::deletions::Deletions;
use super::parquet::decode::{Decoded, Decoding, Next};
use super::parquet::groups::is_skipped;
use super::restrict::Test;
use super::tables::FileTable;
use crate::fault::internal;
use crate::objects::begun::Begun;
use crate::objects::file::ObjectFile;
use crate::objects::room::{Room, Taken};

/// The source of a scan.
pub(crate) struct FileSource {
    table: Arc<FileTable>,
    /// What is read: the columns that are produced, then others that are tested.
    read: Vec<FileColumn>,
    schema: SchemaRef,
    produced: usize,
    tests: Vec<Test>,
    /// The memory of downloads, where there are any.
    room: Option<Arc<Room>>,
    /// What holds some of it. For each there is a [`Work::Begun`] in the queue.
    begun: Begun<(Arc<Opened>, Box<Decoding>)>,
    /// The deletes of a table of Iceberg.
    deletions: Option<Deletions>,
}

enum Work {
    File(usize),
    /// Rows of a group, or all of them.
    Group(Arc<Opened>, usize, Option<Range<usize>>),
    Decoding(Arc<Opened>, Box<Decoding>),
    /// Something that was begun, if it is not done by now.
    Begun,
    /// The rest of a file, and records of it.
    Csv(Arc<Opened>, Box<Reading>),
    CsvRows(Arc<Opened>, Box<CsvRows>),
}

fn part(work: Work) -> Part {
    Part(Box::new(work))
}

impl FileSource {
    /// # Errors
    /// 0A000 for a column of a type that cannot be read.
    pub(super) fn new(
        table: Arc<FileTable>,
        scan: &Scan,
        room: Option<Arc<Room>>,
    ) -> SqlResult<FileSource> {
        let mut ordinals = scan.columns.clone();
        let mut tests = vec![];
        for restriction in &scan.restrictions {
            let known = ordinals.iter().position(|column| *column == restriction.column);
            let place = known.unwrap_or(ordinals.len());
            if known.is_none() {
                ordinals.push(restriction.column);
            }
            tests.push(Test { place, restriction: restriction.clone() });
        }
        let read: Vec<FileColumn> = ordinals.iter().map(|o| table.columns[*o].clone()).collect();
        if let Some(refusal) = read.iter().find_map(FileColumn::refusal) {
            return Err(refusal);
        }
        let schema = table.def.schema.project(&ordinals);
        let (produced, begun) = (scan.columns.len(), Begun::default());
        let deletions = table.files.iter().find_map(|file| match &file.content {
            Content::Iceberg(file) => file.deletions(room.as_ref()?),
            _ => None,
        });
        Ok(FileSource { table, read, schema, produced, tests, room, begun, deletions })
    }

    async fn work(&self, work: Work, access: Access<'_>) -> SqlResult<Step> {
        match work {
            Work::File(number) => self.open(number, access).await,
            Work::Group(opened, group, rows) => {
                let Some(parquet) = &opened.parquet else {
                    return Err(SqlError::internal("a row group of what is no Parquet file"));
                };
                let decoding = Decoding::begin(parquet, group, rows, &opened.stored).await?;
                self.decode(opened, Box::new(decoding), access).await
            }
            Work::Decoding(opened, decoding) => self.decode(opened, decoding, access).await,
            Work::Begun => match self.begun.take() {
                Some((opened, decoding)) => self.decode(opened, decoding, access).await,
                None => Ok(nothing()),
            },
            Work::Csv(opened, reading) => self.read_csv(opened, reading, access).await,
            Work::CsvRows(opened, rows) => self.parse_csv(&opened, &rows).await,
        }
    }

    /// The parts of a file that have rows to be looked at.
    async fn open(&self, number: usize, access: Access<'_>) -> SqlResult<Step> {
        let File { parts, content } = &self.table.files[number];
        let opened = match content {
            Content::Csv(_) => Some(Opened::of(&self.read, parts, None)?),
            Content::Parquet(parquet) => {
                Some(Opened::of(&self.read, parts, Some(parquet.clone()))?)
            }
            Content::Iceberg(file) => {
                file.open(&self.read, &self.tests, self.deletions.as_ref(), access).await?
            }
        };
        let Some(opened) = opened.map(Arc::new) else { return Ok(nothing()) };
        if !self.fits(&opened)? {
            return Ok(nothing());
        }
        if let Content::Csv(csv) = content {
            let reading = Box::new(csv.read(&opened.stored, self.room.clone()).await?);
            return Ok(Step { rows: None, parts: vec![part(Work::Csv(opened, reading))] });
        }
        Ok(Step { rows: None, parts: self.groups(&opened, access) })
    }

    /// The row groups of a file that have rows to be looked at.
    fn groups(&self, opened: &Arc<Opened>, access: Access<'_>) -> Vec<Part> {
        let Some(parquet) = &opened.parquet else { return vec![] };
        let groups = 0..parquet.group_count();
        access.skips.chunks.fetch_add(groups.len() as u64, Relaxed);
        let wanted = |group: &usize| {
            !self.tests.iter().any(|test| match &opened.given[test.place] {
                Given::Always(_) => false,
                Given::Stored(place) => {
                    is_skipped(parquet, *group, opened.stored[*place], &test.restriction.test)
                }
            })
        };
        let kept: Vec<usize> = groups.clone().filter(wanted).collect();
        let skipped = (groups.len() - kept.len()) as u64;
        access.skips.chunks_skipped.fetch_add(skipped, Relaxed);
        let stored: Vec<usize> = opened.stored.iter().map(|(column, _)| *column).collect();
        let slices = |group: usize| match parquet.slices(group, &stored) {
            Some(slices) => slices.into_iter().map(Some).collect(),
            None => vec![None],
        };
        let parts = |group: usize| {
            let slices = slices(group).into_iter();
            slices.map(move |rows| part(Work::Group(opened.clone(), group, rows)))
        };
        kept.into_iter().flat_map(parts).collect()
    }

    /// Whether what is known of all rows of a file fulfils the conditions on it.
    fn fits(&self, opened: &Opened) -> SqlResult<bool> {
        for test in &self.tests {
            let given = &opened.given[test.place];
            let Given::Always(_) = given else { continue };
            let schema = Arc::new(self.schema.project(&[test.place]).map_err(internal)?);
            let row = RecordBatch::try_new(schema, vec![given.array(&[], 1)?]).map_err(internal)?;
            if holds(&test.restriction.predicate, &row)?.true_count() == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn decode(
        &self,
        opened: Arc<Opened>,
        mut decoding: Box<Decoding>,
        access: Access<'_>,
    ) -> SqlResult<Step> {
        loop {
            match decoding.next()? {
                Next::End => return Ok(nothing()),
                Next::Rows(decoded) => {
                    let rows = self.restricted(&opened, &decoded)?;
                    return Ok(Step { rows: Some(rows), parts: vec![self.rest(opened, decoding)] });
                }
                Next::Wants(ranges) => {
                    let taken = match self.room_for(&decoding, &ranges).await {
                        Ok(taken) => taken,
                        Err((other, begun)) => {
                            let step = Box::pin(self.decode(other, begun, access)).await?;
                            let Step { rows, mut parts } = step;
                            parts.push(part(Work::Decoding(opened, decoding)));
                            return Ok(Step { rows, parts });
                        }
                    };
                    let slices = decoding.supply(&ranges, taken, access).await?;
                    self.room.iter().for_each(|room| room.tell(access.skips));
                    if !slices.is_empty() {
                        // The first one is taken up first.
                        let slices = slices.into_iter().rev().map(Box::new);
                        let rests = slices.map(|slice| self.rest(opened.clone(), slice));
                        let mut parts: Vec<Part> = rests.collect();
                        parts.reverse();
                        return Ok(Step { rows: None, parts });
                    }
                }
            }
        }
    }

    /// Memory for a download, or something else to be gone on with.
    async fn room_for(
        &self,
        decoding: &Decoding,
        ranges: &[Range<u64>],
    ) -> Result<Option<Taken>, (Arc<Opened>, Box<Decoding>)> {
        let Some(room) = self.room.as_ref().filter(|_| decoding.is_of_object()) else {
            return Ok(None);
        };
        let bytes = usize::try_from(ObjectFile::bytes_of(ranges)).unwrap_or(usize::MAX);
        room.take_or(bytes, || self.begun.take()).await.map(Some)
    }

    /// The rest of what is being decoded, as a part for the queue.
    fn rest(&self, opened: Arc<Opened>, decoding: Box<Decoding>) -> Part {
        let Some(room) = self.room.as_ref().filter(|_| decoding.is_of_object()) else {
            return part(Work::Decoding(opened, decoding));
        };
        self.begun.put((opened, decoding), room);
        part(Work::Begun)
    }

    async fn read_csv(
        &self,
        opened: Arc<Opened>,
        mut reading: Box<Reading>,
        access: Access<'_>,
    ) -> SqlResult<Step> {
        let read = reading.next(access).await?;
        self.room.iter().for_each(|room| room.tell(access.skips));
        let Some(rows) = read else { return Ok(nothing()) };
        // They are parsed before more is read, unless somebody else has time for that.
        let rows = part(Work::CsvRows(opened.clone(), Box::new(rows)));
        Ok(Step { rows: None, parts: vec![rows, part(Work::Csv(opened, reading))] })
    }

    async fn parse_csv(&self, opened: &Opened, rows: &CsvRows) -> SqlResult<Step> {
        let (arrays, row_count) = rows.parse().await?;
        let rows = self.restricted(opened, &Decoded { first_row: 0, arrays, row_count })?;
        Ok(Step { rows: Some(rows), parts: vec![] })
    }

    /// The rows that are there and fulfil all conditions, in the columns that are produced.
    fn restricted(&self, opened: &Opened, decoded: &Decoded) -> SqlResult<RecordBatch> {
        let Decoded { first_row, arrays: stored, row_count } = decoded;
        let arrays = opened.given.iter().map(|given| given.array(stored, *row_count));
        let arrays = arrays.collect::<SqlResult<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(*row_count));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options);
        let mut rows = batch.map_err(internal)?;
        if let Some(kept) = opened.kept(stored, *first_row, *row_count)? {
            rows = filter_record_batch(&rows, &kept).map_err(internal)?;
        }
        for test in &self.tests {
            let column = rows.project(&[test.place]).map_err(internal)?;
            let holds = holds(&test.restriction.predicate, &column)?;
            rows = filter_record_batch(&rows, &holds).map_err(internal)?;
        }
        let produced: Vec<usize> = (0..self.produced).collect();
        rows.project(&produced).map_err(internal)
    }
}

fn nothing() -> Step {
    Step { rows: None, parts: vec![] }
}

/// For which rows a condition holds.
fn holds(predicate: &Expr, rows: &RecordBatch) -> SqlResult<BooleanArray> {
    let holds = predicate.evaluate(rows)?;
    let holds: Option<&BooleanArray> = holds.as_any().downcast_ref();
    holds.cloned().ok_or_else(|| SqlError::internal("a restriction is no condition"))
}

impl Source for FileSource {
    fn roots(&self) -> Vec<Part> {
        (0..self.table.files.len()).map(Work::File).map(part).collect()
    }

    fn step<'a>(&'a self, part: Part, access: Access<'a>) -> LocalFuture<'a, SqlResult<Step>> {
        let work = part.0.downcast::<Work>().expect("parts come from this source");
        Box::pin(self.work(*work, access))
    }
}

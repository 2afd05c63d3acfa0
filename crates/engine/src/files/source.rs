//! The rows of a scan of files: row groups of Parquet, or slices of them, batch by batch, and CSV from its begin
//! to its end.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;
use exec::{Access, LocalFuture, Part, Source, Step};
use sql::ScalarValue;
use sql::expr::Expr;
use sql::plan::{Restriction, Scan};
use types::parse::ColumnParser;
use types::{LogicalType, SqlError, SqlResult};

use super::columns::{FileColumn, Origin};
use super::csv::Reading;
use super::parquet::{Decoding, Next, is_skipped};
use super::{Content, File, FileTable};
use crate::dml::internal;
use crate::objects::{Begun, ObjectFile, Room, Taken};

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
    /// What holds some of it, by the numbers of files. For each there is a [`Work::Begun`] in the queue.
    begun: Begun<(usize, Box<Decoding>)>,
}

/// A condition, and where its column stands among those that are read.
struct Test {
    place: usize,
    restriction: Restriction,
}

enum Work {
    File(usize),
    /// Rows of a group, or all of them.
    Group(usize, usize, Option<Range<usize>>),
    Decoding(usize, Box<Decoding>),
    /// Something that was begun, if it is not done by now.
    Begun,
    Csv(usize, Box<Reading>),
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
        Ok(FileSource { table, read, schema, produced, tests, room, begun })
    }

    async fn work(&self, work: Work, access: Access<'_>) -> SqlResult<Step> {
        match work {
            Work::File(number) => self.open(number, access).await,
            Work::Group(number, group, rows) => {
                let Content::Parquet(parquet) = &self.table.files[number].content else {
                    return Err(SqlError::internal("a row group of what is no Parquet file"));
                };
                let decoding = Decoding::begin(parquet, group, rows, &self.stored()).await?;
                self.decode(number, Box::new(decoding), access).await
            }
            Work::Decoding(number, decoding) => self.decode(number, decoding, access).await,
            Work::Begun => match self.begun.take() {
                Some((number, decoding)) => self.decode(number, decoding, access).await,
                None => Ok(Step { rows: None, parts: vec![] }),
            },
            Work::Csv(number, reading) => self.read_csv(number, reading, access).await,
        }
    }

    /// The columns that are read from files, with their types.
    fn stored(&self) -> Vec<(usize, LogicalType)> {
        let stored = |column: &FileColumn| match column.origin {
            Origin::Stored(number) => Some((number, column.declared().ty)),
            Origin::Path(_) => None,
        };
        self.read.iter().filter_map(stored).collect()
    }

    /// The row groups of a file that have rows to be looked at.
    async fn open(&self, number: usize, access: Access<'_>) -> SqlResult<Step> {
        let file = &self.table.files[number];
        if !self.path_fits(file)? {
            return Ok(Step { rows: None, parts: vec![] });
        }
        let parts = match &file.content {
            Content::Csv(csv) => {
                let reading = csv.read(&self.stored(), self.room.clone()).await?;
                vec![part(Work::Csv(number, Box::new(reading)))]
            }
            Content::Parquet(parquet) => {
                let groups = 0..parquet.group_count();
                access.skips.chunks.fetch_add(groups.len() as u64, Relaxed);
                let wanted = |group: &usize| {
                    !self.tests.iter().any(|test| match self.read[test.place].origin {
                        Origin::Path(_) => false,
                        Origin::Stored(column) => {
                            let ty = self.read[test.place].declared().ty;
                            is_skipped(parquet, *group, (column, ty), &test.restriction.test)
                        }
                    })
                };
                let kept: Vec<usize> = groups.clone().filter(wanted).collect();
                let skipped = (groups.len() - kept.len()) as u64;
                access.skips.chunks_skipped.fetch_add(skipped, Relaxed);
                let stored: Vec<usize> = self.stored().iter().map(|(column, _)| *column).collect();
                let slices = |group: usize| match parquet.slices(group, &stored) {
                    Some(slices) => slices.into_iter().map(Some).collect(),
                    None => vec![None],
                };
                let parts = |group: usize| {
                    let slices = slices(group).into_iter();
                    slices.map(move |rows| part(Work::Group(number, group, rows)))
                };
                kept.into_iter().flat_map(parts).collect()
            }
        };
        Ok(Step { rows: None, parts })
    }

    /// Whether what the path says fulfils the conditions on it.
    fn path_fits(&self, file: &File) -> SqlResult<bool> {
        for test in &self.tests {
            let column = &self.read[test.place];
            let Origin::Path(part) = column.origin else { continue };
            let value = told(column, &file.parts[part], 1)?;
            let schema = Arc::new(self.schema.project(&[test.place]).map_err(internal)?);
            let row = RecordBatch::try_new(schema, vec![value]).map_err(internal)?;
            if holds(&test.restriction.predicate, &row)?.true_count() == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn decode(
        &self,
        number: usize,
        mut decoding: Box<Decoding>,
        access: Access<'_>,
    ) -> SqlResult<Step> {
        loop {
            match decoding.next()? {
                Next::End => return Ok(Step { rows: None, parts: vec![] }),
                Next::Rows(decoded) => {
                    let rows = self.restricted(number, decoded.arrays, decoded.row_count)?;
                    return Ok(Step { rows: Some(rows), parts: vec![self.rest(number, decoding)] });
                }
                Next::Wants(ranges) => {
                    let taken = match self.room_for(&decoding, &ranges).await {
                        Ok(taken) => taken,
                        Err((other, begun)) => {
                            let step = Box::pin(self.decode(other, begun, access)).await?;
                            let Step { rows, mut parts } = step;
                            parts.push(part(Work::Decoding(number, decoding)));
                            return Ok(Step { rows, parts });
                        }
                    };
                    let slices = decoding.supply(&ranges, taken, access).await?;
                    self.room.iter().for_each(|room| room.tell(access.skips));
                    if !slices.is_empty() {
                        // The first one is taken up first.
                        let slices = slices.into_iter().rev().map(Box::new);
                        let rests = slices.map(|slice| self.rest(number, slice));
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
    ) -> Result<Option<Taken>, (usize, Box<Decoding>)> {
        let Some(room) = self.room.as_ref().filter(|_| decoding.is_of_object()) else {
            return Ok(None);
        };
        let bytes = usize::try_from(ObjectFile::bytes_of(ranges)).unwrap_or(usize::MAX);
        room.take_or(bytes, || self.begun.take()).await.map(Some)
    }

    /// The rest of what is being decoded, as a part for the queue.
    fn rest(&self, number: usize, decoding: Box<Decoding>) -> Part {
        let Some(room) = self.room.as_ref().filter(|_| decoding.is_of_object()) else {
            return part(Work::Decoding(number, decoding));
        };
        self.begun.put((number, decoding), room);
        part(Work::Begun)
    }

    async fn read_csv(
        &self,
        number: usize,
        mut reading: Box<Reading>,
        access: Access<'_>,
    ) -> SqlResult<Step> {
        let read = reading.next(access).await?;
        self.room.iter().for_each(|room| room.tell(access.skips));
        let Some((arrays, row_count)) = read else {
            return Ok(Step { rows: None, parts: vec![] });
        };
        let rows = self.restricted(number, arrays, row_count)?;
        Ok(Step { rows: Some(rows), parts: vec![part(Work::Csv(number, reading))] })
    }

    /// The rows that fulfil all conditions, in the columns that are produced.
    fn restricted(
        &self,
        number: usize,
        stored: Vec<ArrayRef>,
        row_count: usize,
    ) -> SqlResult<RecordBatch> {
        let mut stored = stored.into_iter();
        let parts = &self.table.files[number].parts;
        let array = |column: &FileColumn| match column.origin {
            Origin::Path(part) => told(column, &parts[part], row_count),
            Origin::Stored(_) => {
                stored.next().ok_or_else(|| SqlError::internal("a file gave too few columns"))
            }
        };
        let arrays = self.read.iter().map(array).collect::<SqlResult<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(row_count));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options);
        let mut rows = batch.map_err(internal)?;
        for test in &self.tests {
            let column = rows.project(&[test.place]).map_err(internal)?;
            let holds = holds(&test.restriction.predicate, &column)?;
            rows = filter_record_batch(&rows, &holds).map_err(internal)?;
        }
        let produced: Vec<usize> = (0..self.produced).collect();
        rows.project(&produced).map_err(internal)
    }
}

/// For which rows a condition holds.
fn holds(predicate: &Expr, rows: &RecordBatch) -> SqlResult<BooleanArray> {
    let holds = predicate.evaluate(rows)?;
    let holds: Option<&BooleanArray> = holds.as_any().downcast_ref();
    holds.cloned().ok_or_else(|| SqlError::internal("a restriction is no condition"))
}

/// What a path says, for so many rows.
fn told(column: &FileColumn, value: &Option<String>, row_count: usize) -> SqlResult<ArrayRef> {
    let mut parser = ColumnParser::new(&column.declared());
    parser.push(value.as_deref())?;
    let value = ScalarValue::try_from_array(&parser.finish(), 0);
    let array = value.and_then(|value| value.to_array_of_size(row_count));
    array.map_err(|error| SqlError::internal(error.to_string()))
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

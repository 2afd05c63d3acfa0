//! Rows that are deleted: by their positions in a data file, or by the values that they have.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, BooleanArray};
use arrow_row::{RowConverter, SortField};
use exec::Access;
use iceberg::{Content, DELETED_PATH_FIELD, DELETED_POSITION_FIELD, DataFile, Field, Type};
use runtime::sync::{Cancel, Semaphore};
use txn::waiting::give_way;
use types::{SqlError, SqlResult};

use super::super::given::{Given, Opened};
use super::lake::{Lake, damaged};
use super::layout;
use crate::fault::internal;
use crate::files::parquet::decode::{Decoding, Next};
use crate::objects::file::ObjectFile;
use crate::objects::room::Room;

/// Bytes of memory for a path or a deleted value beside its own bytes: an entry of a tree.
const VALUE_BYTES: usize = 48;

/// Positions of the first rows that are deleted in a file.
const POSITIONS_MIN: usize = 4;

/// The delete files of a table, each read once by a scan that needs it.
pub(crate) struct Deletions {
    lake: Arc<Lake>,
    /// What they hold is counted there.
    room: Arc<Room>,
    slots: Vec<Slot>,
}

struct Slot {
    /// One reads, the others wait for it.
    alone: Semaphore,
    loaded: OnceLock<Arc<Loaded>>,
}

/// What a delete file has.
pub(super) enum Loaded {
    /// Positions in the data files of these paths.
    Positions(BTreeMap<String, Positions>),
    Values(Values),
}

/// Values of some columns. Rows that have them are deleted.
pub(super) struct Values {
    ids: Vec<i32>,
    form: RowConverter,
    rows: BTreeSet<Box<[u8]>>,
}

/// Positions in one data file, which ascend.
#[derive(Default)]
pub(super) struct Positions(Vec<i64>);

/// What is deleted of one data file.
pub(crate) struct Deleted {
    /// How files of positions name it.
    path: String,
    /// Those that have some.
    positions: Vec<Arc<Loaded>>,
    /// Values, and where those of the data file come from.
    values: Vec<(Arc<Loaded>, Vec<Given>)>,
}

impl Deletions {
    pub(super) fn new(lake: &Arc<Lake>, room: &Arc<Room>) -> Deletions {
        let slot = |_: &DataFile| Slot { alone: Semaphore::new(1), loaded: OnceLock::new() };
        let slots = lake.deletes.files().iter().map(slot).collect();
        Deletions { lake: lake.clone(), room: room.clone(), slots }
    }

    /// The deletes that count for a data file.
    ///
    /// # Errors
    /// As [`super::file::TableFile::open`], and 53200 when there is no memory for them.
    pub(super) async fn of(
        &self,
        data: &DataFile,
        access: Access<'_>,
    ) -> SqlResult<Vec<Arc<Loaded>>> {
        let mut all = vec![];
        for number in self.lake.deletes.of(data) {
            let slot = &self.slots[number];
            let _alone = slot.alone.acquire().await;
            let loaded = match slot.loaded.get() {
                Some(loaded) => loaded.clone(),
                None => {
                    let loaded = Arc::new(self.load(number, access).await?);
                    slot.loaded.get_or_init(|| loaded).clone()
                }
            };
            all.push(loaded);
        }
        Ok(all)
    }

    async fn load(&self, number: usize, access: Access<'_>) -> SqlResult<Loaded> {
        let file = &self.lake.deletes.files()[number];
        match file.content {
            Content::EqualityDeletes => self.values(file, access).await.map(Loaded::Values),
            _ => self.positions(file, access).await.map(Loaded::Positions),
        }
    }

    async fn positions(
        &self,
        file: &DataFile,
        access: Access<'_>,
    ) -> SqlResult<BTreeMap<String, Positions>> {
        let field = |id, name: &str, ty| Field { id, name: name.to_owned(), ty };
        let fields = [
            field(DELETED_PATH_FIELD, "file_path", Type::String),
            field(DELETED_POSITION_FIELD, "pos", Type::Long),
        ];
        let mut all: BTreeMap<String, Positions> = BTreeMap::new();
        let keep = |bytes| self.room.keep(bytes);
        self.read(file, &fields, access, |arrays| {
            let (paths, positions) =
                (arrays[0].as_string_view(), arrays[1].as_primitive::<Int64Type>());
            for (path, position) in paths.iter().zip(positions) {
                let (Some(path), Some(position)) = (path, position) else {
                    return Err(damaged(&file.path, "A position of a deleted row is null."));
                };
                if let Some(of_path) = all.get_mut(path) {
                    of_path.push(position, keep)?;
                    continue;
                }
                keep(path.len() + VALUE_BYTES)?;
                all.entry(path.to_owned()).or_default().push(position, keep)?;
            }
            Ok(())
        })
        .await?;
        for positions in all.values_mut() {
            give_way(&Cancel::default()).await?;
            positions.sort();
        }
        Ok(all)
    }

    async fn values(&self, file: &DataFile, access: Access<'_>) -> SqlResult<Values> {
        let fields = fields_of(&self.lake, &file.equality_ids, &file.path)?;
        if fields.is_empty() {
            return Err(damaged(&file.path, "It names no columns whose values are deleted."));
        }
        let types = fields.iter().map(|field| Ok(layout::type_of(field)?.arrow()));
        let types = types.map(|ty| ty.map(SortField::new)).collect::<SqlResult<Vec<_>>>()?;
        let form = RowConverter::new(types).map_err(internal)?;
        let mut rows = BTreeSet::new();
        self.read(file, &fields, access, |arrays| {
            let deleted = form.convert_columns(&arrays).map_err(internal)?;
            for row in &deleted {
                let bytes: Box<[u8]> = row.as_ref().into();
                self.room.keep(bytes.len() + VALUE_BYTES)?;
                rows.insert(bytes);
            }
            Ok(())
        })
        .await?;
        Ok(Values { ids: file.equality_ids.clone(), form, rows })
    }

    /// Reads columns of a delete file, all of which it must have.
    async fn read(
        &self,
        file: &DataFile,
        fields: &[Field],
        access: Access<'_>,
        mut each: impl FnMut(Vec<ArrayRef>) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let path = self.lake.resolve(&file.path)?;
        let parquet = self.lake.opened(file, &path, access).await?;
        let roots = layout::with_ids(&self.lake, &parquet)?;
        let is_there = |field: &&Field| roots.iter().any(|(id, _)| *id == Some(field.id));
        if let Some(missing) = fields.iter().find(|field| !is_there(field)) {
            return Err(damaged(&path, format!("It has no column {}.", missing.id)));
        }
        let wanted: Vec<&Field> = fields.iter().collect();
        let Opened { stored, parquet, .. } = layout::of(&self.lake, file, parquet, &wanted)?;
        let Some(parquet) = parquet else { return Ok(()) };
        for group in 0..parquet.group_count() {
            let mut left = vec![Decoding::begin(&parquet, group, None, &stored).await?];
            while let Some(mut decoding) = left.pop() {
                give_way(&Cancel::default()).await?;
                match decoding.next()? {
                    Next::End => continue,
                    Next::Rows(decoded) => each(decoded.arrays)?,
                    Next::Wants(ranges) => {
                        let bytes = ObjectFile::bytes_of(&ranges) as usize;
                        let taken = decoding.is_of_object().then(|| self.room.hold(bytes));
                        let mut slices = decoding.supply(&ranges, taken, access).await?;
                        if !slices.is_empty() {
                            left.append(&mut slices);
                            continue;
                        }
                    }
                }
                left.push(decoding);
            }
        }
        Ok(())
    }
}

/// The columns of these ids, also those that the table has no more.
fn fields_of(lake: &Lake, ids: &[i32], path: &str) -> SqlResult<Vec<Field>> {
    let field = |id: &i32| {
        let older = || lake.metadata.schemas().iter().rev().find_map(|schema| schema.field(*id));
        let field = lake.schema.field(*id).or_else(older).cloned();
        field.ok_or_else(|| {
            SqlError::unsupported(format!("deleted rows by the values of column {id}"))
                .with_detail("It is within another column, or in no schema of the table.")
                .with_context(format!("file \"{path}\""))
        })
    };
    ids.iter().map(field).collect()
}

/// The columns whose values say what is deleted.
pub(super) fn key_fields(lake: &Lake, deletes: &[Arc<Loaded>]) -> SqlResult<Vec<Field>> {
    let mut ids = BTreeSet::new();
    for loaded in deletes {
        if let Loaded::Values(values) = loaded.as_ref() {
            ids.extend(&values.ids);
        }
    }
    fields_of(lake, &ids.into_iter().collect::<Vec<_>>(), &lake.root)
}

impl Positions {
    /// Adds one; memory for it is taken first.
    fn push(&mut self, position: i64, keep: impl FnOnce(usize) -> SqlResult<()>) -> SqlResult<()> {
        if self.0.len() == self.0.capacity() {
            let more = self.0.len().max(POSITIONS_MIN);
            keep(more * size_of::<i64>())?;
            self.0.reserve_exact(more);
        }
        self.0.push(position);
        Ok(())
    }

    /// Files have them in order, unless their writer did not care.
    fn sort(&mut self) {
        if !self.0.is_sorted() {
            self.0.sort_unstable();
        }
    }

    /// Marks which rows are not kept. The first one has this number in the file.
    fn mark(&self, first: i64, kept: &mut [bool]) {
        let from = self.0.partition_point(|position| *position < first);
        for position in &self.0[from..] {
            let row = usize::try_from(position - first).unwrap_or(usize::MAX);
            match kept.get_mut(row) {
                Some(kept) => *kept = false,
                None => break,
            }
        }
    }
}

impl Deleted {
    /// What some deletes are about in the data file of a path. The columns of keys are given at these places.
    pub(super) fn new(
        deletes: Vec<Arc<Loaded>>,
        keys: &[Field],
        places: &[Given],
        path: &str,
    ) -> Option<Deleted> {
        let mut deleted = Deleted { path: path.to_owned(), positions: vec![], values: vec![] };
        for loaded in deletes {
            match loaded.as_ref() {
                Loaded::Positions(of) if of.contains_key(path) => deleted.positions.push(loaded),
                Loaded::Positions(_) => {}
                Loaded::Values(values) => {
                    let place = |id: &i32| keys.iter().position(|field| field.id == *id);
                    let given = values.ids.iter().filter_map(place).map(|at| places[at].clone());
                    let given = given.collect();
                    deleted.values.push((loaded, given));
                }
            }
        }
        let is_none = deleted.positions.is_empty() && deleted.values.is_empty();
        (!is_none).then_some(deleted)
    }

    /// Which of some rows are there; `None` for all. The first one has this number in the file.
    pub(crate) fn kept(
        &self,
        stored: &[ArrayRef],
        first_row: u64,
        row_count: usize,
    ) -> SqlResult<Option<BooleanArray>> {
        let mut kept = vec![true; row_count];
        let first = i64::try_from(first_row).unwrap_or(i64::MAX);
        for loaded in &self.positions {
            if let Loaded::Positions(of) = loaded.as_ref()
                && let Some(positions) = of.get(&self.path)
            {
                positions.mark(first, &mut kept);
            }
        }
        for (loaded, given) in &self.values {
            let Loaded::Values(values) = loaded.as_ref() else { continue };
            let arrays = given.iter().map(|given| given.array(stored, row_count));
            let arrays = arrays.collect::<SqlResult<Vec<_>>>()?;
            let rows = values.form.convert_columns(&arrays).map_err(internal)?;
            for (row, kept) in rows.iter().zip(&mut kept) {
                *kept &= !values.rows.contains(row.as_ref());
            }
        }
        Ok(kept.contains(&false).then(|| kept.into()))
    }
}

#[cfg(test)]
mod tests;

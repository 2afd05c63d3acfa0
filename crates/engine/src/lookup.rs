//! The inner side of an index nested-loop join: keys descended together, rows fetched together.

use std::sync::Arc;

use arrow_array::{RecordBatch, UInt32Array};
use arrow_select::take::{take, take_record_batch};
use exec::{LocalFuture, Matches};
use sql::plan::{IndexRef, LookupJoin};
use storage::Tree;
use types::key::{KeyEncoder, successor};
use types::row::{BatchBuilder, RowLayout};
use types::{SqlError, SqlResult};

use crate::catalog::TableEntry;
use crate::fault;
use crate::fetch::Fetch;
use crate::source::depth;

pub(crate) struct TableLookup {
    tree: Tree,
    layout: Arc<RowLayout>,
    columns: Vec<usize>,
    /// The keys are whole keys of the clustered tree: point look-ups.
    point: bool,
    fetch: Option<Fetch>,
}

impl TableLookup {
    pub(crate) fn new(entry: &TableEntry, join: &LookupJoin) -> TableLookup {
        let (tree, layout) = entry.tree_of(&join.index);
        let key_columns = join.index.key_columns(&entry.def);
        let point = matches!(join.index, IndexRef::Primary) && join.keys.len() == layout.key.len();
        let fetch =
            join.fetch.then(|| Fetch::new(entry, entry.tree.clone(), key_columns, &join.columns));
        TableLookup { tree, layout, columns: join.columns.clone(), point, fetch }
    }

    /// The encoded keys without null, with their positions in the batch.
    fn encode(&self, keys: &RecordBatch) -> SqlResult<(Vec<u32>, Vec<Vec<u8>>)> {
        let encoder = KeyEncoder::new(&self.layout.key, keys.columns());
        let rows = (0..keys.num_rows()).filter(|&row| !encoder.has_null(row));
        let encode = |row: usize| {
            let mut bytes = vec![];
            encoder.encode(row, &mut bytes)?;
            Ok((row as u32, bytes))
        };
        rows.map(encode).collect::<SqlResult<(Vec<_>, Vec<_>)>>()
    }

    /// Rows of the searched tree, with the position in `keys` of each.
    async fn search(
        &self,
        keys: Vec<Vec<u8>>,
        access: exec::Access<'_>,
        visit: &mut dyn FnMut(usize, &[u8], &[u8]),
    ) -> SqlResult<()> {
        let depth = depth(access.depth);
        if self.point {
            let mut one = |position: usize, value: &[u8]| visit(position, &keys[position], value);
            let found = self.tree.get_batch(&keys, depth, access.io, &mut one).await;
            return found.map_err(fault::storage);
        }
        let end = |key: &Vec<u8>| successor(key).expect("an encoded value has a successor");
        let ranges: Vec<_> = keys.into_iter().map(|key| (key.clone(), end(&key))).collect();
        let found = self.tree.range_batch(&ranges, depth, access.io, visit).await;
        found.map_err(fault::storage)
    }

    async fn matches(&self, keys: &RecordBatch, access: exec::Access<'_>) -> SqlResult<Matches> {
        let (positions, encoded) = self.encode(keys)?;
        let mut outer = vec![];
        let Some(fetch) = &self.fetch else {
            let room = encoded.len();
            let mut builder = BatchBuilder::new(self.layout.clone(), &self.columns, room);
            let mut visit = |position: usize, key: &[u8], value: &[u8]| {
                builder.push(key, value);
                outer.push(positions[position]);
            };
            self.search(encoded, access, &mut visit).await?;
            return in_order(outer, builder.finish());
        };
        let (mut owners, mut primary_keys) = (vec![], vec![]);
        let mut visit = |position: usize, key: &[u8], _: &[u8]| {
            owners.push(positions[position]);
            primary_keys.push(fetch.primary_key(key));
        };
        self.search(encoded, access, &mut visit).await?;
        let mut builder = fetch.builder(primary_keys.len());
        fetch.rows(&primary_keys, access, &mut builder, |i| outer.push(owners[i])).await?;
        in_order(outer, builder.finish())
    }
}

/// Matches ordered by their outer row; trees give them ordered by key.
fn in_order(outer: Vec<u32>, inner: RecordBatch) -> SqlResult<Matches> {
    let ascending = outer.is_sorted();
    let outer = UInt32Array::from(outer);
    if ascending {
        return Ok(Matches { outer, inner });
    }
    let mut order: Vec<u32> = (0..outer.len() as u32).collect();
    order.sort_by_key(|&i| outer.value(i as usize));
    let order = UInt32Array::from(order);
    let internal = |e: arrow_schema::ArrowError| SqlError::internal(e.to_string());
    let outer = take(&outer, &order, None).map_err(internal)?;
    let inner = take_record_batch(&inner, &order).map_err(internal)?;
    Ok(Matches { outer: UInt32Array::from(outer.to_data()), inner })
}

impl exec::Lookup for TableLookup {
    fn lookup<'a>(
        &'a self,
        keys: &'a RecordBatch,
        access: exec::Access<'a>,
    ) -> LocalFuture<'a, SqlResult<Matches>> {
        Box::pin(self.matches(keys, access))
    }
}

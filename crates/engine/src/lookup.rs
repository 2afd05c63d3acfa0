//! The inner side of an index nested-loop join: keys descended together, rows fetched together.

use std::sync::Arc;

use arrow_array::{RecordBatch, UInt32Array};
use arrow_select::take::{take, take_record_batch};
use exec::{LocalFuture, Matches};
use sql::plan::{IndexRef, LookupJoin};
use types::key::KeyEncoder;
use types::row::{BatchBuilder, RowLayout};
use types::{SqlError, SqlResult};

use crate::catalog::{Snapshot, TableEntry};
use crate::columns::ChunkFetch;
use crate::fetch::Fetch;
use crate::source::depth;
use crate::visible::{Entries, VisibleTree, beginning_with};

pub(crate) struct TableLookup {
    tree: VisibleTree,
    layout: Arc<RowLayout>,
    columns: Vec<usize>,
    /// The keys are whole keys of the clustered tree: point look-ups.
    point: bool,
    fetch: Option<Fetch>,
}

impl TableLookup {
    /// The inner side of a join; `chunks` fetches rows of a column table.
    pub(crate) fn new(
        snapshot: &Snapshot,
        entry: &TableEntry,
        join: &LookupJoin,
        chunks: Option<ChunkFetch>,
    ) -> TableLookup {
        let (tree, layout) = entry.tree_of(&join.index);
        let point = matches!(join.index, IndexRef::Primary) && join.keys.len() == layout.key.len();
        let fetch = join.fetch.then(|| {
            let rows = snapshot.visible(entry.tree.clone());
            Fetch::new(entry, rows, &layout, &join.columns).with_chunks(chunks)
        });
        TableLookup {
            tree: snapshot.visible(tree),
            layout,
            columns: join.columns.clone(),
            point,
            fetch,
        }
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

    /// Entries of the searched tree, each with the position of its key.
    async fn search(
        &self,
        keys: Vec<Vec<u8>>,
        access: exec::Access<'_>,
        found: &mut dyn Entries,
    ) -> SqlResult<()> {
        let depth = depth(access.depth);
        if self.point {
            return self.tree.get_batch(&keys, depth, access.io, found).await;
        }
        let ranges: Vec<_> = keys.into_iter().map(beginning_with).collect();
        self.tree.range_batch(&ranges, depth, access.io, found).await
    }

    async fn matches(&self, keys: &RecordBatch, access: exec::Access<'_>) -> SqlResult<Matches> {
        let (positions, encoded) = self.encode(keys)?;
        let Some(fetch) = &self.fetch else {
            let room = encoded.len();
            let (builder, outer) = (self.builder(room), vec![]);
            let mut found = Rows { lookup: self, positions: &positions, builder, outer };
            self.search(encoded, access, &mut found).await?;
            return in_order(found.outer, found.builder.finish());
        };
        let mut found = Keys { fetch, positions: &positions, keys: vec![], owners: vec![] };
        self.search(encoded, access, &mut found).await?;
        let Keys { keys, owners, .. } = found;
        let (inner, places) = fetch.rows(&keys, access).await?;
        in_order(places.into_iter().map(|place| owners[place]).collect(), inner)
    }

    fn builder(&self, room: usize) -> BatchBuilder {
        BatchBuilder::new(self.layout.clone(), &self.columns, room)
    }
}

/// Rows of the searched tree, with the outer row of each.
struct Rows<'a> {
    lookup: &'a TableLookup,
    positions: &'a [u32],
    builder: BatchBuilder,
    outer: Vec<u32>,
}

impl Entries for Rows<'_> {
    fn restart(&mut self) {
        self.builder = self.lookup.builder(self.outer.len());
        self.outer.clear();
    }

    fn take(&mut self, position: usize, key: &[u8], value: &[u8]) {
        self.builder.push(key, value);
        self.outer.push(self.positions[position]);
    }
}

/// Keys of rows that are to be fetched, with the outer row of each.
struct Keys<'a> {
    fetch: &'a Fetch,
    positions: &'a [u32],
    keys: Vec<Vec<u8>>,
    owners: Vec<u32>,
}

impl Entries for Keys<'_> {
    fn restart(&mut self) {
        self.keys.clear();
        self.owners.clear();
    }

    fn take(&mut self, position: usize, key: &[u8], _: &[u8]) {
        self.keys.push(self.fetch.primary_key(key));
        self.owners.push(self.positions[position]);
    }
}

/// Matches ordered by their outer row; trees give them ordered by key.
pub(crate) fn in_order(outer: Vec<u32>, inner: RecordBatch) -> SqlResult<Matches> {
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

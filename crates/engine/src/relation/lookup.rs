//! The inner side of an index nested-loop join: keys descended together, rows fetched together.

use arrow_array::{RecordBatch, UInt32Array};
use arrow_select::take::{take, take_record_batch};
use exec::{LocalFuture, Matches};
use plan::{IndexRef, LookupJoin};
use types::key::KeyEncoder;
use types::{SqlError, SqlResult};

use super::access::{Relation, depth};
use super::keys::beginning_with;
use super::rows::Rows;
use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;
use crate::columns::fetch::ChunkFetch;

pub(crate) struct TableLookup {
    relation: Relation,
    /// The keys are whole keys of the clustered tree: point look-ups.
    point: bool,
}

impl TableLookup {
    /// The inner side of a join; `chunks` fetches rows of a column table.
    pub(crate) fn new(
        snapshot: &Snapshot,
        entry: &TableEntry,
        join: &LookupJoin,
        chunks: Option<ChunkFetch>,
    ) -> TableLookup {
        let relation = Relation::of(snapshot, entry, &join.index, &join.columns);
        let is_whole = join.keys.len() == relation.layout.key.len();
        let point = matches!(join.index, IndexRef::Primary) && is_whole;
        let relation = match join.fetch {
            true => relation.fetched(snapshot, entry, chunks),
            false => relation,
        };
        TableLookup { relation, point }
    }

    /// The encoded keys without null, with their positions in the batch.
    fn encode(&self, keys: &RecordBatch) -> SqlResult<(Vec<u32>, Vec<Vec<u8>>)> {
        let encoder = KeyEncoder::new(&self.relation.layout.key, keys.columns());
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
        found: &mut Rows<'_>,
    ) -> SqlResult<()> {
        let depth = depth(access.depth);
        if self.point {
            return self.relation.tree.get_batch(&keys, depth, access.io, found).await;
        }
        let ranges: Vec<_> = keys.into_iter().map(beginning_with).collect();
        self.relation.tree.range_batch(&ranges, depth, access.io, found).await
    }

    async fn matches(&self, keys: &RecordBatch, access: exec::Access<'_>) -> SqlResult<Matches> {
        let (positions, encoded) = self.encode(keys)?;
        let mut found = self.relation.reader(encoded.len()).with_positions();
        self.search(encoded, access, &mut found).await?;
        let outer = |found: Vec<u32>| found.into_iter().map(|at| positions[at as usize]).collect();
        let Some((_, fetch)) = &self.relation.fetch else {
            let inner = found.finish();
            return in_order(outer(found.positions), inner);
        };
        let (inner, places) = fetch.rows(&found.keys, access).await?;
        let owners = places.into_iter().map(|place| found.positions[place as usize]).collect();
        in_order(outer(owners), inner)
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
    fn keys_at_once(&self) -> usize {
        self.relation.rows_at_once()
    }

    fn lookup<'a>(
        &'a self,
        keys: &'a RecordBatch,
        access: exec::Access<'a>,
    ) -> LocalFuture<'a, SqlResult<Matches>> {
        Box::pin(self.matches(keys, access))
    }
}

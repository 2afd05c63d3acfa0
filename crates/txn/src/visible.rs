//! Trees as a read view sees them: what the tree holds, but for entries that newer versions have
//! changed.
//!
//! A read is made as if nobody wrote, and then it is asked what has been replaced in the keys that it
//! covered. Mostly that is nothing. Otherwise the read is made again, its entries are gathered, and
//! what was replaced takes their places.

use std::collections::BTreeMap;
use std::ops::Bound;

use runtime::IoCounters;
use storage::{Depth, Direction, Expanded, LeafEntries, RangePart, Tree, VisitEntries, planted};
use types::SqlResult;

use crate::fault;
use crate::undo::{ReadView, Seen};

/// A tree as a reader sees it.
pub struct VisibleTree {
    /// The tree.
    pub tree: Tree,
    /// `None`: as it is, for who has the right to write.
    view: Option<ReadView>,
}

/// Takes the entries that a reader sees.
pub trait Entries {
    /// Forgets all that it has taken: it comes again.
    fn restart(&mut self);

    /// One more, which a key or a range at this position asked for.
    fn take(&mut self, position: usize, key: &[u8], value: &[u8]);

    /// Those of a leaf, which the one range asked for.
    fn take_leaf(&mut self, leaf: &LeafEntries<'_>) {
        let mut key = vec![];
        for index in 0..leaf.len() {
            leaf.key_into(index, &mut key);
            self.take(0, &key, leaf.value(index));
        }
    }
}

/// Entries of the one range, for the tree.
struct OfRange<'a>(&'a mut dyn Entries);

impl VisitEntries for OfRange<'_> {
    fn entry(&mut self, key: &[u8], value: &[u8]) {
        self.0.take(0, key, value);
    }

    fn leaf(&mut self, leaf: &LeafEntries<'_>) {
        self.0.take_leaf(leaf);
    }
}

/// A half-open range of keys.
pub type Range = (Vec<u8>, Vec<u8>);

/// The bounds of a scan.
pub type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// How far the first entries of a range went.
pub struct FirstEntries {
    /// How many were taken.
    pub count: usize,
    /// Behind which the range goes on; `None`: it is at its end.
    pub last: Option<Vec<u8>>,
}

type Gathered = BTreeMap<Vec<u8>, Vec<u8>>;

impl VisibleTree {
    /// The tree as of a read view.
    pub fn seen(tree: Tree, view: ReadView) -> VisibleTree {
        VisibleTree { tree, view: Some(view) }
    }

    /// The tree as it is, for who has the right to write.
    pub fn now(tree: Tree) -> VisibleTree {
        VisibleTree { tree, view: None }
    }

    fn replaced(&self, low: &[u8], high: Option<&[u8]>) -> SqlResult<Vec<Seen>> {
        match &self.view {
            Some(view) => view.replaced(self.tree.id(), low, high),
            None => Ok(vec![]),
        }
    }

    /// Notes what was read, for a transaction that wants to know.
    fn note_read(&self, low: &[u8], high: Option<&[u8]>) {
        if let Some(view) = &self.view {
            view.note_read(self.tree.id(), low, high);
        }
    }

    /// As [`Tree::expand`], its entries as the reader sees them.
    pub async fn expand(
        &self,
        part: RangePart,
        depth: Depth,
        io: &IoCounters,
        entries: &mut dyn Entries,
    ) -> SqlResult<Vec<RangePart>> {
        let mut again = part.clone();
        let step = self.tree.expand_by_leaf(part, depth, io, &mut OfRange(entries)).await;
        let Expanded { parts, rest } = step.map_err(fault::storage)?;
        if !parts.is_empty() {
            return Ok(parts);
        }
        if let Some(rest) = &rest {
            again = again.up_to(rest.bounds().0);
        }
        let (low, high) = again.bounds();
        if !planted::is("scans-not-noted") {
            self.note_read(low, high);
        }
        if self.replaced(low, high)?.is_empty() {
            return Ok(Vec::from_iter(rest));
        }
        let mut gathered = Gathered::new();
        let mut gather = |key: &[u8], value: &[u8]| {
            gathered.insert(key.to_vec(), value.to_vec());
        };
        let parts = self.tree.expand(again.clone(), depth, io, &mut gather).await;
        let mut parts = parts.map_err(fault::storage)?;
        entries.restart();
        // The tree may have changed its shape: then its parts cover the same keys.
        if parts.is_empty() {
            let seen = seen(gathered, self.replaced(low, high)?);
            seen.iter().for_each(|(key, value)| entries.take(0, key, value));
        }
        parts.extend(rest);
        Ok(parts)
    }

    /// As [`Tree::get`], the entry as the reader sees it.
    pub async fn get(
        &self,
        key: &[u8],
        io: &IoCounters,
        entries: &mut dyn Entries,
    ) -> SqlResult<()> {
        if !planted::is("points-not-noted") {
            self.note_read(key, Some(&behind(key)));
        }
        let take = |value: &[u8]| entries.take(0, key, value);
        self.tree.get(key, io, take).await.map_err(fault::storage)?;
        // Only a newer statement changes what was replaced, and this one still sees the same.
        if let Some((_, old)) = self.replaced(key, Some(&behind(key)))?.pop() {
            entries.restart();
            old.into_iter().for_each(|value| entries.take(0, key, &value));
        }
        Ok(())
    }

    /// As [`Tree::get_batch`], its entries as the reader sees them.
    pub async fn get_batch(
        &self,
        keys: &[Vec<u8>],
        depth: Depth,
        io: &IoCounters,
        entries: &mut dyn Entries,
    ) -> SqlResult<()> {
        let mut visit =
            |position: usize, value: &[u8]| entries.take(position, &keys[position], value);
        self.tree.get_batch(keys, depth, io, &mut visit).await.map_err(fault::storage)?;
        let (Some(first), Some(last)) = (keys.iter().min(), keys.iter().max()) else {
            return Ok(());
        };
        let end = behind(last);
        if !planted::is("points-not-noted") {
            keys.iter().for_each(|key| self.note_read(key, Some(&behind(key))));
        }
        if self.replaced(first, Some(&end))?.is_empty() {
            return Ok(());
        }
        let mut values: Vec<Option<Vec<u8>>> = vec![None; keys.len()];
        let mut gather = |position: usize, value: &[u8]| values[position] = Some(value.to_vec());
        self.tree.get_batch(keys, depth, io, &mut gather).await.map_err(fault::storage)?;
        let replaced: BTreeMap<_, _> = self.replaced(first, Some(&end))?.into_iter().collect();
        entries.restart();
        for (position, (key, value)) in keys.iter().zip(&values).enumerate() {
            let value = match replaced.get(key.as_slice()) {
                Some(old) => old.as_deref(),
                None => value.as_deref(),
            };
            value.into_iter().for_each(|value| entries.take(position, key, value));
        }
        Ok(())
    }

    /// As [`Tree::range_batch`], its entries as the reader sees them.
    pub async fn range_batch(
        &self,
        ranges: &[Range],
        depth: Depth,
        io: &IoCounters,
        entries: &mut dyn Entries,
    ) -> SqlResult<()> {
        let mut visit =
            |position: usize, key: &[u8], value: &[u8]| entries.take(position, key, value);
        self.tree.range_batch(ranges, depth, io, &mut visit).await.map_err(fault::storage)?;
        let low = ranges.iter().map(|(low, _)| low).min();
        let high = ranges.iter().map(|(_, high)| high).max();
        let (Some(low), Some(high)) = (low, high) else { return Ok(()) };
        if !planted::is("lookups-not-noted") {
            ranges.iter().for_each(|(low, high)| self.note_read(low, Some(high)));
        }
        if self.replaced(low, Some(high))?.is_empty() {
            return Ok(());
        }
        let mut gathered: Vec<Gathered> = vec![Gathered::new(); ranges.len()];
        let mut gather = |position: usize, key: &[u8], value: &[u8]| {
            gathered[position].insert(key.to_vec(), value.to_vec());
        };
        self.tree.range_batch(ranges, depth, io, &mut gather).await.map_err(fault::storage)?;
        entries.restart();
        for (position, (found, (low, high))) in gathered.into_iter().zip(ranges).enumerate() {
            let seen = seen(found, self.replaced(low, Some(high))?);
            seen.iter().for_each(|(key, value)| entries.take(position, key, value));
        }
        Ok(())
    }

    /// Up to about `count` entries from one end of a range, in that direction.
    pub async fn first(
        &self,
        range: &Bounds,
        direction: Direction,
        count: usize,
        io: &IoCounters,
        entries: &mut dyn Entries,
    ) -> SqlResult<FirstEntries> {
        let mut take = |key: &[u8], value: &[u8]| entries.take(0, key, value);
        let first = self.first_stored(range, direction, count, io, &mut take).await?;
        let (low, high) = covered(range, direction, first.last.as_deref());
        if !planted::is("first-rows-not-noted") {
            self.note_read(&low, high.as_deref());
        }
        if self.replaced(&low, high.as_deref())?.is_empty() {
            return Ok(first);
        }
        let mut gathered = Gathered::new();
        let mut gather = |key: &[u8], value: &[u8]| {
            gathered.insert(key.to_vec(), value.to_vec());
        };
        let FirstEntries { last, .. } =
            self.first_stored(range, direction, count, io, &mut gather).await?;
        let (low, high) = covered(range, direction, last.as_deref());
        let seen = seen(gathered, self.replaced(&low, high.as_deref())?);
        entries.restart();
        let mut take = |(key, value): (&Vec<u8>, &Vec<u8>)| entries.take(0, key, value);
        match direction {
            Direction::Forward => seen.iter().for_each(&mut take),
            Direction::Backward => seen.iter().rev().for_each(&mut take),
        }
        Ok(FirstEntries { count: seen.len(), last })
    }

    async fn first_stored(
        &self,
        (low, high): &Bounds,
        direction: Direction,
        wanted: usize,
        io: &IoCounters,
        take: &mut dyn FnMut(&[u8], &[u8]),
    ) -> SqlResult<FirstEntries> {
        let (low, high) = (low.as_ref().map(Vec::as_slice), high.as_ref().map(Vec::as_slice));
        let mut cursor = self.tree.range(low, high, direction);
        let (mut key, mut count) = (vec![], 0);
        while count < wanted {
            let Some(leaf) = cursor.next(io).await.map_err(fault::storage)? else {
                return Ok(FirstEntries { count, last: None });
            };
            for index in 0..leaf.len().min(wanted - count) {
                let value = leaf.entry(index, &mut key);
                take(&key, value);
                count += 1;
            }
            if runtime::need_preempt() {
                runtime::yield_now().await;
            }
        }
        Ok(FirstEntries { count, last: Some(key) })
    }
}

/// What the tree held, with what was replaced in its place.
fn seen(mut gathered: Gathered, replaced: Vec<Seen>) -> Gathered {
    for (key, old) in replaced {
        match old {
            Some(old) => gathered.insert(key.to_vec(), old.to_vec()),
            None => gathered.remove(&*key),
        };
    }
    gathered
}

/// The next key.
fn behind(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

/// The keys, as a half-open range, that a scan has covered which ended with `last`, or at the end of
/// its range.
fn covered(
    (low, high): &Bounds,
    direction: Direction,
    last: Option<&[u8]>,
) -> (Vec<u8>, Option<Vec<u8>>) {
    let mut low = match low {
        Bound::Included(key) => key.clone(),
        Bound::Excluded(key) => behind(key),
        Bound::Unbounded => vec![],
    };
    let mut high = match high {
        Bound::Included(key) => Some(behind(key)),
        Bound::Excluded(key) => Some(key.clone()),
        Bound::Unbounded => None,
    };
    match (last, direction) {
        (Some(last), Direction::Forward) => high = Some(behind(last)),
        (Some(last), Direction::Backward) => low = last.to_vec(),
        (None, _) => {}
    }
    (low, high)
}

//! What a foreign key does with rows that refer to keys which have gone.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{ArrayRef, new_null_array};
use plan::constraints::{ForeignKey, ReferentialAction};
use sql::dml::{Defaults, assign};
use types::SqlResult;
use types::parse::ColumnParser;
use types::text::format_value;

use super::link::{Key, Link};
use super::{Gone, Lost, State, still_referenced};
use crate::catalog::entry::TableEntry;
use crate::dml::change::Change;
use crate::dml::constraints::checked;
use crate::dml::rows::{Rows, batch};

/// Rows of the child by what has become of the keys that they refer to.
struct Group {
    action: ReferentialAction,
    /// Their places.
    rows: Vec<u32>,
    /// The keys.
    keys: Vec<Key>,
}

/// Rows that refer to `keys`, of those whose keys have gone.
fn groups(key: &ForeignKey, keys: Vec<Option<Key>>, gone: &HashMap<Key, Lost>) -> [Group; 2] {
    let new = |action| Group { action, rows: vec![], keys: vec![] };
    let mut groups = [new(key.on_delete), new(key.on_update)];
    for (row, key) in keys.into_iter().enumerate() {
        let Some((key, lost)) = key.and_then(|key| gone.get(&key).map(|lost| (key, lost))) else {
            continue;
        };
        let group = &mut groups[usize::from(matches!(lost.what, Gone::Changed(_)))];
        group.rows.push(row as u32);
        group.keys.push(key);
    }
    groups
}

impl State<'_> {
    /// Does what the foreign key asks for with rows as they are stored: whether that has changed some.
    pub(super) async fn act_on_stored(
        &mut self,
        child: &Arc<TableEntry>,
        link: &Link,
        gone: &HashMap<Key, Lost>,
        found: Rows,
    ) -> SqlResult<bool> {
        let mut changed = false;
        for group in groups(&link.key, link.referred(found.batch())?, gone) {
            let Some(first) = group.keys.first() else { continue };
            let found = found.take(&group.rows)?;
            if group.action == ReferentialAction::Refuse && self.defers(link, &found)? {
                continue;
            }
            let added = self.successors((child, link), gone, &found, &group).await?;
            let Some(added) = added else { return Err(still_referenced(link, first)) };
            let next = match self.changes.remove(&child.def.id) {
                None => Change::new(child, found, added),
                // What comes to nothing stands before the pairs.
                Some(mut change) if added.is_empty() => {
                    change.removed = found.and(&change.removed)?;
                    change
                }
                Some(mut change) => {
                    change.pairs += found.len();
                    change.removed = change.removed.and(&found)?;
                    change.added = change.added.and(&added)?;
                    change
                }
            };
            self.changes.insert(child.def.id, next);
            changed = true;
        }
        Ok(changed)
    }

    /// The same with rows as the statement leaves them so far, whether by itself or since other foreign keys
    /// asked for it. Keys that refuse unless another row comes find them when all is done.
    pub(super) async fn act_on_added(
        &mut self,
        child: &Arc<TableEntry>,
        link: &Link,
        gone: &HashMap<Key, Lost>,
    ) -> SqlResult<bool> {
        let Some(change) = self.changes.get(&child.def.id) else { return Ok(false) };
        let [deleted, changed] = groups(&link.key, link.referred(change.added.batch())?, gone);
        let mut has_acted = false;
        // Those that go are last, for the others have their places before.
        for group in [changed, deleted] {
            let Some(first) = group.keys.first() else { continue };
            let Some(change) = self.changes.get(&child.def.id) else { continue };
            let found = change.added.take(&group.rows)?;
            let added = match self.successors((child, link), gone, &found, &group).await? {
                Some(added) => added,
                None if group.action == ReferentialAction::Refuse => continue,
                None => return Err(still_referenced(link, first)),
            };
            let Some(change) = self.changes.get_mut(&child.def.id) else { continue };
            match added.is_empty() {
                true => change.drop_added(&group.rows)?,
                false => change.replace_added(&group.rows, &added)?,
            }
            has_acted = true;
        }
        Ok(has_acted)
    }

    /// What comes in the place of the rows, one for each or none at all; `None` where the key refuses.
    async fn successors(
        &self,
        (child, link): (&TableEntry, &Link),
        gone: &HashMap<Key, Lost>,
        found: &Rows,
        group: &Group,
    ) -> SqlResult<Option<Rows>> {
        let new_of = |key: &Key| match &gone.get(key)?.what {
            Gone::Deleted => None,
            Gone::Changed(new) => Some(new),
        };
        let new: Option<Vec<&Vec<Option<String>>>> = group.keys.iter().map(new_of).collect();
        Ok(match (group.action, new) {
            (ReferentialAction::Refuse | ReferentialAction::Restrict, _) => None,
            (ReferentialAction::Cascade, None) => Some(Rows::none(child)),
            (ReferentialAction::Cascade, Some(new)) => {
                Some(self.with_new_keys(child, link, found, &new).await?)
            }
            (action @ (ReferentialAction::SetNull | ReferentialAction::SetDefault), _) => {
                Some(self.with_fillings(child, &link.key, found, action).await?)
            }
        })
    }

    async fn with_new_keys(
        &self,
        child: &TableEntry,
        link: &Link,
        found: &Rows,
        new: &[&Vec<Option<String>>],
    ) -> SqlResult<Rows> {
        let mut columns = found.batch().columns().to_vec();
        for (position, &ordinal) in link.key.columns.iter().enumerate() {
            let values = new.iter().map(|new| new[position].as_deref());
            let assigned = link.assigned(position, values)?;
            let mut parser = ColumnParser::new(&child.def.schema.columns[ordinal]);
            for row in 0..found.len() {
                parser.push(format_value(&assigned, row).as_deref())?;
            }
            columns[ordinal] = parser.finish();
        }
        self.replaced(child, found, columns).await
    }

    async fn with_fillings(
        &self,
        child: &TableEntry,
        key: &ForeignKey,
        found: &Rows,
        action: ReferentialAction,
    ) -> SqlResult<Rows> {
        let mut columns = found.batch().columns().to_vec();
        let mut defaults = Defaults::new(&child.def, &self.writing.catalog)?;
        for &ordinal in &key.columns {
            let column = &child.def.schema.columns[ordinal];
            if action == ReferentialAction::SetNull {
                let nulls = new_null_array(&column.ty.arrow(), found.len());
                columns[ordinal] = assign(&nulls, column)?;
                continue;
            }
            let mut parser = ColumnParser::new(column);
            for _ in 0..found.len() {
                parser.push(defaults.next(ordinal)?.as_deref())?;
            }
            columns[ordinal] = parser.finish();
        }
        self.replaced(child, found, columns).await
    }

    async fn replaced(
        &self,
        child: &TableEntry,
        found: &Rows,
        columns: Vec<ArrayRef>,
    ) -> SqlResult<Rows> {
        let rows = batch(&child.def.schema.arrow(), columns, found.len())?;
        let rows = checked(&child.def, &self.writing.catalog, rows)?;
        let ids = match &child.columns {
            // The ids of a part are those of its rows alone.
            Some(_) => child.take_row_ids(rows.num_rows()).await?,
            None => found.ids().clone(),
        };
        Ok(Rows::new(rows, ids))
    }
}

impl Change {
    /// Puts others in the place of rows that come.
    fn replace_added(&mut self, rows: &[u32], others: &Rows) -> SqlResult<()> {
        let count = self.added.len() as u32;
        let mut places: Vec<u32> = (0..count).collect();
        for (other, &row) in rows.iter().enumerate() {
            places[row as usize] = count + other as u32;
        }
        self.added = self.added.and(others)?.take(&places)?;
        Ok(())
    }

    /// Lets rows not come: what was to become of those that go comes to nothing.
    fn drop_added(&mut self, rows: &[u32]) -> SqlResult<()> {
        let dropped: HashSet<u32> = rows.iter().copied().collect();
        let (count, removed) = (self.added.len() as u32, self.removed.len() as u32);
        let first_pair = count - self.pairs as u32;
        let (mut left, mut gone, mut pairs) = (vec![], vec![], vec![]);
        for row in 0..count {
            let is_dropped = dropped.contains(&row);
            if !is_dropped {
                left.push(row);
            }
            if row >= first_pair {
                let before = removed - (count - row);
                if is_dropped { gone.push(before) } else { pairs.push(before) }
            }
        }
        self.pairs = pairs.len();
        let others = 0..removed - (count - first_pair);
        let places: Vec<u32> = others.chain(gone).chain(pairs).collect();
        self.removed = self.removed.take(&places)?;
        self.added = self.added.take(&left)?;
        Ok(())
    }
}

//! From when on a column table is merged.

use storage::Tree;

use crate::catalog::entry::TableEntry;
use crate::columns::table::Columns;
use crate::settings::configuration::Configuration;

/// Bytes of a delta from which on it is merged, however few its rows are: four bodies of chunks.
pub(crate) const DELTA_BYTES: u64 = 16 << 20;

/// From when on a column table is merged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Rows of the delta; 0: tables are not merged.
    pub(crate) rows: u64,
    /// Deleted rows of a part, in percent of its rows.
    pub(crate) deleted: u64,
    page_bytes: usize,
}

/// What a table had when there was nothing in it that could be merged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Looked {
    delta: u64,
    deleted: u64,
}

/// What is to be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Rows of the delta become a part.
    Delta,
    /// A part is written anew without its deleted rows.
    Part,
}

impl Bounds {
    /// Those of the settings.
    pub(crate) fn of(configuration: &Configuration, page_bytes: usize) -> Bounds {
        Bounds {
            page_bytes,
            rows: configuration.count("column_merge_rows") as u64,
            deleted: configuration.count("column_merge_deleted") as u64,
        }
    }

    /// Whether tables are merged at all.
    pub(crate) fn are_off(&self) -> bool {
        self.rows == 0
    }

    /// What of a table is to be merged, which had so much when nothing could be. Its chunks lie in the file.
    pub(crate) fn due(&self, entry: &TableEntry, looked: Looked) -> Option<Due> {
        let columns = entry.columns.as_ref();
        let columns = columns.filter(|columns| columns.remote.is_none() && !self.are_off())?;
        let now = Looked::at(entry, columns);
        // Half as much again makes another look worth it, and so does what has begun anew.
        let has_grown = |now: u64, then: u64| now > then + then / 2 || now < then / 2;
        let is_large = now.delta >= self.rows || self.bytes(&entry.tree) >= DELTA_BYTES;
        if is_large && has_grown(now.delta, looked.delta) {
            return Some(Due::Delta);
        }
        let rows: u64 = columns.parts.iter().map(|part| part.row_count).sum();
        let is_hollow = self.is_hollow(now.deleted, rows);
        (is_hollow && has_grown(now.deleted, looked.deleted)).then_some(Due::Part)
    }

    fn bytes(&self, tree: &Tree) -> u64 {
        let stats = tree.stats();
        (stats.leaf_pages + stats.overflow_pages) * self.page_bytes as u64
    }

    /// Whether so many rows of so many are enough of them to write the others anew.
    pub(crate) fn is_hollow(&self, deleted: u64, rows: u64) -> bool {
        deleted > 0 && u128::from(deleted) * 100 >= u128::from(rows) * u128::from(self.deleted)
    }
}

impl Looked {
    fn at(entry: &TableEntry, columns: &Columns) -> Looked {
        let entries = |tree: &Tree| tree.stats().entries;
        Looked { delta: entries(&entry.tree), deleted: entries(&columns.deleted) }
    }

    /// The same when nothing of this kind could be merged.
    pub(crate) fn in_vain(self, entry: &TableEntry, due: Due) -> Looked {
        let Some(columns) = &entry.columns else { return self };
        let now = Looked::at(entry, columns);
        match due {
            Due::Delta => Looked { delta: now.delta, ..self },
            Due::Part => Looked { deleted: now.deleted, ..self },
        }
    }

    /// The same when something was merged: what there is now is another table.
    pub(crate) fn shrunk(self, due: Due) -> Looked {
        match due {
            Due::Delta => Looked { delta: 0, ..self },
            Due::Part => Looked { deleted: 0, ..self },
        }
    }
}

//! What a client's table is besides its rows, and random statements that change that.

use plan::catalog::{IndexMethod, TableStorage};
use stdx::Prng;

use crate::catalog::snapshot::Snapshot;
use crate::comments::subject::Subject;

/// What a statement that changes definitions leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Defined {
    comment: Option<String>,
    /// The column that comes and goes.
    has_column: bool,
    /// The method of the index that comes and goes.
    index: Option<IndexMethod>,
}

/// A statement that changes no row, whatever else it does.
pub(super) struct Definition {
    pub(super) sql: String,
    change: Change,
}

enum Change {
    Nothing,
    Comment(String),
    Column(bool),
    NewIndex(IndexMethod),
    NoIndex,
}

impl Definition {
    pub(super) fn random(prng: &mut Prng, number: usize, storage: TableStorage) -> Definition {
        let t = format!("t{number}");
        let index = format!("create index if not exists {t}_s on {t}");
        let (sql, change) = match prng.below(9) {
            8 if storage == TableStorage::Column => {
                (format!("reorganize table {t}"), Change::Nothing)
            }
            0 => (format!("reorganize table {t}"), Change::Nothing),
            1 => (format!("analyze {t}"), Change::Nothing),
            2 => (format!("{index} (v, k) include (s)"), Change::NewIndex(IndexMethod::Tree)),
            3 => (format!("drop index if exists {t}_s"), Change::NoIndex),
            4 => {
                let sql = format!("alter table {t} add column if not exists c int default 7");
                (sql, Change::Column(true))
            }
            5 => (format!("alter table {t} drop column if exists c"), Change::Column(false)),
            6 => {
                let text = format!("comment {}", prng.below(100));
                (format!("comment on table {t} is '{text}'"), Change::Comment(text))
            }
            7 => (format!("{index} using hash (v)"), Change::NewIndex(IndexMethod::Hash)),
            _ => ("checkpoint".to_owned(), Change::Nothing),
        };
        Definition { sql, change }
    }

    /// What it makes of a table.
    pub(super) fn after(&self, before: &Defined) -> Defined {
        let mut after = before.clone();
        match &self.change {
            Change::Nothing => {}
            Change::Comment(text) => after.comment = Some(text.clone()),
            Change::Column(is_there) => after.has_column = *is_there,
            Change::NewIndex(method) => after.index = after.index.or(Some(*method)),
            Change::NoIndex => after.index = None,
        }
        after
    }
}

impl Defined {
    /// What the catalog has of the table of a client; nothing where there is none.
    pub(super) fn found(catalog: &Snapshot, number: usize) -> Option<Defined> {
        let def = &catalog.tables.get(&format!("t{number}"))?.def;
        let index = format!("t{number}_s");
        let index = def.indexes.iter().find(|other| other.name == index);
        Some(Defined {
            comment: catalog.comments.get(&Subject::Table(def.id.0)).cloned(),
            has_column: def.schema.columns.iter().any(|column| column.name == "c"),
            index: index.map(|index| index.method),
        })
    }
}

//! Temporary tables: each session sees its own, in front of permanent tables of the same name.
//!
//! The catalog keeps them apart by session. A session works on a view of the catalog in which its own
//! stand among the others; a change is made on the view and taken apart again ([`Snapshot::settle`]).
//! On disk nothing names their trees, so they go when the process has died.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use plan::catalog::TableId;
use storage::TreeId;

use super::entry::TableEntry;
use super::snapshot::{Definitions, Snapshot};

/// A session that sees a catalog: with its temporary tables, but for those whose names its
/// statement means otherwise, such as `public.t`.
#[derive(Debug)]
pub(crate) struct Seer {
    pub(crate) session: u64,
    /// Names of temporary tables in whose places those of `public` are seen.
    aside: Mutex<BTreeSet<String>>,
}

impl Seer {
    pub(crate) fn new(session: u64) -> Seer {
        Seer { session, aside: Mutex::default() }
    }

    /// Leaves the temporary tables of these names aside, and no others; whether that is another
    /// view.
    pub(crate) fn leave_aside(&self, names: BTreeSet<String>) -> bool {
        let mut aside = self.aside.lock().unwrap_or_else(PoisonError::into_inner);
        let is_other = *aside != names;
        *aside = names;
        is_other
    }

    fn leaves_aside(&self, name: &str) -> bool {
        self.aside.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }
}

/// The temporary tables of all sessions.
#[derive(Clone, Default)]
pub(crate) struct Temporaries {
    /// The session of each, by the id of the table.
    sessions: BTreeMap<u32, u64>,
    /// Those that the view of their session does not hold, by name.
    apart: BTreeMap<u64, BTreeMap<String, Arc<TableEntry>>>,
    /// In the view of a session: permanent tables behind temporary ones.
    shadowed: Vec<Arc<TableEntry>>,
    /// In the view of a session: its own temporary tables whose names mean others now.
    aside: Vec<Arc<TableEntry>>,
}

impl Snapshot {
    /// True if it is the view of a session that has temporary tables.
    pub(crate) fn has_temporary(&self) -> bool {
        let Temporaries { sessions, shadowed, aside, .. } = &self.temporaries;
        let is_placed = |id: &u32| self.tables.by_id(TableId(*id)).is_some();
        !aside.is_empty() || !shadowed.is_empty() || sessions.keys().any(is_placed)
    }

    /// Whether the session has temporary tables that this version keeps apart.
    pub(crate) fn has_apart(&self, session: u64) -> bool {
        self.temporaries.apart.contains_key(&session)
    }

    /// The catalog as the session sees it.
    pub(crate) fn seen_by(&self, seer: &Seer) -> Snapshot {
        let mut view = self.clone();
        let own = view.temporaries.apart.remove(&seer.session).unwrap_or_default();
        for (name, entry) in own {
            match seer.leaves_aside(&name) {
                true => view.temporaries.aside.push(entry),
                false => view.place(entry),
            }
        }
        view
    }

    /// The same catalog as its session sees it now.
    pub(crate) fn seen_again(&self, seer: &Seer) -> Snapshot {
        let mut settled = self.clone();
        settled.settle();
        settled.seen_by(seer)
    }

    /// The catalog as a session sees it, if it is one that sees more than others.
    pub(crate) fn for_session(self: Arc<Snapshot>, seer: Option<&Seer>) -> Arc<Snapshot> {
        match seer {
            Some(seer) if self.has_apart(seer.session) => Arc::new(self.seen_by(seer)),
            _ => self,
        }
    }

    /// The temporary table of a session, wherever its view has it.
    pub(crate) fn temporary(&self, session: u64, name: &str) -> Option<&Arc<TableEntry>> {
        let placed = self.tables.get(name).filter(|entry| self.is_temporary_id(entry.def.id.0));
        let aside = || self.temporaries.aside.iter().find(|entry| entry.def.name == name);
        placed.or_else(aside).or_else(|| self.temporaries.apart.get(&session)?.get(name))
    }

    /// The table of this name that all sessions see.
    pub(crate) fn permanent(&self, name: &str) -> Option<&Arc<TableEntry>> {
        let placed = self.tables.get(name).filter(|entry| !self.is_temporary_id(entry.def.id.0));
        placed.or_else(|| self.temporaries.shadowed.iter().find(|entry| entry.def.name == name))
    }

    /// The temporary table that a name means: its own, or that of an index or of a sequence.
    pub(crate) fn temporary_of(&self, name: &str) -> Option<&Arc<TableEntry>> {
        let of_index = || self.index(name).map(|(entry, _)| entry);
        let of_sequence = || self.numbered_column(name).map(|(entry, _)| entry);
        let found = self.tables.get(name).or_else(of_index).or_else(of_sequence);
        found.filter(|entry| self.is_temporary_id(entry.def.id.0))
    }

    /// All tables: those that temporary ones of the session hide, too.
    pub(crate) fn all_tables(&self) -> impl Iterator<Item = &Arc<TableEntry>> {
        self.tables.values().chain(&self.temporaries.shadowed)
    }

    /// The tables that refer to one: those that temporary ones of the session hide, too.
    pub(crate) fn referring(&self, parent: TableId) -> impl Iterator<Item = &Arc<TableEntry>> {
        let refers = move |entry: &&Arc<TableEntry>| {
            entry.def.constraints.foreign_keys.iter().any(|key| key.table == parent.0)
        };
        self.tables.referring(parent).chain(self.temporaries.shadowed.iter().filter(refers))
    }

    /// A table, all that refer to it, and all to which it refers.
    pub(crate) fn around<'a>(
        &'a self,
        entry: &'a Arc<TableEntry>,
    ) -> impl Iterator<Item = &'a Arc<TableEntry>> {
        let referring = self.referring(entry.def.id);
        std::iter::once(entry).chain(referring).chain(self.tables.referred(entry))
    }

    /// The temporary table with this id that the view leaves aside.
    pub(crate) fn aside_table(&self, id: TableId) -> Option<&Arc<TableEntry>> {
        self.temporaries.aside.iter().find(|entry| entry.def.id == id)
    }

    /// The table with this id, if a temporary one hides it.
    pub(crate) fn hidden_table(&self, id: TableId) -> Option<&Arc<TableEntry>> {
        self.temporaries.shadowed.iter().find(|entry| entry.def.id == id)
    }

    /// Whether a temporary table hides that with this id.
    pub(crate) fn is_hidden(&self, id: TableId) -> bool {
        self.hidden_table(id).is_some()
    }

    fn place(&mut self, entry: Arc<TableEntry>) {
        let displaced = self.tables.insert(entry);
        self.temporaries.shadowed.extend(displaced);
    }

    /// Adds a temporary table of the session to its view.
    pub(crate) fn put_temporary(&mut self, session: u64, entry: TableEntry) {
        self.temporaries.sessions.insert(entry.def.id.0, session);
        self.place(Arc::new(entry));
    }

    /// Whether the table named so is a temporary one.
    pub(crate) fn is_temporary(&self, name: &str) -> bool {
        let entry = self.tables.get(name);
        entry.is_some_and(|entry| self.is_temporary_id(entry.def.id.0))
    }

    /// Whether the table with this id is a temporary one.
    pub(crate) fn is_temporary_id(&self, id: u32) -> bool {
        self.temporaries.sessions.contains_key(&id)
    }

    /// The names of the temporary tables among those that are seen.
    pub(crate) fn temporary_names(&self) -> Vec<String> {
        self.tables.keys().filter(|name| self.is_temporary(name)).cloned().collect()
    }

    /// Takes the view of a session apart again.
    pub(crate) fn settle(&mut self) {
        if self.temporaries.sessions.is_empty() {
            return;
        }
        let Definitions { tables, temporaries, .. } = &mut **self;
        let Temporaries { sessions, apart, shadowed, aside } = temporaries;
        for (id, session) in sessions.iter() {
            let name = tables.by_id(TableId(*id)).map(|entry| entry.def.name.clone());
            let taken = name.and_then(|name| tables.remove(&name));
            if let Some(entry) = taken {
                apart.entry(*session).or_default().insert(entry.def.name.clone(), entry);
            }
        }
        for entry in aside.drain(..) {
            if let Some(session) = sessions.get(&entry.def.id.0) {
                apart.entry(*session).or_default().insert(entry.def.name.clone(), entry);
            }
        }
        for entry in shadowed.drain(..) {
            if !tables.contains_key(&entry.def.name) {
                tables.insert(entry);
            }
        }
        let left: Vec<u32> =
            apart.values().flat_map(|tables| tables.values().map(|t| t.def.id.0)).collect();
        sessions.retain(|id, _| left.contains(id));
    }

    /// Lets the temporary tables of sessions that have ended go.
    pub(crate) fn end_sessions(&mut self, ended: &[u64]) {
        let mut trees = vec![];
        for session in ended {
            let tables = self.temporaries.apart.remove(session).unwrap_or_default();
            trees.extend(tables.values().flat_map(|entry| entry.trees()));
        }
        self.temporaries.sessions.retain(|_, session| !ended.contains(session));
        self.abandon(&trees);
    }

    /// The trees of all temporary tables, of a settled catalog.
    pub(crate) fn temporary_trees(&self) -> Vec<TreeId> {
        let tables = self.temporaries.apart.values().flat_map(BTreeMap::values);
        tables.flat_map(|entry| entry.trees()).collect()
    }

    /// Ids of all tables, temporary ones too.
    pub(crate) fn table_ids(&self) -> Vec<u32> {
        let permanent = self.tables.ids().map(|id| id.0);
        permanent.chain(self.temporaries.sessions.keys().copied()).collect()
    }
}

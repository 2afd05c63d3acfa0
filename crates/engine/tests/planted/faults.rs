//! The faults, and the simulations that have to find each.

use self::Simulation::{Cuts, Histories, Members, Places, Statements};

/// A mistake that somebody could make in one line.
pub struct Fault {
    /// As `planted::is` asks for it.
    pub name: &'static str,
    /// The file, below `crates/`, in which that stands.
    pub place: &'static str,
    /// The simulations that look for it.
    pub by: &'static [Simulation],
}

/// A simulation.
#[derive(Clone, Copy, Debug)]
pub enum Simulation {
    /// `engine::simulation::run`: statements of clients, under faults of the machine.
    Statements,
    /// `storage::simulation::run`, of files whose pages lie out of place.
    Places,
    /// `storage::simulation::members_come_and_go`.
    Members,
    /// `history::record` and `History::check` at each level.
    Histories,
    /// `history::cut` at each level: what a power cut leaves of a history.
    Cuts,
}

const fn fault(name: &'static str, place: &'static str, by: &'static [Simulation]) -> Fault {
    Fault { name, place, by }
}

/// What makes statements durable, and what they leave.
const OF_STATEMENTS: &[Simulation] = &[Statements];

/// Where pages lie.
const OF_PLACES: &[Simulation] = &[Places];

/// On which files or devices a database lies.
const OF_MEMBERS: &[Simulation] = &[Members];

/// What transactions do to each other.
const OF_HISTORIES: &[Simulation] = &[Histories];

/// What of them is durable.
const OF_CUTS: &[Simulation] = &[Cuts];

/// All, those of statements first.
#[rustfmt::skip]
pub const FAULTS: &[Fault] = &[
    fault("log-not-synced", "storage/src/log/mod.rs", OF_STATEMENTS),
    fault("sync-error-ignored", "storage/src/log/mod.rs", OF_STATEMENTS),
    fault("block-begins-anew", "storage/src/log/mod.rs", OF_STATEMENTS),
    fault("torn-frame-taken", "storage/src/log/frame.rs", OF_STATEMENTS),
    fault("stale-frames", "storage/src/log/frame.rs", OF_STATEMENTS),
    fault("last-frame-forgotten", "storage/src/log/frame.rs", OF_STATEMENTS),
    fault("updates-not-replayed", "storage/src/log/recover.rs", OF_STATEMENTS),
    fault("checkpoint-not-synced", "storage/src/store/checkpoint.rs", OF_STATEMENTS),
    fault("pages-before-header", "storage/src/store/checkpoint.rs", OF_STATEMENTS),
    fault("images-not-synced", "storage/src/store/settle.rs", OF_STATEMENTS),
    fault("freed-at-once", "storage/src/space.rs", OF_STATEMENTS),
    fault("dropped-at-once", "storage/src/space.rs", OF_STATEMENTS),
    fault("freed-pages-lost", "storage/src/space.rs", OF_STATEMENTS),
    fault("long-values-stay", "storage/src/tree/change.rs", OF_STATEMENTS),
    fault("map-not-written", "storage/src/store/placed.rs", OF_PLACES),
    fault("map-extents-taken-for-dead", "storage/src/page_map/extents.rs", OF_PLACES),
    fault("places-left-at-once", "storage/src/page_map/mod.rs", OF_PLACES),
    fault("moved-images-left-at-once", "storage/src/page_map/extents.rs", OF_PLACES),
    fault("moved-places-fresh", "storage/src/page_map/extents.rs", OF_PLACES),
    fault("moves-in-the-newest-map", "storage/src/page_map/moves.rs", OF_PLACES),
    fault("moves-not-synced", "storage/src/store/cleaner.rs", OF_PLACES),
    fault("places-fresh-for-ever", "storage/src/page_map/extents.rs", OF_PLACES),
    fault("volume-one-slot", "storage/src/volume/mod.rs", OF_MEMBERS),
    fault("volume-table-not-synced", "storage/src/volume/install.rs", OF_MEMBERS),
    fault("volume-others-not-synced", "storage/src/volume/transfers.rs", OF_MEMBERS),
    fault("volume-moved-not-synced", "storage/src/volume/relocate.rs", OF_MEMBERS),
    fault("index-skipped", "engine/src/dml/entries.rs", OF_STATEMENTS),
    fault("deleted-parts-forgotten", "engine/src/dml/entries.rs", OF_STATEMENTS),
    fault("merged-gaps-seen", "engine/src/parts/replace.rs", OF_STATEMENTS),
    fault("deletes-not-logged", "engine/src/dml/entries.rs", OF_STATEMENTS),
    fault("unique-not-checked", "engine/src/dml/entries.rs", OF_STATEMENTS),
    fault("row-id-twice", "engine/src/catalog/row_ids.rs", OF_STATEMENTS),
    fault("counter-lost", "engine/src/versions/publish.rs", OF_STATEMENTS),
    fault("comments-forgotten", "engine/src/catalog/persist.rs", OF_STATEMENTS),
    fault("altered-table-forgotten", "engine/src/catalog/persist.rs", OF_STATEMENTS),
    fault("orphans-stay", "engine/src/catalog/persist.rs", OF_STATEMENTS),
    fault("left-trees-stay", "engine/src/catalog/snapshot.rs", OF_STATEMENTS),
    fault("definition-not-awaited", "engine/src/writing.rs", OF_STATEMENTS),
    fault("rollback-puts-nothing-back", "engine/src/block/undoing.rs", OF_STATEMENTS),
    fault("savepoint-stays-in-log", "engine/src/block.rs", OF_STATEMENTS),
    fault("no-validation", "txn/src/undo/serializable.rs", OF_HISTORIES),
    fault("queries-unvalidated", "txn/src/undo/serializable.rs", OF_HISTORIES),
    fault("readers-forgotten", "txn/src/undo/serializable.rs", OF_HISTORIES),
    fault("scans-not-noted", "txn/src/visible.rs", OF_HISTORIES),
    fault("lookups-not-noted", "txn/src/visible.rs", OF_HISTORIES),
    fault("first-rows-not-noted", "txn/src/visible.rs", OF_HISTORIES),
    fault("points-not-noted", "txn/src/visible.rs", OF_HISTORIES),
    fault("reads-merged-wrongly", "txn/src/undo/reads.rs", OF_HISTORIES),
    fault("reads-lost-with-first-write", "txn/src/undo.rs", OF_HISTORIES),
    fault("lost-update", "engine/src/dml/change.rs", OF_HISTORIES),
    fault("locks-too-weak", "txn/src/locks/state.rs", OF_HISTORIES),
    fault("deadlock-unseen", "txn/src/locks/state.rs", OF_HISTORIES),
    fault("early-release", "engine/src/block.rs", OF_HISTORIES),
    fault("does-not-run-again", "engine/src/block.rs", OF_HISTORIES),
    fault("for-update-unlocked", "engine/src/session/row_locks.rs", OF_HISTORIES),
    fault("snapshot-per-statement", "engine/src/session/transaction.rs", OF_HISTORIES),
    fault("stale-snapshot", "engine/src/database.rs", OF_HISTORIES),
    fault("own-step-unseen", "txn/src/undo.rs", OF_HISTORIES),
    fault("in-flight-seen", "txn/src/undo.rs", OF_HISTORIES),
    fault("undone-hides-own", "txn/src/undo.rs", OF_HISTORIES),
    fault("records-go-early", "txn/src/undo/records.rs", OF_HISTORIES),
    fault("inserts-unrecorded", "engine/src/dml/entries.rs", OF_HISTORIES),
    fault("index-undo-missing", "engine/src/dml/entries.rs", OF_HISTORIES),
    fault("ends-with-newest", "engine/src/versions/chain.rs", OF_HISTORIES),
    fault("acknowledged-before-visible", "engine/src/versions/chain.rs", OF_HISTORIES),
    fault("acknowledged-before-flush", "engine/src/versions/chain.rs", OF_CUTS),
    fault("checkpoint-keeps-in-flight", "engine/src/versions/publish.rs", OF_CUTS),
    fault("group-commit-forgets", "engine/src/versions/pending.rs", OF_CUTS),
    fault("last-statement-logged", "engine/src/block.rs", OF_CUTS),
    fault("left-to-the-checkpoint", "engine/src/versions/publish.rs", OF_CUTS),
    fault("next-run-forgotten", "storage/src/log/recover.rs", OF_CUTS),
    fault("next-run-not-named", "storage/src/store/settle.rs", OF_CUTS),
    fault("left-log-given", "storage/src/space.rs", OF_CUTS),
];

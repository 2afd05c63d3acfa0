//! Members that come and go while rows are committed, over power cuts and failing writes and syncs:
//! whatever the table on the first member says then opens, with all rows.

use std::ops::Bound::Unbounded;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use runtime::IoCounters;
use runtime::sim::{Disk, FaultPlan};
use stdx::Prng;

use super::world::{GEOMETRY, MEMBER_BITS, PATH, Report, ensure, options_for, world};
use crate::error::{Result, StorageError};
use crate::log::redo::Redo;
use crate::store::{Store, StoreOptions};
use crate::tree::cursor::Direction;
use crate::volume::VolumeOptions;

/// Members that join or leave in a run, and commits beside each.
const CHANGES: u64 = 8;
const COMMITS: u64 = 5;

/// Rows that there are before.
const ROWS: u64 = 300;

fn options(seed: u64, members: Vec<PathBuf>) -> StoreOptions {
    let volume = VolumeOptions { members, geometry: GEOMETRY, ..VolumeOptions::default() };
    StoreOptions { log: true, volume, ..options_for(seed, 64) }
}

/// Names so long that a table takes several sectors, of which a power cut may leave some.
fn path(number: u64) -> PathBuf {
    format!("{PATH}.{}.{number}", "x".repeat(200)).into()
}

/// Rows 0, 1, 2 and so on, and how many of them are known to be durable.
struct Workload {
    store: Store,
    prng: Prng,
    next: u64,
    durable: Arc<AtomicU64>,
}

impl Workload {
    async fn run(seed: u64, durable: Arc<AtomicU64>) -> Result<()> {
        let count = 1 + (seed & MEMBER_BITS) / 7 % 2;
        let members = (0..count).map(path).collect();
        let store = Store::create(PATH.as_ref(), options(seed, members)).await?;
        let mut this = Workload { store, prng: Prng::new(seed), next: 0, durable };
        for _ in 0..ROWS {
            this.insert().await?;
        }
        this.store.checkpoint().await?;
        this.durable.store(this.next, Ordering::Relaxed);
        for change in 0..CHANGES {
            this.change_members(change).await?;
        }
        this.store.checkpoint().await
    }

    async fn insert(&mut self) -> Result<Redo> {
        let (key, value) = (self.next.to_be_bytes(), [self.next as u8; 200]);
        let catalog = self.store.catalog();
        catalog.insert(&key, &value).await?;
        let mut redo = Redo::default();
        redo.push(catalog.id(), &key, Some(&value));
        self.next += 1;
        Ok(redo)
    }

    async fn commit(&mut self) -> Result<()> {
        let redo = self.insert().await?;
        match redo.len() <= self.store.log_room() {
            true => self.store.log(redo).await?,
            false => self.store.checkpoint().await?,
        }
        self.durable.store(self.next, Ordering::Relaxed);
        Ok(())
    }

    /// One joins or leaves beside commits.
    async fn change_members(&mut self, number: u64) -> Result<()> {
        let (store, mut members) = (self.store.clone(), self.store.members());
        let joins = members.len() == 1 || members.len() < 4 && self.prng.chance(0.5);
        let leaver = 1 + self.prng.below(members.len().max(2) as u64 - 1) as usize;
        let path = match joins {
            true => path(10 + number % 3),
            false => members.swap_remove(leaver).path,
        };
        // Its path may still be that of a member.
        if joins && members.iter().any(|member| member.path == path) {
            return Ok(());
        }
        let changing = runtime::spawn(async move {
            match joins {
                true => store.add_member(&path, true).await,
                false => store.remove_member(&path).await,
            }
        });
        let mut committed = Ok(());
        for _ in 0..self.prng.below(COMMITS + 1) {
            committed = match committed {
                Ok(()) => self.commit().await,
                failed => failed,
            };
        }
        let changed = changing.await.unwrap_or(Err(StorageError::Stopped));
        committed.and(changed)
    }
}

/// The rows of the database, if there is one.
fn rows(disk: &Disk, seed: u64) -> Result<Option<u64>> {
    world(disk, seed, move || async move {
        let store = match Store::open(PATH.as_ref(), options(seed, vec![])).await {
            Err(StorageError::NotADatabase | StorageError::Io { .. }) => return Ok(None),
            store => store?,
        };
        store.verify().await?;
        let (io, mut next, mut key) = (IoCounters::default(), 0u64, vec![]);
        let mut cursor = store.catalog().range(Unbounded, Unbounded, Direction::Forward);
        while let Some(leaf) = cursor.next(&io).await? {
            for index in 0..leaf.len() {
                let value = leaf.entry(index, &mut key);
                assert_eq!(
                    (key.as_slice(), value),
                    (&next.to_be_bytes()[..], &[next as u8; 200][..])
                );
                next += 1;
            }
        }
        store.catalog().insert(b"after", b"").await?;
        store.checkpoint().await?;
        Ok(Some(next))
    })
}

/// The end of a run.
struct Played {
    disk: Disk,
    durable: u64,
    has_failed: bool,
}

fn play(seed: u64, plan: FaultPlan) -> std::result::Result<Played, String> {
    let (disk, durable) = (Disk::new(seed), Arc::<AtomicU64>::default());
    disk.faults(plan);
    let told = Arc::clone(&durable);
    let outcome = world(&disk, seed, move || Workload::run(seed, told));
    let has_failed = outcome.is_err();
    disk.faults(FaultPlan::default());
    let durable = durable.load(Ordering::Relaxed);
    for how in ["a power cut", "a kill"] {
        let left = if how == "a kill" { disk.kill(seed) } else { disk.crash(seed) };
        let found = rows(&left, seed).map_err(|error| format!("members after {how}: {error}"))?;
        let found = found.unwrap_or(0);
        let is_allowed = found == durable || found == durable + 1 || durable == 0;
        ensure(is_allowed, || format!("{found} rows after {how}, {durable} were durable"))?;
    }
    Ok(Played { disk, durable, has_failed })
}

/// A power cut at a write that the seed chooses, and writes and syncs that fail.
pub(super) fn run(seed: u64) -> std::result::Result<Report, String> {
    let whole = play(seed, FaultPlan::default())?;
    ensure(!whole.has_failed && whole.durable > ROWS, || "failed without a fault".to_owned())?;
    let mut prng = Prng::new(seed);
    let write = 1 + prng.below(whole.disk.write_count());
    let cut = FaultPlan { crash_at_write: Some(write), ..FaultPlan::default() };
    let cut = play(seed, cut).map_err(|what| format!("power cut at write {write}: {what}"))?;
    let failing = FaultPlan { write_error: 0.004, sync_error: 0.004, ..FaultPlan::default() };
    let failing = play(seed, failing).map_err(|what| format!("failing: {what}"))?;
    let failed_writes = u64::from(failing.has_failed);
    let trace_hash = cut.disk.trace_hash();
    Ok(Report { crashes: 3, failed_writes, trace_hash, ..Report::default() })
}

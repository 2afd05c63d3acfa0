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

/// Rows that there are before, and those that a store gets which is opened again.
const ROWS: u64 = 300;
const ROWS_BEHIND: u64 = 600;

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

/// The rows of the database, if there is one, and how many there are behind them.
fn rows(disk: &Disk, seed: u64) -> Result<Option<(u64, u64)>> {
    world(disk, seed, move || async move {
        let store = match Store::open(PATH.as_ref(), options(seed, vec![])).await {
            Err(StorageError::NotADatabase | StorageError::Io { .. }) => return Ok(None),
            store => store?,
        };
        store.verify().await?;
        let (io, mut next, mut key, mut behind) = (IoCounters::default(), 0u64, vec![], 0);
        let mut cursor = store.catalog().range(Unbounded, Unbounded, Direction::Forward);
        while let Some(leaf) = cursor.next(&io).await? {
            for index in 0..leaf.len() {
                let value = leaf.entry(index, &mut key);
                let (number, filler) =
                    if key.len() == 8 { (&mut next, 200) } else { (&mut behind, 100) };
                assert!(key.ends_with(&number.to_be_bytes()), "row {number}");
                assert_eq!(value, &[*number as u8; 200][..filler], "row {number}");
                *number += 1;
            }
        }
        Ok(Some((next, behind)))
    })
}

/// Opens what is left, and lets rows and members come and go there.
fn go_on(disk: &Disk, seed: u64) -> Result<()> {
    // Of other random numbers: who joins now is not who has joined before.
    world(disk, seed + MEMBER_BITS + 1, move || async move {
        let store = Store::open(PATH.as_ref(), options(seed, vec![])).await?;
        for number in 0..ROWS_BEHIND {
            let key = [&b"behind"[..], &number.to_be_bytes()].concat();
            store.catalog().insert(&key, &[number as u8; 100]).await?;
        }
        store.checkpoint().await?;
        store.add_member(&path(20), true).await?;
        let leaver = store.members().swap_remove(1).path;
        if seed.is_multiple_of(2) { store.remove_member(&leaver).await } else { Ok(()) }
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
        let failed = |error| format!("members after {how}: {error}");
        let Some((found, _)) = rows(&left, seed).map_err(failed)? else {
            ensure(durable == 0, || {
                format!("no database after {how}, {durable} rows were durable")
            })?;
            continue;
        };
        let is_allowed = found == durable || found == durable + 1 || durable == 0;
        ensure(is_allowed, || format!("{found} rows after {how}, {durable} were durable"))?;
        go_on(&left, seed).map_err(failed)?;
        let again = rows(&left.crash(seed ^ 1), seed).map_err(failed)?;
        let is_whole = again == Some((found, ROWS_BEHIND));
        ensure(is_whole, || format!("{again:?} after {how} and a power cut, {found} before"))?;
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

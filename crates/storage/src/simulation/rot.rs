//! Flipped bits: each is reported as damage, or it changes nothing.

use runtime::sim::Disk;
use stdx::Prng;

use super::{PATH, Report, State, ensure, options_for, random_rows, state_of, world};
use crate::error::Result;
use crate::store::{Store, StoreOptions};
use crate::volume::VolumeOptions;

/// Flips of one run.
const FLIP_COUNT: u64 = 12;

const PAGE_BYTES: u64 = 4096;

/// In one file, of which each page is damaged.
fn options_of(seed: u64) -> StoreOptions {
    StoreOptions { volume: VolumeOptions::default(), ..options_for(seed, 256) }
}

/// A disk with a store at rest, all of it synced, and what the store holds.
fn build(seed: u64) -> Result<(Disk, State)> {
    let disk = Disk::new(seed);
    let state = world(&disk, seed, move || async move {
        let mut prng = Prng::new(seed);
        let store = Store::create(PATH.as_ref(), options_of(seed)).await?;
        for round in 0..3 {
            let id = store.create_tree().await?;
            let tree = store.tree(id)?;
            let mut loader = tree.bulk_loader().await?;
            for (key, value) in random_rows(&mut prng, 500) {
                loader.push(&key, &value).await?;
            }
            loader.finish().await?;
            store.catalog().insert(format!("tree {round}").as_bytes(), b"").await?;
            store.checkpoint().await?;
            if round == 1 {
                store.drop_tree(id).await?;
            }
        }
        let state = state_of(&store).await?;
        store.close().await;
        Ok(state)
    })?;
    Ok((disk, state))
}

/// Flips one bit in a copy of the disk and reads everything. True when the damage was reported.
fn flip(
    disk: &Disk,
    expected: &State,
    seed: u64,
    at: u64,
    bit: u8,
) -> std::result::Result<bool, String> {
    let copy = disk.crash(seed);
    ensure(copy.rot(PATH, at, 1 << bit), || format!("there is no byte {at}"))?;
    let found = world(&copy, seed, move || async move {
        let store = Store::open(PATH.as_ref(), options_of(seed)).await?;
        let state = state_of(&store).await?;
        store.verify().await?;
        Ok::<_, crate::error::StorageError>(state)
    });
    match found {
        Err(_) => Ok(true),
        Ok(state) if state == *expected => Ok(false),
        Ok(_) => Err(format!("bit {bit} of byte {at} of page {} went unnoticed", at / PAGE_BYTES)),
    }
}

/// The disk, what its store holds, and the pages of the file that were ever written.
fn prepare(seed: u64) -> std::result::Result<(Disk, State, Vec<u64>), String> {
    let (disk, state) = build(seed).map_err(|error| format!("building: {error}"))?;
    let bytes = disk.contents(PATH).ok_or("the store is gone")?;
    let pages = bytes.chunks(PAGE_BYTES as usize).enumerate();
    let written = pages.filter(|(_, page)| page.iter().any(|byte| *byte != 0));
    Ok((disk, state, written.map(|(page, _)| page as u64).collect()))
}

/// Random flips.
pub(super) fn run(seed: u64) -> std::result::Result<Report, String> {
    let (disk, state, pages) = prepare(seed)?;
    let mut prng = Prng::new(seed);
    let mut report = Report::default();
    for _ in 0..FLIP_COUNT {
        let page = pages[prng.below(pages.len() as u64) as usize];
        report += flip_in(&disk, &state, seed, page, &mut prng)?;
    }
    Ok(report)
}

fn flip_in(
    disk: &Disk,
    state: &State,
    seed: u64,
    page: u64,
    prng: &mut Prng,
) -> std::result::Result<Report, String> {
    let at = page * PAGE_BYTES + prng.below(PAGE_BYTES);
    let detected = flip(disk, state, seed, at, prng.below(8) as u8)?;
    Ok(Report { flips: 1, flips_detected: u64::from(detected), ..Report::default() })
}

/// Flips in each page.
pub(super) fn run_everywhere(seed: u64, bit_count: u32) -> std::result::Result<Report, String> {
    let (disk, state, pages) = prepare(seed)?;
    let mut prng = Prng::new(seed);
    let mut report = Report { seeds: 1, ..Report::default() };
    for page in pages {
        for _ in 0..bit_count {
            report += flip_in(&disk, &state, seed, page, &mut prng)?;
        }
    }
    Ok(report)
}

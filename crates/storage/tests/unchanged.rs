//! Files whose pages lie out of place, opened to be checked: recovery, cleaner and checkpoints
//! write nothing to them (`StoreOptions::unchanged`).

mod placed;
mod simulated;

use std::path::Path;

use placed::{PATH, key, options};
use runtime::fs::{File, OpenOptions};
use runtime::sim::{Disk, FaultPlan};
use runtime::{Config, IoBuf, IoCounters, Runtime};
use simulated::simulated;
use storage::{Layout, Redo, Result, Store, StoreOptions, VerifyReport};

const ROWS: u32 = 2000;

fn logged() -> StoreOptions {
    StoreOptions { log: true, ..options(48) }
}

/// Loads a tree, changes it so much that extents are cleaned, and logs a commit now and then.
async fn change(layout: Layout) -> Result<()> {
    let store = Store::create(PATH.as_ref(), StoreOptions { layout, ..logged() }).await?;
    let tree = store.tree(store.create_tree().await?)?;
    let mut loader = tree.bulk_loader().await?;
    for row in 0..ROWS {
        loader.push(&key(row), &[0; 100]).await?;
    }
    loader.finish().await?;
    store.checkpoint().await?;
    let io = IoCounters::default();
    for round in 1..=12u32 {
        for row in (round..ROWS).step_by(17) {
            let row = row.wrapping_mul(2_654_435_761) % ROWS;
            tree.replace(&key(row), &[round as u8; 100], &io).await?;
        }
        if round % 4 == 0 {
            store.checkpoint().await?;
        }
        store.catalog().insert(&key(round), b"logged").await?;
        let mut redo = Redo::default();
        redo.push(store.catalog().id(), &key(round), Some(b"logged"));
        store.log(redo).await?;
    }
    Ok(())
}

/// The number of the write among all at which the power fails, and what is left then.
fn cut(part: u64, layout: Layout) -> Disk {
    let whole = Disk::new(part);
    simulated(&whole, move || async move { change(layout).await.unwrap() });
    let disk = Disk::new(part);
    let crash_at_write = Some(whole.write_count() * part / 16);
    disk.faults(FaultPlan { crash_at_write, ..FaultPlan::default() });
    simulated(&disk, move || async move { drop(change(layout).await) });
    disk.crash(part)
}

/// The same in the middle of a conversion.
fn cut_conversion(part: u64) -> Disk {
    let convert =
        |disk: &Disk| simulated(disk, || async { Store::convert(PATH.as_ref(), logged()).await });
    let disk = cut(15, Layout::InPlace);
    let whole = disk.crash(1);
    convert(&whole).unwrap();
    let crash_at_write = Some(1 + whole.write_count() * part / 16);
    disk.faults(FaultPlan { crash_at_write, ..FaultPlan::default() });
    convert(&disk).unwrap_err();
    disk.crash(part)
}

/// Checks a file that stays as it is, and changes it for as long as it is open.
async fn check(path: &Path) -> Result<VerifyReport> {
    let options = StoreOptions { unchanged: true, ..logged() };
    let store = Store::open(path, options.clone()).await?;
    let report = store.verify().await?;
    let tree = store.tree(store.create_tree().await?)?;
    for row in 0..ROWS {
        tree.insert(&key(row), &[1; 100]).await?;
    }
    store.checkpoint().await?;
    store.verify().await?;
    drop(tree);
    store.close().await;
    Ok(report)
}

async fn check_in_place(path: &Path) -> Result<VerifyReport> {
    let store = Store::open(path, logged()).await?;
    let report = store.verify().await;
    store.close().await;
    report
}

#[test]
fn nothing_is_written_to_a_file_that_is_checked() {
    let cut_out_of_place = |part| cut(part, options(48).layout);
    let disks = (2..=15).map(cut_out_of_place).chain((1..=15).map(cut_conversion));
    let mut recovered = 0;
    for (at, disk) in disks.enumerate() {
        let before = disk.contents(PATH).expect("the file was made");
        let found = simulated(&disk, || async { check(PATH.as_ref()).await.unwrap() });
        assert!(disk.contents(PATH).expect("the file is there") == before, "disk {at}");
        // A check finds the same as recovery, which writes.
        let entries = |report: &VerifyReport| -> u64 {
            report.trees.iter().map(|(_, tree)| tree.entries).sum()
        };
        let expected = simulated(&disk, || async { check_in_place(PATH.as_ref()).await.unwrap() });
        assert_eq!(entries(&found), entries(&expected), "disk {at}");
        recovered += u64::from(disk.contents(PATH).expect("the file is there") != before);
    }
    assert!(recovered > 10, "{recovered} files were changed by recovery");
}

#[test]
fn a_file_that_may_only_be_read_is_checked() {
    let disk = cut(11, options(48).layout);
    let bytes = disk.contents(PATH).expect("the file was made");
    let path = std::env::temp_dir().join(format!("dovetail-unchanged-{}", std::process::id()));
    let config = Config { workers: 2, pin: false, ..Config::default() };
    let runtime = Runtime::start(config).expect("a runtime starts");
    runtime.block_on(move || async move {
        let made = OpenOptions { write: true, create_new: true, ..OpenOptions::default() };
        let file = File::open(&path, made).await.unwrap();
        file.write_all_at(IoBuf::copy_of(&bytes), 0).await.0.unwrap();
        drop(file);
        let mut permissions = path.symlink_metadata().unwrap().permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(&path, permissions).unwrap();
        check(&path).await.unwrap();
        assert!(runtime::fs::read(&path).await.unwrap() == bytes);
        runtime::fs::remove(&path).await.unwrap();
    });
}

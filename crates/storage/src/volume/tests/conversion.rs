//! A fault at each step of a file's way to be the first member: it is that, or what it was.

use runtime::sim::FaultPlan;

use super::label::Label;
use super::*;

const BYTES: usize = 200 << 10;

/// Those of a file, of whose header slot only the first sector means something.
fn bytes() -> IoBuf {
    let mut bytes = pattern(BYTES, 5);
    bytes.as_mut_slice()[512..BLOCK_BYTES].fill(0);
    bytes
}

fn writable() -> OpenOptions {
    OpenOptions { read: true, write: true, lock: true, ..OpenOptions::default() }
}

fn file(seed: u64) -> Disk {
    let disk = Disk::new(seed);
    simulated(&disk, || async {
        let file = File::open("/a", OpenOptions { create: true, ..writable() }).await.unwrap();
        file.write_all_at(bytes(), 0).await.0.unwrap();
        file.sync_data().await.unwrap();
        runtime::fs::sync_dir("/").await.unwrap();
    });
    disk
}

async fn convert() -> Result<()> {
    let failed = |error| StorageError::io("open", &error);
    let file = File::open("/a", writable()).await.map_err(failed)?;
    convert::convert(file, "/a".as_ref(), GEOMETRY, OPENING).await.map(drop)
}

async fn opened() -> Result<()> {
    let failed = |error| StorageError::io("open", &error);
    let file = File::open("/a", writable()).await.map_err(failed)?;
    file.sync_data().await.map_err(failed)?;
    let options = VolumeOptions { members: vec![], ..options() };
    open::open(file, "/a".as_ref(), &options, OPENING).await.map(drop)
}

/// The bytes are there, as those of a file or of a member.
fn is_whole(disk: &Disk) -> bool {
    simulated(disk, || async {
        let file = File::open("/a", writable()).await.unwrap();
        file.sync_data().await.unwrap();
        let block = file.read_exact_at(IoBuf::alloc(BLOCK_BYTES), 0).await.1;
        let expected = bytes();
        if Label::decode(block.as_slice()).is_none() {
            let (result, bytes) = file.read_exact_at(IoBuf::alloc(BYTES), 0).await;
            return result.is_ok() && bytes.as_slice() == expected.as_slice();
        }
        let options = VolumeOptions { members: vec![], ..options() };
        match open::open(file, "/a".as_ref(), &options, OPENING).await {
            Ok(volume) => read(&volume, 0, BYTES).await == expected.as_slice(),
            Err(_) => false,
        }
    })
}

fn survives(plan: FaultPlan, seed: u64, name: &str) -> Disk {
    let disk = file(seed);
    disk.faults(plan);
    drop(simulated(&disk, convert));
    disk.faults(FaultPlan::default());
    let killed = disk.kill(1);
    assert!(is_whole(&killed), "{name}, a kill");
    for write in 1..4 {
        // The one that goes on with it dies there.
        let again = disk.kill(1);
        again.faults(FaultPlan { crash_at_write: Some(write), ..FaultPlan::default() });
        drop(simulated(&again, opened));
        assert!(is_whole(&again.crash(write)), "{name}, a kill and power cut at write {write}");
    }
    for seed in 0..4 {
        assert!(is_whole(&disk.crash(seed)), "{name}, power cut {seed}");
        assert!(is_whole(&killed.crash(seed)), "{name}, a kill and power cut {seed}");
    }
    disk
}

#[test]
fn a_fault_at_any_step_leaves_the_file_or_a_member() {
    for seed in 0..4 {
        let whole = survives(FaultPlan::default(), seed, "no fault");
        for op in 1..=whole.op_count() {
            let plan = FaultPlan { fail_op: Some((op, 5)), ..FaultPlan::default() };
            survives(plan, seed, &format!("seed {seed}: operation {op} failed"));
        }
        for write in 1..=whole.write_count() {
            let plan = FaultPlan { crash_at_write: Some(write), ..FaultPlan::default() };
            survives(plan, seed, &format!("seed {seed}: cut at write {write}"));
        }
    }
}

//! A fault at each step of what members do: a race with growth, an operation that fails, space that
//! runs out, a byte that rots. All that was synced is read afterwards, also after a kill and a
//! power cut that follow each other.

use runtime::sim::FaultPlan;

use super::label::Label;
use super::*;

/// Bytes of the database of these tests: extents enough for all members.
const BYTES: usize = 512 << 10;

fn failed(error: io::Error) -> StorageError {
    StorageError::io("move bytes", &error)
}

async fn opened() -> Result<Volume> {
    let options = VolumeOptions { members: vec![], ..options() };
    let open = OpenOptions { read: true, write: true, lock: true, ..OpenOptions::default() };
    let file = File::open("/a", open).await.map_err(failed)?;
    file.sync_data().await.map_err(failed)?;
    let volume = open::open(file, "/a".as_ref(), &options, OPENING).await?;
    volume.sync_data().await.map_err(failed)?;
    Ok(volume)
}

async fn fill(volume: &Volume, salt: usize) -> io::Result<()> {
    volume.write_all_at(pattern(BYTES, salt), 0).await.0?;
    volume.sync_data().await
}

async fn made() -> Volume {
    let (volume, _) = open::create("/a".as_ref(), &options(), OPENING).await.unwrap();
    volume.allocate(0, BYTES as u64).await.unwrap();
    fill(&volume, 0).await.unwrap();
    volume
}

/// Refuses what a database on a disk that was left so has, if not each sector is of these salts.
fn check(disk: &Disk, salts: std::ops::Range<usize>) -> std::result::Result<(), String> {
    simulated(disk, move || async move {
        let volume = opened().await.map_err(|error| format!("not opened: {error}"))?;
        let found = read(&volume, 0, BYTES).await;
        let written: Vec<IoBuf> = salts.map(|salt| pattern(BYTES, salt)).collect();
        let is_one = |at: &usize| {
            let sector = *at..*at + 512;
            written.iter().any(|bytes| bytes.as_slice()[sector.clone()] == found[sector.clone()])
        };
        match (0..BYTES).step_by(512).find(|at| !is_one(at)) {
            Some(at) => Err(format!("other bytes at {at}")),
            None => Ok(()),
        }
    })
}

fn is_sound(volume: &Volume) -> bool {
    let Kind::Members(members) = &volume.0 else { return false };
    let table = &members.state().table;
    let bytes = table.encode(&members.origin).unwrap();
    Table::decode(&bytes, &members.origin).as_ref() == Some(table)
}

#[test]
fn a_member_that_leaves_while_the_space_grows_leaves_no_gap() {
    for seed in 0..40 {
        let (disk, begin) = (Disk::new(seed), seed % 4 * (128 << 10));
        simulated(&disk, move || async move {
            let (volume, _) = open::create("/a".as_ref(), &options(), OPENING).await.unwrap();
            volume.allocate(0, begin).await.unwrap();
            let grown = volume.clone();
            let growing =
                runtime::spawn(async move { grown.allocate(begin, 600 << 10).await.unwrap() });
            // As late as the seed says.
            for _ in 0..seed {
                runtime::yield_now().await;
            }
            volume.remove("/b".as_ref()).await.unwrap();
            growing.await.unwrap();
            assert!(is_sound(&volume) && volume.members().len() == 2, "seed {seed}");
            fill(&volume, 3).await.unwrap();
        });
        assert_eq!(check(&disk.crash(seed), 3..4), Ok(()), "seed {seed}");
    }
}

#[test]
fn a_table_that_rots_is_read_from_the_other_slot() {
    for slot in 0..2 {
        let disk = Disk::new(5);
        simulated(&disk, || async {
            let volume = made().await;
            volume.remove("/b".as_ref()).await.unwrap();
            fill(&volume, 1).await.unwrap();
        });
        assert!(disk.rot("/a", GEOMETRY.slot(slot) + 100, 4));
        // The good one is written twice again.
        assert_eq!(check(&disk, 1..2), Ok(()), "slot {slot}");
        assert!(disk.rot("/a", GEOMETRY.slot(1 - slot) + 100, 4));
        assert_eq!(check(&disk.crash(9), 1..2), Ok(()), "slot {slot}");
    }
}

/// Members join and leave, and space grows; the salt that is durable then is told.
async fn changed(salt: Arc<AtomicUsize>) -> Result<()> {
    let volume = opened().await?;
    let steps = async {
        volume.add("/d".as_ref(), true).await?;
        volume.allocate(0, 2 * BYTES as u64).await.map_err(failed)?;
        fill(&volume, 1).await.map_err(failed)?;
        salt.store(1, Ordering::Release);
        volume.remove("/b".as_ref()).await
    };
    let done = steps.await;
    // Where nothing is written any more this fails.
    fill(&volume, 2).await.map_err(failed)?;
    salt.store(2, Ordering::Release);
    done
}

/// Changes with a fault, a kill and changes again, then a power cut; the disk afterwards.
fn survives(plan: FaultPlan, base: &Disk, name: &str) -> Disk {
    let disk = base.crash(1);
    disk.faults(plan);
    let salt = Arc::<AtomicUsize>::default();
    let told = Arc::clone(&salt);
    drop(simulated(&disk, move || changed(told)));
    disk.faults(FaultPlan::default());
    let durable = salt.load(Ordering::Acquire);
    for seed in 0..3 {
        let found = check(&disk.crash(seed), durable..3);
        assert!(found.is_ok(), "{name}, power cut {seed}: {found:?} of {durable}");
    }
    let killed = disk.kill(1);
    simulated(&killed, || async {
        let volume = opened().await.unwrap();
        volume.allocate(0, 2 * BYTES as u64).await.unwrap();
        fill(&volume, 7).await.unwrap();
    });
    for seed in 0..3 {
        let found = check(&killed.crash(seed), 7..8);
        assert!(found.is_ok(), "{name}, a kill and power cut {seed}: {found:?}");
    }
    disk
}

fn base() -> Disk {
    let disk = Disk::new(7);
    simulated(&disk, || async { drop(made().await) });
    disk
}

#[test]
fn an_operation_that_fails_at_any_step_loses_nothing() {
    let base = base();
    let count = survives(FaultPlan::default(), &base, "no fault").op_count();
    for op in 1..=count {
        let plan = FaultPlan { fail_op: Some((op, 5)), ..FaultPlan::default() };
        survives(plan, &base, &format!("operation {op} failed"));
    }
}

#[test]
fn a_power_cut_at_any_write_loses_nothing() {
    let base = base();
    let count = survives(FaultPlan::default(), &base, "no fault").write_count();
    for write in 1..=count {
        let plan = FaultPlan { crash_at_write: Some(write), ..FaultPlan::default() };
        survives(plan, &base, &format!("cut at write {write}"));
    }
}

#[test]
fn space_that_runs_out_at_any_step_loses_nothing() {
    let base = base();
    let count = survives(FaultPlan::default(), &base, "no fault").space_op_count();
    for op in 1..=count {
        let plan = FaultPlan { no_space: Some(op..op + 1), ..FaultPlan::default() };
        survives(plan, &base, &format!("full at {op}"));
    }
}

#[test]
fn a_label_with_more_extents_than_a_table_may_have_is_refused() {
    for converted in [u32::MAX, 1 << 30, 4096] {
        let label = Label {
            origin: Origin { database: [1; 16], geometry: GEOMETRY },
            id: 5,
            number: 1,
            size: 0,
            speed: 1,
            converted,
        };
        let disk = Disk::new(1);
        simulated(&disk, move || async move {
            let open = OpenOptions { read: true, write: true, create: true, ..Default::default() };
            let file = File::open("/a", open).await.unwrap();
            file.write_all_at(IoBuf::copy_of(&label.encode()), 0).await.0.unwrap();
            file.set_len(1 << 20).await.unwrap();
            assert!(opened().await.is_err());
        });
    }
}

//! Syncs beside each other: none says that all is well while another one has lost something.

use runtime::fs::{Durability, File, OpenOptions};
use runtime::sim::{Disk, FaultPlan};
use runtime::{Config, IoBuf, RingChoice, Runtime};

use super::Syncs;

const EIO: i32 = 5;

/// What two syncs say that overlap, the first of which fails if it is to, and one after them. The second one
/// is that of a write, if a way is given in which that becomes durable.
fn outcomes(seed: u64, fails: bool, way: Option<Durability>) -> [bool; 3] {
    let disk = Disk::new(seed);
    let ring = RingChoice::Sim(disk.clone());
    let config = Config { workers: 1, ring, attack: false, pin: false, ..Config::default() };
    let runtime = Runtime::start(config).expect("a simulated runtime starts");
    runtime.block_on(move || async move {
        let open = OpenOptions { write: true, create_new: true, ..OpenOptions::default() };
        let file = File::open("/file", open).await.expect("a file");
        let written = file.write_all_at(IoBuf::alloc(4096), 0).await.0;
        written.expect("there is space");
        let syncs = Syncs::new(file.into());
        if fails {
            let next = disk.op_count() + 1;
            disk.faults(FaultPlan { fail_op: Some((next, EIO)), ..FaultPlan::default() });
        }
        let (one, other) = (syncs.clone(), syncs.clone());
        let first = runtime::spawn(async move { one.sync().await.is_ok() });
        let second = runtime::spawn(async move {
            match way {
                None => other.sync().await.is_ok(),
                Some(way) => other.write(IoBuf::alloc(4096), 0, way).await.0.is_ok(),
            }
        });
        let first = first.await.expect("it ends");
        let second = second.await.expect("it ends");
        [first, second, syncs.sync().await.is_ok()]
    })
}

#[test]
fn a_sync_that_was_told_nothing_fails_with_the_one_beside_it() {
    // The one that is told nothing ends before the other one or after it, as the seed has it.
    for way in [None, Some(Durability::Linked), Some(Durability::Flag)] {
        for seed in 0..50 {
            assert_eq!(outcomes(seed, false, way), [true; 3], "seed {seed}, {way:?}");
            assert_eq!(outcomes(seed, true, way), [false; 3], "seed {seed}, {way:?}");
        }
    }
}

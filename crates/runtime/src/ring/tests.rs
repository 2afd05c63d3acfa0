//! The ring for polled files. Reads of holes never reach a device, so they can be polled for on
//! every machine whose file system knows how.

use std::cell::Cell;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use crate::buf::IoBuf;
use crate::config::{Config, RingChoice};
use crate::fs::file::File;
use crate::fs::options::FileBackend;
use crate::ring::kind::RingKind;
use crate::runtime::Runtime;
use crate::task::join::spawn;
use crate::task::remote::spawn_on;
use crate::yielding::yield_now;
use crate::{probe, time};

const HOLE_BYTES: u64 = 1 << 20;

/// A direct file without a single block, taken for polled without asking.
fn hole(path: &Path) -> Option<File> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create(true).custom_flags(libc::O_DIRECT);
    let file = options.open(path).ok()?;
    file.set_len(HOLE_BYTES).ok()?;
    let backend = FileBackend {
        kind: RingKind::Uring,
        direct: true,
        polled: true,
        passthrough: false,
        reason: "a hole".to_owned(),
    };
    Some(File::of_system(file.into(), path, backend, false))
}

#[test]
fn polled_requests_complete_beside_all_others() {
    if let Err(why) = probe::system().io_uring {
        return eprintln!("skipped: {why}");
    }
    let name = format!("dovetail-hole-{}", std::process::id());
    let path = std::env::current_dir().unwrap().join(name);
    let Some(file) = hole(&path) else {
        return eprintln!("skipped: no direct file at {}", path.display());
    };
    let config = Config { ring: RingChoice::Uring, workers: 2, iopoll: true, ..Config::default() };
    let runtime = Runtime::start(config).unwrap();
    let reads = runtime.block_on(move || async move {
        let here = spawn(storm(file.clone()));
        let there = spawn_on(1, move || storm(file));
        (here.await.unwrap(), there.await.unwrap())
    });
    drop(runtime);
    std::fs::remove_file(path).unwrap();
    assert_eq!(reads, (400, 400));
}

/// 400 polled reads by 20 tasks, some left to themselves, among timers, ordinary reads and yields.
async fn storm(file: File) -> usize {
    let done = std::rc::Rc::new(Cell::new(0));
    let reader = |task: u64| {
        let (file, done) = (file.clone(), done.clone());
        async move {
            for read in 0..20 {
                let offset = (task * 20 + read) * 4096 % HOLE_BYTES;
                // Begun, and never awaited.
                drop(file.read_at(IoBuf::alloc(4096), offset));
                let (result, buf) = file.read_at(IoBuf::alloc(4096), offset).await;
                match result {
                    Ok(count) => assert_eq!((count, buf.as_slice()[0]), (4096, 0)),
                    Err(error) => panic!("a hole cannot be polled: {error}"),
                }
                done.set(done.get() + 1);
                match read % 3 {
                    0 => yield_now().await,
                    1 => time::sleep(Duration::from_micros(50)).await,
                    // A sync takes the other ring.
                    _ => file.sync_data().await.unwrap(),
                }
            }
        }
    };
    let tasks: Vec<_> = (0..20).map(|task| spawn(reader(task))).collect();
    for task in tasks {
        task.await.unwrap();
    }
    done.get()
}

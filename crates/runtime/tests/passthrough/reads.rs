//! Many requests in flight, some of which nobody waits for.

use runtime::fs::File;
use runtime::{IoBuf, spawn, spawn_on};

use crate::device::{pattern, with_device};

const PAGES: u64 = 256;
const FIRST: u64 = 128 << 20;

#[test]
fn many_reads_are_in_flight_on_both_workers() {
    with_device(|way, device| {
        let runtime = way.start();
        runtime.block_on(move || async move {
            let (generic, block) = device.open_both(way).await;
            for page in 0..PAGES {
                let place = FIRST + page * 4096;
                generic.write_all_at(pattern(4096, page as u8), place).await.0.unwrap();
            }
            let (there, beside) = (generic.clone(), block.clone());
            let far = spawn_on(1, move || storm(there, beside));
            let near = spawn(storm(generic, block));
            near.await.unwrap();
            far.await.unwrap();
        });
        let registered: u64 =
            runtime.stats().iter().map(|stats| stats.registered_buffer_count).sum();
        let has_tables = runtime.rings()[0].reason.contains("registered buffers");
        assert_eq!(registered > 0, has_tables, "{:?}", runtime.rings());
        println!("{}: {}", way.name, runtime.rings()[0].reason);
    });
}

/// 40 tasks with 50 reads each, by commands and by the block device in turn.
async fn storm(generic: File, block: File) {
    let reader = |(task, mut buf): (usize, IoBuf)| {
        let files = [generic.clone(), block.clone()];
        spawn(async move {
            for i in 0..50 {
                let page = runtime::random_u64() % PAGES;
                let file = &files[(task + i) % 2];
                if i % 10 == 0 {
                    // Begun, and never awaited.
                    drop(file.read_at(IoBuf::alloc(4096), FIRST));
                    runtime::yield_now().await;
                }
                let (read, back) = file.read_exact_at(buf, FIRST + page * 4096).await;
                read.unwrap();
                buf = back;
                assert!(buf.as_slice() == pattern(4096, page as u8).as_slice(), "page {page}");
            }
        })
    };
    let buffers = IoBuf::alloc_many(40, 4096);
    let tasks: Vec<_> = buffers.into_iter().enumerate().map(reader).collect();
    for task in tasks {
        task.await.unwrap();
    }
}

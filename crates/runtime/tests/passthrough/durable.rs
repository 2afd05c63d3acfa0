//! Flushes, and writes that are durable when they end.

use runtime::IoBuf;
use runtime::fs::Durability;

use crate::device::{pattern, with_device};

/// Nothing else is written there: `tests/device/passthrough.py` looks for it in the device's image.
const PLACE: u64 = 192 << 20;

#[test]
fn each_way_to_a_durable_write_writes_and_counts_its_sync() {
    with_device(|way, device| {
        let runtime = way.start();
        runtime.block_on(move || async move {
            let (generic, block) = device.open_both(way).await;
            assert!(generic.heeds_dsync());
            let all = [Durability::None, Durability::Sync, Durability::Linked, Durability::Flag];
            for (i, how) in all.into_iter().enumerate() {
                let offset = PLACE + 4096 * i as u64;
                let written = generic.write_durable_at(pattern(4096, 7), offset, how).await.0;
                if how == Durability::Linked && !way.links() {
                    assert!(written.unwrap_err().to_string().contains("cannot be linked"));
                    continue;
                }
                written.unwrap();
                let (read, buf) = block.read_exact_at(IoBuf::alloc(4096), offset).await;
                read.unwrap();
                assert_eq!(buf.as_slice(), pattern(4096, 7).as_slice(), "{how}");
            }
            generic.sync_data().await.unwrap();
        });
        let syncs: u64 = runtime.stats().iter().map(|stats| stats.sync_count).sum();
        assert_eq!(syncs, 3 + u64::from(way.links()));
    });
}

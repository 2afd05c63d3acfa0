//! Requests, members that leave, and members that fail.

use runtime::fs::OpenOptions;
use runtime::sim::{Disk, Latency};
use runtime::{Config, RingChoice, Runtime};

use super::*;

const GEOMETRY: Geometry = Geometry { extent_bytes: 64 << 10, table_bytes: 8 << 10 };
const OPENING: Opening = Opening { direct: true, unchanged: false };

fn simulated<T: Send + 'static, F: Future<Output = T> + 'static>(
    disk: &Disk,
    make: impl FnOnce() -> F + Send + 'static,
) -> T {
    let ring = RingChoice::Sim(disk.clone());
    let config = Config { workers: 1, ring, attack: false, ..Config::default() };
    Runtime::start(config).expect("a simulated runtime starts").block_on(make)
}

fn options() -> VolumeOptions {
    let members = vec!["/b".into(), "/c".into()];
    VolumeOptions { members, geometry: GEOMETRY, ..VolumeOptions::default() }
}

fn pattern(len: usize, salt: usize) -> IoBuf {
    let bytes: Vec<u8> = (0..len).map(|at| (at / 512 * 31 + at + salt) as u8).collect();
    IoBuf::copy_of(&bytes)
}

async fn read(volume: &Volume, offset: u64, len: usize) -> Vec<u8> {
    let (result, bytes) = volume.read_exact_at(IoBuf::alloc(len), offset).await;
    result.unwrap();
    bytes.as_slice().to_vec()
}

#[test]
fn requests_that_cross_extents_move_the_bytes_that_were_meant() {
    simulated(&Disk::new(1), || async {
        let (volume, _) = open::create("/a".as_ref(), &options(), OPENING).await.unwrap();
        volume.allocate(0, 1 << 20).await.unwrap();
        // New space has what the probe has left there.
        volume.write_all_at(IoBuf::alloc(1 << 20), 0).await.0.unwrap();
        let mut expected = vec![0; 1 << 20];
        // Within an extent, up to its end, over one border, over many in several buffers.
        let writes =
            [(0, 4096, 1), (60 << 10, 4096, 1), (63 << 10, 2048, 1), (100 << 10, 8192, 40)];
        for (salt, (offset, len, count)) in writes.into_iter().enumerate() {
            let bufs: Vec<IoBuf> = (0..count).map(|at| pattern(len, salt + at)).collect();
            for (at, buf) in bufs.iter().enumerate() {
                let begin = offset + at * len;
                expected[begin..begin + len].copy_from_slice(buf.as_slice());
            }
            volume.write_vectored_all_at(bufs, offset as u64).await.0.unwrap();
        }
        volume.write_all_at(pattern(300 << 10, 9), 500 << 10).await.0.unwrap();
        expected[500 << 10..800 << 10].copy_from_slice(pattern(300 << 10, 9).as_slice());
        volume.sync_data().await.unwrap();
        assert!(read(&volume, 0, 1 << 20).await == expected, "in one buffer");
        let bufs = (0..64).map(|_| IoBuf::alloc(16 << 10)).collect();
        let (result, bufs) = volume.read_vectored_exact_at(bufs, 0).await;
        result.unwrap();
        let found: Vec<u8> = bufs.iter().flat_map(|buf| buf.as_slice().to_vec()).collect();
        assert!(found == expected, "in several");
        let beyond = volume.read_exact_at(IoBuf::alloc(8192), (1 << 20) - 4096).await.0;
        assert_eq!(beyond.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(volume.members().iter().all(|member| member.used_bytes > 0));
    });
}

#[test]
fn what_lies_on_a_member_that_leaves_is_read_from_the_others() {
    let disk = Disk::new(2);
    let expected = pattern(900 << 10, 3).as_slice().to_vec();
    let (written, again) = (expected.clone(), expected.clone());
    simulated(&disk, move || async move {
        let (volume, _) = open::create("/a".as_ref(), &options(), OPENING).await.unwrap();
        volume.allocate(0, 900 << 10).await.unwrap();
        volume.write_all_at(IoBuf::copy_of(&written), 0).await.0.unwrap();
        volume.remove("/b".as_ref()).await.unwrap();
        assert!(read(&volume, 0, written.len()).await == written);
        volume.add("/d".as_ref(), false).await.unwrap();
        volume.allocate(960 << 10, 960 << 10).await.unwrap();
        let used: Vec<u64> = volume.members().iter().map(|member| member.used_bytes).collect();
        assert!(used.len() == 3 && used[2] > 0, "{used:?}");
        volume.sync_data().await.unwrap();
    });
    simulated(&disk.crash(2), move || async move {
        let options = VolumeOptions { members: vec![], ..options() };
        let open = OpenOptions { read: true, write: true, lock: true, ..OpenOptions::default() };
        let file = File::open("/a", open).await.unwrap();
        let volume = open::open(file, "/a".as_ref(), &options, OPENING).await.unwrap();
        assert!(read(&volume, 0, again.len()).await == again);
    });
}

#[test]
fn a_member_that_joins_gets_its_share() {
    let disk = Disk::new(4);
    simulated(&disk, || async {
        let (volume, _) = open::create("/a".as_ref(), &options(), OPENING).await.unwrap();
        volume.allocate(0, 4 << 20).await.unwrap();
        volume.write_all_at(pattern(4 << 20, 6), 0).await.0.unwrap();
        volume.add("/d".as_ref(), false).await.unwrap();
        let members = volume.members();
        let load = |member: &MemberInfo| member.used_bytes as f64 / member.speed_bytes as f64;
        let loads: Vec<f64> = members.iter().map(load).collect();
        let mean = loads.iter().sum::<f64>() / 4.0;
        assert!(loads.iter().all(|load| (load / mean - 1.0).abs() < 0.2), "{members:?}");
        assert!(read(&volume, 0, 4 << 20).await == pattern(4 << 20, 6).as_slice());
        // Extents that have moved are as durable as others.
        volume.sync_data().await.unwrap();
    });
    simulated(&disk.crash(4), || async {
        let options = VolumeOptions { members: vec![], ..options() };
        let open = OpenOptions { read: true, write: true, lock: true, ..OpenOptions::default() };
        let file = File::open("/a", open).await.unwrap();
        let volume = open::open(file, "/a".as_ref(), &options, OPENING).await.unwrap();
        assert!(read(&volume, 0, 4 << 20).await == pattern(4 << 20, 6).as_slice());
    });
}

#[test]
fn a_slow_read_does_not_get_what_is_written_where_the_bytes_were() {
    let disk = Disk::new(6);
    let slow = disk.clone();
    simulated(&disk, move || async move {
        let (volume, _) = open::create("/a".as_ref(), &options(), OPENING).await.unwrap();
        volume.allocate(0, 1 << 20).await.unwrap();
        volume.write_all_at(pattern(1 << 20, 1), 0).await.0.unwrap();
        slow.latency(Latency { read_ns: 100_000_000_000, ..Latency::default() });
        let reader = volume.clone();
        let reading = runtime::spawn(async move { read(&reader, 0, 1 << 20).await });
        let count = slow.op_count();
        while slow.op_count() < count + 3 {
            runtime::yield_now().await;
        }
        slow.latency(Latency::default());
        volume.add("/d".as_ref(), false).await.unwrap();
        volume.allocate(1 << 20, 1 << 20).await.unwrap();
        volume.write_all_at(pattern(1 << 20, 2), 1 << 20).await.0.unwrap();
        assert!(reading.await.unwrap() == pattern(1 << 20, 1).as_slice());
    });
}

#[test]
fn a_member_that_does_not_heed_dsync_gets_syncs() {
    simulated(&Disk::new(8), || async {
        let (volume, _) = open::create("/a".as_ref(), &options(), OPENING).await.unwrap();
        let Kind::Members(members) = &volume.0 else { panic!("there are members") };
        let (file, flag) = (&members.state().members[0].file, Durability::Flag);
        let way = Way::WriteDurable(flag);
        // Somebody has asked for it.
        assert!(members.way_to(file, way) == way && volume.tells(flag));
        members.heeds_dsync.store(true, Ordering::Release);
        volume.add("/d".as_ref(), false).await.unwrap();
        assert_eq!(members.way_to(file, way), Way::WriteDurable(Durability::Sync));
        assert!(!volume.heeds_dsync() && !volume.tells(flag));
    });
}

#[test]
fn a_member_that_fails_stops_all_writes_and_no_reads() {
    simulated(&Disk::new(3), || async {
        let (volume, _) = open::create("/a".as_ref(), &options(), OPENING).await.unwrap();
        volume.allocate(0, 256 << 10).await.unwrap();
        let Kind::Members(members) = &volume.0 else { panic!("there are members") };
        drop(members.or_failed::<()>(Err(io::Error::other("a sync has failed"))));
        assert!(volume.write_all_at(pattern(4096, 1), 0).await.0.is_err());
        assert!(volume.sync_data().await.is_err());
        assert!(volume.allocate(0, 1 << 20).await.is_err());
        assert!(volume.add("/d".as_ref(), false).await.is_err());
        read(&volume, 0, 4096).await;
    });
}

mod conversion;
mod faults;

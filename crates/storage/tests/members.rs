//! A database over several files, on a real file system: what is opened, and what is refused.
#![allow(clippy::disallowed_methods, reason = "tests look at the system from outside")]

use std::fs;
use std::path::{Path, PathBuf};

use runtime::{Config, IoCounters, RingChoice, Runtime};
use storage::{
    Geometry, MemberFault, StorageError, Store, StoreOptions, VolumeOptions, add_member, members,
    remove_member,
};

/// A folder that is gone afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let folder =
            std::env::temp_dir().join(format!("dovetail-members-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Scratch(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn run<T: Send + 'static, F: Future<Output = T> + 'static>(
    make: impl FnOnce() -> F + Send + 'static,
) -> T {
    let config = Config { workers: 2, ring: RingChoice::Threads, ..Config::default() };
    Runtime::start(config).expect("threads always start").block_on(make)
}

const GEOMETRY: Geometry = Geometry { extent_bytes: 64 << 10, table_bytes: 64 << 10 };

fn options(members: &[&Path]) -> StoreOptions {
    let members = members.iter().map(|path| path.to_path_buf()).collect();
    let volume = VolumeOptions { members, geometry: GEOMETRY, ..VolumeOptions::default() };
    StoreOptions { pool_bytes: 256 * 4096, log: true, volume, ..StoreOptions::default() }
}

const ROWS: u64 = 3000;

async fn fill(store: &Store, from: u64) {
    for number in from..from + ROWS {
        store.catalog().insert(&number.to_be_bytes(), &[7; 200]).await.unwrap();
    }
    store.checkpoint().await.unwrap();
}

async fn count(store: &Store) -> u64 {
    store.verify().await.unwrap();
    let (io, mut count) = (IoCounters::default(), 0);
    let mut cursor = store.catalog().range(
        std::ops::Bound::Unbounded,
        std::ops::Bound::Unbounded,
        storage::Direction::Forward,
    );
    while let Some(leaf) = cursor.next(&io).await.unwrap() {
        count += leaf.len() as u64;
    }
    count
}

/// Makes a database over these files, with rows.
fn make(first: &Path, others: &[&Path]) {
    let (first, options) = (first.to_owned(), options(others));
    run(move || async move {
        let store = Store::create(&first, options).await.unwrap();
        fill(&store, 0).await;
        store.close().await;
    });
}

/// Opens a database, and counts its rows.
fn open(first: &Path, others: &[&Path]) -> Result<u64, StorageError> {
    let (first, options) = (first.to_owned(), options(others));
    run(move || async move {
        let store = Store::open(&first, options).await?;
        let count = count(&store).await;
        store.close().await;
        Ok(count)
    })
}

/// How a database is refused.
fn refused(first: &Path, others: &[&Path]) -> MemberFault {
    match open(first, others) {
        Err(StorageError::Member(fault)) => fault,
        other => panic!("{other:?}"),
    }
}

fn contents(paths: &[&Path]) -> Vec<Vec<u8>> {
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn rows_lie_on_all_members_and_their_order_does_not_matter() {
    let scratch = Scratch::new("order");
    let paths = ["a", "b, with a comma", "c"].map(|name| scratch.path(name));
    let [a, b, c] = paths.each_ref().map(PathBuf::as_path);
    make(a, &[b, c]);
    for others in [vec![], vec![b, c], vec![c, b]] {
        assert_eq!(open(a, &others), Ok(ROWS), "{others:?}");
    }
    let (a, wanted) = (a.to_owned(), options(&[]));
    let found = run(move || async move { members(&a, &wanted).await.unwrap() });
    assert_eq!(found.iter().map(|member| member.number).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(found.iter().all(|member| member.used_bytes > 0 && member.speed_bytes > 0));
}

#[test]
fn a_set_of_files_that_is_not_that_of_the_database_is_refused_and_stays_as_it_is() {
    let scratch = Scratch::new("refused");
    let names = ["a", "b", "c", "other", "other2", "plain", "text", "link", "gone", "one"];
    let paths = names.map(|name| scratch.path(name));
    let [a, b, c, other, other2, plain, text, link, gone, one] =
        paths.each_ref().map(PathBuf::as_path);
    make(a, &[b, c]);
    make(other, &[other2]);
    make(plain, &[]);
    fs::write(text, "some text").unwrap();
    fs::write(one, vec![0; 1 << 20]).unwrap();
    fs::hard_link(b, link).unwrap();
    let before = contents(&[a, b, c, other, other2, plain, text, one]);
    let missing = |fault| matches!(fault, MemberFault::Missing { .. });
    let not_given = |fault| matches!(fault, MemberFault::NotGiven { number: 3, .. });
    let stranger = |fault| matches!(fault, MemberFault::Stranger { .. });
    let twice = |fault| matches!(fault, MemberFault::Twice { .. });
    assert!(missing(refused(a, &[b, gone])));
    assert!(not_given(refused(a, &[b])));
    for strange in [other2, plain, text, one] {
        assert!(stranger(refused(a, &[b, strange])), "{strange:?}");
    }
    assert!(stranger(refused(other, &[b])), "exchanged with another database");
    assert!(twice(refused(a, &[b, c, c])));
    assert!(twice(refused(a, &[b, link])), "a hard link");
    assert!(twice(refused(a, &[a, b, c])), "the first one again");
    assert_eq!(refused(b, &[a, c]), MemberFault::NotFirst { number: 2 });
    assert_eq!(refused(plain, &[b]), MemberFault::OneFile);
    let folder = matches!(refused(a, &[b, &scratch.0]), MemberFault::Unsuited { .. });
    assert!(folder, "a folder");
    assert!(before == contents(&[a, b, c, other, other2, plain, text, one]), "nothing was written");
    assert_eq!(open(a, &[b, c]), Ok(ROWS));
}

#[test]
fn a_member_that_is_short_or_gone_is_refused() {
    let scratch = Scratch::new("short");
    let paths = ["a", "b", "elsewhere"].map(|name| scratch.path(name));
    let [a, b, elsewhere] = paths.each_ref().map(PathBuf::as_path);
    make(a, &[b]);
    let whole = fs::read(b).unwrap();
    fs::write(b, &whole[..whole.len() - 4096]).unwrap();
    assert!(matches!(refused(a, &[]), MemberFault::Short { .. }));
    fs::write(b, &whole).unwrap();
    fs::rename(b, elsewhere).unwrap();
    assert!(matches!(refused(a, &[]), MemberFault::Missing { number: 2, .. }));
    // Found elsewhere once, it is looked for there.
    assert_eq!(open(a, &[elsewhere]), Ok(ROWS));
    assert_eq!(open(a, &[]), Ok(ROWS));
}

#[test]
fn a_copy_of_the_first_member_does_not_open_the_members_of_the_original() {
    let scratch = Scratch::new("copy");
    let paths = ["a", "b", "copy"].map(|name| scratch.path(name));
    let [a, b, copy] = paths.each_ref().map(PathBuf::as_path);
    make(a, &[b]);
    fs::copy(a, copy).unwrap();
    assert!(matches!(refused(copy, &[]), MemberFault::Moved { .. }));
}

#[test]
fn members_that_somebody_has_open_are_in_use() {
    let scratch = Scratch::new("use");
    let paths = ["a", "b", "other", "fresh"].map(|name| scratch.path(name));
    let [a, b, other, fresh] = paths.each_ref().map(PathBuf::to_owned);
    make(&a, &[&b]);
    run(move || async move {
        let store = Store::open(&a, options(&[])).await.unwrap();
        assert!(matches!(Store::open(&a, options(&[])).await, Err(StorageError::Locked)));
        let in_use = |outcome: Result<Store, StorageError>| {
            matches!(outcome, Err(StorageError::Member(MemberFault::InUse { .. })))
        };
        let mut wanted = options(&[&b]);
        wanted.volume.format = true;
        assert!(in_use(Store::create(&other, wanted).await));
        assert!(!other.exists(), "nothing is left of it");
        store.add_member(&fresh, false).await.unwrap();
        store.close().await;
    });
}

#[test]
fn nothing_foreign_is_written_over_unless_that_is_asked_for() {
    let scratch = Scratch::new("foreign");
    let paths = ["a", "b"].map(|name| scratch.path(name));
    let [a, b] = paths.each_ref().map(PathBuf::to_owned);
    let signatures: [(usize, &[u8], &str); 7] = [
        (0, b"XFSB", "XFS"),
        (1080, b"\x53\xef", "ext"),
        (512, b"EFI PART", "GPT"),
        (512, b"LABELONE", "LVM"),
        (4086, b"SWAPSPACE2", "swap"),
        (4096, b"\xfc\x4e\x2b\xa9", "RAID"),
        ((2 << 20) - 512, b"EFI PART", "GPT"),
    ];
    for (at, magic, what) in signatures {
        let mut bytes = vec![0; 2 << 20];
        bytes[at..at + magic.len()].copy_from_slice(magic);
        fs::write(&b, &bytes).unwrap();
        let (first, wanted) = (a.clone(), options(&[&b]));
        let error = run(move || async move { Store::create(&first, wanted).await.map(drop) });
        let StorageError::Member(fault @ MemberFault::Foreign { .. }) = error.unwrap_err() else {
            panic!("{what} was overwritten")
        };
        assert!(fault.to_string().contains(what), "{fault}");
        assert!(fault.hint().unwrap().contains("--format"));
        assert!(fs::read(&b).unwrap() == bytes && !a.exists(), "{what}");
    }
    let (first, mut wanted) = (a.clone(), options(&[&b]));
    wanted.volume.format = true;
    run(move || async move { Store::create(&first, wanted).await.unwrap().close().await });
    assert_eq!(open(&a, &[]), Ok(0));
}

#[test]
fn a_file_becomes_the_first_of_members_that_join_and_leave() {
    let scratch = Scratch::new("join");
    let paths = ["a", "b", "c", "plain"].map(|name| scratch.path(name));
    let [a, b, c, plain] = paths.each_ref().map(PathBuf::to_owned);
    make(&a, &[]);
    make(&plain, &[]);
    let first = a.clone();
    run(move || async move {
        // A database of somebody is not overwritten, and nothing has changed then.
        let refused = add_member(&first, &options(&[]), &plain).await;
        assert!(matches!(refused, Err(StorageError::Member(MemberFault::Foreign { .. }))));
        assert!(members(&first, &options(&[])).await.unwrap().is_empty());
        add_member(&first, &options(&[]), &b).await.unwrap();
        let store = Store::open(&first, options(&[])).await.unwrap();
        assert_eq!(count(&store).await, ROWS);
        store.add_member(&c, false).await.unwrap();
        fill(&store, ROWS).await;
        let used = |store: &Store| {
            store.members().iter().map(|member| member.used_bytes).collect::<Vec<_>>()
        };
        assert!(used(&store)[1] > 0 && used(&store)[2] > 0, "{:?}", used(&store));
        let all = used(&store).iter().sum::<u64>();
        store.remove_member(&b).await.unwrap();
        assert_eq!(used(&store).iter().sum::<u64>(), all);
        let first_one = store.remove_member(&first).await;
        assert!(matches!(first_one, Err(StorageError::Member(MemberFault::Unknown { .. }))));
        assert_eq!(count(&store).await, 2 * ROWS);
        store.close().await;
        let found = members(&first, &options(&[])).await.unwrap();
        assert_eq!(found.iter().map(|member| member.number).collect::<Vec<_>>(), [1, 3]);
        // A file that has left is no member any more.
        let stranger = Store::open(&first, options(&[&b, &c])).await.map(drop);
        assert!(matches!(stranger, Err(StorageError::Member(MemberFault::Stranger { .. }))));
        remove_member(&first, &options(&[]), &c).await.unwrap();
    });
    assert_eq!(open(&a, &[]), Ok(2 * ROWS));
}

#[test]
fn a_store_with_members_is_checked_without_a_byte_written() {
    let scratch = Scratch::new("unchanged");
    let paths = ["a", "b"].map(|name| scratch.path(name));
    let [a, b] = paths.each_ref().map(PathBuf::as_path);
    make(a, &[b]);
    let before = contents(&[a, b]);
    let first = a.to_owned();
    run(move || async move {
        let options = StoreOptions { unchanged: true, ..options(&[]) };
        let store = Store::open(&first, options).await.unwrap();
        fill(&store, ROWS).await;
        assert_eq!(count(&store).await, 2 * ROWS);
        store.close().await;
    });
    assert!(before == contents(&[a, b]));
    assert_eq!(open(a, &[]), Ok(ROWS));
}

#[test]
fn a_backup_of_members_is_one_file() {
    let scratch = Scratch::new("backup");
    let paths = ["a", "b", "copy"].map(|name| scratch.path(name));
    let [a, b, copy] = paths.each_ref().map(PathBuf::to_owned);
    make(&a, &[&b]);
    let target = copy.clone();
    run(move || async move {
        let store = Store::open(&a, options(&[])).await.unwrap();
        store.back_up(&target, std::sync::Arc::new(|_| true)).await.unwrap();
        store.close().await;
    });
    assert_eq!(open(&copy, &[]), Ok(ROWS));
}

#[test]
fn a_copy_of_a_member_is_not_taken_for_it() {
    let scratch = Scratch::new("twice");
    let paths = ["a", "b", "c", "old"].map(|name| scratch.path(name));
    let [a, b, c, old] = paths.each_ref().map(PathBuf::as_path);
    make(a, &[b, c]);
    fs::copy(b, old).unwrap();
    let before = contents(&[a, b, c, old]);
    let twice = |fault| matches!(fault, MemberFault::Twice { .. });
    assert!(twice(refused(a, &[b, c, old])) && twice(refused(a, &[old, c, b])));
    // It may be the member itself, by the name of a device that lies on it: it is not cleared.
    let (first, copy) = (a.to_owned(), old.to_owned());
    run(move || async move {
        for format in [false, true] {
            let mut wanted = options(&[]);
            wanted.volume.format = format;
            let joined = add_member(&first, &wanted, &copy).await;
            assert!(matches!(joined, Err(StorageError::Member(MemberFault::Twice { .. }))));
        }
    });
    assert!(before == contents(&[a, b, c, old]), "nothing was written");
}

#[test]
fn nothing_is_formatted_before_all_are_known_to_be_suited() {
    let scratch = Scratch::new("order-of-format");
    let paths = ["a", "text", "folder"].map(|name| scratch.path(name));
    let [a, text, folder] = paths.each_ref().map(PathBuf::to_owned);
    fs::write(&text, "some text").unwrap();
    fs::create_dir(&folder).unwrap();
    let (first, mut wanted) = (a.clone(), options(&[&text, &folder]));
    wanted.volume.format = true;
    let error = run(move || async move { Store::create(&first, wanted).await.map(drop) });
    assert!(matches!(error, Err(StorageError::Member(MemberFault::Unsuited { .. }))));
    assert_eq!(fs::read(&text).unwrap(), b"some text");
    assert!(!a.exists());
}

#[test]
fn a_file_of_more_extents_than_a_table_has_stays_what_it_is() {
    let scratch = Scratch::new("large");
    let paths = ["a", "b"].map(|name| scratch.path(name));
    let [a, b] = paths.each_ref().map(PathBuf::to_owned);
    make(&a, &[]);
    fs::OpenOptions::new().write(true).open(&a).unwrap().set_len(80 << 20).unwrap();
    let (first, mut wanted) = (a.clone(), options(&[]));
    wanted.volume.geometry.table_bytes = 4096;
    let joined = run(move || async move { add_member(&first, &wanted, &b).await });
    assert!(joined.is_err());
    assert_eq!(open(&a, &[]), Ok(ROWS));
}

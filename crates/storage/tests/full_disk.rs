//! A file that may not grow beyond a limit of the process, which is what a full disk looks like
//! without one: each kind of write is refused, loses nothing, and works when the limit is gone.
//!
//! The test proper runs in a child, whose shell sets the limit.

use std::path::Path;
use std::process::Command;

use runtime::{Config, RingChoice, Runtime};
use storage::{StorageError, Store, StoreOptions, Tree};

/// Names the file that the child works on.
const VARIABLE: &str = "DOVETAIL_FULL_DISK";

/// Bytes of the longest file that the child may write.
const LIMIT_BYTES: u64 = 4 << 20;

fn options() -> StoreOptions {
    StoreOptions { pool_bytes: 64 * 4096, direct: false, ..StoreOptions::default() }
}

#[test]
fn a_file_that_may_not_grow_is_refused_growth_and_nothing_else() {
    if let Ok(path) = std::env::var(VARIABLE) {
        return in_child(Path::new(&path));
    }
    let name = format!("dovetail-full-disk-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let this = std::env::current_exe().expect("a test has a file");
    // Without the trap the kernel would kill the child instead of refusing the write.
    let script = "trap '' XFSZ; exec prlimit --fsize=$LIMIT: \"$0\" --exact --nocapture \"$1\"";
    let status = Command::new("sh")
        .args(["-c", script])
        .arg(this)
        .arg("a_file_that_may_not_grow_is_refused_growth_and_nothing_else")
        .env("LIMIT", LIMIT_BYTES.to_string())
        .env(VARIABLE, &path)
        .status()
        .expect("there is a shell");
    assert!(status.success(), "{status}");
}

fn in_child(path: &Path) {
    let config = Config { workers: 2, ring: RingChoice::Threads, ..Config::default() };
    let runtime = Runtime::start(config).expect("threads always start");
    let path = path.to_owned();
    runtime.block_on(move || async move {
        let store = Store::create(&path, options()).await.unwrap();
        let tree = new_tree(&store).await;
        let inserted = insert_until_full(&store, &tree).await;
        let loaded = load_until_full(&store).await;
        lift_limit();
        tree.insert(&inserted.to_be_bytes(), &[7; 900]).await.unwrap();
        load(&loaded, 9000).await.unwrap();
        store.checkpoint().await.unwrap();
        store.verify().await.unwrap();
        let ids = (tree.id(), loaded.id());
        drop((tree, loaded));
        store.close().await;
        let store = Store::open(&path, options()).await.unwrap();
        store.verify().await.unwrap();
        assert_eq!(store.tree(ids.0).unwrap().stats().entries, inserted + 1);
        assert_eq!(store.tree(ids.1).unwrap().stats().entries, 9000);
        store.close().await;
        runtime::fs::remove(&path).await.unwrap();
    });
}

async fn new_tree(store: &Store) -> Tree {
    store.tree(store.create_tree().await.unwrap()).unwrap()
}

fn check_full<T>(outcome: Result<T, StorageError>) {
    let Err(error) = outcome else { panic!("there is no space") };
    assert!(error.is_disk_full(), "{error}");
    assert!(error.to_string().starts_with("could not extend the database file"), "{error}");
}

/// Inserts until there is no space; returns how many entries the tree has then.
async fn insert_until_full(store: &Store, tree: &Tree) -> u64 {
    let mut count = 0u64;
    let refused = loop {
        match tree.insert(&count.to_be_bytes(), &[7; 900]).await {
            Ok(_) => count += 1,
            refused => break refused,
        }
        if count.is_multiple_of(1000) {
            store.checkpoint().await.unwrap();
        }
    };
    check_full(refused);
    assert!(count > 3000, "{count}");
    // The directory goes to new pages, for which there is no space either.
    check_full(store.checkpoint().await);
    check_full(store.reserve(100).await);
    store.verify().await.unwrap();
    assert_eq!(tree.stats().entries, count);
    count
}

/// Creates a tree as long as that goes, and loads more into it than there is space for.
async fn load_until_full(store: &Store) -> Tree {
    check_full(store.create_tree().await);
    lift_limit_by(64 * 4096);
    let tree = new_tree(store).await;
    check_full(load(&tree, 9000).await);
    assert_eq!(tree.stats().entries, 0);
    store.verify().await.unwrap();
    store.checkpoint().await.unwrap();
    tree
}

async fn load(tree: &Tree, count: u64) -> Result<(), StorageError> {
    let mut loader = tree.bulk_loader().await?;
    for number in 0..count {
        loader.push(&number.to_be_bytes(), &[5; 300]).await?;
    }
    loader.finish().await
}

fn lift_limit_by(bytes: u64) {
    set_limit(&format!("{}:", LIMIT_BYTES + bytes));
}

fn lift_limit() {
    set_limit("unlimited:");
}

fn set_limit(limit: &str) {
    let pid = std::process::id().to_string();
    let limit = format!("--fsize={limit}");
    let status = Command::new("prlimit").args(["--pid", &pid, &limit]).status();
    assert!(status.expect("there is prlimit").success());
}

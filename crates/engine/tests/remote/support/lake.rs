//! Tables of Iceberg in a store.

use std::path::Path;

use super::Stand;

/// Puts a table of Iceberg into the store, its location changed to this one of the same length.
pub fn put_lake(stand: &Stand, table: &str, location: Option<&'static [u8; 16]>) -> Vec<String> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../iceberg/tests/data");
    let (mut folders, mut keys) = (vec![data.join(table)], vec![]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let mut bytes = std::fs::read(&path).expect("a file");
            let written = b"file:///tmp/lake";
            while let Some(at) = bytes.windows(16).position(|part| part == written)
                && let Some(location) = location
            {
                bytes[at..at + 16].copy_from_slice(location);
            }
            let name = path.strip_prefix(&data).expect("below it").to_str().expect("UTF-8");
            let key = format!("lake/{name}");
            keys.push(key.clone());
            stand.with(move |server| server.insert(&key, bytes));
        }
    }
    keys.sort();
    keys
}

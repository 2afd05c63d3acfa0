//! Files, folders, and what is not there yet.

use std::path::Path;

use super::file;

#[test]
fn a_folder_means_the_file_in_it() {
    let folder = std::env::temp_dir();
    let inside = folder.join("t.dovetail");
    let folder = folder.display().to_string();
    let cases = [
        (folder.as_str(), inside.to_str().expect("text")),
        ("nowhere/", "nowhere/t.dovetail"),
        ("nowhere/shop.dovetail", "nowhere/shop.dovetail"),
        ("shop", "shop"),
    ];
    for (data, expected) in cases {
        assert_eq!(file(Path::new(data), "t.dovetail"), Path::new(expected), "{data}");
    }
}

//! The documentation of the settings is made from their definitions, and kept true by this test.

use std::path::Path;

#[test]
fn the_documentation_lists_all_settings() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
    let made = engine::settings_markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &made).expect("docs/settings.md is written");
    }
    let kept = std::fs::read_to_string(&path).expect("docs/settings.md");
    assert!(
        kept == made,
        "docs/settings.md is old: UPDATE_DOCS=1 cargo test --workspace --test reference"
    );
}

//! The page: its markup, its style and its scripts, put together into one file when it is sent.

use std::sync::LazyLock;

/// The scripts, in the order in which they need each other; the last one begins.
const SCRIPTS: [&str; 7] = [
    include_str!("page/words.js"),
    include_str!("page/column.js"),
    include_str!("page/charts.js"),
    include_str!("page/figures.js"),
    include_str!("page/below.js"),
    include_str!("page/runs.js"),
    include_str!("page/start.js"),
];

/// Three runs of a sample query, saved by the console and compressed (`tests/console/example.py`).
pub(super) const EXAMPLE: &[u8] = include_bytes!("page/example.json.gz");

/// The page, with places for its token and its nonce.
static PAGE: LazyLock<String> = LazyLock::new(|| {
    let page = include_str!("page/page.html");
    let style = include_str!("page/page.css");
    page.replace("{{style}}", style).replace("{{script}}", &SCRIPTS.join("\n"))
});

/// The page with its token and its nonce.
pub(super) fn page(token: &str, nonce: &str) -> String {
    PAGE.replace("{{token}}", token).replace("{{nonce}}", nonce)
}

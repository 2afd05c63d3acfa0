//! Sizes on the command line.

/// `256MB`, `1GiB`, or plain bytes.
pub fn parse_bytes(text: &str) -> Result<usize, String> {
    let bytes = stdx::parse_bytes(text).map_err(|_| "give a size like 256MB or 1GiB")?;
    usize::try_from(bytes).map_err(|_| "the size is too large".to_owned())
}

/// The size of a page: `8kB`.
pub fn parse_page_bytes(text: &str) -> Result<u32, String> {
    let sizes = [4 << 10, 8 << 10, 16 << 10, 32 << 10];
    let bytes = parse_bytes(text).ok().and_then(|bytes| u32::try_from(bytes).ok());
    bytes
        .filter(|bytes| sizes.contains(bytes))
        .ok_or("pages have 4kB, 8kB, 16kB or 32kB".to_owned())
}

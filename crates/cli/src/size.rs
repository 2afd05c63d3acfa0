//! Sizes on the command line.

/// `256MB`, `1GiB`, or plain bytes.
pub fn parse_bytes(text: &str) -> Result<usize, String> {
    let bytes = stdx::parse_bytes(text).map_err(|_| "give a size like 256MB or 1GiB")?;
    usize::try_from(bytes).map_err(|_| "the size is too large".to_owned())
}

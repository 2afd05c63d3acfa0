//! Little-endian integers at byte offsets: the one place that spells out the file's byte order.

/// Reads a `u16` at `at`.
#[inline]
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// Reads a `u32` at `at`.
#[inline]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let word = bytes[at..at + 4].first_chunk().expect("the slice has four bytes");
    u32::from_le_bytes(*word)
}

/// Reads a `u64` at `at`.
#[inline]
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let word = bytes[at..at + 8].first_chunk().expect("the slice has eight bytes");
    u64::from_le_bytes(*word)
}

/// Writes a `u16` at `at`.
#[inline]
pub(crate) fn set_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
}

/// Writes a `u32` at `at`.
#[inline]
pub(crate) fn set_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// Writes a `u64` at `at`.
#[inline]
pub(crate) fn set_u64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

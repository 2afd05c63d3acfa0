//! Which requests some ranges of an object become: what lies close together is read as one, and nothing is
//! longer than what one request is worth (AnyBlob paper, sections 2.3 and 2.4).

use std::ops::Range;

/// Bytes between two ranges that are read along: less than what comes while a request is on its way
/// (30 ms at 50 MiB/s are 1.5 MiB), more than what costs their copy through the kernel.
pub(super) const GAP_BYTES: u64 = 512 << 10;

/// Bytes of a request at most: beyond 8 to 16 MiB a larger one brings no more.
pub(super) const REQUEST_BYTES_MAX: u64 = 16 << 20;

/// Ranges joined where little lies between them. Each one that was given is within one of these, which is
/// longer than a request only if a single range is.
pub(super) fn joined(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut ranges: Vec<_> = ranges.iter().filter(|range| !range.is_empty()).cloned().collect();
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = vec![];
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.end <= last.end => {}
            Some(last)
                if range.start <= last.end + GAP_BYTES
                    && range.end - last.start <= REQUEST_BYTES_MAX =>
            {
                last.end = range.end;
            }
            _ => joined.push(range),
        }
    }
    joined
}

/// The requests for a range, about the same bytes for each.
pub(super) fn requests(range: &Range<u64>) -> Vec<Range<u64>> {
    let bytes = range.end - range.start;
    let count = bytes.div_ceil(REQUEST_BYTES_MAX);
    let bound = |nth: u64| {
        range.start + (u128::from(bytes) * u128::from(nth) / u128::from(count.max(1))) as u64
    };
    (0..count).map(|nth| bound(nth)..bound(nth + 1)).collect()
}

#[cfg(test)]
mod tests;

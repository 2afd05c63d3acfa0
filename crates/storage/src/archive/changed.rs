//! Which pages differ between a checkpoint and the one before (`docs/format/archive.md`, section 3).

use std::collections::BTreeSet;

use crate::directory::Directory;
use crate::extent::{Extent, merge};
use crate::header::Header;
use crate::page::PageId;

/// The pages of this checkpoint that the one before does not have: those that were free then, and those of
/// the double-write buffer. Not those of the log.
pub(super) fn changed(
    (before, page_count_before): (&Directory, u32),
    (now, header): (&Directory, &Header),
    double_written: &[PageId],
) -> Vec<Extent> {
    let mut were_free = before.free.clone();
    if header.number_count() > page_count_before {
        let pages = header.number_count() - page_count_before;
        were_free.push(Extent { start: page_count_before, pages });
    }
    // Where pages lie out of place the log has no numbers.
    let log = header.log.extent().filter(|_| !header.is_out_of_place());
    let others = merge(now.free.iter().copied().chain(log).collect());
    let mut all = without(&merge(were_free), &others);
    let is_new = |pid: PageId| {
        let behind = all.partition_point(|extent| extent.start <= pid);
        behind > 0 && all[behind - 1].pids().contains(&pid)
    };
    let old: BTreeSet<PageId> =
        double_written.iter().copied().filter(|pid| !is_new(*pid)).collect();
    all.extend(old.into_iter().map(|start| Extent { start, pages: 1 }));
    let all = merge(all);
    // Entries of free pages in a map mean nothing.
    if header.is_out_of_place() { without(&all, &now.free) } else { all }
}

/// What of sorted extents lies outside of other sorted ones.
fn without(extents: &[Extent], others: &[Extent]) -> Vec<Extent> {
    let mut left = vec![];
    let mut others = others.iter().peekable();
    for extent in extents {
        let (mut start, end) = (extent.start, extent.start + extent.pages);
        while let Some(other) = others.peek() {
            let other_end = other.start + other.pages;
            if other.start >= end {
                break;
            }
            if other.start > start {
                left.push(Extent { start, pages: other.start - start });
            }
            start = start.max(other_end);
            if other_end > end {
                // The next extent may have some of it, too.
                break;
            }
            others.next();
        }
        if start < end {
            left.push(Extent { start, pages: end - start });
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extents(of: &[(PageId, u32)]) -> Vec<Extent> {
        of.iter().map(|&(start, pages)| Extent { start, pages }).collect()
    }

    #[test]
    fn extents_without_others() {
        type Pages<'a> = &'a [(PageId, u32)];
        let cases: &[(Pages<'_>, Pages<'_>, Pages<'_>)] = &[
            (&[(10, 10)], &[], &[(10, 10)]),
            (&[(10, 10)], &[(2, 30)], &[]),
            (&[(10, 10)], &[(2, 10)], &[(12, 8)]),
            (&[(10, 10)], &[(12, 2), (16, 1)], &[(10, 2), (14, 2), (17, 3)]),
            (&[(10, 10)], &[(15, 20)], &[(10, 5)]),
            (&[(10, 4), (20, 4)], &[(12, 10)], &[(10, 2), (22, 2)]),
            (
                &[(10, 4), (20, 4), (30, 1)],
                &[(2, 3), (12, 2), (20, 1)],
                &[(10, 2), (21, 3), (30, 1)],
            ),
        ];
        for (of, others, left) in cases {
            assert_eq!(without(&extents(of), &extents(others)), extents(left), "{of:?} {others:?}");
        }
    }
}

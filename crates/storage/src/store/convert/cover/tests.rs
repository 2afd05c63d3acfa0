//! Extents around the pages of small files.

use super::*;

/// Runs of first page and length.
fn runs(of: &[(PageId, u32)]) -> Vec<Extent> {
    of.iter().map(|&(start, pages)| Extent { start, pages }).collect()
}

#[test]
fn pages_between_free_ones() {
    type Pages<'a> = &'a [(PageId, u32)];
    let cases: &[(Pages<'_>, Pages<'_>)] = &[
        (&[], &[(2, 18)]),
        (&[(2, 18)], &[]),
        (&[(2, 3), (10, 2)], &[(5, 5), (12, 8)]),
        (&[(3, 1), (19, 1)], &[(2, 1), (4, 15)]),
    ];
    for (free, used) in cases {
        assert_eq!(between(&runs(free), 20), runs(used), "{free:?}");
    }
}

#[test]
fn extents_hold_all_pages_but_those_right_before_the_log() {
    type Pages<'a> = &'a [(PageId, u32)];
    type Case<'a> = (Pages<'a>, Option<(PageId, u32)>, &'a [PageId], Pages<'a>);
    let cases: &[Case<'_>] = &[
        (&[], None, &[], &[]),
        (&[(2, 20)], None, &[2, 10, 18], &[]),
        // The second run begins in the extent of the first one.
        (&[(2, 3), (9, 4), (40, 1)], None, &[2, 10, 40], &[]),
        // A page or two before the log, as in each file that begins small.
        (&[(2, 1), (16, 9)], Some((4, 12)), &[16, 24], &[(2, 1)]),
        // Extents that end where the log begins, or before it ends.
        (&[(2, 16), (30, 2)], Some((18, 12)), &[2, 10, 30], &[]),
        (&[(2, 12), (15, 1), (18, 2)], Some((16, 2)), &[2, 18], &[(10, 4), (15, 1)]),
    ];
    for &(used, log, starts, strays) in cases {
        let log = log.map(|(start, pages)| Extent { start, pages });
        let cover = Cover::of(&runs(used), log, 8);
        assert_eq!(cover.starts, starts, "{used:?} {log:?}");
        assert_eq!(cover.strays, runs(strays), "{used:?} {log:?}");
    }
}

//! Runs of bytes that are written, and how transfers are cut at their ends.

use super::Written;

fn check(notes: &[(u64, u64)], runs: &[(u64, u64)], pieces: &[(u64, u64, u64, bool)]) {
    let mut written = Written::new(0);
    notes.iter().for_each(|&(start, end)| written.note(start, end));
    assert_eq!(written.runs.iter().map(|(&from, &to)| (from, to)).collect::<Vec<_>>(), runs);
    for &(offset, most, len, is_written) in pieces {
        let piece = written.piece(offset, most);
        assert_eq!((piece.len, piece.is_written), (len, is_written), "{offset}, {most}");
    }
}

#[test]
fn runs_that_touch_are_one_and_pieces_end_where_the_file_changes() {
    check(&[], &[], &[(0, 8, 8, false)]);
    check(&[(4, 4)], &[], &[(0, 8, 8, false)]);
    let pieces = [(0, 20, 4, false), (4, 2, 2, true), (6, 20, 2, true), (8, 20, 4, false)];
    check(&[(4, 8), (12, 16)], &[(4, 8), (12, 16)], &pieces);
    check(&[(4, 8), (8, 12)], &[(4, 12)], &[(3, 20, 1, false), (12, 5, 5, false)]);
    check(&[(8, 12), (4, 8)], &[(4, 12)], &[]);
    check(&[(4, 8), (12, 16), (6, 13)], &[(4, 16)], &[]);
    check(&[(4, 16), (6, 13)], &[(4, 16)], &[]);
    check(&[(0, 2), (4, 8), (12, 16), (3, 20)], &[(0, 2), (3, 20)], &[]);
}

//! The age of versions that are not durable, as far as it is known.

use super::Marks;

#[test]
fn marks_go_when_what_is_behind_them_is_durable() {
    let mut marks = Marks::default();
    let at = runtime::time::now();
    marks.0.extend([(3, at), (7, at), (9, at)]);
    let check = |marks: &mut Marks, durable, newest, left: &[u64]| {
        marks.settle(durable, newest);
        assert_eq!(marks.0.iter().map(|(version, _)| *version).collect::<Vec<_>>(), left);
    };
    // The sixth is not durable: its age is that of the third, or less.
    check(&mut marks, 5, 12, &[3, 7, 9]);
    check(&mut marks, 6, 12, &[7, 9]);
    check(&mut marks, 10, 12, &[9]);
    check(&mut marks, 12, 12, &[]);
    check(&mut marks, 12, 12, &[]);
}

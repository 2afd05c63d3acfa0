//! Tuples come out of any pieces as they went in.

use super::*;

#[test]
fn pieces_of_any_size_are_the_same_tuples() {
    for piece in [1, 7, 16, 23, 24, 25, 100] {
        let mut scan = Scan::new(0, 3, 50, 24);
        let (mut sent, mut bytes) = (Tally::default(), vec![]);
        while let Some((key, node)) = scan.next() {
            assert!(node < 3);
            let mut tuple = [0; 24];
            scan.write(key, &mut tuple, &mut sent);
            bytes.extend(tuple);
        }
        let (mut sink, mut table) = (Sink::new(24), Some(Table::new(50)));
        bytes.chunks(piece).for_each(|piece| sink.take(piece, &mut table));
        assert_eq!((sink.tally, sink.wrong, sink.is_whole()), (sent, 0, true));
    }
}

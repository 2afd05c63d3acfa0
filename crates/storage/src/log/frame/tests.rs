//! Frames come back, torn and rotten ones are told apart, and nobody can forge one.

use stdx::Prng;

use super::*;

const PLACE: LogPlace = LogPlace { pid: 5, pages: 1, salt: 0x1234_5678_9abc_def0 };

/// A run with these frames, and where each begins.
fn run_of(frames: &[Vec<u8>], checkpoint: u64) -> (Vec<u8>, Vec<usize>) {
    let (mut bytes, mut starts) = (vec![], vec![]);
    let mut id = FrameId::first(checkpoint);
    for changes in frames {
        starts.push(bytes.len());
        let sum = write(&mut bytes, id, PLACE.salt, changes);
        id = id.next(sum);
    }
    bytes.resize(bytes.len().next_multiple_of(4096) + 4096, 0);
    (bytes, starts)
}

fn frames() -> Vec<Vec<u8>> {
    (0..6usize).map(|i| vec![i as u8; 10 + 37 * i]).collect()
}

#[test]
fn frames_come_back_in_order() {
    let (run, _) = run_of(&frames(), 7);
    assert_eq!(read_all(&run, &PLACE, 7, 0).unwrap(), frames());
    assert_eq!(read_all(&run, &PLACE, 8, 1), Err(0), "one should be there");
    assert!(read_all(&run, &PLACE, 8, 0).unwrap().is_empty(), "they build on another checkpoint");
    let other = LogPlace { salt: 1, ..PLACE };
    assert!(read_all(&run, &other, 7, 0).unwrap().is_empty(), "they are of another log");
}

#[test]
fn a_torn_tail_is_the_end() {
    let (run, starts) = run_of(&frames(), 7);
    let mut prng = Prng::new(1);
    for _ in 0..500 {
        let mut torn = run.clone();
        let at = starts[5] + prng.below(32 + frames()[5].len() as u64) as usize;
        torn[at] ^= 1 << prng.below(8);
        assert_eq!(read_all(&torn, &PLACE, 7, 0).unwrap(), frames()[..5]);
    }
}

#[test]
fn rot_before_the_last_frame_is_told() {
    let (run, starts) = run_of(&frames(), 7);
    let mut prng = Prng::new(2);
    for _ in 0..500 {
        let mut rotten = run.clone();
        let victim = prng.below(5) as usize;
        let at = starts[victim] + prng.below(32 + frames()[victim].len() as u64) as usize;
        rotten[at] ^= 1 << prng.below(8);
        assert_eq!(read_all(&rotten, &PLACE, 7, 0), Err(starts[victim]));
    }
}

#[test]
fn what_a_user_writes_is_not_taken_for_a_frame() {
    let mut forged = vec![];
    write(&mut forged, FrameId { checkpoint: 7, sequence: 9, previous: 0 }, 0, b"forged");
    let (mut run, _) = run_of(&[vec![1], forged], 7);
    run[56] ^= 1;
    assert_eq!(read_all(&run, &PLACE, 7, 0).unwrap(), [[1]]);
}

#[test]
fn a_claimed_length_is_not_believed() {
    let (mut run, starts) = run_of(&frames(), 7);
    crate::le::set_u32(&mut run, starts[2] + LEN, u32::MAX);
    assert_eq!(read_all(&run, &PLACE, 7, 0), Err(starts[2]));
}

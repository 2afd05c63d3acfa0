//! Frames come back, torn and rotten ones are told apart, and nobody can forge one.

use stdx::Prng;

use super::*;

const PLACE: LogPlace = LogPlace { pid: 5, pages: 1, salt: 0x1234_5678_9abc_def0 };

/// A run with these frames, and where each begins.
fn run_of(frames: &[Vec<u8>], checkpoint: u64) -> (Vec<u8>, Vec<usize>) {
    let (mut bytes, mut starts) = (vec![], vec![]);
    let mut id = FrameId::first(checkpoint, 0);
    for changes in frames {
        starts.push(bytes.len());
        let sum = write(&mut bytes, id, 9, PLACE.salt, changes);
        id = id.next(sum);
    }
    bytes.resize(bytes.len().next_multiple_of(4096) + 4096, 0);
    (bytes, starts)
}

/// What the frames of a run change.
fn changes_of(
    run: &[u8],
    place: &LogPlace,
    checkpoint: u64,
    known: u32,
) -> Result<Vec<Vec<u8>>, usize> {
    let (all, _) = read_all(run, place, FrameId::first(checkpoint, 0), known)?;
    Ok(all.iter().map(|frame| frame.content.to_vec()).collect())
}

fn frames() -> Vec<Vec<u8>> {
    (0..6usize).map(|i| vec![i as u8; 10 + 37 * i]).collect()
}

#[test]
fn frames_come_back_in_order() {
    let (run, _) = run_of(&frames(), 7);
    assert_eq!(changes_of(&run, &PLACE, 7, 0).unwrap(), frames());
    assert_eq!(changes_of(&run, &PLACE, 8, 1), Err(0), "one should be there");
    assert!(changes_of(&run, &PLACE, 8, 0).unwrap().is_empty(), "they build on another checkpoint");
    let other = LogPlace { salt: 1, ..PLACE };
    assert!(changes_of(&run, &other, 7, 0).unwrap().is_empty(), "they are of another log");
}

#[test]
fn a_torn_tail_is_the_end() {
    let (run, starts) = run_of(&frames(), 7);
    let mut prng = Prng::new(1);
    for _ in 0..500 {
        let mut torn = run.clone();
        let at = starts[5] + prng.below(40 + frames()[5].len() as u64) as usize;
        torn[at] ^= 1 << prng.below(8);
        assert_eq!(changes_of(&torn, &PLACE, 7, 0).unwrap(), frames()[..5]);
    }
}

#[test]
fn rot_before_the_last_frame_is_told() {
    let (run, starts) = run_of(&frames(), 7);
    let mut prng = Prng::new(2);
    for _ in 0..500 {
        let mut rotten = run.clone();
        let victim = prng.below(5) as usize;
        let at = starts[victim] + prng.below(40 + frames()[victim].len() as u64) as usize;
        rotten[at] ^= 1 << prng.below(8);
        assert_eq!(changes_of(&rotten, &PLACE, 7, 0), Err(starts[victim]));
    }
}

#[test]
fn what_a_user_writes_is_not_taken_for_a_frame() {
    let mut forged = vec![];
    write(&mut forged, FrameId { checkpoint: 7, sequence: 9, previous: 0 }, 9, 0, b"forged");
    let (mut run, _) = run_of(&[vec![1], forged], 7);
    run[64] ^= 1;
    assert_eq!(changes_of(&run, &PLACE, 7, 0).unwrap(), [[1]]);
}

#[test]
fn a_claimed_length_is_not_believed() {
    let (mut run, starts) = run_of(&frames(), 7);
    crate::le::set_u32(&mut run, starts[2] + LEN, u32::MAX);
    assert_eq!(changes_of(&run, &PLACE, 7, 0), Err(starts[2]));
}

#[test]
fn frames_of_version_3_have_no_time() {
    let mut run = vec![];
    let sum = write(&mut run, FrameId::first(7, 0), 0, PLACE.salt, b"old");
    let id = FrameId::first(7, 0).next(sum);
    write(&mut run, id, 0, PLACE.salt, b"older");
    let (found, _) = read_all(&run, &PLACE, FrameId::first(7, 0), 0).unwrap();
    assert!(run.starts_with(b"DVLG"));
    assert!(found.iter().all(|frame| frame.time == 0));
    assert_eq!(changes_of(&run, &PLACE, 7, 0).unwrap(), [b"old".to_vec(), b"older".to_vec()]);
}

#[test]
fn a_run_that_goes_on_is_told_from_one_that_has_lost_its_end() {
    let (run, starts) = run_of(&frames(), 7);
    let (_, next) = read_all(&run, &PLACE, FrameId::first(7, 0), 0).unwrap();
    let place = LogPlace { salt: 77, ..PLACE };
    let mut behind = vec![];
    let first = FrameId::first(8, next.previous);
    let sum = write_begin(&mut behind, first, 9, place.salt, (b"before", b"changes"));
    write(&mut behind, first.next(sum), 10, place.salt, b"later");
    behind.resize(8192, 0);
    let (found, last) = read_all(&behind, &place, first, 0).unwrap();
    let parts: Vec<_> = found.iter().map(|frame| frame.parts().unwrap()).collect();
    let expected: [(&[u8], &[u8]); 2] = [(b"before", b"changes"), (b"", b"later")];
    assert_eq!((parts, last.sequence), (expected.to_vec(), 2));
    // Without what the last frame of the run before has, it is damaged and not torn.
    let (_, lost) = read_all(&run[..starts[5]], &PLACE, FrameId::first(7, 0), 0).unwrap();
    assert!(
        read_all(&behind, &place, FrameId::first(8, lost.previous), 0).is_err_and(|at| at == 0)
    );
    // And so is one whose own first frame has rotted, unless there is no other.
    behind[41] ^= 1;
    assert!(read_all(&behind, &place, first, 0).is_err_and(|at| at == 0));
    behind[64..].fill(0);
    let (none, first_again) = read_all(&behind, &place, first, 0).unwrap();
    assert!(none.is_empty() && first_again == first);
}

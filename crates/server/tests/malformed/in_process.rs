//! Through the entry points for fuzzing, message by message, its memory counted.

use engine::{Database, Options, Session};
use server::fuzz;
use stdx::Prng;

use crate::allocations::peak_of;
use crate::messages::{body, copy, frames, scram, spoil, startup, value};
use crate::{Culprit, count};

/// Most memory that reading a message may take, in bytes. Messages here have a few hundred bytes, and
/// claim up to four gigabytes; what is most is the block that COPY reads at once and the parsers of
/// its columns.
const BYTES_MAX: usize = 4 << 20;

/// One kind of messages: how they are made, and who reads them.
struct Kind {
    name: &'static str,
    make: fn(&mut Prng) -> Vec<u8>,
    read: fn(&Session, &[u8]),
}

const KINDS: [Kind; 6] = [
    Kind { name: "startup", make: startup, read: |_, bytes| fuzz::startup(bytes) },
    Kind { name: "framing", make: chosen_frames, read: |_, bytes| fuzz::framing(bytes) },
    Kind { name: "scram", make: scram, read: |_, bytes| fuzz::scram(bytes) },
    Kind { name: "body", make: body, read: |_, bytes| fuzz::body(bytes) },
    Kind { name: "value", make: chosen_value, read: |_, bytes| fuzz::value(bytes) },
    Kind { name: "copy", make: copy, read: fuzz::copy },
];

fn chosen_frames(random: &mut Prng) -> Vec<u8> {
    [&[random.below(256) as u8], frames(random).as_slice()].concat()
}

fn chosen_value(random: &mut Prng) -> Vec<u8> {
    [&[random.below(256) as u8], value(random).as_slice()].concat()
}

fn session(name: &str) -> Session {
    let folder = std::env::temp_dir().join(format!("dovetail-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let options = Options { memory_bytes: 16 << 20, ..pg::options() };
    let db = Database::create(&folder.join("t.dovetail"), options).expect("a database");
    let mut session = db.session();
    session.execute(fuzz::COPY_TABLE).expect("the table");
    std::fs::remove_dir_all(&folder).ok();
    session
}

#[test]
fn no_message_panics_or_takes_memory_by_a_claimed_length() {
    let (session, mut most) = (session("malformed"), [0; KINDS.len()]);
    for seed in 0..count() {
        let _culprit = Culprit(seed);
        let mut random = Prng::new(seed);
        let at = random.below(KINDS.len() as u64) as usize;
        let kind = &KINDS[at];
        let mut message = (kind.make)(&mut random);
        spoil(&mut message, &mut random);
        let bytes = peak_of(|| (kind.read)(&session, &message));
        assert!(bytes <= BYTES_MAX, "{}: {bytes} bytes for {message:?}", kind.name);
        most[at] = bytes.max(most[at]);
    }
    println!("{} malformed messages in process; most bytes that one took:", count());
    KINDS.iter().zip(most).for_each(|(kind, most)| println!("  {:<8} {most}", kind.name));
}

/// A generator of which nothing is accepted would try only the first check of each reader.
#[test]
fn the_messages_that_are_spoiled_are_good_ones() {
    let session = session("good");
    let mut random = Prng::new(1);
    let input = (0..200).map(|_| copy(&mut random)).find(|input| input[0] == 0);
    let input = input.expect("one of three formats");
    let statement = engine::Template::all("copy values_of_all_types from stdin");
    let statement = statement.expect("parsed")[0].bind(&[]).expect("bound");
    assert_eq!(session.read_copy(&statement, &input[1..]), Ok(1));
}

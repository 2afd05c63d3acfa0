//! Tables that come back, are damaged, too long; members that get extents.

use stdx::Prng;

use super::*;

const ORIGIN: Origin =
    Origin { database: [7; 16], geometry: Geometry { extent_bytes: 64 << 10, table_bytes: 8192 } };

fn record(number: u32, path: &str) -> Record {
    let (id, speed) = (u64::from(number) << 40 | 5, 1000 * u64::from(number));
    Record { id, number, size: 0, speed, path: path.into() }
}

fn table() -> Table {
    let members = vec![record(1, "/a, b"), record(3, "/c")];
    let places = [(0, 0), (1, 0), (0, 1), (1, 1), (1, 2)];
    let extents = places.map(|(member, number)| Place { member, number }).to_vec();
    Table { sequence: 9, next_number: 4, members, extents }
}

#[test]
fn a_table_comes_back_and_no_flipped_bit_of_it_does() {
    let table = table();
    let bytes = table.encode(&ORIGIN).unwrap();
    assert_eq!(Table::decode(&bytes, &ORIGIN), Some(table.clone()));
    for bit in 0..table.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(Table::decode(&damaged, &ORIGIN), None, "bit {bit}");
    }
    let other = Origin { database: [8; 16], ..ORIGIN };
    assert_eq!(Table::decode(&bytes, &other), None, "of another database");
}

#[test]
fn a_table_with_a_place_twice_or_a_gap_is_none() {
    for (extent, place) in [(1, (0, 0)), (4, (1, 3)), (2, (2, 0))] {
        let mut table = table();
        table.extents[extent] = Place { member: place.0, number: place.1 };
        let bytes = table.encode(&ORIGIN).unwrap();
        assert_eq!(Table::decode(&bytes, &ORIGIN), None, "extent {extent} at {place:?}");
    }
}

#[test]
fn a_table_that_is_too_long_for_its_slot_is_not_written() {
    let mut table = table();
    let number = |number| Place { member: 0, number };
    table.extents = (0..3000).map(number).collect();
    assert_eq!(table.encode(&ORIGIN), None);
}

#[test]
fn extents_go_to_members_by_their_speeds() {
    let speeds = [300, 100, 200];
    let mut counts = [0; 3];
    for _ in 0..600 {
        let chosen = choose(&speeds, &counts, |_| true).unwrap();
        counts[chosen] += 1;
    }
    assert_eq!(counts, [300, 100, 200]);
    // A member that joins catches up.
    assert_eq!(choose(&[100, 100], &[50, 0], |_| true), Some(1));
    assert_eq!(choose(&[100, 100], &[50, 0], |member| member == 0), Some(0));
    assert_eq!(choose(&[100, 100], &[50, 0], |_| false), None);
}

#[test]
fn extents_move_until_members_are_even() {
    let speeds = [300, 100, 200];
    let mut counts = [300, 100, 0];
    while let Some(source) = overloaded(&speeds, &counts, 2) {
        counts[source] -= 1;
        counts[2] += 1;
    }
    assert!(
        counts.iter().zip(speeds).all(|(count, speed)| (count * 3 / 2).abs_diff(speed as u32) < 5),
        "{counts:?}"
    );
    assert_eq!(overloaded(&[100, 100], &[1, 0], 1), None, "it would be the same for another one");
    assert_eq!(overloaded(&[100], &[9], 0), None, "there is no other one");
}

#[test]
fn extents_of_a_converted_file_stay_but_for_its_head() {
    let geometry = Geometry { extent_bytes: 64 << 10, table_bytes: 64 << 10 };
    let table = Table::of_converted(record(1, "/a"), 7, &geometry);
    let head = geometry.head_extents();
    assert_eq!(head, 3);
    for (extent, place) in (0..).zip(&table.extents) {
        let at = geometry.offset(place.number) / geometry.extent_bytes;
        let was = u64::from(if extent < head { 7 + extent } else { extent });
        assert_eq!(at, was, "extent {extent}");
    }
    assert!(table.is_sound());
}

#[test]
fn tables_of_any_bytes_are_none_or_have_a_successor() {
    let (mut prng, good) = (Prng::new(1), table().encode(&ORIGIN).unwrap());
    let (len, mut tables) = (table().len() as u64, 0);
    for _ in 0..200_000 {
        let mut bytes = good.clone();
        for _ in 0..1 + prng.below(3) {
            let value = [0, 1, 255, prng.next_u64() as u8][prng.below(4) as usize];
            bytes[prng.below(len) as usize] = value;
        }
        let whole = Table::stored_len(&bytes, &ORIGIN.geometry).unwrap_or(HEAD_BYTES);
        set_u32(&mut bytes, CHECKSUM, 0);
        let sum = crc32c::crc32c(&bytes[..whole.min(good.len())]);
        set_u32(&mut bytes, CHECKSUM, sum);
        let Some(table) = Table::decode(&bytes, &ORIGIN) else { continue };
        tables += 1;
        assert!(table.sequence < u64::MAX - 1 && table.next_number < u32::MAX);
        assert!(table.members.len() <= MEMBER_COUNT_MAX);
        assert_eq!(table.counts().len(), table.members.len());
        assert_eq!(Table::decode(&table.encode(&ORIGIN).unwrap(), &ORIGIN), Some(table));
    }
    assert!(tables > 1000, "{tables}");
}

#[test]
fn counts_that_leave_no_successor_are_of_no_table() {
    for (sequence, next_number) in [(u64::MAX, 4), (9, u32::MAX), (9, 3)] {
        let table = Table { sequence, next_number, ..table() };
        assert_eq!(Table::decode(&table.encode(&ORIGIN).unwrap(), &ORIGIN), None);
    }
    let mut twice = table();
    twice.members[1].id = twice.members[0].id;
    assert_eq!(Table::decode(&twice.encode(&ORIGIN).unwrap(), &ORIGIN), None, "an id twice");
}

//! The table: which members there are, and where each extent lies (`docs/format/volume.md`,
//! section 3).

use std::collections::BTreeSet;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::label::Label;
use super::origin::Origin;
use super::{BLOCK_BYTES, Geometry};
use crate::le::{set_u32, set_u64, u32_at, u64_at};

const MAGIC: &[u8; 8] = b"DOVETABL";
const HEAD_BYTES: usize = 64;
const MEMBER_BYTES: usize = 32;
const CHECKSUM: usize = 60;

/// Most members: a small table of speeds is looked through for each new extent.
pub(crate) const MEMBER_COUNT_MAX: usize = 64;

/// Bits of a place's number in an entry; the member's position has the others.
const PLACE_BITS: u32 = 24;

/// Where an extent lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Position of the member in the table.
    pub member: usize,
    /// Number of the place there.
    pub number: u32,
}

/// A member, as the table knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub id: u64,
    pub number: u32,
    pub size: u64,
    pub speed: u64,
    /// Where it was found last.
    pub path: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    /// The greater one of two counts.
    pub sequence: u64,
    /// Number of the next member.
    pub next_number: u32,
    /// The first one has number 1.
    pub members: Vec<Record>,
    /// Of the bytes of the database, one after the other.
    pub extents: Vec<Place>,
}

impl Table {
    /// That of members on which nothing lies.
    pub fn of_new(members: Vec<Record>) -> Table {
        let next_number = members.len() as u32 + 1;
        Table { sequence: 1, next_number, members, extents: vec![] }
    }

    /// That of a file with so many extents which has become the first member: they stay, but for
    /// those where the head of a member is, which lie behind the others.
    pub fn of_converted(first: Record, extents: u32, geometry: &Geometry) -> Table {
        let head = geometry.head_extents();
        assert!(extents >= head, "a file of {extents} extents has been made longer");
        let place = |extent: u32| (extent + extents - head) % extents;
        let extents = (0..extents).map(|extent| Place { member: 0, number: place(extent) });
        Table { sequence: 0, next_number: 2, members: vec![first], extents: extents.collect() }
    }

    /// Extents that lie on each member. Their places are 0 and those that follow, with no gap.
    pub fn counts(&self) -> Vec<u32> {
        let mut counts = vec![0; self.members.len()];
        self.extents.iter().for_each(|place| counts[place.member] += 1);
        counts
    }

    /// Bytes of the table of a converted file.
    pub fn bytes_of_converted(extents: u32, path_bytes: u64) -> u64 {
        (HEAD_BYTES + MEMBER_BYTES) as u64 + path_bytes + 4 * u64::from(extents)
    }

    /// Bytes of the table in its slot.
    fn len(&self) -> usize {
        let paths = self.members.iter().map(|member| member.path.as_os_str().len());
        let members = self.members.len() * MEMBER_BYTES + paths.sum::<usize>();
        HEAD_BYTES + members + self.extents.len() * 4
    }

    /// The table in whole blocks; nothing when it does not fit a slot.
    pub fn encode(&self, origin: &Origin) -> Option<Vec<u8>> {
        let len = self.len();
        if len as u64 > origin.geometry.table_bytes || self.members.len() > MEMBER_COUNT_MAX {
            return None;
        }
        let mut bytes = vec![0; HEAD_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        set_u64(&mut bytes, 8, len as u64);
        bytes[16..32].copy_from_slice(&origin.database);
        set_u64(&mut bytes, 32, self.sequence);
        set_u32(&mut bytes, 40, self.next_number);
        set_u32(&mut bytes, 44, self.members.len() as u32);
        set_u32(&mut bytes, 48, self.extents.len() as u32);
        self.members.iter().for_each(|member| member.encode(&mut bytes));
        for place in &self.extents {
            let entry = (place.member as u32) << PLACE_BITS | place.number;
            bytes.extend(entry.to_le_bytes());
        }
        assert_eq!(bytes.len(), len, "length of a table");
        let sum = crc32c::crc32c(&bytes);
        set_u32(&mut bytes, CHECKSUM, sum);
        bytes.resize(len.next_multiple_of(BLOCK_BYTES), 0);
        Some(bytes)
    }

    /// The bytes of the table that begins so, as far as a slot of this length could have it.
    pub fn stored_len(head: &[u8], geometry: &Geometry) -> Option<usize> {
        let is_table = head.len() >= HEAD_BYTES && head[..8] == *MAGIC;
        let len = is_table.then(|| u64_at(head, 8))?;
        (HEAD_BYTES as u64..=geometry.table_bytes).contains(&len).then_some(len as usize)
    }

    /// The table of this database that a slot holds, if it holds one.
    pub fn decode(slot: &[u8], origin: &Origin) -> Option<Table> {
        let mut bytes = slot.get(..Table::stored_len(slot, &origin.geometry)?)?.to_vec();
        let sum = u32_at(&bytes, CHECKSUM);
        set_u32(&mut bytes, CHECKSUM, 0);
        if crc32c::crc32c(&bytes) != sum || bytes[16..32] != origin.database {
            return None;
        }
        let (member_count, extent_count) = (u32_at(&bytes, 44), u32_at(&bytes, 48) as usize);
        let mut rest = &bytes[HEAD_BYTES..];
        let members: Option<Vec<Record>> =
            (0..member_count).map(|_| Record::decode(&mut rest)).collect();
        let entries = rest.chunks_exact(4).map(|entry| u32_at(entry, 0));
        let mask = (1 << PLACE_BITS) - 1;
        let place =
            |entry: u32| Place { member: (entry >> PLACE_BITS) as usize, number: entry & mask };
        let table = Table {
            sequence: u64_at(&bytes, 32),
            next_number: u32_at(&bytes, 40),
            members: members?,
            extents: entries.map(place).collect(),
        };
        (table.extents.len() == extent_count && table.is_sound()).then_some(table)
    }

    /// True if its counts can go on: none of a program is as great.
    fn has_successor(&self) -> bool {
        self.sequence <= u64::MAX / 2 && self.next_number <= u32::MAX / 2
    }

    /// True if members can be told apart, and the first one is the first.
    fn knows_members(&self) -> bool {
        let numbers: BTreeSet<u32> = self.members.iter().map(|member| member.number).collect();
        let ids: BTreeSet<u64> = self.members.iter().map(|member| member.id).collect();
        let count = self.members.len();
        let is_first = self.members.first().is_some_and(|first| first.number == 1);
        let are_given = numbers.iter().all(|number| (1..self.next_number).contains(number));
        is_first
            && are_given
            && count <= MEMBER_COUNT_MAX
            && [numbers.len(), ids.len()] == [count; 2]
    }

    /// True if each extent has a place of its own, and those of a member have no gap.
    fn is_sound(&self) -> bool {
        let is_known = |place: &Place| place.member < self.members.len();
        if !self.has_successor() || !self.knows_members() || !self.extents.iter().all(is_known) {
            return false;
        }
        let mut taken: Vec<Vec<bool>> =
            self.counts().iter().map(|count| vec![false; *count as usize]).collect();
        self.extents.iter().all(|place| {
            let slot = taken[place.member].get_mut(place.number as usize);
            slot.is_some_and(|taken| !std::mem::replace(taken, true))
        })
    }
}

impl Record {
    /// That of a member with this label.
    pub fn of(label: &Label, path: &Path) -> Record {
        let Label { id, number, size, speed, .. } = *label;
        Record { id, number, size, speed, path: path.to_owned() }
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        let path = self.path.as_os_str().as_bytes();
        bytes.extend(self.id.to_le_bytes());
        bytes.extend(self.size.to_le_bytes());
        bytes.extend(self.speed.to_le_bytes());
        bytes.extend(self.number.to_le_bytes());
        bytes.extend((path.len() as u32).to_le_bytes());
        bytes.extend(path);
    }

    fn decode(rest: &mut &[u8]) -> Option<Record> {
        let head = rest.get(..MEMBER_BYTES)?;
        let path_len = u32_at(head, 28) as usize;
        let path = rest.get(MEMBER_BYTES..MEMBER_BYTES.checked_add(path_len)?)?;
        let record = Record {
            id: u64_at(head, 0),
            size: u64_at(head, 8),
            speed: u64_at(head, 16),
            number: u32_at(head, 24),
            path: PathBuf::from(std::ffi::OsString::from_vec(path.to_vec())),
        };
        *rest = &rest[MEMBER_BYTES + path_len..];
        Some(record)
    }
}

/// The member that gets the next extent: of those that have room, the one that has the fewest
/// for its speed then.
pub(crate) fn choose(
    speeds: &[u64],
    counts: &[u32],
    has_room: impl Fn(usize) -> bool,
) -> Option<usize> {
    let load = |member: &usize| load(speeds[*member], counts[*member] + 1);
    (0..speeds.len()).filter(|member| has_room(*member)).min_by_key(load)
}

/// The member from which an extent is to move to `target`: the one that has the most for its speed,
/// if the other one has fewer then.
pub(crate) fn overloaded(speeds: &[u64], counts: &[u32], target: usize) -> Option<usize> {
    let load_of = |member: &usize| load(speeds[*member], counts[*member]);
    let source = (0..speeds.len()).filter(|member| *member != target).max_by_key(load_of)?;
    (load(speeds[target], counts[target] + 1) < load_of(&source)).then_some(source)
}

/// Extents for a speed. Scaled, so that whole numbers tell any two speeds apart.
fn load(speed: u64, extents: u32) -> u128 {
    (u128::from(extents) << 64) / u128::from(speed.max(1))
}

#[cfg(test)]
mod tests;

//! Labels that come back, and bytes that are none.

use stdx::Prng;

use super::*;

const LABEL: Label = Label {
    origin: Origin {
        database: [9; 16],
        geometry: Geometry { extent_bytes: 4 << 20, table_bytes: 17 << 20 },
    },
    id: 77,
    number: 2,
    size: 1 << 40,
    speed: 3 << 30,
    converted: 0,
};

#[test]
fn a_label_comes_back_and_no_flipped_bit_of_it_does() {
    let block = LABEL.encode();
    assert_eq!(Label::decode(&block), Some(LABEL));
    for bit in 0..MEANING_BYTES * 8 {
        let mut damaged = block.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(Label::decode(&damaged), None, "bit {bit}");
    }
}

#[test]
fn labels_of_any_bytes_are_none_or_come_back() {
    let mut prng = Prng::new(1);
    for _ in 0..200_000 {
        let mut block = LABEL.encode();
        for _ in 0..1 + prng.below(4) {
            block[prng.below(MEANING_BYTES as u64) as usize] = prng.next_u64() as u8;
        }
        let sum = crc32c::crc32c(&block[..CHECKSUM]);
        set_u32(&mut block, CHECKSUM, sum);
        let Some(label) = Label::decode(&block) else { continue };
        assert_eq!(Label::decode(&label.encode()), Some(label.clone()));
        let geometry = label.origin.geometry;
        assert!(geometry.offset(u32::MAX) > geometry.head_bytes());
        assert!(label.converted == 0 || label.converted <= (geometry.table_bytes / 4) as u32);
    }
}

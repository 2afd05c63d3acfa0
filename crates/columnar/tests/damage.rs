//! Bytes that nobody wrote: found by a checksum, and harmless to a decoder that does not look at it.
//!
//! `DOVETAIL_SEEDS` says how many chunks are damaged.

mod support;

use arrow_array::{Array, ArrayRef};
use columnar::{
    Chunk, ChunkHeader, Comparison, Error, Mask, Part, Piece, Restriction, SECTOR_BYTES,
    VECTOR_ROWS, Vector, encode,
};
use stdx::Prng;
use support::{TYPES, column, seeds};
use types::LogicalType;

/// A chunk of some columns.
fn chunk(rng: &mut Prng) -> (Vec<LogicalType>, Vec<ArrayRef>, Chunk) {
    let rows = [3, 300, 1024, 1500][rng.below(4) as usize];
    let types: Vec<LogicalType> =
        (0..4).map(|_| TYPES[rng.below(TYPES.len() as u64) as usize]).collect();
    let arrays: Vec<ArrayRef> = types.iter().map(|ty| column(*ty, rows, rng)).collect();
    let chunk = encode(&types, &arrays).unwrap();
    (types, arrays, chunk)
}

fn flip(bytes: &mut [u8], rng: &mut Prng) {
    let at = rng.below(bytes.len() as u64) as usize;
    bytes[at] ^= 1 << rng.below(8);
}

/// Changes some bytes, as a wrong program would rather than a disk: small and large numbers too.
fn mutate(bytes: &mut [u8], rng: &mut Prng) {
    for _ in 0..1 + rng.below(4) {
        let at = rng.below(bytes.len() as u64) as usize;
        bytes[at] = match rng.below(5) {
            0 => 0,
            1 => 255,
            2 => bytes[at].wrapping_add(1),
            3 => bytes[at].wrapping_sub(1),
            _ => rng.next_u64() as u8,
        };
    }
}

/// Makes the header's checksum right again.
fn seal(header: &mut [u8]) {
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&header[..4]), &header[8..]);
    header[4..8].copy_from_slice(&checksum.to_le_bytes());
}

#[test]
fn each_flipped_bit_of_a_header_is_found() {
    let (_, _, chunk) = chunk(&mut Prng::new(1));
    for bit in 0..chunk.header.len() * 8 {
        let mut header = chunk.header.clone();
        header[bit / 8] ^= 1 << (bit % 8);
        let found = ChunkHeader::parse(&header).map(|_| ());
        let is_damage = matches!(found, Err(Error::Damage(d)) if d.part == Part::Header);
        assert!(is_damage, "bit {bit}: {found:?}");
    }
}

#[test]
fn a_header_that_is_cut_off_is_found() {
    let (_, _, chunk) = chunk(&mut Prng::new(2));
    for len in 0..chunk.header.len() {
        assert!(ChunkHeader::parse(&chunk.header[..len]).is_err(), "{len} bytes");
    }
}

#[test]
fn each_flipped_bit_of_a_body_is_found_in_its_sector() {
    for seed in seeds(50) {
        let mut rng = Prng::new(seed);
        let (_, _, chunk) = chunk(&mut rng);
        let header = ChunkHeader::parse(&chunk.header).unwrap();
        for _ in 0..20 {
            if chunk.body.is_empty() {
                continue;
            }
            let mut body = chunk.body.clone();
            let bit = rng.below(body.len() as u64 * 8) as usize;
            body[bit / 8] ^= 1 << (bit % 8);
            let sector = (bit / 8 / SECTOR_BYTES * SECTOR_BYTES) as u64;
            let found = header.verify(0, &body);
            assert!(matches!(found, Err(Error::Damage(d)) if d.offset == sector), "seed {seed}");
        }
    }
}

/// Reads all that a header says there is, in every way, and expects an array or an error.
fn read_everything(header: &ChunkHeader, body: &[u8], constants: &[(LogicalType, ArrayRef)]) {
    let pieces = [Piece { offset: 0, bytes: body }];
    let sectors: Vec<Piece> = body
        .chunks(SECTOR_BYTES)
        .enumerate()
        .map(|(i, bytes)| Piece { offset: (i * SECTOR_BYTES) as u64, bytes })
        .collect();
    for column in 0..header.columns().len() {
        for index in 0..header.vector_count().min(4) {
            let vector = Vector::new(header, column, index, &pieces).unwrap();
            if let Ok(array) = vector.decode() {
                assert_eq!(array.len(), vector.rows());
            }
            let last = vector.rows() as u16 - 1;
            drop(vector.take(&[0, last, last / 2]));
            let alone = Vector::new(header, column, index, &sectors).unwrap();
            drop((0..=last).step_by(97).map(|row| alone.take(&[row]).is_ok()).collect::<Vec<_>>());
            for (ty, constant) in constants {
                let restriction = Restriction::new(*ty, Comparison::LessOrEqual, constant);
                if let Ok(restriction) = restriction {
                    drop(vector.select(&restriction, &Mask::first(VECTOR_ROWS)));
                }
            }
        }
    }
}

#[test]
fn a_decoder_that_trusts_the_checksums_does_not_panic() {
    for seed in seeds(1500) {
        let mut rng = Prng::new(seed);
        let (types, arrays, chunk) = chunk(&mut rng);
        let row = rng.below(arrays[0].len() as u64) as usize;
        let constants: Vec<_> =
            types.iter().zip(&arrays).map(|(ty, array)| (*ty, array.slice(row, 1))).collect();
        let (mut bytes, mut body) = (chunk.header.clone(), chunk.body.clone());
        match rng.below(3) {
            0 => mutate(&mut bytes, &mut rng),
            1 if !body.is_empty() => mutate(&mut body, &mut rng),
            // Most of what matters stands at the start of a vector.
            _ if !body.is_empty() => {
                let header = ChunkHeader::parse(&bytes).unwrap();
                let vectors: Vec<_> = header
                    .columns()
                    .iter()
                    .flat_map(|column| column.vectors())
                    .filter(|vector| !vector.bytes.is_empty())
                    .collect();
                let vector = vectors[rng.below(vectors.len() as u64) as usize];
                let (start, end) = (vector.bytes.start as usize, vector.bytes.end as usize);
                mutate(&mut body[start..end.min(start + 200)], &mut rng);
            }
            _ => flip(&mut bytes, &mut rng),
        }
        seal(&mut bytes);
        let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            if let Ok(header) = ChunkHeader::parse(&bytes) {
                read_everything(&header, &body, &constants);
            }
        }));
        assert!(read.is_ok(), "DOVETAIL_FIRST_SEED={seed} DOVETAIL_SEEDS=1");
    }
}

/// The type of a column decides how its bytes are read: each type has to bear those of each other.
#[test]
fn a_column_of_another_type_does_not_panic() {
    const TYPE_AT: usize = 32;
    for (seed, ty) in TYPES.into_iter().enumerate() {
        let mut rng = Prng::new(seed as u64);
        let array = column(ty, 1100, &mut rng);
        let chunk = encode(&[ty], std::slice::from_ref(&array)).unwrap();
        for number in 0..=u8::MAX {
            let mut header = chunk.header.clone();
            header[TYPE_AT] = number;
            header[TYPE_AT + 1] = if number & 0x7f == 11 { 30 } else { header[TYPE_AT + 1] };
            seal(&mut header);
            if let Ok(header) = ChunkHeader::parse(&header) {
                read_everything(&header, &chunk.body, &[(ty, array.slice(0, 1))]);
            }
        }
    }
}

#[test]
fn errors_say_what_is_wrong_and_where() {
    let text = |bytes: &[u8]| ChunkHeader::parse(bytes).unwrap_err().to_string();
    let (_, _, chunk) = chunk(&mut Prng::new(3));
    let mut header = chunk.header.clone();
    header[8] = 9;
    seal(&mut header);
    assert_eq!(text(&header), "chunk is damaged at byte 8 of its header: the version is unknown");
    header[0] = 0;
    assert_eq!(
        text(&header),
        "chunk is damaged at byte 0 of its header: it does not begin with the magic number"
    );
    assert_eq!(text(&[]), "chunk is damaged at byte 0 of its header: reaches beyond its end");
}

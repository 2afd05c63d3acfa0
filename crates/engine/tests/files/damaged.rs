//! Damaged files, and what is no file of its format: refused, or read as far as it can be believed.
//!
//! `DOVETAIL_FLIPS` says how many are damaged, `DOVETAIL_FIRST_SEED` how.

use std::sync::Arc;

use crate::files_support::{check, numbers, open, outcome, parquet_bytes, parquet_with};
use arrow_array::{ArrayRef, Decimal128Array, StringArray, TimestampMicrosecondArray};
use parquet::basic::Compression;

/// Numbers that look random, and are the same in each run.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn sample_columns() -> Vec<(&'static str, ArrayRef)> {
    let texts = (0..200).map(|i| (i % 7 > 0).then(|| format!("value {}", i % 11)));
    let decimals = Decimal128Array::from_iter_values((0..200).map(|i| i * 1_000_000_007));
    let decimals = decimals.with_precision_and_scale(30, 2).expect("digits");
    vec![
        ("i", numbers(0..200)),
        ("t", Arc::new(texts.collect::<StringArray>())),
        ("d", Arc::new(decimals)),
        ("s", Arc::new(TimestampMicrosecondArray::from_iter_values(0..200))),
    ]
}

/// Damaged files of one run.
const DAMAGES: u64 = 2_000;

fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}

/// A damaged file gives rows or an error, and never ends the process or takes memory that it claims.
#[test]
fn damaged_files_are_refused_or_read() {
    let opened = open("damage");
    let mut session = opened.db.session();
    let damages = variable("DOVETAIL_FLIPS").unwrap_or(DAMAGES);
    let mut state = 0x9e37_79b9_7f4a_7c15 ^ variable("DOVETAIL_FIRST_SEED").unwrap_or(0);
    let (mut read, mut refused) = (0, 0);
    let compressions = [Compression::SNAPPY, Compression::UNCOMPRESSED, Compression::LZ4_RAW];
    for compression in compressions {
        let whole = parquet_with(sample_columns(), 100, compression);
        for round in 0..damages / compressions.len() as u64 {
            let mut bytes = whole.clone();
            for _ in 0..=round % 3 {
                let at = (next(&mut state) % bytes.len() as u64) as usize;
                bytes[at] ^= (next(&mut state) % 255 + 1) as u8;
            }
            if round % 10 == 9 {
                bytes.truncate((next(&mut state) % whole.len() as u64) as usize);
            }
            let path = opened.write("d.parquet", &bytes);
            let found = outcome(&mut session, &format!("select * from '{path}' where i >= 0"));
            match found.strip_prefix("! ") {
                None => read += 1,
                Some(error) => {
                    refused += 1;
                    let known =
                        ["22P04", "0A000", "42701", "22003", "22008", "54000", "42703", "42883"];
                    assert!(known.iter().any(|state| error.starts_with(state)), "{round}: {error}");
                }
            }
        }
    }
    assert!(read > 0 && refused > 0, "{read} read, {refused} refused");
    let path = opened.write("d.parquet", &parquet_bytes(sample_columns(), 100));
    assert_eq!(outcome(&mut session, &format!("select count(*) from '{path}'")), "200");
}

#[test]
fn what_is_no_parquet_file_is_told() {
    let opened = open("none");
    for (name, bytes) in
        [("empty", &b""[..]), ("short", b"PAR1PAR1"), ("text", b"this is no such file")]
    {
        opened.write(&format!("{name}.parquet"), bytes);
    }
    opened.write("huge.parquet", b"PAR1xxxx\xff\xff\xff\x7fPAR1");
    opened.write("secret.parquet", b"PAR1xxxx\x04\x00\x00\x00PARE");
    check(
        &opened,
        &[
            (
                "select * from '@/empty.parquet'",
                "! 22P04: file \"@/empty.parquet\" is not a valid Parquet file",
            ),
            (
                "select * from '@/short.parquet'",
                "! 22P04: file \"@/short.parquet\" is not a valid Parquet file",
            ),
            (
                "select * from '@/text.parquet'",
                "! 22P04: file \"@/text.parquet\" is not a valid Parquet file",
            ),
            (
                "select * from '@/huge.parquet'",
                "! 22P04: file \"@/huge.parquet\" is not a valid Parquet file",
            ),
            (
                "select * from '@/secret.parquet'",
                "! 0A000: an encrypted Parquet file is not supported",
            ),
        ],
    );
}

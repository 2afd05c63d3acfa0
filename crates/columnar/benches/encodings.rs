//! Each encoding: how much it saves, and how fast it is written and read, beside a copy of the
//! decoded bytes with `memcpy`. Rounds alternate; the figures are medians of all passes over the
//! column, each of which is short, so that other programs disturb few of them.
//!
//! `cargo bench -p columnar -- [NAME] [--rounds=9]`
#![allow(clippy::disallowed_methods, reason = "a measurement looks at the clock")]

#[path = "support/columns.rs"]
mod columns;

use std::hint::black_box;
use std::time::Instant;

use arrow_array::{Array, ArrayRef};
use columnar::{Chunk, ChunkHeader, Comparison, Mask, Piece, Restriction, VECTOR_ROWS, Vector};
use columns::Column;

/// What is timed, in the order in which it is printed.
const WHAT: [&str; 6] = ["memcpy", "decode", "select", "row", "16 rows", "encode"];

/// Passes of a round, of all but the writer.
const PASSES: usize = 10;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let rounds = words.iter().find_map(|word| word.strip_prefix("--rounds=")?.parse().ok());
    let wanted = words.iter().find(|word| !word.starts_with("--"));
    println!(
        "{:<28} {:<12} {:>6} {:>8} {:>7} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "column",
        "encoding",
        "size",
        "memcpy",
        "decode",
        "/memcpy",
        "select",
        "row",
        "16 rows",
        "encode"
    );
    println!(
        "{:<28} {:<12} {:>6} {:>8} {:>7} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "", "", "ratio", "GB/s", "GB/s", "", "Mrows/s", "ns", "ns", "GB/s"
    );
    for column in columns::all() {
        if wanted.is_none_or(|wanted| column.name.contains(wanted.as_str())) {
            measure(&column, rounds.unwrap_or(9));
        }
    }
}

/// A column in the form that is measured.
struct Encoded<'a> {
    column: &'a Column,
    chunk: Chunk,
    header: ChunkHeader,
    restriction: Restriction,
    /// The bytes of the arrays, one buffer for each vector.
    decoded: Vec<Vec<u8>>,
}

fn measure(column: &Column, rounds: usize) {
    let chunk = columnar::encode(&[column.ty], std::slice::from_ref(&column.array)).unwrap();
    let header = ChunkHeader::parse(&chunk.header).unwrap();
    let constant = column.array.slice(column.array.len() / 2, 1);
    let restriction =
        Restriction::new(column.ty, Comparison::LessOrEqual, &constant).expect("a constant");
    let row_bytes = column.decoded_bytes() / column.array.len();
    let rows = |vector| header.rows_of(vector) * row_bytes;
    let decoded = (0..header.vector_count()).map(|vector| vec![1; rows(vector)]).collect();
    let encoded = Encoded { column, chunk, header, restriction, decoded };
    let mut times: [Vec<f64>; WHAT.len()] = Default::default();
    for _ in 0..rounds {
        for (what, times) in times.iter_mut().enumerate() {
            let passes = if WHAT[what] == "encode" { 1 } else { PASSES };
            times.extend((0..passes).map(|_| encoded.time(what)));
        }
    }
    encoded.print(times.map(median));
}

impl Encoded<'_> {
    /// Nanoseconds of one pass over the column.
    fn time(&self, what: usize) -> f64 {
        let start = Instant::now();
        match WHAT[what] {
            "memcpy" => self.decoded.iter().for_each(|bytes| drop(black_box(bytes.clone()))),
            "decode" => self.each_vector(|vector| drop(black_box(vector.decode().unwrap()))),
            "select" => self.each_vector(|vector| {
                let all = Mask::first(VECTOR_ROWS);
                black_box(vector.select(&self.restriction, &all).unwrap());
            }),
            "row" => self.each_vector(|vector| {
                let row = (vector.rows() * 2 / 3) as u16;
                drop(black_box(vector.take(&[row]).unwrap()));
            }),
            "16 rows" => self.each_vector(|vector| {
                let rows: Vec<u16> = (0..16).map(|row| row * 64).collect();
                drop(black_box(vector.take(&rows).unwrap()));
            }),
            _ => drop(black_box(encode_again(self.column))),
        }
        start.elapsed().as_nanos() as f64
    }

    fn each_vector(&self, mut look: impl FnMut(&Vector<'_>)) {
        let pieces = [Piece { offset: 0, bytes: &self.chunk.body }];
        for index in 0..self.header.vector_count() {
            look(&Vector::new(&self.header, 0, index, &pieces).unwrap());
        }
    }

    fn print(&self, [copy, decode, select, row, rows, encode]: [f64; WHAT.len()]) {
        let bytes = self.column.decoded_bytes() as f64;
        let vectors = self.header.columns()[0].vectors();
        let stored: u64 = vectors.iter().map(|v| v.bytes.end - v.bytes.start).sum();
        let ratio = self.column.plain_bytes() as f64 / stored.max(1) as f64;
        println!(
            "{:<28} {:<12} {:>6.1} {:>8.1} {:>7.1} {:>8.2} {:>8.0} {:>8.0} {:>8.0} {:>8.2}",
            self.column.name,
            format!("{:?}", vectors[0].encoding),
            ratio,
            bytes / copy,
            bytes / decode,
            copy / decode,
            self.column.array.len() as f64 * 1e3 / select,
            row / vectors.len() as f64,
            rows / vectors.len() as f64,
            bytes / encode,
        );
    }
}

fn encode_again(column: &Column) -> Chunk {
    let array: &ArrayRef = &column.array;
    columnar::encode(&[column.ty], std::slice::from_ref(array)).unwrap()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

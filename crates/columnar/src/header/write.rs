//! Writes a header.

use super::{FIXED_BYTES, MAGIC, Segment, VERSION, VectorHeader};
use crate::class::{Class, type_number};
use crate::layout::SECTOR_BYTES;
use crate::zone::Zone;

/// What a header says of a column.
pub(crate) struct ColumnParts {
    pub ty: types::LogicalType,
    pub shared_kind: u8,
    pub shared: Vec<u8>,
    pub segments: Vec<Segment>,
    pub vectors: Vec<VectorHeader>,
}

/// The header of a chunk with these columns and this body.
pub(crate) fn write(row_count: u32, columns: &[ColumnParts], body: &[u8]) -> Vec<u8> {
    let mut out = vec![0; FIXED_BYTES];
    let mut body_at = 0;
    for column in columns {
        push_column(column, &mut body_at, &mut out);
    }
    for sector in body.chunks(SECTOR_BYTES) {
        push_u32(&mut out, crc32c::crc32c(sector) as usize);
    }
    let (column_count, header_len) = (columns.len() as u16, out.len() as u32);
    out[..4].copy_from_slice(&MAGIC);
    out[8] = VERSION;
    out[10..12].copy_from_slice(&column_count.to_le_bytes());
    out[12..16].copy_from_slice(&row_count.to_le_bytes());
    out[16..20].copy_from_slice(&header_len.to_le_bytes());
    out[20..24].copy_from_slice(&(body.len() as u32).to_le_bytes());
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&out[..4]), &out[8..]);
    out[4..8].copy_from_slice(&checksum.to_le_bytes());
    out
}

fn push_column(column: &ColumnParts, body_at: &mut usize, out: &mut Vec<u8>) {
    let key_bytes = Class::of(column.ty).zone_bytes();
    let nulls = column.vectors.iter().map(|vector| vector.null_count).sum();
    let zone = column.vectors.iter().filter_map(|vector| vector.zone).reduce(Zone::union);
    if let Some(first) = column.segments.first() {
        *body_at = first.bytes.start as usize;
    }
    out.extend_from_slice(&type_number(column.ty));
    out.push(column.shared_kind);
    push_u32(out, nulls);
    push_u32(out, *body_at);
    push_u32(out, column.segments.len());
    push_u32(out, column.shared.len());
    out.extend_from_slice(&[u8::from(zone.is_some()), 0, 0, 0]);
    push_zone(out, zone, key_bytes);
    out.extend_from_slice(&column.shared);
    for segment in &column.segments {
        push_u32(out, (segment.bytes.end - segment.bytes.start) as usize / SECTOR_BYTES);
        push_u32(out, segment.vectors.len());
        *body_at = segment.bytes.end as usize;
    }
    column.vectors.iter().for_each(|vector| push_vector(vector, key_bytes, out));
}

fn push_vector(vector: &VectorHeader, key_bytes: usize, out: &mut Vec<u8>) {
    push_u32(out, vector.bytes.start as usize);
    push_u32(out, (vector.bytes.end - vector.bytes.start) as usize);
    out.extend_from_slice(&(vector.null_count as u16).to_le_bytes());
    out.extend_from_slice(&[vector.encoding.number(), u8::from(vector.zone.is_some())]);
    push_zone(out, vector.zone, key_bytes);
}

fn push_zone(out: &mut Vec<u8>, zone: Option<Zone>, key_bytes: usize) {
    let zone = zone.unwrap_or(Zone { min: 0, max: 0 });
    out.extend_from_slice(&zone.min.to_le_bytes()[..key_bytes]);
    out.extend_from_slice(&zone.max.to_le_bytes()[..key_bytes]);
}

/// Appends a number that the limits of a body keep below 2^32.
fn push_u32(out: &mut Vec<u8>, value: usize) {
    out.extend_from_slice(&(value as u32).to_le_bytes());
}

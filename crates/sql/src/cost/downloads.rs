//! What parts of objects cost: microseconds until they are here. Requests overlap, so a step takes one round
//! trip, and bytes come at the rate of the machine; what lies between two places is read along where it is short
//! (AnyBlob, sections 2.1 and 2.3).

use super::{ColumnScan, Costs, Remote, distinct_pages};

/// A round trip until the first byte has come.
const ROUND_TRIP_US: f64 = 30_000.0;

/// Bytes a second of one core: 100 Gbit/s for 72 of them.
const BYTES_PER_CORE_S: f64 = (166 << 20) as f64;

/// Bytes between two places that are read along.
const GAP_BYTES: f64 = (512 << 10) as f64;

/// Rows that are fetched in one step.
const STEP_ROWS: f64 = 1024.0;

/// Bytes that are read for places, where they are random ones of a body: their distances are distributed
/// exponentially.
fn read_bytes(places: f64, bytes: f64, body_bytes: f64) -> f64 {
    if places < 1.0 {
        return bytes.min(body_bytes);
    }
    let apart = (body_bytes / places).max(1.0);
    let gaps = GAP_BYTES / apart;
    let between = apart * (1.0 - (-gaps).exp() * (1.0 + gaps));
    (bytes + places * between).min(body_bytes)
}

impl Costs<'_> {
    /// Some steps, in each of which all is asked for at once. Where reads overlap the steps do, too.
    fn downloaded(&self, steps: f64, bytes: f64) -> f64 {
        let steps = if self.0.reads_overlap() { 1.0 } else { steps };
        let rate = BYTES_PER_CORE_S * self.0.workers.max(1) as f64;
        steps * ROUND_TRIP_US + bytes * 1e6 / rate
    }

    /// Rows by their positions, in an order with this correlation to that of the table.
    pub(super) fn downloaded_rows(&self, rows: f64, from: Remote, order: f64) -> f64 {
        let vectors = (from.rows / from.vector_rows).max(1.0);
        let steps = (rows / STEP_ROWS).ceil().max(1.0);
        let of_step = rows / steps;
        let random = distinct_pages(vectors, of_step);
        let near = of_step / from.vector_rows;
        let touched = random + order * order * (near.min(random) - random);
        let bytes = touched / vectors * from.bytes;
        self.downloaded(steps, steps * read_bytes(touched * from.columns, bytes, from.body_bytes))
    }

    /// What a scan downloads: columns that are restricted first, and then what else is wanted of the vectors
    /// that have such rows.
    pub(super) fn downloaded_columns(
        &self,
        scan: ColumnScan,
        touched: f64,
        body_bytes: f64,
    ) -> f64 {
        let ColumnScan { rows, vector_rows, tested, later, .. } = scan;
        let places = touched * (rows / vector_rows).max(1.0) * later.count;
        let more = read_bytes(places, touched * later.bytes, (body_bytes - tested.bytes).max(0.0));
        let steps = if tested.count > 0.0 && later.count > 0.0 { 2.0 } else { 1.0 };
        self.downloaded(steps, tested.bytes + more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: f64 = (1 << 20) as f64;

    #[test]
    fn places_that_lie_close_are_read_with_what_is_between_them() {
        assert_eq!(read_bytes(0.0, 0.0, 100.0 * MIB), 0.0);
        // Far apart, next to nothing is read along; close by, all of it.
        let far = read_bytes(10.0, 10.0 * 4096.0, 1000.0 * MIB);
        assert!(far < 0.2 * MIB, "{far}");
        let near = read_bytes(10_000.0, 10_000.0 * 4096.0, 100.0 * MIB);
        assert!(near > 90.0 * MIB && near <= 100.0 * MIB, "{near}");
    }
}

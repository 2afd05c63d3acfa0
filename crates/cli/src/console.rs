//! What the console of a server that this program starts offers.

use std::time::Duration;

use bench::{device, ooo};
use engine::{Database, SqlResult};
use server::{ConsoleOptions, Sample};

/// The selective queries of the demonstration, the most telling one first.
const TITLES: [(&str, &str); 6] = [
    ("early_customers", "Early customers: two joins, badly skewed for static partitions"),
    ("promotion", "Promotion effect: an index range, then look-ups in part"),
    ("late_orders", "Late orders: an index range, then look-ups in orders"),
    ("part_buyers", "Who buys a part: look-ups through two tables"),
    ("shipping", "Shipping modes: an index range, then look-ups in orders"),
    ("local_supplier", "Local suppliers: look-ups through five tables"),
];

/// How long the device's limit is probed.
const PROBE: Duration = Duration::from_secs(1);

/// Options of the console; `device_reads_per_s` when the device was probed already.
pub fn options(writes: bool, device_reads_per_s: Option<f64>) -> ConsoleOptions {
    let sample = |(name, title): (&str, &str)| {
        let (_, sql) = ooo::QUERIES.iter().find(|(known, _)| *known == name)?;
        Some(Sample { title: title.to_owned(), sql: (*sql).to_owned() })
    };
    let samples = TITLES.into_iter().filter_map(sample).collect();
    ConsoleOptions { writes, samples, device: Some(probe), device_reads_per_s }
}

fn probe(db: &Database) -> SqlResult<f64> {
    Ok(device::limit(db, device::DEPTH, PROBE)?.reads_per_s)
}

//! What is printed of a query's runs.

use super::{QueryRuns, Side};
use crate::device::DeviceLimit;
use crate::figure::Figure;
use crate::modes::ModeRun;

/// Medians of a query.
pub(super) struct Ratios {
    pub(super) over_serial: f64,
    pub(super) over_best_static: f64,
    /// Random reads of the device, many at once over one at a time.
    pub(super) device_over_one: f64,
}

pub(super) fn query(name: &str, runs: &QueryRuns, emit: &mut impl FnMut(Figure)) -> Ratios {
    let (_, ooo) = runs.sides.last().expect("a query has sides");
    let (serial, over_serial) = (&runs.sides[0].1, format!("ooo.{name}.over_serial"));
    let over_serial = Figure::of(over_serial, "x", &ratio(serial, ooo));
    let (best, fixed) = best_static(runs);
    let over_static = Figure::of(format!("ooo.{name}.over_best_static"), "x", &ratio(fixed, ooo));
    let device_over_one = device_over_one(name, runs);
    let ratios = Ratios {
        over_serial: over_serial.value,
        over_best_static: over_static.value,
        device_over_one: device_over_one.value,
    };
    emit(over_serial);
    emit(device_over_one);
    emit(over_static.with_detail(format!("{}, {}", best.name(), spread(fixed))));
    runs.sides.iter().for_each(|(side, runs)| times(name, &side.name(), runs, emit));
    for (what, device) in [("device_share", &runs.device), ("own_reads_share", &runs.own_reads)] {
        share(format!("ooo.{name}.{what}"), ooo, device, emit);
    }
    ratios
}

fn seconds(run: &ModeRun) -> f64 {
    run.elapsed.as_secs_f64()
}

/// Round by round.
fn ratio(other: &[ModeRun], ooo: &[ModeRun]) -> Vec<f64> {
    other.iter().zip(ooo).map(|(other, ooo)| seconds(other) / seconds(ooo)).collect()
}

/// The number of partitions whose median is least.
fn best_static(runs: &QueryRuns) -> (Side, &[ModeRun]) {
    let time =
        |runs: &[ModeRun]| Figure::of("", "s", &runs.iter().map(seconds).collect::<Vec<_>>()).value;
    let sides = runs.sides.iter().filter(|(side, _)| matches!(side, Side::Static(_)));
    let best = sides.min_by(|(_, one), (_, other)| time(one).total_cmp(&time(other)));
    let (side, runs) = best.expect("static is tried with some numbers of partitions");
    (*side, runs)
}

fn device_over_one(name: &str, runs: &QueryRuns) -> Figure {
    let pairs = runs.device.iter().zip(&runs.device_one);
    let ratios: Vec<f64> = pairs.map(|(many, one)| many.reads_per_s / one.reads_per_s).collect();
    let detail = format!("the device: one reader {:.0} reads/s", mean(&runs.device_one));
    Figure::of(format!("ooo.{name}.device_over_one"), "x", &ratios).with_detail(detail)
}

fn mean(limits: &[DeviceLimit]) -> f64 {
    limits.iter().map(|limit| limit.reads_per_s).sum::<f64>() / limits.len() as f64
}

fn times(name: &str, side: &str, runs: &[ModeRun], emit: &mut impl FnMut(Figure)) {
    let ms: Vec<f64> = runs.iter().map(|run| seconds(run) * 1e3).collect();
    let last = &runs[runs.len() - 1];
    let detail = format!("reads {} tasks {} rows {}", last.reads, last.tasks, last.row_count);
    emit(Figure::of(format!("ooo.{name}.{side}.time"), "ms", &ms).with_detail(detail));
    let cpu: Vec<f64> = runs.iter().map(|run| run.cpu.as_secs_f64() * 1e3).collect();
    let us = 1e3 * cpu[cpu.len() - 1] / last.reads.max(1) as f64;
    let detail = format!("{us:.1} us a read, by the clock of the threads");
    emit(Figure::of(format!("ooo.{name}.{side}.cpu"), "ms", &cpu).with_detail(detail));
}

/// Reads a second of the query over those of the device.
fn share(name: String, ooo: &[ModeRun], device: &[DeviceLimit], emit: &mut impl FnMut(Figure)) {
    let pairs = ooo.iter().zip(device);
    let shares: Vec<f64> =
        pairs.map(|(run, limit)| run.reads_per_s() / limit.reads_per_s).collect();
    let cores = device.iter().map(|limit| limit.busy_cores).sum::<f64>() / device.len() as f64;
    let rate = mean(device);
    let detail = format!("device: {rate:.0} reads/s, for which {cores:.2} cores are busy");
    emit(Figure::of(name, "share", &shares).with_detail(detail));
}

fn spread(runs: &[ModeRun]) -> String {
    let Some((min, max)) = runs.last().and_then(|run| run.spread) else { return String::new() };
    format!("partitions {:.1}-{:.1} ms", min.as_secs_f64() * 1e3, max.as_secs_f64() * 1e3)
}

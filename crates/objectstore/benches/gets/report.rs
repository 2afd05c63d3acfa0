//! Figures of several rounds as one line.

use crate::client::Measured;

/// The middle one; not a number where there is none.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn column(runs: &[Measured], pick: impl Fn(&Measured) -> f64) -> String {
    let values = || runs.iter().map(&pick);
    let (least, most) = (values().fold(f64::MAX, f64::min), values().fold(f64::MIN, f64::max));
    format!("{:.2} ({least:.2}-{most:.2})", median(values()))
}

/// Prints a line of a figure.
pub fn print(name: &str, runs: &[Measured]) {
    if runs.is_empty() {
        println!("{name:<30} not to be had");
        return;
    }
    let (rate, cpu) = (column(runs, Measured::gb_s), column(runs, Measured::cpu_s_gb));
    print!("{name:<30} {rate} GB/s, {cpu} CPU s/GB");
    match runs.iter().all(|run| run.p99_ms > 0.0) {
        true => println!(
            ", {:.0} ms median, {} ms 99 %",
            median(runs.iter().map(|run| run.p50_ms)),
            column(runs, |run| run.p99_ms)
        ),
        false => println!(),
    }
}

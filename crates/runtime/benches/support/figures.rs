//! Figures as `dovetail bench` prints them: median, minimum, maximum.

/// Prints one figure over all rounds.
pub fn print(name: &str, unit: &str, values: &[f64], note: &str) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (Some(min), Some(max)) = (sorted.first(), sorted.last()) else { return };
    let median = sorted[sorted.len() / 2];
    let n = sorted.len();
    println!("{name:<44} {median:>9.2} {unit:<8} (min {min:.2}, max {max:.2}, n {n}) {note}");
}

/// The rounds asked for on the command line by `--rounds=N`, else 5.
pub fn rounds() -> usize {
    let asked = std::env::args().find_map(|arg| arg.strip_prefix("--rounds=")?.parse().ok());
    asked.unwrap_or(5)
}

//! The text of a profile: three figures, as `SET device_profile` takes them, and what `SHOW` says besides.

use runtime::probe::MANY_DEPTH;
use sql::DeviceProfile;

/// Units of a latency in nanoseconds.
const LATENCIES: &[(&str, f64)] = &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
/// Units of a rate of bytes: powers of ten, as devices are sold.
const RATES: &[(&str, f64)] = &[("kB/s", 1e3), ("MB/s", 1e6), ("GB/s", 1e9)];
/// The unit of a rate of reads may be left out.
const READS: &[(&str, f64)] = &[("/s", 1.0), ("", 1.0)];

/// Least and most of each figure: from a tape to memory. In nanoseconds, reads and bytes per second.
const LATENCY_NS: (f64, f64) = (1.0, 1e12);
const READS_PER_S: (f64, f64) = (1.0, 1e10);
const BYTES_PER_S: (f64, f64) = (1e3, 1e13);

/// The three figures, exactly.
pub(crate) fn figures(profile: &DeviceProfile) -> String {
    let DeviceProfile { read_ns, reads_per_s, bytes_per_s } = profile;
    let (us, mb) = (*read_ns as f64 / 1e3, *bytes_per_s as f64 / 1e6);
    format!("latency={us}us, reads={reads_per_s}/s, bandwidth={mb}MB/s")
}

/// The figures, and in parentheses what follows from them and where they come from.
pub(crate) fn shown(profile: &DeviceProfile, origin: &str) -> String {
    let alone = 1e9 / profile.read_ns as f64;
    let many = profile.reads_per_s;
    let depths = format!("{alone:.0} reads/s at depth 1, {many} at depth {MANY_DEPTH}");
    format!("{} ({depths}; {origin})", figures(profile))
}

/// The profile that a text says: each of the figures once, in any order. What stands in parentheses behind
/// them is not looked at, so what `SHOW` gives can be set. The error is a hint.
pub(crate) fn parse_figures(text: &str) -> Result<DeviceProfile, String> {
    let text = text.trim();
    let text = match text.split_once('(') {
        Some((figures, note)) if note.ends_with(')') => figures,
        _ => text,
    };
    let (mut latency, mut reads, mut bandwidth) = (None, None, None);
    for part in text.split(',') {
        let Some((name, value)) = part.split_once('=') else { return Err(syntax()) };
        let (place, units, bounds) = match name.trim().to_ascii_lowercase().as_str() {
            "latency" => (&mut latency, LATENCIES, LATENCY_NS),
            "reads" => (&mut reads, READS, READS_PER_S),
            "bandwidth" => (&mut bandwidth, RATES, BYTES_PER_S),
            _ => return Err(syntax()),
        };
        let name = name.trim();
        if place.replace(measured(name, value.trim(), units, bounds)?).is_some() {
            return Err(format!("{name} is given twice."));
        }
    }
    match (latency, reads, bandwidth) {
        (Some(read_ns), Some(reads_per_s), Some(bytes_per_s)) => {
            Ok(DeviceProfile { read_ns, reads_per_s, bytes_per_s })
        }
        _ => Err(syntax()),
    }
}

fn syntax() -> String {
    let example = figures(&DeviceProfile::default());
    format!("It is auto, probe, or figures of the device: '{example}'.")
}

fn measured(
    name: &str,
    value: &str,
    units: &[(&str, f64)],
    (min, max): (f64, f64),
) -> Result<u64, String> {
    let end = value.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(value.len());
    let (number, unit) = (&value[..end], value[end..].trim_start());
    let scale = units.iter().find(|(known, _)| *known == unit).map(|(_, scale)| scale);
    let names: Vec<&str> = units.iter().map(|(name, _)| *name).filter(|n| !n.is_empty()).collect();
    let Some((number, scale)) = number.parse::<f64>().ok().zip(scale) else {
        return Err(format!("{name} is a number with one of the units {}.", names.join(", ")));
    };
    let figure = number * scale;
    match (min..=max).contains(&figure) {
        true => Ok(figure.round() as u64),
        false => Err(format!("{name}={value} is out of range.")),
    }
}

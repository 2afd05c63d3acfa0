//! Sizes in bytes as people write them: `256MB`, `1GiB`, `4096`.

use std::fmt;

/// Why a text is not a size in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ByteSizeError {
    /// No digits, or something that is not a number before the unit.
    Number(String),
    /// A unit that is not one of `B kB MB GB TB KiB MiB GiB TiB`.
    Unit(String),
    /// More than 2^64 - 1 bytes.
    TooLarge(String),
}

impl fmt::Display for ByteSizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(text) => write!(f, "not a number of bytes: \"{text}\""),
            Self::Unit(unit) => {
                write!(f, "unknown unit \"{unit}\" (use B, kB, MB, GB, TB, KiB, MiB, GiB or TiB)")
            }
            Self::TooLarge(text) => write!(f, "size too large: \"{text}\""),
        }
    }
}

impl std::error::Error for ByteSizeError {}

/// Parses a size: digits, an optional decimal fraction, an optional unit. As in PostgreSQL's
/// settings, `kB`, `MB`, `GB` and `TB` are powers of 1024, like `KiB` and so on.
pub fn parse_bytes(text: &str) -> Result<u64, ByteSizeError> {
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_')
        .unwrap_or(trimmed.len());
    let (digits, unit) = trimmed.split_at(split);
    let scale = unit_bytes(unit.trim())?;
    let digits = digits.replace('_', "");
    scaled(&digits, scale, text)
}

fn scaled(digits: &str, scale: u64, text: &str) -> Result<u64, ByteSizeError> {
    if let Ok(whole) = digits.parse::<u64>() {
        return whole.checked_mul(scale).ok_or_else(|| ByteSizeError::TooLarge(text.to_owned()));
    }
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(ByteSizeError::TooLarge(text.to_owned()));
    }
    let number: f64 = digits.parse().map_err(|_| ByteSizeError::Number(text.to_owned()))?;
    let bytes = (number * scale as f64).round();
    if bytes >= u64::MAX as f64 {
        return Err(ByteSizeError::TooLarge(text.to_owned()));
    }
    Ok(bytes as u64)
}

fn unit_bytes(unit: &str) -> Result<u64, ByteSizeError> {
    Ok(match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        _ => return Err(ByteSizeError::Unit(unit.to_owned())),
    })
}

/// Writes a size with the largest binary unit that keeps it at or above 1: `256 MiB`, `1.5 GiB`.
pub fn format_bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut unit = 0;
    let mut value = bytes as f64;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 || value.fract() == 0.0 {
        format!("{value:.0} {}", UNITS[unit])
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}

//! Numbers and moments written digit by digit: a result has one for each value.

use crate::datetime::civil::civil;
use crate::datetime::units::MICROS_PER_SECOND;

const SECONDS_PER_DAY: i64 = 86_400;

/// Digits of the greatest number of 128 bits.
const DIGITS_MAX: usize = 39;

/// The digits of a number, `least` of them at least.
pub(crate) fn digits(mut number: u128, least: usize, out: &mut Vec<u8>) {
    let mut all = [b'0'; DIGITS_MAX];
    let mut at = DIGITS_MAX;
    // Division by ten is cheap for words alone.
    while number > u128::from(u64::MAX) {
        at -= 1;
        all[at] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    let mut word = number as u64;
    while word > 0 {
        at -= 1;
        all[at] = b'0' + (word % 10) as u8;
        word /= 10;
    }
    at = at.min(DIGITS_MAX - least.clamp(1, DIGITS_MAX));
    out.extend_from_slice(&all[at..]);
}

/// A whole number.
pub(crate) fn whole(number: i128, out: &mut Vec<u8>) {
    if number < 0 {
        out.push(b'-');
    }
    digits(number.unsigned_abs(), 1, out);
}

/// `unscaled` / 10^`scale`, with all `scale` digits after the point.
pub(crate) fn decimal(unscaled: i128, scale: usize, out: &mut Vec<u8>) {
    if unscaled < 0 {
        out.push(b'-');
    }
    digits(unscaled.unsigned_abs(), scale + 1, out);
    if scale > 0 {
        out.insert(out.len() - scale, b'.');
    }
}

/// Days since 1970-01-01 as `YYYY-MM-DD`; true if the year is one before 1, behind which ` BC`
/// stands.
pub(crate) fn date(days: i64, out: &mut Vec<u8>) -> bool {
    let (year, month, day) = civil(days);
    let is_before = year <= 0;
    let year = if is_before { 1 - year } else { year };
    digits(i128::from(year).unsigned_abs(), 4, out);
    out.push(b'-');
    digits(u128::from(month.unsigned_abs()), 2, out);
    out.push(b'-');
    digits(u128::from(day.unsigned_abs()), 2, out);
    is_before
}

/// `HH:MM:SS`, then the fraction without trailing zeros.
pub(crate) fn time(seconds: i64, micros: i64, out: &mut Vec<u8>) {
    let (h, m, s) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    digits(u128::from(h.unsigned_abs()), 2, out);
    out.push(b':');
    digits(u128::from(m.unsigned_abs()), 2, out);
    out.push(b':');
    digits(u128::from(s.unsigned_abs()), 2, out);
    if micros != 0 {
        out.push(b'.');
        digits(u128::from(micros.unsigned_abs()), 6, out);
        while out.last() == Some(&b'0') {
            out.pop();
        }
    }
}

/// Microseconds since 1970-01-01 00:00:00; true if the year is one before 1.
pub(crate) fn timestamp(micros: i64, out: &mut Vec<u8>) -> bool {
    let seconds = micros.div_euclid(MICROS_PER_SECOND);
    let is_before = date(seconds.div_euclid(SECONDS_PER_DAY), out);
    out.push(b' ');
    time(seconds.rem_euclid(SECONDS_PER_DAY), micros.rem_euclid(MICROS_PER_SECOND), out);
    is_before
}

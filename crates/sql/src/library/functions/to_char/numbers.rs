//! Numbers by templates.

use types::{SqlError, SqlResult, SqlState};

use super::ordinal_suffix;

/// A number, given as its digits without a point, by a template of `9 0 . , D G S MI PR L FM TH`, or of
/// `EEEE` or `RN`.
pub(super) fn number(digits: &str, scale: i8, template: &str) -> SqlResult<String> {
    let upper = template.to_ascii_uppercase();
    if upper.contains("EEEE") {
        return Ok(scientific(digits, scale, places_of(&upper)?.1));
    }
    if upper.contains("RN") {
        return Ok(roman(digits, scale, template));
    }
    Ok(match template.strip_suffix("TH").or_else(|| template.strip_suffix("th")) {
        Some(rest) => {
            let text = plain(digits, scale, rest);
            let whole = !rest.contains(['.', 'D', 'd']) && !text.contains(['-', '#', '<']);
            let suffix = if whole { ordinal_suffix(&text) } else { "" };
            text + &if template.ends_with('H') { suffix.to_uppercase() } else { suffix.into() }
        }
        None => plain(digits, scale, template),
    })
}

/// A floating point number by a template.
pub(super) fn float(value: f64, template: &str) -> SqlResult<String> {
    let upper = template.to_ascii_uppercase();
    if !upper.contains("EEEE") {
        let value = if upper.contains("RN") { value.round_ties_even() } else { value };
        let digits = format!("{value:.10}").replace('.', "");
        return number(&digits, 10, template);
    }
    let (before, after) = places_of(&upper)?;
    if !value.is_finite() {
        // As wide as a number: a sign, a point, and an exponent of two digits.
        return Ok(format!(" {}.{}", "#".repeat(before), "#".repeat(after + 4)));
    }
    let shown = format!("{value:.after$e}");
    let (mantissa, exponent) = shown.split_once('e').unwrap_or((&shown, "0"));
    let sign = if mantissa.starts_with('-') { "" } else { " " };
    Ok(format!("{sign}{mantissa}{}", shown_exponent(exponent.parse().unwrap_or(0))))
}

/// The digits before and behind the point of a template in capitals that ends with `EEEE`.
fn places_of(upper: &str) -> SqlResult<(usize, usize)> {
    let error = |message: &str| SqlError::new(SqlState::SYNTAX_ERROR, message);
    let (body, rest) = upper.split_once("EEEE").unwrap_or((upper, ""));
    if rest.contains(['9', '0', '.', 'D', ',', 'G']) {
        return Err(error("\"EEEE\" must be the last pattern used"));
    }
    let others = ["FM", "S", "MI", "PL", "PR", "RN", "V", "B"];
    if others.iter().any(|word| upper.contains(word)) {
        return Err(error("\"EEEE\" is incompatible with other formats").with_detail(
            "\"EEEE\" may only be used together with digit and decimal point patterns.",
        ));
    }
    let (whole, fraction) = body.split_once(['.', 'D']).unwrap_or((body, ""));
    Ok((whole.matches(['9', '0']).count(), fraction.matches(['9', '0']).count()))
}

/// A number with an exponent: `1.50e+00`.
fn scientific(digits: &str, scale: i8, places: usize) -> String {
    let sign = if digits.starts_with('-') { '-' } else { ' ' };
    let digits = digits.trim_start_matches(['-', '0']);
    let exponent = match digits.len() {
        0 => 0,
        length => length as i32 - 1 - i32::from(scale),
    };
    // The digits as a number with one of them before the point. Rounding may make it two, `10.00e+00`:
    // the exponent is that of the number before.
    let (_, shown) = rounded(digits, digits.len().saturating_sub(1) as i8, places);
    let (whole, fraction) = shown.split_at(shown.len() - places);
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}{}", shown_exponent(exponent))
}

fn shown_exponent(exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("e{sign}{:02}", exponent.unsigned_abs())
}

/// Places of a Roman number: the longest one has as many letters.
const ROMAN_PLACES: usize = 15;

const ROMAN: [(u32, &str); 13] = [
    (1_000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
];

/// A Roman number, from 1 to 3999.
fn roman(digits: &str, scale: i8, template: &str) -> String {
    let (negative, shown) = rounded(digits, scale, 0);
    let value = shown.parse::<u32>().ok().filter(|v| !negative && (1..4_000).contains(v));
    let Some(mut left) = value else { return "#".repeat(ROMAN_PLACES) };
    let mut text = String::new();
    for (value, letters) in ROMAN {
        while left >= value {
            text.push_str(letters);
            left -= value;
        }
    }
    if template.contains("rn") {
        text.make_ascii_lowercase();
    }
    match template.contains("FM") || template.contains("fm") {
        true => text,
        false => format!("{text:>ROMAN_PLACES$}"),
    }
}

/// A number in digits.
fn plain(digits: &str, scale: i8, template: &str) -> String {
    let upper = template.to_ascii_uppercase();
    let fill = !upper.contains("FM");
    let upper = upper.replace("FM", "");
    let (signed, minus_last) = (upper.contains('S') && !upper.contains("SG"), upper.contains("MI"));
    let brackets = upper.contains("PR");
    let first_sign = upper.starts_with('S');
    let body = upper.replace("MI", "").replace("PR", "").replace(['S', 'L'], "");
    let body = body.replace('D', ".").replace('G', ",");
    let (whole, fraction) = body.split_once('.').unwrap_or((&body, ""));
    let places = fraction.chars().filter(|c| matches!(c, '9' | '0')).count();
    let width = whole.chars().filter(|c| matches!(c, '9' | '0')).count();
    let (negative, shown) = rounded(digits, scale, places);
    let split = shown.len() - places;
    let (int_digits, frac_digits) = (shown[..split].trim_start_matches('0'), &shown[split..]);
    let negative = negative && shown.bytes().any(|b| b != b'0');
    let overflow = int_digits.len() > width;
    // The first zero of the template begins zeros that are shown.
    let zeros_from = whole.chars().filter(|c| matches!(c, '9' | '0')).position(|c| c == '0');
    let out = whole_part(whole, int_digits, width, places, zeros_from);
    let sign = if negative { "-" } else { "+" };
    let lead = out.len() - out.trim_start().len();
    let mut text = out.trim_start().to_owned();
    if body.contains('.') {
        text.push('.');
        match fill {
            _ if overflow => text.push_str(&"#".repeat(places)),
            true => text.push_str(frac_digits),
            false => {
                let kept = fraction.rfind('0').map_or(0, |i| i + 1);
                let trimmed = frac_digits.trim_end_matches('0');
                text.push_str(&frac_digits[..trimmed.len().max(kept).min(places)]);
            }
        }
    }
    let text = match (signed, brackets, minus_last) {
        (true, ..) if first_sign => format!("{sign}{text}"),
        (true, ..) => format!("{text}{sign}"),
        (_, true, _) if negative => format!("<{text}>"),
        (_, true, _) => format!(" {text} "),
        (_, _, true) => format!("{text}{}", if negative { "-" } else { " " }),
        _ if negative => format!("-{text}"),
        _ => format!(" {text}"),
    };
    match fill {
        true => format!("{}{text}", " ".repeat(lead)),
        false => text.trim().to_owned(),
    }
}

/// The digits before the point in the places of the template.
fn whole_part(
    whole: &str,
    int_digits: &str,
    width: usize,
    places: usize,
    zeros_from: Option<usize>,
) -> String {
    let overflow = int_digits.len() > width;
    let mut out = String::new();
    let (mut seen, mut at) = (false, 0);
    for letter in whole.chars() {
        match letter {
            '9' | '0' => {
                let from_right = width - at;
                let digit = int_digits.len().checked_sub(from_right).map(|i| &int_digits[i..=i]);
                match digit {
                    _ if overflow => out.push('#'),
                    Some(d) => {
                        out.push_str(d);
                        seen = true;
                    }
                    None if zeros_from.is_some_and(|z| at >= z) => {
                        out.push('0');
                        seen = true;
                    }
                    // A number without whole digits shows a zero, if nothing follows the point.
                    None if from_right == 1 && places == 0 => {
                        out.push('0');
                        seen = true;
                    }
                    None => out.push(' '),
                }
                at += 1;
            }
            ',' if seen || overflow => out.push(','),
            ',' => out.push(' '),
            other => out.push(other),
        }
    }
    out
}

/// Sign and digits of a number rounded to so many places.
fn rounded(digits: &str, scale: i8, places: usize) -> (bool, String) {
    let (negative, digits) = match digits.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, digits),
    };
    let scale = usize::try_from(scale).unwrap_or(0);
    let mut padded = format!("{digits:0>width$}", width = scale + 1);
    if scale <= places {
        padded.push_str(&"0".repeat(places - scale));
        return (negative, padded);
    }
    let cut = padded.len() - (scale - places);
    let up = padded.as_bytes()[cut] >= b'5';
    let mut kept: Vec<u8> = padded.as_bytes()[..cut].to_vec();
    if up {
        let mut at = kept.len();
        loop {
            if at == 0 {
                kept.insert(0, b'1');
                break;
            }
            at -= 1;
            if kept[at] < b'9' {
                kept[at] += 1;
                break;
            }
            kept[at] = b'0';
        }
    }
    (negative, String::from_utf8(kept).unwrap_or_default())
}

//! Percent encoding and hexadecimal digits, as the rules of signing want them.

const HEX_UPPER: &[u8; 16] = b"0123456789ABCDEF";
const HEX_LOWER: &[u8; 16] = b"0123456789abcdef";

/// All bytes but letters, digits and `-._~` as `%XX`; a `/` is kept where `keep_slash` says so.
pub(crate) fn percent(text: &str, keep_slash: bool) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for byte in text.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if plain || keep_slash && byte == b'/' {
            out.push(byte as char);
        } else {
            out.push('%');
            out.push(HEX_UPPER[usize::from(byte >> 4)] as char);
            out.push(HEX_UPPER[usize::from(byte & 15)] as char);
        }
    }
    out
}

/// What `%XX` stands for; `None` for text that is not UTF-8 then, or a `%` without two digits.
pub(crate) fn unpercent(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'%' {
            let digits = text.get(at + 1..at + 3)?;
            if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return None;
            }
            out.push(u8::from_str_radix(digits, 16).ok()?);
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8(out).ok()
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| HEX_LOWER[usize::from(digit)] as char).collect()
}

#[cfg(test)]
mod tests;

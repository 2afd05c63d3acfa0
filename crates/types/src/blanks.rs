//! White space in the texts of values: the six characters of ASCII that C has, and none of Unicode.

/// True if it is white space.
pub fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t'..='\r')
}

/// The text without white space around it.
pub fn trimmed(text: &str) -> &str {
    text.trim_matches(is_blank)
}

//! Names that a statement does not give: of constraints, indexes and sequences, made as PostgreSQL
//! makes them.

/// Longest name of a statement, in bytes; what is longer is cut, as in PostgreSQL.
pub const NAME_MAX: usize = 63;

/// `first_second_label`; where that is too long, the longer one of both parts is cut until it is
/// not.
pub fn generated(first: &str, second: &str, label: &str) -> String {
    let separators = 1 + usize::from(!second.is_empty());
    let room = NAME_MAX.saturating_sub(label.len() + separators);
    let (mut first_bytes, mut second_bytes) = (first.len(), second.len());
    while first_bytes + second_bytes > room {
        match first_bytes > second_bytes {
            true => first_bytes -= 1,
            false => second_bytes -= 1,
        }
    }
    let (first, second) = (cut(first, first_bytes), cut(second, second_bytes));
    match second {
        "" => format!("{first}_{label}"),
        second => format!("{first}_{second}_{label}"),
    }
}

/// The first of these names that is not taken: with a number behind the label where one is.
pub fn first_free(
    (first, second, label): (&str, &str, &str),
    is_taken: impl Fn(&str) -> bool,
) -> String {
    let mut name = generated(first, second, label);
    for pass in 1_u32.. {
        if !is_taken(&name) {
            break;
        }
        name = generated(first, second, &format!("{label}{pass}"));
    }
    name
}

/// Columns as part of a name, which takes no more of them than it has room for.
pub fn joined<'a>(columns: impl IntoIterator<Item = &'a str>) -> String {
    let mut joined = String::new();
    for column in columns {
        if !joined.is_empty() {
            joined.push('_');
        }
        joined.push_str(column);
        if joined.len() > NAME_MAX {
            break;
        }
    }
    joined
}

/// The first bytes of a name, in whole letters.
fn cut(name: &str, bytes: usize) -> &str {
    &name[..name.floor_char_boundary(bytes)]
}

//! What somebody may have meant who misspelt a name.

/// The candidate that is nearest to `name`, if it is near at all: at most a third of its letters
/// must change. Case does not count.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let far = |candidate: &str| distance(&name, &candidate.to_lowercase());
    let near = candidates.into_iter().map(|candidate| (far(candidate), candidate)).min()?;
    (near.0 * 3 <= name.chars().count().max(3)).then_some(near.1)
}

/// Letters to insert, leave out or replace until one is the other (Levenshtein), by rows of the
/// table of prefixes.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

//! Random values as the benchmark's specification wants them (TPC-C, revision 5.11, clauses 2.1.6 and 4.3).

use stdx::Prng;

/// The syllables of last names (clause 4.3.2.3).
const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

const LETTERS: &[u8; 36] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// The constants C of `NURand`, one for each of its ranges; any will do (clause 2.1.6.1).
const C_LAST: u64 = 157;
const C_CUSTOMER: u64 = 91;
const C_ITEM: u64 = 4211;

/// A number between two, both included.
pub fn between(random: &mut Prng, low: u64, high: u64) -> u64 {
    low + random.below(high - low + 1)
}

/// The non-uniform number of clause 2.1.6.
fn nurand(random: &mut Prng, a: u64, c: u64, low: u64, high: u64) -> u64 {
    let mixed = between(random, 0, a) | between(random, low, high);
    (mixed + c) % (high - low + 1) + low
}

/// A customer of a district with so many.
pub fn customer(random: &mut Prng, customers: u64) -> u64 {
    nurand(random, 1023, C_CUSTOMER, 1, customers)
}

/// One of so many items.
pub fn item(random: &mut Prng, items: u64) -> u64 {
    nurand(random, 8191, C_ITEM, 1, items)
}

/// The last name of a number from 0 to 999.
pub fn last_name(number: u64) -> String {
    [number / 100, number / 10 % 10, number % 10].map(|digit| SYLLABLES[digit as usize]).concat()
}

/// A last name that some customer of a district with so many has.
pub fn some_last_name(random: &mut Prng, customers: u64) -> String {
    last_name(nurand(random, 255, C_LAST, 0, customers.min(1000) - 1))
}

/// A text of letters and digits of a length between two.
pub fn text(random: &mut Prng, low: u64, high: u64) -> String {
    let length = between(random, low, high);
    (0..length).map(|_| char::from(LETTERS[random.below(36) as usize])).collect()
}

/// A text that holds `ORIGINAL` in one of ten cases (clause 4.3.3.1).
pub fn data(random: &mut Prng) -> String {
    let mut text = text(random, 26, 50);
    if random.below(10) == 0 {
        let at = random.below(text.len() as u64 - 8) as usize;
        text.replace_range(at..at + 8, "ORIGINAL");
    }
    text
}

/// A number with two digits behind the point, between two numbers of hundredths.
pub fn cents(random: &mut Prng, low: u64, high: u64) -> String {
    let value = between(random, low, high);
    format!("{}.{:02}", value / 100, value % 100)
}

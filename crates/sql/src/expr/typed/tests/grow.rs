//! Random expressions over the columns of [`super::forms`], as text.

use stdx::Prng;

use super::forms::TEXTS;

const LEAVES: [&str; 18] = [
    "a", "b", "c", "d", "e", "f", "g", "x", "d", "e", "b", "1", "0.05", "-7", "100", "2.50",
    "null", "0",
];

const NUMBER_TYPES: [&str; 8] = [
    "bigint",
    "integer",
    "smallint",
    "numeric(18,2)",
    "numeric(30,4)",
    "numeric(5,1)",
    "numeric(38,10)",
    "double precision",
];

/// An expression of any type.
pub(super) fn any(random: &mut Prng) -> String {
    let depth = 1 + random.below(3);
    match random.below(10) {
        0..4 => number(random, depth),
        4..8 => truth(random, depth),
        8 => text(random, depth),
        _ => moment(random, depth),
    }
}

fn pick<'a>(random: &mut Prng, of: &[&'a str]) -> &'a str {
    of[random.below(of.len() as u64) as usize]
}

fn number(random: &mut Prng, depth: u64) -> String {
    if depth == 0 || random.chance(0.2) {
        return pick(random, &LEAVES).to_string();
    }
    let (l, r) = (number(random, depth - 1), number(random, depth - 1));
    match random.below(16) {
        0..6 => format!("({l} {} {r})", pick(random, &["+", "-", "*", "*"])),
        6 => format!("({l} {} {r})", pick(random, &["/", "%"])),
        7 | 8 => choice(random, depth, &l, &r),
        9 => format!("(- {l})"),
        10 => format!("coalesce({l}, {r})"),
        11 => format!("nullif({l}, {r})"),
        12 => counted(random, depth),
        _ => format!("cast({l} as {})", pick(random, &NUMBER_TYPES)),
    }
}

/// A number that something else has.
fn counted(random: &mut Prng, depth: u64) -> String {
    match random.below(6) {
        0 => format!("length({})", text(random, depth - 1)),
        1 => format!("extract({} from day)", pick(random, &["year", "month", "day", "dow"])),
        2 => format!("cast({} as integer)", truth(random, depth - 1)),
        3 => format!("({} - day)", pick(random, &["date '1970-03-01'", "cast(t as date)"])),
        4 => format!("abs({})", number(random, depth - 1)),
        _ => "cast(s as integer)".into(),
    }
}

fn choice(random: &mut Prng, depth: u64, l: &str, r: &str) -> String {
    let condition = truth(random, depth - 1);
    match random.below(5) {
        0 | 1 => format!("case when {condition} then {l} else {r} end"),
        2 => format!("case when {condition} then {l} end"),
        3 => {
            let second = truth(random, depth - 1);
            format!("case when {condition} then {l} when {second} then {r} else 1 end")
        }
        _ => format!("case b when 1 then {l} when 7 then {r} else b end"),
    }
}

fn text(random: &mut Prng, depth: u64) -> String {
    if depth == 0 || random.chance(0.3) {
        return pick(random, &["s", "u", "s", "u", "'MAIL'", "'forest green'", "null"]).to_string();
    }
    let (l, r) = (text(random, depth - 1), text(random, depth - 1));
    match random.below(7) {
        0 => format!("({l} || {r})"),
        1 => format!("{}({l})", pick(random, &["upper", "lower", "reverse"])),
        2 => format!("substring({l} from {} for 4)", pick(random, &["1", "3", "b"])),
        3 => format!("coalesce({l}, {r})"),
        4 => format!("case when {} then {l} else {r} end", truth(random, depth - 1)),
        5 => format!("nullif({l}, {r})"),
        _ => format!("cast({} as text)", number(random, depth - 1)),
    }
}

/// A date or a timestamp.
fn moment(random: &mut Prng, depth: u64) -> String {
    let days =
        pick(random, &["day", "date '1980-05-01'", "cast(t as date)", "(day + 3)", "(day - b)"]);
    if depth == 0 {
        return days.into();
    }
    let condition = truth(random, depth - 1);
    match random.below(5) {
        0 => format!("case when {condition} then day else {days} end"),
        1 => format!("case when {condition} then t end"),
        2 => format!("coalesce({days}, day)"),
        3 => format!("nullif(day, {days})"),
        _ => pick(random, &["date_trunc('month', t)", "cast(day as timestamp)", "t", "(day + b)"])
            .into(),
    }
}

fn truth(random: &mut Prng, depth: u64) -> String {
    if depth > 0 && random.chance(0.5) {
        let (l, r) = (truth(random, depth - 1), truth(random, depth - 1));
        return match random.below(9) {
            0..3 => format!("({l} and {r})"),
            3..6 => format!("({l} or {r})"),
            6 => format!("(not {l})"),
            7 => format!("({l} is {})", pick(random, &["true", "not true", "false", "unknown"])),
            _ => format!("case when {l} then {r} else q end"),
        };
    }
    match random.below(16) {
        0..6 => compared(random, depth),
        6..9 => listed(random, depth),
        9..11 => of_texts(random, depth),
        11 | 12 => of_moments(random),
        13 => format!("({} is null)", number(random, depth.min(2))),
        _ => pick(random, &["p", "q", "true", "false", "null", "(s is null)", "(p is not null)"])
            .into(),
    }
}

const COMPARISONS: [&str; 8] =
    ["=", "<>", "<", "<=", ">", ">=", "is distinct from", "is not distinct from"];

fn compared(random: &mut Prng, depth: u64) -> String {
    let (l, r) = (number(random, depth.min(2)), number(random, depth.min(1)));
    match random.below(5) {
        0 => format!("({l} between {r} and {})", number(random, 1)),
        _ => format!("({l} {} {r})", pick(random, &COMPARISONS)),
    }
}

fn listed(random: &mut Prng, depth: u64) -> String {
    let how = pick(random, &["in", "not in"]);
    match random.below(6) {
        0 => format!("(b {how} (1, 7, 20, 33))"),
        1 => format!("(d {how} (1.00, 7.25, null, -0.5))"),
        2 => format!("(s {how} ('MAIL', 'a longer text than 12', ''))"),
        3 => format!("(s {how} (u, 'for', null))"),
        4 => format!("(day {how} (date '1970-01-01', date '1970-01-03'))"),
        _ => {
            let (l, r) = (number(random, depth.min(2)), number(random, 0));
            format!("({l} {how} (a, 3, {r}))")
        }
    }
}

fn of_texts(random: &mut Prng, depth: u64) -> String {
    let l = text(random, depth.min(1));
    match random.below(3) {
        0 => format!("({l} {} '{}')", pick(random, &COMPARISONS), pick(random, &TEXTS)),
        1 => format!("({l} {} {})", pick(random, &COMPARISONS), text(random, depth.min(1))),
        _ => {
            let patterns = ["for%", "forest g%", "%", "M%", "x%", "%green%", "f_r%", "", "gr_ß%"];
            let how = pick(random, &["like", "not like", "ilike"]);
            format!("({l} {how} '{}')", pick(random, &patterns))
        }
    }
}

fn of_moments(random: &mut Prng) -> String {
    let l = pick(random, &["day", "t", "(day + 3)", "cast(t as date)"]);
    let constants =
        ["date '1980-05-01'", "timestamp '1970-01-03 01:00:00'", "day", "t", "cast(null as date)"];
    format!("({l} {} {})", pick(random, &COMPARISONS), pick(random, &constants))
}

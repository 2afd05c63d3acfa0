//! Counts of passed, failed and skipped checks, read from what `cargo test` prints.

use std::fmt;
use std::ops::AddAssign;

/// How many checks passed, failed and were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Checks that passed.
    pub passed: u64,
    /// Checks that failed.
    pub failed: u64,
    /// Checks that did not run.
    pub skipped: u64,
}

impl Tally {
    /// Reads one line of a test harness: `test result: ok. 3 passed; 0 failed; 1 ignored; ...`.
    /// `None` for every other line.
    pub fn from_line(line: &str) -> Option<Tally> {
        let (_, counts) = line.trim().strip_prefix("test result: ")?.split_once(". ")?;
        let mut tally = Tally::default();
        for part in counts.split(';') {
            let Some((count, what)) = part.trim().split_once(' ') else { continue };
            let Ok(count) = count.parse() else { continue };
            match what {
                "passed" => tally.passed = count,
                "failed" => tally.failed = count,
                "ignored" => tally.skipped = count,
                _ => {}
            }
        }
        Some(tally)
    }

    /// One check.
    pub fn one(passed: bool) -> Tally {
        Tally { passed: u64::from(passed), failed: u64::from(!passed), skipped: 0 }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_summary_line() {
        let line = "test result: FAILED. 3 passed; 2 failed; 1 ignored; 0 measured; 4 filtered out";
        assert_eq!(Tally::from_line(line), Some(Tally { passed: 3, failed: 2, skipped: 1 }));
        assert_eq!(Tally::from_line("test a::b ... ok"), None);
    }

    #[test]
    fn prints_one_closing_line() {
        let mut tally = Tally::one(true);
        tally += Tally::one(false);
        assert_eq!(tally.to_string(), "1 passed, 1 failed, 0 skipped");
    }
}

//! The lines of a step that the end of the run repeats: whoever reads the last ones of a failed run
//! sees why it failed.

use std::collections::VecDeque;

/// Lines that a step has printed last, at most.
const LAST_COUNT: usize = 30;

/// Lines that tell of failures, at most.
const FAILURE_COUNT: usize = 60;

/// The lines of a step that are printed again if it fails.
#[derive(Default)]
pub struct Seen {
    failures: Vec<String>,
    last: VecDeque<String>,
}

impl Seen {
    /// Notes a line.
    pub fn note(&mut self, line: &str) {
        if tells_failure(line) && self.failures.len() < FAILURE_COUNT {
            self.failures.push(line.to_string());
        }
        if self.last.len() == LAST_COUNT {
            self.last.pop_front();
        }
        self.last.push_back(line.to_string());
    }

    /// The lines that tell of failures, and the last ones.
    pub fn summary(&self, name: &str) -> String {
        let mut lines = vec![format!("==> {name} failed; of its output:")];
        lines.extend(self.failures.iter().cloned());
        lines.push("its last lines:".to_string());
        lines.extend(self.last.iter().cloned());
        lines.join("\n")
    }
}

fn tells_failure(line: &str) -> bool {
    let line = line.trim();
    line.ends_with("FAILED")
        || line.starts_with("FAILED")
        || line.starts_with("error")
        || line.starts_with("test result: FAILED")
        || line.contains("panicked at")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_kept_however_much_comes_behind_them() {
        let mut seen = Seen::default();
        seen.note("test a::b ... FAILED");
        for number in 0..100 {
            seen.note(&format!("test c::d{number} ... ok"));
        }
        let summary = seen.summary("tests");
        assert!(summary.contains("a::b") && summary.contains("d99") && !summary.contains("d1 "));
    }
}

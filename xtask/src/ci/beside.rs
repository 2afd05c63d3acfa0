//! Steps that wait more than they compute, two at a time.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::seen::Seen;
use super::{Step, step, verdict};
use crate::tally::Tally;

/// How many run at a time: one for each core of the smallest machine that runs the gate.
const LANES: usize = 2;

/// Runs the steps; the output of each is printed as a whole when it has ended. After a failure,
/// which is told of in `failures`, none begins.
pub fn run(root: &Path, steps: &[Step], failures: &mut Vec<String>) -> Tally {
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(failures));
    let total = Mutex::new(Tally::default());
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                while failures.lock().expect("no step panics").is_empty() {
                    let Some(one) = steps.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                    let (failure, counts) = apart(root, one);
                    *total.lock().expect("no step panics") += counts;
                    failures.lock().expect("no step panics").extend(failure);
                }
            });
        }
    });
    total.into_inner().expect("no step panics")
}

fn apart(root: &Path, (name, work): &Step) -> (Option<String>, Tally) {
    println!("\n==> {name} begins");
    let start = Instant::now();
    let (mut lines, mut seen) = (Vec::new(), Seen::default());
    let (passed, counts) = step(root, work, &mut |line| {
        lines.push(line.to_string());
        seen.note(line);
    });
    // One call, so that the lines of two steps do not mix.
    println!("\n==> {name}\n{}\n{}", lines.join("\n"), verdict(name, passed, start));
    ((!passed).then(|| seen.summary(name)), counts)
}

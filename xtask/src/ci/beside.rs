//! Steps that wait more than they compute, two at a time.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use super::{Step, step, verdict};
use crate::tally::Tally;

/// How many run at a time: one for each core of the smallest machine that runs the gate.
const LANES: usize = 2;

/// Runs the steps; the output of each is printed as a whole when it has ended. After a failure none
/// begins.
pub fn run(root: &Path, steps: &[Step]) -> (bool, Tally) {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let total = Mutex::new(Tally::default());
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                while !failed.load(Ordering::Relaxed) {
                    let Some(one) = steps.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                    let (passed, counts) = apart(root, one);
                    *total.lock().expect("no step panics") += counts;
                    failed.fetch_or(!passed, Ordering::Relaxed);
                }
            });
        }
    });
    (!failed.into_inner(), total.into_inner().expect("no step panics"))
}

fn apart(root: &Path, (name, work): &Step) -> (bool, Tally) {
    println!("\n==> {name} begins");
    let start = Instant::now();
    let mut lines = Vec::new();
    let (passed, counts) = step(root, work, &mut |line| lines.push(line.to_string()));
    // One call, so that the lines of two steps do not mix.
    println!("\n==> {name}\n{}\n{}", lines.join("\n"), verdict(name, passed, start));
    (passed, counts)
}

//! How often passwords may be tried: each attempt takes a drop out of two buckets, that of its role
//! and that of all; buckets fill again with time, and the right password gives its drops back.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use runtime::time::{self, Instant};

/// Wrong passwords for one role before it has to wait; then one in ten seconds.
const ROLE: Rate = Rate { burst: 5.0, per_s: 0.1 };
/// The same for all roles: what guessing costs the server is bounded too.
const ALL: Rate = Rate { burst: 50.0, per_s: 1.0 };
/// Roles that are remembered; more names than that come from somebody who guesses, whom the bucket
/// of all holds up.
const ROLE_COUNT_MAX: usize = 1024;

struct Rate {
    burst: f64,
    per_s: f64,
}

struct Bucket {
    drops: f64,
    at: Instant,
}

/// The buckets of a console.
#[derive(Default)]
pub(super) struct Throttle(Mutex<Buckets>);

#[derive(Default)]
struct Buckets {
    all: Option<Bucket>,
    roles: VecDeque<(String, Bucket)>,
}

impl Bucket {
    fn full(rate: &Rate) -> Bucket {
        Bucket { drops: rate.burst, at: time::now() }
    }

    fn refill(&mut self, rate: &Rate) {
        let gained = self.at.elapsed().as_secs_f64() * rate.per_s;
        self.drops = (self.drops + gained).min(rate.burst);
        self.at = time::now();
    }
}

impl Buckets {
    /// Both buckets as they are now: that of the role and that of all.
    fn of(&mut self, role: &str) -> (&mut Bucket, &mut Bucket) {
        let all = self.all.get_or_insert_with(|| Bucket::full(&ALL));
        let known = self.roles.iter().position(|(name, _)| name == role);
        let at = known.unwrap_or_else(|| {
            if self.roles.len() == ROLE_COUNT_MAX {
                self.roles.pop_front();
            }
            self.roles.push_back((role.to_owned(), Bucket::full(&ROLE)));
            self.roles.len() - 1
        });
        let one = &mut self.roles[at].1;
        one.refill(&ROLE);
        all.refill(&ALL);
        (one, all)
    }
}

impl Throttle {
    /// Takes an attempt; whether there was one left.
    pub fn admit(&self, role: &str) -> bool {
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (one, all) = buckets.of(role);
        let admitted = one.drops >= 1.0 && all.drops >= 1.0;
        if admitted {
            one.drops -= 1.0;
            all.drops -= 1.0;
        }
        admitted
    }

    /// The password was right.
    pub fn forgive(&self, role: &str) {
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (one, all) = buckets.of(role);
        one.drops = ROLE.burst;
        all.drops = (all.drops + 1.0).min(ALL.burst);
    }
}

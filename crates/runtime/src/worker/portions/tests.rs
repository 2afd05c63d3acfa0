//! Long portions are found, under the name of the function that the task runs.

use super::function_of;
use crate::clock::thread_ns;
use crate::config::{Config, RingChoice};
use crate::runtime::Runtime;
use crate::task::remote::spawn_on;

/// Longer than any step of a clock.
const LONG_NS: u64 = 60_000_000;

async fn computes_for_long() {
    let begin_ns = thread_ns();
    while thread_ns() - begin_ns < LONG_NS {}
}

async fn gives_way() {
    let begin_ns = thread_ns();
    while thread_ns() - begin_ns < LONG_NS {
        crate::yielding::yield_now().await;
    }
}

#[test]
fn a_long_portion_is_noted_under_its_kind() {
    let config = Config { workers: 1, ring: RingChoice::Threads, ..Config::default() };
    let runtime = Runtime::start(config).expect("a runtime");
    runtime.block_on(|| async {
        spawn_on(0, gives_way).await.expect("the task ends");
        spawn_on(0, computes_for_long).await.expect("the task ends");
    });
    let portions = runtime.handle().portions();
    let of = |name: &str| portions.iter().find(|of| of.kind.ends_with(name));
    let long = of("tests::computes_for_long").expect("a long portion is found");
    assert!(long.cpu_ns_max >= LONG_NS, "{long:?}");
    assert_eq!(long.long_count, 1);
    let short = of("tests::gives_way").map_or(0, |of| of.cpu_ns_max);
    assert!(short < LONG_NS, "{short}");
}

#[test]
fn kinds_are_functions() {
    let check = |of: &str, function: &str| assert_eq!(function_of(of), function);
    check("a::b::{{closure}}", "a::b");
    check("a::B<c::D, fn(u8) -> e::F>::g<H>::{{closure}}::{{closure}}", "a::B::g");
    check("a::Lent", "a::Lent");
}

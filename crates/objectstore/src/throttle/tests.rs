//! An endpoint that asks to slow down, in simulated time.

use runtime::sim::Disk;
use runtime::{Config, RingChoice, Runtime};

use super::*;

fn simulated<F: Future<Output = ()> + 'static>(test: impl FnOnce() -> F + Send + 'static) {
    let ring = RingChoice::Sim(Disk::new(1));
    let config = Config { workers: 1, ring, ..Config::default() };
    Runtime::start(config).expect("a runtime").block_on(test);
}

#[test]
fn a_warning_slows_everybody_down() {
    simulated(|| async {
        let throttle = Throttle::new(64, 64);
        let mut passes = Vec::new();
        for _ in 0..32 {
            passes.push(throttle.enter().await);
        }
        let begun = time::now();
        // All were sent before the store said a word: their warnings are one.
        passes.iter().for_each(|pass| pass.warned(None));
        assert_eq!(throttle.allowed(), 16);
        drop(passes);
        let pass = throttle.enter().await;
        assert!(begun.elapsed() >= PAUSE, "nothing is sent meanwhile");
        assert_eq!(throttle.allowed(), 16);
        let mut pass = pass;
        for (asked_s, waited_s) in [(2, 2), (60, 60), (100_000, 300)] {
            pass.warned(Some(Duration::from_secs(asked_s)));
            assert!(throttle.allowed() <= 8);
            drop(pass);
            let again = time::now();
            pass = throttle.enter().await;
            assert_eq!(again.elapsed().as_secs(), waited_s, "as long as the store wishes");
        }
        assert_eq!(throttle.allowed(), FLOOR);
        for _ in 0..1000 {
            pass.succeeded();
        }
        assert_eq!(throttle.allowed(), 64, "and it recovers");
    });
}

#[test]
fn no_more_than_allowed_are_in_flight() {
    simulated(|| async {
        let throttle = Throttle::new(2, 2);
        let (one, _two) = (throttle.enter().await, throttle.enter().await);
        let third = time::timeout(Duration::from_secs(1), throttle.enter()).await;
        assert!(third.is_err(), "there are two");
        drop(one);
        let _third = throttle.enter().await;
        let throttle = Throttle::new(10, 1);
        let _one = throttle.enter().await;
        let second = time::timeout(Duration::from_secs(1), throttle.enter()).await;
        assert!(second.is_err(), "one is worth it");
        throttle.set_worth(100);
        assert_eq!(throttle.allowed(), 10, "there is a limit");
        let _second = throttle.enter().await;
    });
}

//! How a wait for the right to write ends.

use super::*;

fn wait_for(turns: &Arc<Turns>, patience: Patience) -> Option<&'static str> {
    patiently(patience, || turns.take().err().map(|error| error.state.0))
}

#[test]
fn a_wait_ends_with_the_right_the_time_or_the_wish() {
    let turns = Arc::<Turns>::default();
    assert_eq!(wait_for(&turns, Patience::default()), None);
    let held = turns.take().expect("nobody has it");
    let short = Patience { timeout: Some(Duration::from_millis(20)), ..Patience::default() };
    let before = time::now();
    assert_eq!(wait_for(&turns, short), Some("55P03"));
    assert!(before.elapsed() >= Duration::from_millis(20));
    let cancelled = Patience::default();
    cancelled.cancel.cancel();
    assert_eq!(wait_for(&turns, cancelled), Some("57014"));
    drop(held);
    assert_eq!(wait_for(&turns, Patience::default()), None);
}

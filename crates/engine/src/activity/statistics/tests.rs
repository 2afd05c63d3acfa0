//! Statistics are bounded, and what ran most stays.

use std::sync::Arc;
use std::time::Duration;

use sql::Shape;

use super::{RunFigures, SHAPE_COUNT_MAX, Statistics};

fn count(statistics: &Statistics, id: i64, ms: u64) {
    let shape = Arc::new(Shape { id, text: format!("select {id}") });
    let execution = Duration::from_millis(ms);
    statistics.count(&"u".into(), &shape, RunFigures { execution, rows: 2, ..Default::default() });
}

#[test]
fn times_are_summed_up() {
    let statistics = Statistics::default();
    [10, 20, 60].into_iter().for_each(|ms| count(&statistics, 1, ms));
    let all = statistics.all();
    let times = all[0].execution;
    assert_eq!((times.count, all[0].rows), (3, 6));
    assert_eq!((times.min, times.max, times.total, times.mean), (10.0, 60.0, 90.0, 30.0));
    // Population: sqrt((400 + 100 + 900) / 3).
    assert!((times.deviation() - 21.602_468_994_692_867).abs() < 1e-9);
}

#[test]
fn what_runs_often_is_kept() {
    let statistics = Statistics::default();
    (0..5).for_each(|_| count(&statistics, 1, 1));
    (2..5000).for_each(|id| count(&statistics, id, 1));
    let all = statistics.all();
    assert!(all.len() <= SHAPE_COUNT_MAX);
    assert!(all.iter().any(|s| s.shape.id == 1));
    assert!(statistics.info().0 > 0);
    statistics.reset(Some("u"), Some(1));
    assert!(statistics.all().iter().all(|s| s.shape.id != 1));
    statistics.reset(None, None);
    assert!(statistics.all().is_empty());
}

//! The sweep as a picture: a panel for each query and number of workers, throughput over the share of cached pages.

use super::{Point, Side};
use crate::chart::{self, Scale};

const WIDTH: f64 = 380.0;
const HEIGHT: f64 = 240.0;
const MARGIN: f64 = 72.0;

/// All points as one SVG document: queries from left to right, workers from top to bottom.
pub fn svg(points: &[Point]) -> String {
    let mut queries: Vec<&str> = points.iter().map(|point| point.query).collect();
    queries.sort_unstable();
    queries.dedup();
    let mut workers: Vec<usize> = points.iter().map(|point| point.workers).collect();
    workers.sort_unstable();
    workers.dedup();
    let size = (WIDTH * queries.len() as f64, HEIGHT * workers.len() as f64);
    chart::document(size.0, size.1, |out| {
        for (column, query) in queries.iter().enumerate() {
            for (row, count) in workers.iter().enumerate() {
                let of = |point: &&Point| point.query == *query && point.workers == *count;
                let points: Vec<&Point> = points.iter().filter(of).collect();
                if !points.is_empty() {
                    panel(out, (column as f64 * WIDTH, row as f64 * HEIGHT), &points)?;
                }
            }
        }
        Ok(())
    })
}

fn panel(out: &mut String, (x, y): (f64, f64), points: &[&Point]) -> std::fmt::Result {
    let sides = [Side::Sync, Side::Async];
    let rates = points.iter().flat_map(|point| sides.map(|side| point.throughput(side)));
    let across = Scale::linear(100.0, x + MARGIN, x + WIDTH - 24.0);
    let up = Scale::linear(rates.fold(0.0, f64::max) * 1.1, y + HEIGHT - 36.0, y + 28.0);
    let workers = match points[0].workers {
        1 => "one worker".to_owned(),
        more => format!("{more} workers"),
    };
    let title = format!("{}, {workers}, over pages in memory", points[0].query.to_uppercase());
    chart::text(out, (x + MARGIN, y + 16.0), "start", "font-weight=\"bold\"", &title)?;
    chart::axes(out, (&across, " %"), (&up, " GB/s"))?;
    for (number, side) in sides.into_iter().enumerate() {
        let at =
            |point: &&Point| (across.at(f64::from(point.share)), up.at(point.throughput(side)));
        let places: Vec<(f64, f64)> = points.iter().map(at).collect();
        chart::line(out, number, side.name(), &places, (across.low + 6.0, up.high + 12.0))?;
    }
    Ok(())
}

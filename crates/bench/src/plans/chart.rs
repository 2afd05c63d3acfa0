//! The sweep as a picture: a panel for each template and state, time over rows, both logarithmic.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Point, State, TEMPLATES};
use crate::chart::{self, Scale};

const WIDTH: f64 = 380.0;
const HEIGHT: f64 = 260.0;
const MARGIN: f64 = 48.0;

/// All points as one SVG document. Lines are plans; a ring marks the planner's choice.
pub fn svg(points: &[Point]) -> String {
    chart::document(WIDTH * TEMPLATES.len() as f64, HEIGHT * 2.0, |out| {
        for (column, template) in TEMPLATES.iter().enumerate() {
            for (row, state) in [State::Cached, State::Cold].into_iter().enumerate() {
                let of = |p: &&Point| p.template == template.name && p.state == state;
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
    let times = || points.iter().flat_map(|p| p.forced.iter().chain([&p.chosen]).map(|t| t.ms));
    let rows = points.iter().map(|p| p.rows as f64);
    let across = Scale::logarithmic(rows, x + MARGIN, x + WIDTH - 12.0);
    let up = Scale::logarithmic(times(), y + HEIGHT - MARGIN, y + 28.0);
    let title = format!("{}, {}", points[0].template, points[0].state.name());
    chart::text(out, (x + MARGIN, y + 16.0), "start", "font-weight=\"bold\"", &title)?;
    chart::axes(out, (&across, ""), (&up, " ms"))?;
    let mut lines: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for point in points {
        for timed in point.forced.iter().chain([&point.chosen]) {
            let place = (across.at(point.rows as f64), up.at(timed.ms));
            lines.entry(&timed.plan).or_default().push(place);
        }
    }
    for (number, (plan, places)) in lines.iter().enumerate() {
        chart::line(out, number, plan, places, (across.low + 6.0, up.high + 12.0))?;
    }
    for point in points {
        let (x, y) = (across.at(point.rows as f64), up.at(point.chosen.ms));
        writeln!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"none\" stroke=\"black\"><title>\
             {:.2} times the best</title></circle>",
            point.ratio()
        )?;
    }
    Ok(())
}

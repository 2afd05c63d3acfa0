//! The sweep as a picture: a panel for each template and state, time over rows, both logarithmic.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Point, State, TEMPLATES};

const WIDTH: f64 = 380.0;
const HEIGHT: f64 = 260.0;
const MARGIN: f64 = 48.0;
const COLOURS: [&str; 5] = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#8c564b"];

/// A linear scale of logarithms.
struct Scale {
    from: f64,
    to: f64,
    low: f64,
    high: f64,
}

impl Scale {
    fn of(values: impl Iterator<Item = f64>, low: f64, high: f64) -> Scale {
        let (mut from, mut to) = (f64::MAX, f64::MIN);
        for value in values.map(|v| v.max(1e-6).log10()) {
            (from, to) = (from.min(value.floor()), to.max(value.ceil()));
        }
        Scale { from, to: to.max(from + 1.0), low, high }
    }

    fn at(&self, value: f64) -> f64 {
        let share = (value.max(1e-6).log10() - self.from) / (self.to - self.from);
        self.low + share * (self.high - self.low)
    }

    fn decades(&self) -> impl Iterator<Item = f64> + '_ {
        (self.from as i32..=self.to as i32).map(|e| 10_f64.powi(e))
    }
}

/// All points as one SVG document. Lines are plans; a ring marks the planner's choice.
pub fn svg(points: &[Point]) -> String {
    let (columns, rows) = (TEMPLATES.len() as f64, 2.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" \
         fill=\"white\"/>\n",
        WIDTH * columns,
        HEIGHT * rows
    );
    for (column, template) in TEMPLATES.iter().enumerate() {
        for (row, state) in [State::Cached, State::Cold].into_iter().enumerate() {
            let of = |p: &&Point| p.template == template.name && p.state == state;
            let points: Vec<&Point> = points.iter().filter(of).collect();
            if !points.is_empty() {
                let place = (column as f64 * WIDTH, row as f64 * HEIGHT);
                panel(&mut out, place, &points).expect("writing to a string");
            }
        }
    }
    out.push_str("</svg>\n");
    out
}

fn panel(out: &mut String, (x, y): (f64, f64), points: &[&Point]) -> std::fmt::Result {
    let times = || points.iter().flat_map(|p| p.forced.iter().chain([&p.chosen]).map(|t| t.ms));
    let across = Scale::of(points.iter().map(|p| p.rows as f64), x + MARGIN, x + WIDTH - 12.0);
    let up = Scale::of(times(), y + HEIGHT - MARGIN, y + 28.0);
    let title = format!("{}, {}", points[0].template, points[0].state.name());
    writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" font-weight=\"bold\">{title}</text>",
        x + MARGIN,
        y + 16.0
    )?;
    for value in across.decades() {
        let at = across.at(value);
        grid(out, (at, up.low), (at, up.high))?;
        writeln!(
            out,
            "<text x=\"{at}\" y=\"{}\" text-anchor=\"middle\">{value}</text>",
            up.low + 14.0
        )?;
    }
    for value in up.decades() {
        let at = up.at(value);
        grid(out, (across.low, at), (across.high, at))?;
        writeln!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{value} ms</text>",
            across.low - 4.0,
            at + 4.0
        )?;
    }
    let mut lines: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for point in points {
        for timed in point.forced.iter().chain([&point.chosen]) {
            let place = (across.at(point.rows as f64), up.at(timed.ms));
            lines.entry(&timed.plan).or_default().push(place);
        }
    }
    for (number, (plan, places)) in lines.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let path = path.join(" ");
        writeln!(
            out,
            "<polyline points=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>"
        )?;
        let (x, y) = (across.low + 6.0, up.high + 12.0 + 13.0 * number as f64);
        writeln!(out, "<text x=\"{x}\" y=\"{y}\" fill=\"{colour}\">{plan}</text>")?;
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

fn grid(out: &mut String, from: (f64, f64), to: (f64, f64)) -> std::fmt::Result {
    writeln!(
        out,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"#dddddd\"/>",
        from.0, from.1, to.0, to.1
    )
}

//! What pictures have in common: scales, axes, lines.

use std::fmt::{Result, Write};

/// Colours of lines, told apart by those who see no red, too.
pub(crate) const COLOURS: [&str; 5] = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#8c564b"];

/// From values to places.
pub(crate) struct Scale {
    from: f64,
    to: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    is_logarithmic: bool,
}

impl Scale {
    /// The powers of ten around some values, from the place `low` to `high`.
    pub(crate) fn logarithmic(values: impl Iterator<Item = f64>, low: f64, high: f64) -> Scale {
        let (mut from, mut to) = (f64::MAX, f64::MIN);
        for value in values.map(|v| v.max(1e-6).log10()) {
            (from, to) = (from.min(value.floor()), to.max(value.ceil()));
        }
        Scale { from, to: to.max(from + 1.0), low, high, is_logarithmic: true }
    }

    /// From zero to some value.
    pub(crate) fn linear(to: f64, low: f64, high: f64) -> Scale {
        Scale { from: 0.0, to: to.max(f64::MIN_POSITIVE), low, high, is_logarithmic: false }
    }

    /// The place of a value.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let value = if self.is_logarithmic { value.max(1e-6).log10() } else { value };
        let share = (value - self.from) / (self.to - self.from);
        self.low + share * (self.high - self.low)
    }

    /// Values that are written beside the axis: powers of ten, or about five round ones.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        if self.is_logarithmic {
            return (self.from as i32..=self.to as i32).map(|e| 10_f64.powi(e)).collect();
        }
        let about = self.to / 5.0;
        let power = 10_f64.powf(about.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        let step = steps.into_iter().find(|step| *step >= about).unwrap_or(about);
        (0..=(self.to / step) as i32).map(|n| f64::from(n) * step).collect()
    }
}

/// A picture of some size on white, with what `draw` adds.
pub(crate) fn document(
    width: f64,
    height: f64,
    draw: impl FnOnce(&mut String) -> Result,
) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" \
         fill=\"white\"/>\n"
    );
    draw(&mut out).expect("writing to a string");
    out.push_str("</svg>\n");
    out
}

/// A line of text that begins, ends or has its middle at a place; some attributes beside.
pub(crate) fn text(
    out: &mut String,
    (x, y): (f64, f64),
    anchor: &str,
    attributes: &str,
    text: &str,
) -> Result {
    writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" {attributes}>{text}</text>"
    )
}

/// Both axes with their ticks, as a grid; units are written behind the values.
pub(crate) fn axes(
    out: &mut String,
    (across, across_unit): (&Scale, &str),
    (up, up_unit): (&Scale, &str),
) -> Result {
    for value in across.ticks() {
        let at = across.at(value);
        grid(out, (at, up.low), (at, up.high))?;
        text(out, (at, up.low + 14.0), "middle", "", &format!("{}{across_unit}", plain(value)))?;
    }
    for value in up.ticks() {
        let at = up.at(value);
        grid(out, (across.low, at), (across.high, at))?;
        text(out, (across.low - 4.0, at + 4.0), "end", "", &format!("{}{up_unit}", plain(value)))?;
    }
    Ok(())
}

/// A value as a person writes it: sums of tenths have no tail.
fn plain(value: f64) -> String {
    format!("{}", (value * 1e6).round() / 1e6)
}

/// A line through places, and its name as the one of this number.
pub(crate) fn line(
    out: &mut String,
    number: usize,
    name: &str,
    places: &[(f64, f64)],
    (x, y): (f64, f64),
) -> Result {
    let colour = COLOURS[number % COLOURS.len()];
    let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let path = path.join(" ");
    writeln!(
        out,
        "<polyline points=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>"
    )?;
    let place = (x, y + 13.0 * number as f64);
    text(out, place, "start", &format!("fill=\"{colour}\""), name)
}

fn grid(out: &mut String, from: (f64, f64), to: (f64, f64)) -> Result {
    writeln!(
        out,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"#dddddd\"/>",
        from.0, from.1, to.0, to.1
    )
}

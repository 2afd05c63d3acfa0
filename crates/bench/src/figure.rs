//! Figures: median, min and max of several runs, as JSON lines or text.

use serde_json::json;

/// One figure.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What it is, in dotted words: `ooo.q3.speedup`.
    pub name: String,
    /// The median.
    pub value: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// Number of runs.
    pub n: usize,
    /// The unit: `ns`, `ms`, `x`, `1/s`, `share`.
    pub unit: &'static str,
    /// What else one should know.
    pub detail: String,
}

impl Figure {
    /// The figure of some runs.
    ///
    /// # Panics
    /// If there are none.
    pub fn of(name: impl Into<String>, unit: &'static str, runs: &[f64]) -> Figure {
        let mut sorted = runs.to_vec();
        sorted.sort_by(f64::total_cmp);
        assert!(!sorted.is_empty(), "a figure needs a run");
        Figure {
            name: name.into(),
            value: median(&sorted),
            min: sorted[0],
            max: sorted[sorted.len() - 1],
            n: sorted.len(),
            unit,
            detail: String::new(),
        }
    }

    /// Adds a detail.
    pub fn with_detail(mut self, detail: impl Into<String>) -> Figure {
        self.detail = detail.into();
        self
    }

    /// One JSON object on one line.
    pub fn json(&self) -> String {
        json!({
            "figure": self.name, "value": self.value, "min": self.min, "max": self.max,
            "n": self.n, "unit": self.unit, "detail": self.detail,
        })
        .to_string()
    }

    /// One line of text.
    pub fn text(&self) -> String {
        let Figure { name, value, min, max, n, unit, detail } = self;
        let figures = format!("{name:<44} {:>10} {unit:<6}", short(*value));
        let spread = format!("(min {}, max {}, n {n})", short(*min), short(*max));
        format!("{figures} {spread} {detail}").trim_end().to_owned()
    }
}

fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        return sorted[middle];
    }
    (sorted[middle - 1] + sorted[middle]) / 2.0
}

/// The median of some values, in whatever order.
///
/// # Panics
/// If there are none.
pub fn median_of(values: &[f64]) -> f64 {
    Figure::of("", "", values).value
}

/// Three significant digits.
pub fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 1e6 => format!("{:.2}M", value / 1e6),
        v if v >= 1e4 => format!("{:.1}k", value / 1e3),
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 0.001 || v == 0.0 => format!("{value:.3}"),
        _ => format!("{value:.2e}"),
    }
}

/// The geometric mean.
pub fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64).exp()
}

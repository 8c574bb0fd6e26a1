//! Samples, goals, and the table of the report.

use std::fmt::Write as _;
use std::time::Duration;

/// Samples of one measurement.
#[derive(Default, Clone)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    pub(crate) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// Adds a duration in milliseconds.
    pub(crate) fn time(&mut self, took: Duration) {
        self.push(took.as_secs_f64() * 1e3);
    }

    /// Returns the number of samples.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the value below which the part `share` (0 to 1) of the samples is, or NaN without
    /// samples.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        sorted.get((last as f64 * share).round() as usize).copied().unwrap_or(f64::NAN)
    }

    /// Returns the first sample.
    pub(crate) fn first(&self) -> f64 {
        self.0.first().copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// Formats the median in this unit, with the tenth and ninetieth percentile in brackets.
    pub(crate) fn text(&self, unit: &str) -> String {
        format!(
            "{} {unit} ({}–{})",
            short(self.median()),
            short(self.quantile(0.1)),
            short(self.quantile(0.9))
        )
    }
}

/// Formats a number with about three significant digits, and at most three decimal places.
pub(crate) fn short(value: f64) -> String {
    let places = if value.abs() < 0.1 {
        3
    } else if value.abs() < 10.0 {
        2
    } else if value.abs() < 100.0 {
        1
    } else {
        0
    };
    format!("{value:.places$}")
}

/// Formats a limit: a measured one as [`short`] does, others in full.
fn limit(value: f64) -> String {
    if value == value.trunc() || value < 10.0 && value * 10.0 == (value * 10.0).trunc() {
        value.to_string()
    } else {
        short(value)
    }
}

/// The goal of a value.
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    /// The limit, which the value must not reach, and its unit.
    Below(f64, &'static str),
    /// The minimum, and its unit.
    AtLeast(f64, &'static str),
    /// No goal.
    None,
}

impl Goal {
    fn text(self) -> String {
        match self {
            Self::Below(max, unit) => format!("under {} {unit}", limit(max)),
            Self::AtLeast(min, unit) => format!("at least {} {unit}", limit(min)),
            Self::None => "–".into(),
        }
    }

    /// Returns the text of the column `met`.
    fn met_text(self, value: f64) -> &'static str {
        let is_met = match self {
            Self::Below(max, _) => value < max,
            Self::AtLeast(min, _) => value >= min,
            Self::None => return "",
        };
        if is_met { "yes" } else { "**no**" }
    }
}

/// A row of the table.
pub(crate) struct Row {
    /// Its place in the table. Rows with the same number keep the order in which they were added.
    pub(crate) order: u8,
    pub(crate) description: String,
    pub(crate) goal: Goal,
    /// The figure to which the goal applies.
    pub(crate) value: f64,
    pub(crate) measured: String,
    /// The minimum of the same work, if it is comparable with `value`, and its description.
    pub(crate) baseline: Option<(Option<f64>, String)>,
}

/// The table of the report.
#[derive(Default)]
pub(crate) struct Table(Vec<Row>);

impl Table {
    /// Adds a row and prints it on standard error.
    pub(crate) fn add(&mut self, row: Row) {
        let baseline =
            row.baseline.as_ref().map(|(_, name)| format!("; {name}")).unwrap_or_default();
        eprintln!("  {}: {} ({}{baseline})", row.description, row.measured, row.goal.text());
        self.0.push(row);
    }

    pub(crate) fn markdown(&self) -> String {
        let mut out = String::from(
            "| what | goal | measured | met | minimum, same run | ratio |\n\
             |---|---|---|---|---|---|\n",
        );
        let mut rows: Vec<&Row> = self.0.iter().collect();
        rows.sort_by_key(|row| row.order);
        for row in rows {
            let (baseline, ratio) = match &row.baseline {
                Some((Some(baseline), name)) => (name.as_str(), short(row.value / baseline)),
                Some((None, name)) => (name.as_str(), String::new()),
                None => ("", String::new()),
            };
            let (goal, met) = (row.goal.text(), row.goal.met_text(row.value));
            let _ = writeln!(
                out,
                "| {} | {goal} | {} | {met} | {baseline} | {ratio} |",
                row.description, row.measured
            );
        }
        out
    }

    /// Returns the number of missed goals.
    pub(crate) fn missed(&self) -> usize {
        self.0.iter().filter(|row| row.goal.met_text(row.value) == "**no**").count()
    }
}

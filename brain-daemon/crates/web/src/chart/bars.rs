//! Costs by day, each day a bar with a part for each purpose.

use std::collections::BTreeMap;

use brain_base::clock::day;
use brain_protocol::{CostDay, usd};
use maud::{Markup, html};

use super::scale;
use crate::table::{table, text};
use crate::text::Text;

/// The number of drawn days.
const DAYS: i64 = 30;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
const WIDTH: i64 = 600;
const HEIGHT: i64 = 160;
/// The number of colours. Further purposes share the last one.
const COLOURS: usize = 6;

/// Draws the costs of the last [`DAYS`] days up to `now`, in Unix milliseconds. `limit` is the
/// maximum cost of one question or run, in millionths of a dollar.
pub(crate) fn cost_bars(costs: &[CostDay], limit: u64, now: i64) -> Markup {
    let days: Vec<String> = (0..DAYS).rev().map(|ago| day(now - ago * DAY_MS)).collect();
    let (Some(first), Some(last)) = (days.first(), days.last()) else { return html! {} };
    let shown: Vec<&CostDay> = costs
        .iter()
        .filter(|cost| cost.actual > 0 && (first..=last).contains(&&cost.date))
        .collect();
    if shown.is_empty() {
        return html! { p { "Nothing was paid in the past " (DAYS) " days." } };
    }
    let mut by_purpose: BTreeMap<&str, u64> = BTreeMap::new();
    let mut by_day: BTreeMap<&str, u64> = BTreeMap::new();
    for cost in &shown {
        *by_purpose.entry(&cost.purpose).or_default() += cost.actual;
        *by_day.entry(&cost.date).or_default() += cost.actual;
    }
    let purposes: Vec<&str> = by_purpose.keys().copied().collect();
    let highest = by_day.values().max().copied().unwrap_or(0);
    // A limit far above all bars would flatten them.
    let limit = Some(limit).filter(|limit| *limit > 0 && *limit <= highest.saturating_mul(2));
    let top = limit.unwrap_or(0).max(highest);
    let label =
        format!("Costs by day from {first} to {last}; the highest day cost ${}", usd(highest));
    html! {
        figure class="bars" {
            figcaption {
                "Highest day " strong { "$" (usd(highest)) }
                @if let Some(limit) = limit {
                    span class="facts" {
                        " dashed: $" (usd(limit)) ", the limit of one question or run"
                    }
                }
            }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT + 4) } role="img" aria-label=(label) {
                path class="base" d={ "M0 " (HEIGHT) "H" (WIDTH) } {}
                @for (position, date) in days.iter().enumerate() {
                    (bar(position, &shown, date, &purposes, top))
                }
                @if let Some(limit) = limit {
                    @let y = HEIGHT - scale(limit.into(), 0, top.into(), HEIGHT - 4);
                    path class="limit" d={ "M0 " (y) "H" (WIDTH) } {}
                }
            }
            p class="axis" { span { (first) } " " span { (last) } }
            ul class="key" {
                @for (purpose, cost) in &by_purpose {
                    li {
                        span class={ "swatch bar" (colour(&purposes, purpose)) } {}
                        " " bdi { (Text(purpose)) } " $" (usd(*cost))
                    }
                }
            }
        }
        (numbers(&shown))
    }
}

/// Draws the parts of a day from the bottom. `top` is the cost at the upper edge.
fn bar(position: usize, costs: &[&CostDay], date: &str, purposes: &[&str], top: u64) -> Markup {
    let step = WIDTH / DAYS;
    let x = i64::try_from(position).unwrap_or(0) * step + 2;
    let mut below: u64 = 0;
    let mut parts = Vec::new();
    for cost in costs.iter().filter(|cost| cost.date == date) {
        let height = |cost: u64| scale(cost.into(), 0, top.into(), HEIGHT - 4);
        let (from, to) = (height(below), height(below.saturating_add(cost.actual)));
        below = below.saturating_add(cost.actual);
        // Even the smallest cost is visible.
        parts.push((HEIGHT - to, (to - from).max(1), colour(purposes, &cost.purpose)));
    }
    html! {
        @for (y, height, colour) in parts {
            rect class={ "bar" (colour) } x=(x) y=(y) width=(step - 4) height=(height) {}
        }
    }
}

fn colour(purposes: &[&str], purpose: &str) -> usize {
    purposes.iter().position(|known| *known == purpose).unwrap_or(0).min(COLOURS - 1)
}

fn numbers(costs: &[&CostDay]) -> Markup {
    let row = |cost: &&CostDay| {
        vec![html! { (Text(&cost.date)) }, text(&cost.purpose), html! { "$" (usd(cost.actual)) }]
    };
    let rows: Vec<Vec<Markup>> = costs.iter().rev().map(row).collect();
    html! {
        details {
            summary { "The numbers" }
            (table("Costs by day", &["Day (UTC)", "Purpose", "Cost"], &rows, ""))
        }
    }
}

#[cfg(test)]
mod tests {
    use brain_base::clock::parse_instant;

    use super::*;

    fn cost(date: &str, purpose: &str, actual: u64) -> CostDay {
        CostDay { date: date.into(), purpose: purpose.into(), actual }
    }

    fn now() -> i64 {
        parse_instant("2026-11-25T10:00:00Z").unwrap_or(0)
    }

    #[test]
    fn a_day_has_a_part_for_each_purpose() {
        let costs = [
            cost("2026-01-01", "ask", 9_000_000),
            cost("2026-11-24", "ask", 500_000),
            cost("2026-11-24", "lsd", 1_500_000),
            cost("2026-11-25", "<b>", 1),
        ];
        let shown = cost_bars(&costs, 1_000_000, now()).0;
        assert_eq!(shown.matches("<rect").count(), 3, "{shown}");
        assert!(shown.contains("Highest day <strong>$2.00</strong>"), "{shown}");
        assert!(shown.contains("class=\"limit\" d=\"M0 82H600\""), "{shown}");
        assert!(shown.contains("height=\"117\"") && shown.contains("height=\"39\""), "{shown}");
        assert!(!shown.contains("<b>") && !shown.contains("9.00"), "{shown}");
    }

    #[test]
    fn a_limit_far_above_the_costs_is_not_drawn() {
        let shown = cost_bars(&[cost("2026-11-24", "ask", 10)], 1_000_000, now()).0;
        assert!(!shown.contains("class=\"limit\""), "{shown}");
        assert!(cost_bars(&[], 1, now()).0.contains("Nothing was paid"));
    }
}

//! Tables, and the values in their cells.

use maud::{Markup, html};

use crate::text::Text;

/// Shows rows under headings, or `empty` if there are none. On a narrow screen, each row is a list
/// of its cells.
pub(crate) fn table(name: &str, headings: &[&str], rows: &[Vec<Markup>], empty: &str) -> Markup {
    // The first cell names the row.
    let label = |at: usize| headings.get(at).filter(|it| at > 0 && !it.is_empty());
    html! {
        @if rows.is_empty() { p { (empty) } }
        @else {
            div class="wide" tabindex="0" role="region" aria-label=(name) {
                table class="stack" {
                    thead {
                        tr {
                            @for heading in headings {
                                @if heading.is_empty() {
                                    th { span class="hidden" { "Actions" } }
                                } @else { th { (heading) } }
                            }
                        }
                    }
                    tbody {
                        @for row in rows {
                            tr {
                                @for (at, cell) in row.iter().enumerate() {
                                    td data-label=[label(at)] { (cell) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Shows a text whose direction does not affect the text around it.
pub(crate) fn text(text: &str) -> Markup {
    html! { bdi { (Text(text)) } }
}

/// Shows a time to the minute.
pub(crate) fn time(at: &str) -> Markup {
    html! { time datetime=(Text(at)) { (Text(&at.get(..16).unwrap_or(at).replace('T', " "))) } }
}

/// Shows a time that may be absent.
pub(crate) fn optional_time(at: Option<&str>) -> Markup {
    at.map(time).unwrap_or_else(|| html! { "never" })
}

/// Shows a size.
pub(crate) fn bytes(bytes: u64) -> Markup {
    let text = match bytes {
        0..=999 => format!("{bytes} B"),
        1_000..=999_999 => format!("{:.1} KB", bytes as f64 / 1e3),
        1_000_000..=999_999_999 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    };
    html! { (text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_short() {
        assert_eq!(bytes(999).0, "999 B");
        assert_eq!(bytes(1_500_000).0, "1.5 MB");
        let shown = time("2026-11-24T02:41:02.610Z").0;
        assert!(shown.contains(">2026-11-24 02:41<"), "{shown}");
        assert!(time("<b>").0.contains("&lt;b&gt;"));
    }
}

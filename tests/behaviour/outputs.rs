//! Whole outputs of `brain`. A transcript of each group of commands is compared with a file in
//! `snapshots`, so that a diff shows each changed word. docs/testing.md says how to accept a
//! change.

mod access;
mod coverage;
mod errors;
mod files;
mod ideas;
mod models;
mod pages;
mod reading;
mod review;
mod service;
mod transcript;

use insta::{Settings, assert_snapshot};

/// Compares `text` with the file `snapshots/<name>.snap`. Replaces by `filters` what changes from
/// run to run: pairs of a regular expression and its replacement, applied in this order.
fn compare(name: &str, text: &str, filters: &[(&str, &str)]) {
    let mut settings = Settings::new();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for (pattern, replacement) in filters {
        settings.add_filter(pattern, *replacement);
    }
    // Git marks spaces at the end of a line.
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    settings.bind(|| assert_snapshot!(name, lines.join("\n")));
}

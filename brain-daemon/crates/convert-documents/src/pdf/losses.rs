//! What is not read of a document, in few lines: pages as ranges.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use brain_convert_base::Output;

const SCAN: &str = "a scan: no text";
const UNREADABLE: &str = "the text cannot be read: its fonts do not say which characters they show";
const PARTLY: &str = "some characters are missing: their fonts do not say which ones they show";
/// Maximum number of ranges of pages in a line.
const MAX_RANGES: usize = 20;
/// Maximum number of fonts in a line.
const MAX_FONTS: usize = 5;

/// What was found on a sheet.
pub(super) struct Found {
    pub(super) has_text: bool,
    pub(super) has_image: bool,
    /// The number of characters, or groups of them, that are not known.
    pub(super) unreadable: usize,
}

/// The losses of a document: the sheets for each reason.
pub(super) struct Losses<'a> {
    labels: &'a [String],
    sheets: BTreeMap<String, Vec<usize>>,
    fonts: &'a BTreeSet<String>,
}

impl<'a> Losses<'a> {
    /// `labels` has the number of each sheet, and `fonts` the names of the fonts whose characters
    /// are not known.
    pub(super) fn new(labels: &'a [String], fonts: &'a BTreeSet<String>) -> Self {
        Self { labels, sheets: BTreeMap::new(), fonts }
    }

    /// Records what is missing of a sheet.
    pub(super) fn add(&mut self, index: usize, found: &Found) {
        let reason = match found {
            Found { has_text: false, unreadable: 1.., .. } => UNREADABLE,
            Found { has_text: false, has_image: true, .. } => SCAN,
            Found { has_text: true, unreadable: 1.., .. } => PARTLY,
            _ => return,
        };
        self.add_error(index, reason.to_owned());
    }

    /// Records why a sheet cannot be read.
    pub(super) fn add_error(&mut self, index: usize, reason: String) {
        self.sheets.entry(reason).or_default().push(index);
    }

    /// Writes a line for each reason.
    pub(super) fn report(&self, name: &str, out: &mut Output<'_>) -> io::Result<()> {
        for (reason, sheets) in &self.sheets {
            let fonts: Vec<&str> = self.fonts.iter().take(MAX_FONTS).map(String::as_str).collect();
            let is_of_fonts = [UNREADABLE, PARTLY].contains(&reason.as_str()) && !fonts.is_empty();
            let fonts = is_of_fonts.then(|| format!(" ({})", fonts.join(", ")));
            let reason = format!("{reason}{}", fonts.unwrap_or_default());
            out.lost(&format!("{name}, {}", self.pages(sheets)), &reason)?;
        }
        Ok(())
    }

    /// Returns `page 3` or `pages 3–9, 12`.
    fn pages(&self, sheets: &[usize]) -> String {
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for sheet in sheets {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == *sheet => *last = *sheet,
                _ => ranges.push((*sheet, *sheet)),
            }
        }
        let label = |index: usize| self.labels.get(index).map_or("", String::as_str);
        let range = |(first, last): &(usize, usize)| match first == last {
            true => label(*first).to_owned(),
            false => format!("{}–{}", label(*first), label(*last)),
        };
        let mut list: Vec<String> = ranges.iter().take(MAX_RANGES).map(range).collect();
        if ranges.len() > MAX_RANGES {
            list.push("and others".to_owned());
        }
        format!("{} {}", if sheets.len() == 1 { "page" } else { "pages" }, list.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_named_as_ranges_of_their_labels() {
        let labels: Vec<String> = ["i", "ii", "iii", "1", "2"].map(str::to_owned).into();
        let fonts = BTreeSet::new();
        let losses = Losses::new(&labels, &fonts);
        assert_eq!(losses.pages(&[3]), "page 1");
        assert_eq!(losses.pages(&[0, 1, 2, 4]), "pages i–iii, 2");
        let labels: Vec<String> = (1..100).map(|n| n.to_string()).collect();
        let all: Vec<usize> = (0..99).step_by(2).collect();
        assert!(Losses::new(&labels, &fonts).pages(&all).ends_with(", 39, and others"));
    }
}

//! Page labels: the numbers that a reader sees, such as `xii` or `A-3` (ISO 32000-1, 12.4.2).

use std::collections::BTreeMap;

use unpdf::parser::raw::{PdfDict, PdfObject, RawDocument};

use super::values::text;

/// Maximum depth of the tree of labels. Writers need three levels for a million pages.
const MAX_DEPTH: u8 = 16;
/// Maximum number of nodes, so that a node with two names cannot make the walk endless.
const MAX_NODES: usize = 10_000;
/// Maximum repetition of a letter: page 703 is `aaa…`, which nobody counts.
const MAX_LETTERS: i64 = 10;

/// The labels of a range of pages.
struct Range {
    style: u8,
    prefix: String,
    first: i64,
}

/// Returns the label of each page. A page without a label has its number, from 1.
pub(super) fn read(document: &RawDocument, pages: usize) -> Vec<String> {
    let mut ranges = BTreeMap::new();
    let mut nodes = 0;
    let root = document.catalog().ok().and_then(|it| it.get(&b"PageLabels"[..]));
    if let Some(root) = root {
        collect(document, root, MAX_DEPTH, &mut nodes, &mut ranges);
    }
    let label = |index: usize| {
        let at = i64::try_from(index).unwrap_or(i64::MAX);
        let range = ranges.range(..=at).next_back();
        let label = range.map(|(start, range)| range.label(at - start)).unwrap_or_default();
        if label.is_empty() { (index + 1).to_string() } else { label }
    };
    (0..pages).map(label).collect()
}

fn collect(
    document: &RawDocument,
    node: &PdfObject,
    depth: u8,
    nodes: &mut usize,
    ranges: &mut BTreeMap<i64, Range>,
) {
    *nodes += 1;
    let Some(node) = document.resolve(node).as_dict() else { return };
    let array = |key: &[u8]| node.get(key).and_then(|it| document.resolve(it).as_array());
    for pair in array(b"Nums").unwrap_or_default().chunks_exact(2) {
        let start = document.resolve(&pair[0]).as_i64();
        if let (Some(start), Some(range)) = (start, document.resolve(&pair[1]).as_dict()) {
            ranges.insert(start, Range::new(document, range));
        }
    }
    for kid in array(b"Kids").unwrap_or_default() {
        if depth > 0 && *nodes < MAX_NODES {
            collect(document, kid, depth - 1, nodes, ranges);
        }
    }
}

impl Range {
    fn new(document: &RawDocument, dict: &PdfDict) -> Self {
        let value = |key: &[u8]| dict.get(key).map(|it| document.resolve(it));
        let style = value(b"S").and_then(PdfObject::as_name).and_then(|name| name.first());
        let prefix = value(b"P").and_then(PdfObject::as_str_bytes).map(text);
        Self {
            style: style.copied().unwrap_or_default(),
            prefix: brain_page::single_line(&prefix.unwrap_or_default()),
            first: value(b"St").and_then(PdfObject::as_i64).unwrap_or(1),
        }
    }

    /// Returns the label of the page at this offset in the range.
    fn label(&self, offset: i64) -> String {
        let number = self.first.saturating_add(offset);
        let number = match self.style {
            b'D' => number.to_string(),
            b'R' => roman(number),
            b'r' => roman(number).to_lowercase(),
            b'A' => letters(number),
            b'a' => letters(number).to_lowercase(),
            _ => String::new(),
        };
        format!("{}{number}", self.prefix)
    }
}

fn roman(number: i64) -> String {
    const SIGNS: [(i64, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    if !(1..4000).contains(&number) {
        return number.to_string();
    }
    let (mut rest, mut out) = (number, String::new());
    for (value, sign) in SIGNS {
        while rest >= value {
            out.push_str(sign);
            rest -= value;
        }
    }
    out
}

/// A to Z, AA to ZZ, AAA to ZZZ and so on.
fn letters(number: i64) -> String {
    let times = (number - 1) / 26 + 1;
    match u8::try_from((number - 1).rem_euclid(26)) {
        Ok(letter) if number > 0 && times <= MAX_LETTERS => {
            char::from(b'A' + letter).to_string().repeat(usize::try_from(times).unwrap_or(1))
        }
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_their_style() {
        for (number, expected) in [(1, "I"), (12, "XII"), (1994, "MCMXCIV"), (4000, "4000")] {
            assert_eq!(roman(number), expected);
        }
        for (number, expected) in [(1, "A"), (26, "Z"), (27, "AA"), (0, "0"), (999, "999")] {
            assert_eq!(letters(number), expected);
        }
        let range = Range { style: b'r', prefix: "A-".into(), first: 3 };
        assert_eq!(range.label(1), "A-iv");
    }
}

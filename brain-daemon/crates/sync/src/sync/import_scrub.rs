//! Removes secrets from what an import reads, where it asks for that: from the text of pages, and
//! from names that converters make of titles. Files of pages stay as they are.

use std::collections::{HashMap, HashSet};

use brain_page::{ConvertedLine, Document, Frontmatter, scrub};

/// Removes the secrets of a document. Returns their kinds. The error says why that is not possible.
pub(super) fn scrub_document(document: &mut Document) -> Result<Vec<&'static str>, String> {
    let mut kinds = Vec::new();
    if scrub(document.frontmatter.raw()).is_some() {
        scrub_frontmatter(&mut document.frontmatter, &mut kinds);
    }
    if let Some(rest) = scrub(document.frontmatter.raw()) {
        let kinds = rest.kinds.join(", ");
        return Err(format!(
            "its frontmatter has secrets in comments, keys or nested values: {kinds}"
        ));
    }
    if let Some(found) = scrub(&document.body) {
        document.body = found.text.into();
        kinds.extend(found.kinds);
    }
    Ok(kinds)
}

/// Removes the secrets of plain values, and adds their kinds.
fn scrub_frontmatter(frontmatter: &mut Frontmatter, kinds: &mut Vec<&'static str>) {
    let keys: Vec<String> = frontmatter.keys().map(str::to_owned).collect();
    for key in keys {
        if !frontmatter.is_plain(&key) {
            continue;
        }
        let is_list = frontmatter.get(&key).is_none();
        let former = frontmatter.list(&key);
        let mut values = former.clone();
        for value in &mut values {
            if let Some(found) = scrub(value) {
                *value = found.text;
                kinds.extend(found.kinds);
            }
        }
        match values.as_slice() {
            values if values == former => {}
            [value] if !is_list => frontmatter.set(&key, value),
            values => frontmatter.set_list(&key, values),
        }
    }
}

/// Removes secrets from the names of converted pages: their paths, which titles make, and their
/// places in the export.
#[derive(Default)]
pub(super) struct NameScrubber {
    /// The new path of each page whose path had a secret.
    paths: HashMap<String, String>,
    /// These new paths.
    used: HashSet<String>,
}

impl NameScrubber {
    /// Returns the line with such names.
    pub(super) fn scrub(&mut self, line: ConvertedLine) -> ConvertedLine {
        match line {
            ConvertedLine::Page { from, path, markdown } => {
                let path = self.new_path(path);
                ConvertedLine::Page { from: scrubbed(from), path, markdown }
            }
            ConvertedLine::File { page, name, base64 } => {
                let page = self.paths.get(&page).cloned().unwrap_or(page);
                ConvertedLine::File { page, name, base64 }
            }
            ConvertedLine::Lost { from, reason } => {
                ConvertedLine::Lost { from: scrubbed(from), reason: scrubbed(reason) }
            }
            other => other,
        }
    }

    /// Returns the path of a page without secrets. Two such paths stay different.
    fn new_path(&mut self, path: String) -> String {
        let Some(found) = scrub(&path) else { return path };
        let mut new = found.text.clone();
        let mut number = 1;
        while !self.used.insert(new.clone()) {
            number += 1;
            new = format!("{} {number}", found.text);
        }
        self.paths.insert(path, new.clone());
        new
    }
}

fn scrubbed(text: String) -> String {
    scrub(&text).map_or(text, |found| found.text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// No real token.
    fn token() -> String {
        format!("ghp_{}", "a1".repeat(18))
    }

    #[test]
    fn secrets_of_frontmatter_and_body_are_removed() {
        let token = token();
        let text = format!(
            "---\ntitle: {token}\naliases: [\"a\", \"use {token}\"]\nn: 1\n---\n\nIt is {token}.\n"
        );
        let mut document = Document::parse(&text).unwrap();
        assert_eq!(scrub_document(&mut document).unwrap(), ["GitHub token"; 3]);
        let shown = "[removed: GitHub token]";
        let document = Document::parse(&document.render()).unwrap();
        assert_eq!(document.frontmatter.title().unwrap(), shown);
        assert_eq!(document.frontmatter.list("aliases"), ["a".to_owned(), format!("use {shown}")]);
        assert_eq!(document.frontmatter.get("n").unwrap(), "1");
        assert_eq!(&*document.body, format!("It is {shown}.\n"));
    }

    #[test]
    fn a_document_without_secrets_stays_as_it_is() {
        let text = "---\ntitle:   Oars   # long\n---\n\nTar &amp; rope\n";
        let mut document = Document::parse(text).unwrap();
        assert!(scrub_document(&mut document).unwrap().is_empty());
        assert_eq!(document.render(), text);
    }

    #[test]
    fn a_secret_that_cannot_be_removed_is_an_error() {
        let text = format!("---\ntitle: A\nkeys:\n  first: {}\n---\n\nx\n", token());
        let error = scrub_document(&mut Document::parse(&text).unwrap()).unwrap_err();
        assert!(error.contains("GitHub token"), "{error}");
    }

    #[test]
    fn paths_with_secrets_stay_different() {
        let mut scrubber = NameScrubber::default();
        let mut path = |path: String| {
            let page = ConvertedLine::Page { from: path.clone(), path, markdown: String::new() };
            match scrubber.scrub(page) {
                ConvertedLine::Page { from, path, .. } => format!("{from}: {path}"),
                other => panic!("{other:?}"),
            }
        };
        let shown = "a/[removed: GitHub token]";
        assert_eq!(path(format!("a/{}", token())), format!("{shown}: {shown}"));
        assert_eq!(path(format!("a/ghp_{}", "b2".repeat(18))), format!("{shown}: {shown} 2"));
        assert_eq!(path("a/b".to_owned()), "a/b: a/b");
        let page = format!("a/ghp_{}", "b2".repeat(18));
        let file = ConvertedLine::File { page, name: "x".into(), base64: String::new() };
        let ConvertedLine::File { page, .. } = scrubber.scrub(file) else { panic!("no file") };
        assert_eq!(page, format!("{shown} 2"));
    }
}

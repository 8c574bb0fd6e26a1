//! Splits a text into blocks, and blocks into text and properties.

/// A block: an item of a list at any depth, or text before the first one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Block<'a> {
    /// The white space before the bullet.
    pub(super) indent: &'a str,
    /// Whether it has a bullet.
    pub(super) is_item: bool,
    /// The lines, without bullet and without the indentation below it. Lines with properties are
    /// left out.
    pub(super) lines: Vec<&'a str>,
    /// Names and values, without those that say how the block is shown.
    pub(super) properties: Vec<(&'a str, &'a str)>,
    pub(super) id: Option<&'a str>,
    /// Whether its items are numbered.
    pub(super) is_numbered: bool,
    /// Whether the next line is one of `:PROPERTIES:`, the form of properties before 2021.
    is_in_drawer: bool,
}

/// Properties that say how a block is shown, or that Logseq alone uses.
const INNER: [&str; 4] = ["collapsed", "background-color", "logseq.order-list-type", "heading"];

/// Returns the blocks of a text.
pub(super) fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let body = line.trim_start();
        let indent = line.get(..line.len() - body.len()).unwrap_or_default();
        let item = body.strip_prefix("- ").or_else(|| (body == "-").then_some(""));
        let start = blocks.last_mut().filter(|_| fence.is_some() || item.is_none());
        let content = match (start, item) {
            (Some(block), _) => {
                let own = line.strip_prefix(block.indent).unwrap_or(body);
                let own = if block.is_item {
                    own.strip_prefix("  ").or_else(|| own.strip_prefix('\t')).unwrap_or(own)
                } else {
                    line
                };
                block.add(own, fence.is_some());
                own.trim_start()
            }
            (None, Some(item)) => {
                let mut block = Block { indent, is_item: true, ..Block::default() };
                block.add(item, false);
                blocks.push(block);
                item
            }
            (None, None) => {
                let mut block = Block::default();
                block.add(line, false);
                blocks.push(block);
                body
            }
        };
        let sign = ["```", "~~~"].into_iter().find(|sign| content.starts_with(sign));
        fence = match (fence, sign) {
            (Some(open), Some(sign)) if open == sign => None,
            (None, Some(sign)) if !content.get(3..).unwrap_or_default().contains(sign) => {
                Some(sign)
            }
            (open, _) => open,
        };
    }
    blocks
}

impl<'a> Block<'a> {
    fn add(&mut self, line: &'a str, is_code: bool) {
        let text = line.trim();
        if !is_code && text == ":PROPERTIES:" {
            self.is_in_drawer = true;
            return;
        }
        let old = old_property(text).filter(|_| self.is_in_drawer);
        self.is_in_drawer = old.is_some();
        if let Some((":END:", _)) = old {
            self.is_in_drawer = false;
            return;
        }
        match old.or_else(|| property(line).filter(|_| !is_code)) {
            Some(("id", id)) => self.id = Some(id),
            Some(("logseq.order-list-type", "number")) => self.is_numbered = true,
            Some((name, _)) if INNER.contains(&name) => {}
            Some(property) => self.properties.push(property),
            None => self.lines.push(line),
        }
    }

    /// Returns whether it has nothing but properties.
    pub(super) fn is_properties(&self) -> bool {
        let has_any = !self.properties.is_empty() || self.id.is_some();
        has_any && self.lines.iter().all(|line| line.trim().is_empty())
    }
}

/// Returns the name and value of a line `name:: value`.
fn property(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.trim().split_once("::")?;
    let is_name = !name.is_empty()
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '?'));
    let is_value = value.is_empty() || value.starts_with(' ');
    (is_name && is_value).then_some((name, value.trim()))
}

/// Returns the name and value of a line `:name: value`, or of the line `:END:`.
fn old_property(text: &str) -> Option<(&str, &str)> {
    if text == ":END:" {
        return Some((text, ""));
    }
    let (name, value) = text.strip_prefix(':')?.split_once(": ")?;
    (!name.contains([' ', ':'])).then(|| (name, value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawers_have_properties() {
        let text =
            "- a\n  :PROPERTIES:\n  :id: 1-2\n  :k: v: w\n  :END:\n  :x: y\n- :PROPERTIES:\n  b";
        let found = blocks(text);
        assert_eq!(found[0].lines, ["a", ":x: y"]);
        assert_eq!(
            (found[0].id, found[0].properties.as_slice()),
            (Some("1-2"), &[("k", "v: w")][..])
        );
        assert_eq!((found[1].lines.as_slice(), found.len()), (&["b"][..], 2));
    }

    #[test]
    fn blocks_have_lines_and_properties() {
        let text = "title:: A\n\n- one\n  id:: 6-7\n  more\n\t- two\n\t  collapsed:: true\n\t  k:: v\n- ```\n  \
                    - code\n  x:: y\n  ```\n-";
        let found = blocks(text);
        let lines: Vec<Vec<&str>> = found.iter().map(|block| block.lines.clone()).collect();
        let code = vec!["```", "- code", "x:: y", "```"];
        assert_eq!(lines, [vec![""], vec!["one", "more"], vec!["two"], code, vec![""]]);
        assert_eq!(found[0].properties, [("title", "A")]);
        assert!(found[0].is_properties() && !found[1].is_properties());
        assert_eq!((found[1].id, found[2].indent), (Some("6-7"), "\t"));
        assert_eq!(found[2].properties, [("k", "v")]);
    }

    #[test]
    fn text_with_two_colons_is_no_property() {
        for line in ["std::vec is", "a b:: c", ":: x", "x::y", "https://a::b"] {
            assert_eq!(property(line), None, "{line}");
        }
        assert_eq!(property("tags::"), Some(("tags", "")));
    }
}

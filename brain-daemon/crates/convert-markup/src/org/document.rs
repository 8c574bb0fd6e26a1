//! Parses a file of Org: its keywords at the top, and its outline.

use std::collections::HashMap;

/// A file of Org.
pub(super) struct Document<'a> {
    /// The lines `#+key: value` before the first heading: keys in lower case.
    pub(super) keywords: Vec<(String, &'a str)>,
    /// The text before the first heading, then all headings in order.
    pub(super) sections: Vec<Section<'a>>,
    /// The texts of footnotes by label.
    pub(super) footnotes: HashMap<&'a str, String>,
    /// The first heading with a text, by the text in lower case.
    pub(super) headings: HashMap<String, usize>,
    /// Headings by their property CUSTOM_ID.
    pub(super) custom_ids: HashMap<&'a str, usize>,
}

/// A heading with its text, without the headings below it.
#[derive(Default)]
pub(super) struct Section<'a> {
    /// The number of stars; 0 for the text before the first heading.
    pub(super) level: usize,
    /// The index of the heading above it.
    pub(super) parent: usize,
    pub(super) state: Option<State>,
    pub(super) priority: Option<char>,
    /// The heading, in Org.
    pub(super) title: &'a str,
    /// Its own tags.
    pub(super) tags: Vec<&'a str>,
    /// SCHEDULED, DEADLINE and CLOSED, with their timestamps.
    pub(super) planning: Vec<(&'a str, &'a str)>,
    pub(super) properties: Vec<(&'a str, &'a str)>,
    pub(super) body: Vec<&'a str>,
    /// The labels of footnotes that are defined in it.
    pub(super) footnotes: Vec<&'a str>,
}

/// The keyword of a task.
pub(super) struct State {
    pub(super) name: String,
    pub(super) is_done: bool,
}

impl<'a> Section<'a> {
    /// Returns a property. Its name has no case.
    pub(super) fn property(&self, name: &str) -> Option<&'a str> {
        let found = self.properties.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| *value).filter(|value| !value.is_empty())
    }
}

impl<'a> Document<'a> {
    pub(super) fn parse(text: &'a str) -> Self {
        let states = states(text);
        let mut document = Self {
            keywords: Vec::new(),
            sections: vec![Section::default()],
            footnotes: HashMap::new(),
            headings: HashMap::new(),
            custom_ids: HashMap::new(),
        };
        // The open headings: level and index.
        let mut open: Vec<(usize, usize)> = vec![(0, 0)];
        for line in text.lines() {
            if let Some((level, rest)) = heading(line) {
                while open.len() > 1 && open.last().is_some_and(|(above, _)| *above >= level) {
                    open.pop();
                }
                let parent = open.last().map_or(0, |(_, index)| *index);
                open.push((level, document.sections.len()));
                document.sections.push(section(level, parent, rest, &states));
            } else if let Some(section) = document.sections.last_mut() {
                section.body.push(line);
            }
        }
        for (index, section) in document.sections.iter_mut().enumerate() {
            take_planning(section);
            take_properties(section);
            take_footnotes(section, &mut document.footnotes);
            if index > 0 {
                document.headings.entry(section.title.to_lowercase()).or_insert(index);
            }
            if let Some(id) = section.property("CUSTOM_ID") {
                document.custom_ids.entry(id).or_insert(index);
            }
        }
        document.take_keywords();
        document
    }

    /// Returns the values of a keyword at the top.
    pub(super) fn values(&self, key: &str) -> impl Iterator<Item = &'a str> {
        self.keywords.iter().filter(move |(known, _)| known == key).map(|(_, value)| *value)
    }

    /// Returns the title of the file: several lines are one.
    pub(super) fn title(&self) -> String {
        self.values("title").collect::<Vec<_>>().join(" ")
    }

    /// Returns the tags of the file, then those of the headings above a heading, then its own.
    pub(super) fn tags(&self, index: usize) -> Vec<String> {
        let mut chain = Vec::new();
        let mut at = index;
        while let Some(section) = self.sections.get(at).filter(|_| at > 0) {
            chain.push(section);
            at = section.parent;
        }
        let of_file = self
            .values("filetags")
            .flat_map(|value| value.split([':', ' ', '\t']).filter(|tag| !tag.is_empty()));
        let of_headings = chain.iter().rev().flat_map(|section| section.tags.iter().copied());
        let mut tags: Vec<String> = Vec::new();
        for tag in of_file.chain(of_headings) {
            // Org marks a heading that has files so.
            if tag != "ATTACH" && !tags.iter().any(|known| known == tag) {
                tags.push(tag.to_owned());
            }
        }
        tags
    }

    /// Takes the keywords from the text before the first heading. Those of a table or picture stay.
    fn take_keywords(&mut self) {
        let Some(first) = self.sections.first_mut() else { return };
        let mut is_in_block = false;
        for line in std::mem::take(&mut first.body) {
            let lower = line.trim_start().to_ascii_lowercase();
            is_in_block |= lower.starts_with("#+begin_");
            let is_here =
                ["caption", "name", "attr_", "results", "header", "plot", "tblfm", "call"]
                    .iter()
                    .chain(&["begin", "end", "include"])
                    .any(|name| lower.strip_prefix("#+").is_some_and(|key| key.starts_with(name)));
            match keyword(line) {
                Some((key, value)) if !is_in_block && !is_here => {
                    self.keywords.push((key.to_ascii_lowercase(), value));
                }
                _ => first.body.push(line),
            }
            is_in_block &= !lower.starts_with("#+end_");
        }
    }
}

/// Returns the number of stars of a heading, and what follows them.
fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'*').count();
    let rest = line.get(level..)?;
    (level > 0 && rest.starts_with(' ')).then(|| (level, rest.trim()))
}

/// Returns the key and value of a line `#+key: value`.
pub(super) fn keyword(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.trim_start().strip_prefix("#+")?.split_once(':')?;
    let is_key = !key.is_empty() && !key.contains(char::is_whitespace);
    is_key.then(|| (key, value.trim()))
}

/// Returns the keywords of tasks of a file.
fn states(text: &str) -> Vec<(String, bool)> {
    let mut states = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("#+")) {
        let Some((key, value)) = keyword(line) else { continue };
        if !["todo", "seq_todo", "typ_todo"].iter().any(|name| key.eq_ignore_ascii_case(name)) {
            continue;
        }
        let words: Vec<&str> = value.split_whitespace().collect();
        let bar = words.iter().position(|word| *word == "|").unwrap_or(words.len().max(1) - 1);
        for (at, word) in words.iter().enumerate().filter(|(_, word)| **word != "|") {
            let name = word.split('(').next().unwrap_or(word);
            states.push((name.to_owned(), at >= bar));
        }
    }
    if states.is_empty() {
        states = vec![("TODO".to_owned(), false), ("DONE".to_owned(), true)];
    }
    states
}

fn section<'a>(
    level: usize,
    parent: usize,
    line: &'a str,
    states: &[(String, bool)],
) -> Section<'a> {
    let mut section = Section { level, parent, ..Section::default() };
    let mut rest = line;
    let word = rest.split(' ').next().unwrap_or_default();
    if let Some((name, is_done)) = states.iter().find(|(name, _)| name == word) {
        section.state = Some(State { name: name.clone(), is_done: *is_done });
        rest = rest.get(word.len()..).unwrap_or_default().trim_start();
    }
    if let Some(priority) = rest.strip_prefix("[#")
        && let Some((value, after)) = priority.split_once(']')
        && value.chars().count() == 1
    {
        section.priority = value.chars().next();
        rest = after.trim_start();
    }
    if let Some((title, tags)) = tags(rest) {
        section.tags = tags;
        rest = title;
    }
    section.title = rest.trim();
    section
}

/// Splits the tags from the end of a heading.
fn tags(title: &str) -> Option<(&str, Vec<&str>)> {
    let at = title.rfind([' ', '\t']).map_or(0, |at| at + 1);
    let (before, word) = title.split_at_checked(at)?;
    let inner = word.strip_prefix(':')?.strip_suffix(':')?;
    let is_tag = |tag: &str| {
        !tag.is_empty() && tag.chars().all(|c| c.is_alphanumeric() || "_@#%".contains(c))
    };
    let tags: Vec<&str> = inner.split(':').collect();
    tags.iter().all(|tag| is_tag(tag)).then_some((before, tags))
}

/// Takes SCHEDULED, DEADLINE and CLOSED from the first line below a heading.
fn take_planning(section: &mut Section<'_>) {
    let Some(line) = section.body.first().filter(|_| section.level > 0) else { return };
    let mut rest = line.trim();
    let mut found = Vec::new();
    while !rest.is_empty() {
        let Some((key, after)) = rest.split_once(':') else { return };
        let after = after.trim_start();
        let close = if after.starts_with('<') { '>' } else { ']' };
        if !["SCHEDULED", "DEADLINE", "CLOSED"].contains(&key) || !after.starts_with(['<', '[']) {
            return;
        }
        let Some(end) = after.find(close) else { return };
        let (stamp, after) = after.split_at(end + 1);
        found.push((key, stamp));
        rest = after.trim_start();
    }
    if !found.is_empty() {
        section.planning = found;
        section.body.remove(0);
    }
}

/// Takes the drawer PROPERTIES at the beginning of a text. In a file, comments can be before it.
fn take_properties(section: &mut Section<'_>) {
    let start = section.body.iter().position(|line| {
        let line = line.trim();
        section.level > 0 || !(line.is_empty() || line == "#" || line.starts_with("# "))
    });
    let Some(start) = start else { return };
    let is_line = |at: usize, text: &str| {
        section.body.get(at).is_some_and(|line| line.trim().eq_ignore_ascii_case(text))
    };
    if !is_line(start, ":properties:") {
        return;
    }
    let mut properties: Vec<(&str, &str)> = Vec::new();
    for at in start + 1..section.body.len() {
        if is_line(at, ":end:") {
            section.body.drain(start..=at);
            section.properties = properties;
            return;
        }
        let line = section.body.get(at).copied().unwrap_or_default().trim();
        let Some((key, value)) = line.strip_prefix(':').and_then(|line| line.split_once(':'))
        else {
            return;
        };
        properties.push((key, value.trim()));
    }
}

/// Takes the definitions of footnotes: `[fn:1] text`, up to the next definition, or two blank
/// lines.
fn take_footnotes<'a>(section: &mut Section<'a>, footnotes: &mut HashMap<&'a str, String>) {
    if !section.body.iter().any(|line| line.starts_with("[fn:")) {
        return;
    }
    let mut open: Option<&str> = None;
    let mut blank = 0;
    let mut is_in_block = false;
    for line in std::mem::take(&mut section.body) {
        let lower = line.trim_start().to_ascii_lowercase();
        is_in_block =
            (is_in_block || lower.starts_with("#+begin_")) && !lower.starts_with("#+end_");
        let definition = line.strip_prefix("[fn:").filter(|_| !is_in_block);
        let definition = definition.and_then(|rest| rest.split_once(']'));
        blank = if line.trim().is_empty() { blank + 1 } else { 0 };
        match definition {
            Some((label, text)) if !label.contains(':') => {
                open = Some(label);
                section.footnotes.push(label);
                footnotes.insert(label, text.trim().to_owned());
            }
            _ if blank < 2 && open.is_some() => {
                if let Some(text) = open.and_then(|label| footnotes.get_mut(label)) {
                    text.push('\n');
                    text.push_str(line);
                }
            }
            _ => {
                open = None;
                section.body.push(line);
            }
        }
    }
}

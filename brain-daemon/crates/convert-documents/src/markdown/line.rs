//! Writes the text of a paragraph, heading or cell.
//!
//! All text of a line is escaped at once, because what a character means depends on its
//! neighbours. So marks such as `**` are a character that no text has until then.

use std::collections::HashMap;

use brain_convert_base::literal_line;

use crate::model::{Inline, Link, Style, Text, merged};

/// Stands for the next mark. It is no character (Unicode, section 23.7).
const MARK: char = '\u{fdd0}';
/// Maximum length of an address, in bytes.
const MAX_ADDRESS: usize = 4096;
/// Schemes of links that can be followed. Others are text.
const SCHEMES: [&str; 9] =
    ["http", "https", "mailto", "tel", "sms", "ftp", "geo", "magnet", "xmpp"];

/// The lines of a paragraph as markdown.
pub(super) struct Lines(Vec<String>);

impl Lines {
    pub(super) fn of(content: &[Inline], headings: &HashMap<String, String>) -> Self {
        let lines = content.split(|inline| *inline == Inline::Break);
        let lines = lines.map(|line| {
            let mut builder = Builder::new(headings);
            let line = merged(line);
            for (n, inline) in line.iter().enumerate() {
                builder.inline(inline, line.get(n + 1));
            }
            builder.finish()
        });
        let mut lines: Vec<String> = lines.collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        let blank = lines.iter().take_while(|line| line.is_empty()).count();
        lines.drain(..blank);
        Self(lines)
    }

    /// Returns the lines as a paragraph.
    pub(super) fn paragraph(self) -> String {
        let mut out = String::new();
        for (n, line) in self.0.iter().enumerate() {
            if n > 0 {
                // After a blank line begins another paragraph, which a line break must not end.
                let is_hard = !line.is_empty() && !out.ends_with('\n');
                out.push_str(if is_hard { "  \n" } else { "\n" });
            }
            out.push_str(line);
        }
        out
    }

    /// Returns the lines as one.
    pub(super) fn one_line(self) -> String {
        self.0.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// Returns the lines as the text of a cell.
    pub(super) fn cell(self) -> String {
        let lines: Vec<String> = self.0.into_iter().filter(|line| !line.is_empty()).collect();
        lines.join("<br>")
    }
}

struct Builder<'a> {
    headings: &'a HashMap<String, String>,
    /// The text, with [`MARK`] for each of `marks`.
    text: String,
    marks: Vec<String>,
    /// What is open, in order.
    open: Vec<&'static str>,
    /// The open link, and its end.
    link: Option<(Link, String)>,
    has_blank: bool,
}

impl<'a> Builder<'a> {
    fn new(headings: &'a HashMap<String, String>) -> Self {
        Self {
            headings,
            text: String::new(),
            marks: Vec::new(),
            open: Vec::new(),
            link: None,
            has_blank: false,
        }
    }

    fn inline(&mut self, inline: &Inline, next: Option<&Inline>) {
        match inline {
            Inline::Text(text) => self.text(text, next),
            Inline::Break => {}
            Inline::Note(number) => {
                self.close_all();
                self.mark(format!("[^{}]", number + 1));
            }
            Inline::Picture { name, description } => {
                self.close_all();
                self.write_blank();
                self.picture(name, description);
            }
        }
    }

    fn picture(&mut self, name: &str, description: &str) {
        let is_picture = brain_page::is_picture(name);
        let description = brain_page::single_line(description);
        if description.is_empty() || !is_picture {
            let sign = if is_picture { "!" } else { "" };
            self.mark(format!("{sign}[[{name}]]"));
        } else {
            let target = name.replace('%', "%25").replace(' ', "%20");
            let target = target.replace('(', "%28").replace(')', "%29");
            self.mark(format!("![{}]({target})", literal_line(&description)));
        }
    }

    fn text(&mut self, text: &Text, next: Option<&Inline>) {
        let visible: String = text.text.chars().filter(|c| !is_noncharacter(*c)).collect();
        let words = visible.split([' ', '\t', '\n', '\r']).filter(|word| !word.is_empty());
        let words: Vec<&str> = words.collect();
        let is_blank = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r');
        self.has_blank |= visible.starts_with(is_blank);
        if words.is_empty() {
            self.has_blank |= !visible.is_empty();
            return;
        }
        let body = words.join(" ");
        let ends_blank = visible.ends_with(is_blank);
        let next = if ends_blank { None } else { first_char(next) };
        self.set_look(text);
        if text.style.code {
            self.mark(code(&body));
        } else {
            self.words(&body, next);
        }
        self.has_blank = ends_blank;
    }

    /// Closes what the text does not have, and opens what it has.
    fn set_look(&mut self, text: &Text) {
        if self.link.as_ref().map(|(link, _)| link) != text.link.as_ref() {
            self.close_all();
        }
        let wanted = styles(text.style);
        while let Some(at) = self.open.iter().position(|mark| !wanted.contains(mark)) {
            self.close_to(at);
        }
        self.write_blank();
        if let Some(link) = &text.link
            && self.link.is_none()
            && !is_bare(text)
            && let Some((start, end)) = self.link_marks(link)
        {
            self.mark(start);
            self.link = Some((link.clone(), end));
        }
        for mark in wanted {
            if !self.open.contains(&mark) {
                self.mark(mark.to_owned());
                self.open.push(mark);
            }
        }
    }

    /// Writes words. Punctuation beside a mark, with a letter on the other side, would keep the
    /// mark from being one (CommonMark 6.2). So the punctuation goes to the letter's side.
    fn words(&mut self, body: &str, next: Option<char>) {
        let opened = self.text.chars().rev().take_while(|c| *c == MARK).count();
        let opened = opened.min(self.open.len());
        let before = self.text.chars().rev().nth(opened);
        let mut body = body;
        let is_punctuation = |c: char| !c.is_alphanumeric() && !c.is_whitespace();
        if opened > 0 && self.link.is_none() && before.is_some_and(char::is_alphanumeric) {
            let rest = body.trim_start_matches(is_punctuation);
            let moved = &body[..body.len() - rest.len()];
            let at = self.text.len() - opened * MARK.len_utf8();
            self.text.insert_str(at, moved);
            body = rest;
        }
        if !self.open.is_empty() && self.link.is_none() && next.is_some_and(char::is_alphanumeric) {
            let start = body.trim_end_matches(is_punctuation);
            let moved = body[start.len()..].to_owned();
            self.text.push_str(start);
            if !moved.is_empty() {
                self.close_all();
                self.text.push_str(&moved);
            }
            return;
        }
        self.text.push_str(body);
    }

    fn link_marks(&self, link: &Link) -> Option<(String, String)> {
        match link {
            Link::Address(address) => {
                let address = address_of(address)?;
                Some(("[".to_owned(), format!("]({address})")))
            }
            Link::Place(id) => {
                let heading = self.headings.get(id.as_ref())?;
                let heading = heading.replace(['[', ']', '|', '#', '^'], " ");
                let heading = brain_page::single_line(&heading);
                (!heading.is_empty()).then(|| (format!("[[#{heading}|"), "]]".to_owned()))
            }
        }
    }

    fn write_blank(&mut self) {
        if std::mem::take(&mut self.has_blank) && !self.text.is_empty() {
            self.text.push(' ');
        }
    }

    fn mark(&mut self, mark: String) {
        self.text.push(MARK);
        self.marks.push(mark);
    }

    /// Closes the marks from this one on.
    fn close_to(&mut self, at: usize) {
        for mark in self.open.split_off(at).into_iter().rev() {
            // A mark around nothing is none.
            if self.text.ends_with(MARK) && self.marks.last().is_some_and(|last| last == mark) {
                self.text.pop();
                self.marks.pop();
            } else {
                self.mark(mark.to_owned());
            }
        }
    }

    fn close_all(&mut self) {
        self.close_to(0);
        if let Some((_, end)) = self.link.take() {
            self.mark(end);
        }
    }

    fn finish(mut self) -> String {
        self.close_all();
        let escaped = literal_line(&self.text);
        let mut out = String::with_capacity(escaped.len() + 16);
        let mut marks = self.marks.into_iter();
        for c in escaped.chars() {
            match c {
                MARK => out.push_str(&marks.next().unwrap_or_default()),
                c => out.push(c),
            }
        }
        out
    }
}

/// Returns whether a text is the address of its link, which is a link by itself.
fn is_bare(text: &Text) -> bool {
    let address = text.text.trim();
    let is_web = address.starts_with("https://") || address.starts_with("http://");
    text.link == Some(Link::Address(address.into()))
        && is_web
        && !address.contains(' ')
        && literal_line(address) == address
}

fn styles(style: Style) -> Vec<&'static str> {
    let marks = [(style.bold, "**"), (style.italic, "*"), (style.strike, "~~")];
    marks.into_iter().filter(|(is_on, _)| *is_on).map(|(_, mark)| mark).collect()
}

fn first_char(next: Option<&Inline>) -> Option<char> {
    match next? {
        Inline::Text(text) => text.text.chars().next(),
        _ => None,
    }
}

fn is_noncharacter(c: char) -> bool {
    matches!(c, '\u{fdd0}'..='\u{fdef}' | '\u{fffe}' | '\u{ffff}' | '\u{ad}')
}

fn code(text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let blank = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{blank}{text}{blank}{fence}")
}

/// Returns an address for a link, or `None` if it cannot be followed.
fn address_of(address: &str) -> Option<String> {
    let address = address.trim();
    let (scheme, _) = address.split_once(':')?;
    if address.len() > MAX_ADDRESS || !SCHEMES.iter().any(|it| scheme.eq_ignore_ascii_case(it)) {
        return None;
    }
    let mut out = String::with_capacity(address.len());
    for c in address.chars().filter(|c| !c.is_control()) {
        match c {
            ' ' | '<' | '>' | '"' | '\\' | '`' | '|' | '(' | ')' | '[' | ']' | '*' => {
                out.push_str(&format!("%{:02X}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    Some(out)
}

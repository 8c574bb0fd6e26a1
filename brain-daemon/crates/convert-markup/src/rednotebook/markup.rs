//! Converts the text of a day to markdown (txt2tags, as RedNotebook 2.29 reads it).

use brain_convert_base::{Page, link, literal_part};

use crate::files::{PageFiles, reference};
use crate::lists::List;
use crate::markdown::{
    Blocks, Finder, LINE_BREAK, code, comment, fenced, guarded, prefixed, table, web_link,
};
use crate::source::{Source, resolve};
use crate::wiki::{Dialect, Mark, Piece, Shown, inline};

/// A day that is being written.
pub(super) struct Scope<'a> {
    pub(super) source: &'a Source,
    /// The folder of the month's file.
    pub(super) folder: &'a str,
    pub(super) page: Page,
    pub(super) files: PageFiles,
}

impl Dialect for Scope<'_> {
    const MARKS: &'static [Mark] = &[
        Mark { open: "``", close: "``", shown: Shown::Code },
        Mark { open: "\"\"", close: "\"\"", shown: Shown::Literal },
        Mark { open: "''", close: "''", shown: Shown::Literal },
        Mark { open: "**", close: "**", shown: Shown::Between("**", "**") },
        Mark { open: "//", close: "//", shown: Shown::Between("*", "*") },
        Mark { open: "__", close: "__", shown: Shown::Between("<u>", "</u>") },
        Mark { open: "--", close: "--", shown: Shown::Between("~~", "~~") },
    ];

    fn is_content(_: &Mark, content: &str) -> bool {
        !content.starts_with(char::is_whitespace) && !content.ends_with(char::is_whitespace)
    }

    fn piece(&mut self, piece: &Piece<'_>, finder: &mut Finder) -> Option<(String, usize)> {
        let rest = piece.rest;
        if rest.starts_with('[') {
            return self.bracket(piece, finder);
        }
        if rest.starts_with('{') {
            let (content, length) = piece.between("{", "}", finder)?;
            let (text, _) = content.split_once("|color:")?;
            return Some((inline(text, self, piece.depth + 1), length)).filter(|_| piece.depth < 5);
        }
        if rest.starts_with("$$") {
            let (content, length) = piece.between("$$", "$$", finder)?;
            return Some((format!("$${content}$$"), length));
        }
        for (open, close, mark) in [("\\(", "\\)", "$"), ("\\[", "\\]", "$$")] {
            if let Some((content, length)) = piece.between(open, close, finder) {
                return Some((format!("{mark}{}{mark}", content.trim()), length));
            }
        }
        rest.starts_with(['#', '\u{ff03}']).then(|| self.hashtag(piece)).flatten()
    }
}

impl Scope<'_> {
    /// A tag: not digits, and not six letters of a colour.
    fn hashtag(&mut self, piece: &Piece<'_>) -> Option<(String, usize)> {
        if piece.before.is_some_and(|c| c.is_alphanumeric() || "_&#".contains(c)) {
            return None;
        }
        let sign = piece.rest.chars().next()?.len_utf8();
        let rest = piece.rest.get(sign..)?;
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let name = rest.get(..end)?;
        let is_color = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_excluded = name.get(..6).is_some_and(is_color)
            || name.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("include"));
        if is_excluded || !name.contains(char::is_alphabetic) {
            return None;
        }
        if piece.before.is_none_or(char::is_whitespace) {
            return Some((format!("#{name}"), sign + end));
        }
        self.tag(name);
        None
    }

    /// Adds a tag to the page.
    pub(super) fn tag(&mut self, name: &str) {
        if !self.page.tags.iter().any(|tag| tag.to_lowercase() == name.to_lowercase()) {
            self.page.tags.push(name.to_owned());
        }
    }

    /// Pictures, links to addresses and files, and links to days.
    fn bracket(&mut self, piece: &Piece<'_>, finder: &mut Finder) -> Option<(String, usize)> {
        // A picture in brackets: `[[""picture"".png]]`, or with an address `[[""p"".png] ""address""]`.
        if let Some((content, length)) = piece.between("[[\"\"", "]", finder) {
            let picture = self.picture(content)?;
            let after = piece.rest.get(length..)?;
            if after.starts_with(']') {
                return Some((picture, length + 1));
            }
            let inner = after.trim_start_matches(' ').strip_prefix("\"\"")?;
            let line = inner.split('\n').next()?;
            let (address, _) = line.split_once("\"\"]")?;
            let more = after.len() - inner.len() + address.len() + 3;
            return Some((format!("{picture} {}", web_link(address, "")), length + more));
        }
        let (content, length) = piece.between("[", "]", finder)?;
        if content.contains('\n') {
            return None;
        }
        if let Some(picture) = content.strip_prefix("\"\"") {
            return Some((self.picture(picture)?, length));
        }
        if let Some(content) = content.strip_suffix("\"\"")
            && let Some((label, target)) = content.rsplit_once("\"\"")
        {
            return Some((self.named_link(label.trim(), target.trim()), length));
        }
        let (label, day) = match content.rsplit_once(' ') {
            Some((label, day)) => (label.trim(), day),
            None => (content, content),
        };
        let is_day = day.len() == 10 && day.parse::<jiff::civil::Date>().is_ok();
        is_day.then(|| (link(day, label), length))
    }

    /// `name"".png?300`: the name of a picture after its quotes.
    fn picture(&mut self, content: &str) -> Option<String> {
        let (name, extension) = content.split_once("\"\".")?;
        let extension = extension.split('?').next()?;
        let is_extension = !extension.is_empty() && extension.chars().all(char::is_alphanumeric);
        let target = format!("{name}.{extension}");
        is_extension.then(|| self.file(&target, "").unwrap_or_else(|| code(&target)))
    }

    fn named_link(&mut self, label: &str, target: &str) -> String {
        let is_web = ["http://", "https://", "ftp://", "mailto:"]
            .iter()
            .any(|scheme| target.starts_with(scheme));
        if is_web {
            return web_link(target, &literal_part(label));
        }
        if target.starts_with("www.") {
            return web_link(&format!("http://{target}"), &literal_part(label));
        }
        match self.file(target, label) {
            Some(shown) => shown,
            None => format!("{} ({})", literal_part(label), code(target)),
        }
    }

    /// Attaches a file of the import. One elsewhere is missing.
    fn file(&mut self, target: &str, label: &str) -> Option<String> {
        let path = target.strip_prefix("file://").unwrap_or(target);
        let found = [path.to_owned(), path.replace("%20", " ")].into_iter().find_map(|path| {
            let found = resolve(self.folder, &path).filter(|_| !path.starts_with('/'))?;
            self.source.has(&found).then_some(found)
        });
        let attached = found.and_then(|it| self.files.attach(self.source, &mut self.page, &it));
        if attached.is_none() {
            self.files.miss(target);
        }
        attached.map(|name| reference(&name, label))
    }
}

/// Returns the text of a day as markdown.
pub(super) fn blocks(text: &str, scope: &mut Scope<'_>) -> String {
    let mut out = Blocks::default();
    let lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    while let Some(line) = lines.get(at).copied() {
        let rest = lines.get(at..).unwrap_or_default();
        at += if line.trim().is_empty() { 1 } else { block(line, rest, &mut out, scope) };
    }
    out.finish()
}

/// Converts the block that begins with `line`. Returns the number of its lines.
fn block(line: &str, rest: &[&str], out: &mut Blocks, scope: &mut Scope<'_>) -> usize {
    if let Some((level, text)) = heading(line) {
        out.push(&format!("{} {}", "#".repeat(level), inline(text, scope, 0)));
        return 1;
    }
    for mark in ["```", "\"\"\"", "'''", "%%%"] {
        if line.trim_end() != mark {
            continue;
        }
        let end = rest.iter().skip(1).position(|line| line.trim_end() == mark);
        // A block without an end goes to the end of the day.
        let end = end.map_or(rest.len(), |end| end + 1);
        let text = rest.get(1..end).unwrap_or_default().join("\n");
        out.push(&if mark == "%%%" { comment(&text) } else { fenced("", &text) });
        return (end + 1).min(rest.len());
    }
    if let Some(text) = line.strip_prefix("``` ") {
        out.push(&fenced("", text));
        return 1;
    }
    let run = |is: fn(&str) -> bool| rest.iter().take_while(|line| is(line)).count();
    if line.starts_with('%') {
        let length = run(|line| line.starts_with('%'));
        let lines = rest.iter().take(length).map(|line| line.trim_start_matches('%').trim());
        out.push(&comment(&lines.collect::<Vec<_>>().join("\n")));
        return length;
    }
    if is_bar(line) {
        out.push("---");
        return 1;
    }
    if is_row(line) {
        let length = run(is_row);
        let rows: Vec<Vec<String>> =
            rest.iter().take(length).map(|line| cells(line, scope)).collect();
        out.push(&table(&rows));
        return length;
    }
    if line.starts_with('\t') {
        let length = run(|line| line.starts_with('\t'));
        let lines: Vec<String> =
            rest.iter().take(length).map(|line| paragraph_line(line, scope)).collect();
        out.push(&prefixed(&lines.join("\n"), "> "));
        return length;
    }
    if item(line).is_some() {
        return list(rest, out, scope);
    }
    let is_other = |line: &str| {
        line.trim().is_empty()
            || heading(line).is_some()
            || item(line).is_some()
            || is_bar(line)
            || is_row(line)
            || line.starts_with(['%', '\t'])
            || ["```", "\"\"\"", "'''"].contains(&line.trim_end())
    };
    let length = 1 + rest.iter().skip(1).take_while(|line| !is_other(line)).count();
    let lines: Vec<String> =
        rest.iter().take(length).map(|line| paragraph_line(line, scope)).collect();
    out.push(&lines.join("\n"));
    length
}

/// Returns a line of a paragraph. `\\` at its end breaks it.
fn paragraph_line(line: &str, scope: &mut Scope<'_>) -> String {
    let line = line.trim();
    match line.strip_suffix("\\\\") {
        Some(line) => {
            format!("{}{}", guarded(&inline(line, scope, 0)), LINE_BREAK.trim_end_matches('\n'))
        }
        None => guarded(&inline(line, scope, 0)),
    }
}

/// `= title =`, or `+ title +` with a number.
fn heading(line: &str) -> Option<(usize, &str)> {
    let line = line.trim();
    let mark = line.chars().next().filter(|c| "=+".contains(*c))?;
    let level = line.chars().take_while(|c| *c == mark).count();
    let inner = line.get(level..)?;
    // A label can follow: `= title =[label]`.
    let inner = match inner.rsplit_once('[') {
        Some((before, label)) if label.ends_with(']') && before.ends_with(mark) => before,
        _ => inner,
    };
    let end = inner.chars().rev().take_while(|c| *c == mark).count();
    let text = inner.get(..inner.len() - end)?.trim();
    (level <= 5 && end == level && !text.is_empty()).then_some((level, text))
}

fn is_bar(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 20 && line.bytes().all(|byte| b"-=_".contains(&byte))
}

fn is_row(line: &str) -> bool {
    let line = line.trim_start_matches(' ');
    line.starts_with("| ") || line.starts_with("|| ")
}

fn cells(line: &str, scope: &mut Scope<'_>) -> Vec<String> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
    inner.split(" |").map(|cell| inline(cell.trim_matches([' ', '|']), scope, 0)).collect()
}

/// Returns the indentation, the marker and the text of an item of a list.
fn item(line: &str) -> Option<(usize, &'static str, &str)> {
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    let (marker, rest) = match text.as_bytes() {
        [b'-', b' ', ..] => ("-", text.get(2..)?),
        [b'+', b' ', ..] => ("1.", text.get(2..)?),
        [b':', b' ', ..] => ("-", text.get(2..)?),
        _ => return None,
    };
    let is_text = !rest.starts_with(' ') && !rest.trim().is_empty();
    is_text.then_some((indent, marker, rest))
}

/// Converts a list. Two blank lines end it, or a bullet alone.
fn list(rest: &[&str], out: &mut Blocks, scope: &mut Scope<'_>) -> usize {
    let mut list = List::default();
    let mut length = 0;
    while let Some(line) = rest.get(length).copied() {
        let next = rest.get(length + 1).copied().unwrap_or_default();
        if let Some((indent, marker, text)) = item(line) {
            list.item(indent, marker, &guarded(&inline(text, scope, 0)));
        } else if line.trim().is_empty() {
            if item(next).is_none() {
                break;
            }
        } else if ["-", "+", ":"].contains(&line.trim()) {
            length += 1;
            break;
        } else if line.starts_with(' ') && heading(line).is_none() {
            list.line(&guarded(&inline(line.trim(), scope, 0)));
        } else {
            break;
        }
        length += 1;
    }
    out.push(&list.finish());
    length.max(1)
}

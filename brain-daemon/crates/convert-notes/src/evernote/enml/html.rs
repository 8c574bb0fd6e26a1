//! Writes HTML for the converter of HTML, with tasks as items of lists.
//!
//! A boundary between blocks is written when the next content comes. So a list of tasks that are
//! separate blocks in ENML stays one list.

mod spans;

use super::super::tasks::Task;
use super::literal::{self, escape};
use super::places::Places;

/// How a box ends.
const BOX: &str = "type=\"checkbox\">";

/// An open element.
#[derive(Debug)]
pub(super) enum Kind {
    /// Has no effect of its own.
    Other,
    /// A block. `true` if it has a task that is open.
    Block(bool),
    /// A list. `true` if its items are tasks.
    List(bool),
    /// An item of a list. `true` if it has content.
    Item(bool),
    /// A cell of a table.
    Cell,
    /// A link to a note: where it begins in the output, its address, its text so far, and whether
    /// it has a file in it.
    NoteLink { start: usize, address: String, text: String, has_file: bool },
    /// Code: its language, its text so far, and the files in it.
    Code { language: String, text: String, files: Vec<String> },
    /// Code within a line.
    InlineCode,
    /// An element within code. `true` if it is a block.
    InCode(bool),
}

/// Writes HTML.
pub(super) struct Html {
    out: String,
    /// The open elements, with what ends them.
    open: Vec<(Kind, String)>,
    places: Places,
    /// Whether a new block begins with the next content.
    is_boundary: bool,
    /// Whether a list of tasks is open between two of them.
    is_between_tasks: bool,
    /// Number of open elements for code within a line.
    inline_code: usize,
}

impl Html {
    pub(super) fn new(places: Places) -> Self {
        // An element at the beginning, so that no text makes the HTML another format.
        let out = "<div></div>".to_owned();
        Self {
            out,
            open: Vec::new(),
            places,
            is_boundary: true,
            is_between_tasks: false,
            inline_code: 0,
        }
    }

    /// Closes what is open. Returns the HTML and the words in it that stand for markdown.
    pub(super) fn finish(mut self) -> (String, Places) {
        while !self.open.is_empty() {
            self.close();
        }
        self.end_tasks();
        (self.out, self.places)
    }

    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Opens an element that is not written, or that is written already.
    pub(super) fn open(&mut self, kind: Kind, end: &str) {
        self.open.push((kind, end.to_owned()));
    }

    /// Writes text.
    pub(super) fn text(&mut self, text: &str) {
        if let Some(code) = self.code() {
            code.push_str(&text.replace('\u{a0}', " "));
            return;
        }
        let text = text.replace('\u{a0}', " ");
        if text.trim().is_empty() {
            if !self.is_boundary && !self.is_between_tasks {
                self.out.push(' ');
            }
        } else {
            self.content();
            if self.inline_code > 0 {
                escape(&text, &mut self.out);
            } else {
                let is_start = self.begins_line();
                literal::write(&text, is_start, &mut self.places, &mut self.out);
            }
        }
        let link = self.open.iter_mut().rev().find_map(|(kind, _)| match kind {
            Kind::NoteLink { text, .. } => Some(text),
            _ => None,
        });
        if let Some(link) = link {
            link.push_str(&text);
        }
    }

    /// Returns whether the next text begins a line: no text follows the last tag of a block.
    fn begins_line(&self) -> bool {
        const STARTS: [&str; 7] = ["<br>", "</div>", "<li>", BOX, "<blockquote>", "<hr>", "\">"];
        STARTS.iter().any(|start| self.out.ends_with(start))
    }

    /// Begins content: ends a list of tasks, and separates it from the block before it.
    fn content(&mut self) {
        self.end_tasks();
        let is_first = self.out.ends_with("<li>") || self.out.ends_with(BOX);
        if std::mem::take(&mut self.is_boundary) && !is_first {
            self.out.push_str("<div></div>");
        }
        self.mark_item();
    }

    /// Marks that the innermost item has content.
    fn mark_item(&mut self) {
        if let Some((Kind::Item(has_content), _)) =
            self.open.iter_mut().rev().find(|(kind, _)| matches!(kind, Kind::Item(_) | Kind::Cell))
        {
            *has_content = true;
        }
    }

    fn end_tasks(&mut self) {
        if std::mem::take(&mut self.is_between_tasks) {
            self.out.push_str("</ul>");
        }
    }

    /// Writes markdown that HTML cannot say.
    pub(super) fn place(&mut self, markdown: String) {
        if let Some((Kind::Code { files, .. }, _)) =
            self.open.iter_mut().rev().find(|(kind, _)| matches!(kind, Kind::Code { .. }))
        {
            return files.push(markdown);
        }
        self.content();
        let word = self.places.add(markdown);
        self.out.push_str(&word);
        for (kind, _) in &mut self.open {
            if let Kind::NoteLink { has_file, .. } = kind {
                *has_file = true;
            }
        }
    }

    pub(super) fn line_break(&mut self) {
        if !self.is_boundary && !self.is_between_tasks {
            self.out.push_str("<br>");
        }
    }

    pub(super) fn image(&mut self, address: &str, alt: &str) {
        self.content();
        self.out.push_str("<img src=\"");
        escape(address, &mut self.out);
        self.out.push_str("\" alt=\"");
        escape(alt, &mut self.out);
        self.out.push_str("\">");
    }

    /// Begins a task where an `en-todo` stands.
    pub(super) fn todo(&mut self, is_checked: bool) {
        if let Some(code) = self.code() {
            return code.push_str(if is_checked { "[x] " } else { "[ ] " });
        }
        let is_in_first_item = self.is_in_first_item();
        let place = self.open.iter().rposition(|(kind, _)| match kind {
            Kind::Item(has_content) => !has_content,
            Kind::Cell => true,
            Kind::Block(_) => !is_in_first_item,
            _ => false,
        });
        let place = place.and_then(|at| self.open.get_mut(at)).map(|(kind, _)| kind);
        match place {
            Some(Kind::Block(has_task)) => {
                let was_open = std::mem::replace(has_task, true);
                if was_open {
                    self.end_task();
                }
                if !std::mem::take(&mut self.is_between_tasks) {
                    self.out.push_str("<ul>");
                }
                self.out.push_str("<li>");
                self.is_boundary = false;
            }
            Some(Kind::Item(has_content)) => {
                *has_content = true;
                self.end_tasks();
                self.is_boundary = false;
            }
            _ => self.content(),
        }
        self.check_box(is_checked);
    }

    /// Returns whether the innermost item has no content yet.
    fn is_in_first_item(&self) -> bool {
        let inner =
            self.open.iter().rev().find(|(kind, _)| matches!(kind, Kind::Item(_) | Kind::Cell));
        matches!(inner, Some((Kind::Item(false) | Kind::Cell, _)))
    }

    fn check_box(&mut self, is_checked: bool) {
        self.out.push_str(if is_checked { "<input checked " } else { "<input " });
        self.out.push_str(BOX);
    }

    /// Ends the open task of a block.
    fn end_task(&mut self) {
        self.end_tasks();
        while self.out.ends_with("<br>") || self.out.ends_with(' ') {
            let len = self.out.len() - if self.out.ends_with(' ') { 1 } else { 4 };
            self.out.truncate(len);
        }
        self.out.push_str("</li>");
        self.is_between_tasks = true;
    }

    /// Ends a task of an outer block that a new block follows.
    fn end_outer_task(&mut self) {
        if self.out.ends_with(BOX) {
            return;
        }
        let inner = self
            .open
            .iter_mut()
            .rev()
            .map(|(kind, _)| kind)
            .find(|kind| matches!(kind, Kind::Block(true) | Kind::Item(_) | Kind::Cell));
        if let Some(Kind::Block(has_task)) = inner {
            *has_task = false;
            self.end_task();
        }
    }

    pub(super) fn open_block(&mut self) {
        self.end_outer_task();
        self.is_boundary = true;
        self.open(Kind::Block(false), "");
    }

    /// Writes the tag of a block.
    pub(super) fn block_tag(&mut self, tag: &str) {
        self.end_outer_task();
        self.end_tasks();
        self.is_boundary = false;
        self.mark_item();
        self.out.push_str(tag);
    }

    pub(super) fn open_list(&mut self, name: &str, is_tasks: bool, start: &str) {
        self.end_outer_task();
        let continues_item = self.continue_item();
        if !(is_tasks && std::mem::take(&mut self.is_between_tasks)) {
            let start: String = start.chars().filter(char::is_ascii_digit).collect();
            let start = if start.is_empty() { start } else { format!(" start=\"{start}\"") };
            self.block_tag(&format!("<{name}{start}>"));
        }
        self.is_boundary = false;
        let end = if continues_item { "</li>" } else { "" };
        self.open(Kind::List(is_tasks), &format!("</{name}>{end}"));
    }

    /// Opens the last item of a list again, for a list that stands directly in it: Evernote writes
    /// `<ul><li>a</li><ul>…`. Returns whether there is one.
    fn continue_item(&mut self) -> bool {
        if !matches!(self.open.last(), Some((Kind::List(_), _))) {
            return false;
        }
        self.end_tasks();
        let len = self.out.trim_end().strip_suffix("</li>").map(str::len);
        len.inspect(|len| self.out.truncate(*len)).is_some()
    }

    /// Opens an item. `checked` is the property of its style, if it is a task.
    pub(super) fn open_item(&mut self, checked: &str) {
        self.end_tasks();
        self.is_boundary = false;
        let list = self.open.iter().rev().find(|(kind, _)| matches!(kind, Kind::List(_)));
        let is_task = !checked.is_empty() || matches!(list, Some((Kind::List(true), _)));
        self.out.push_str("<li>");
        if is_task {
            self.check_box(checked == "true");
        }
        self.open(Kind::Item(is_task), "</li>");
    }

    pub(super) fn open_cell(&mut self, name: &str, (rows, columns): (&str, &str)) {
        let number = |text: &str| text.trim().parse::<u16>().unwrap_or(1);
        let (rows, columns) = (number(rows), number(columns));
        self.end_tasks();
        self.is_boundary = false;
        self.out.push_str(&format!("<{name} rowspan=\"{rows}\" colspan=\"{columns}\">"));
        self.open(Kind::Cell, &format!("</{name}>"));
    }

    /// Opens an element that has the same name in HTML.
    pub(super) fn open_known(&mut self, name: &str) {
        let is_block = matches!(
            name,
            "h1" | "h2"
                | "h3"
                | "h4"
                | "h5"
                | "h6"
                | "blockquote"
                | "table"
                | "thead"
                | "tbody"
                | "tfoot"
                | "tr"
        );
        match is_block {
            true => self.block_tag(&format!("<{name}>")),
            false => self.out.push_str(&format!("<{name}>")),
        }
        let end = format!("</{name}>");
        let kind = match name {
            "code" | "kbd" | "samp" | "tt" => {
                self.inline_code += 1;
                Kind::InlineCode
            }
            _ if is_block => Kind::Block(false),
            _ => Kind::Other,
        };
        self.open(kind, &end);
    }

    pub(super) fn open_link(&mut self, address: &str, is_note: bool) {
        // A link in a link to a note is only its text.
        if !is_note || self.open.iter().any(|(kind, _)| matches!(kind, Kind::NoteLink { .. })) {
            self.out.push_str("<a href=\"");
            escape(address, &mut self.out);
            self.out.push_str("\">");
            return self.open(Kind::Other, "</a>");
        }
        self.content();
        let (start, address) = (self.out.len(), address.to_owned());
        let (text, mut end) = (String::new(), "");
        if address.starts_with("https:") {
            self.out.push_str("<a href=\"");
            escape(&address, &mut self.out);
            self.out.push_str("\">");
            end = "</a>";
        }
        self.open(Kind::NoteLink { start, address, text, has_file: false }, end);
    }

    /// Returns address and text of the innermost element, if it is a link to a note that can be
    /// replaced.
    pub(super) fn link_text(&self) -> Option<(String, String)> {
        match self.open.last() {
            Some((Kind::NoteLink { address, text, has_file: false, .. }, _)) => {
                Some((address.clone(), text.clone()))
            }
            _ => None,
        }
    }

    /// Ends a link to a note. `markdown` replaces what it has.
    pub(super) fn close_note_link(&mut self, markdown: &str) {
        if let Some((Kind::NoteLink { start, .. }, _)) = self.open.pop() {
            self.out.truncate(start);
            self.is_between_tasks = false;
            let word = self.places.add(markdown.to_owned());
            self.out.push_str(&word);
        }
    }

    pub(super) fn open_code(&mut self, language: &str) {
        if self.in_code() {
            return self.open_in_code("div");
        }
        self.block_tag("");
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "+#_".contains(c);
        let language = language.chars().filter(|c| is_plain(*c)).collect::<String>();
        let language = language.to_lowercase();
        self.open(Kind::Code { language, text: String::new(), files: Vec::new() }, "");
    }

    pub(super) fn in_code(&self) -> bool {
        self.open.iter().any(|(kind, _)| matches!(kind, Kind::Code { .. }))
    }

    fn code(&mut self) -> Option<&mut String> {
        self.open.iter_mut().rev().find_map(|(kind, _)| match kind {
            Kind::Code { text, .. } => Some(text),
            _ => None,
        })
    }

    /// Opens an element within code.
    pub(super) fn open_in_code(&mut self, name: &str) {
        let is_block = super::BLOCKS.contains(&name) || matches!(name, "li" | "ul" | "ol" | "tr");
        if let Some(code) = self.code()
            && (name == "br" || is_block && !code.is_empty() && !code.ends_with('\n'))
        {
            code.push('\n');
        }
        self.open(Kind::InCode(is_block), "");
    }

    /// Closes the innermost element.
    pub(super) fn close(&mut self) {
        let Some((kind, end)) = self.open.pop() else { return };
        match kind {
            Kind::Block(has_task) => {
                if has_task {
                    self.end_task();
                }
                if !end.is_empty() {
                    self.end_tasks();
                }
                self.is_boundary = true;
            }
            // The next task may continue the list.
            Kind::List(true) if end == "</ul>" => {
                self.end_tasks();
                self.is_between_tasks = true;
                self.is_boundary = true;
                return;
            }
            Kind::List(_) | Kind::Item(_) | Kind::Cell => {
                self.end_tasks();
                self.is_boundary = matches!(kind, Kind::List(_));
            }
            Kind::Code { language, text, files } => {
                self.write_code(&language, &text);
                for file in files {
                    self.is_boundary = true;
                    self.place(file);
                }
                self.is_boundary = true;
            }
            Kind::InCode(true) => {
                if let Some(code) = self.code()
                    && !code.ends_with('\n')
                {
                    code.push('\n');
                }
            }
            Kind::InlineCode => self.inline_code = self.inline_code.saturating_sub(1),
            Kind::InCode(false) | Kind::Other | Kind::NoteLink { .. } => {}
        }
        self.out.push_str(&end);
    }

    fn write_code(&mut self, language: &str, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        self.out.push_str("<pre><code class=\"language-");
        self.out.push_str(language);
        self.out.push_str("\">");
        escape(text.trim_end().trim_start_matches('\n'), &mut self.out);
        self.out.push_str("</code></pre>");
    }

    /// Writes a list of tasks.
    pub(super) fn tasks(&mut self, tasks: &[&Task]) {
        self.end_outer_task();
        if !std::mem::take(&mut self.is_between_tasks) {
            self.block_tag("<ul>");
        }
        for task in tasks {
            self.out.push_str("<li>");
            self.check_box(task.is_done);
            literal::write(&task.line(), true, &mut self.places, &mut self.out);
            self.out.push_str("</li>");
        }
        self.is_between_tasks = true;
        self.is_boundary = true;
    }
}

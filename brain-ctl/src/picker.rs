//! The interactive picker: finds pages while the user types, and returns the chosen one.
//!
//! It draws on standard error, so that standard output can be a pipe. A guard restores the
//! terminal, even after an error.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use brain_protocol::{Fault, Hit, Hits, List, PageRef, PageRow, Search, page_name};
use crossterm::{
    cursor::{Hide, MoveTo, Show},
    event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers},
    execute, queue,
    style::{Attribute, Print, SetAttribute},
    terminal::{
        self, Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
        enable_raw_mode,
    },
};

use crate::{
    context::Context,
    fail,
    output::{clean, cut_to_width},
};

/// Maximum number of pages that one search returns.
const MAX_CHOICES: u32 = 50;
/// With fewer results, pages with a word that starts with the last typed word are offered, too.
const MIN_RESULTS: usize = 5;
/// Lines of the screen that the list does not use: the query, the passage and the help.
const OTHER_LINES: usize = 3;

/// A page in the list.
struct Choice {
    page: PageRef,
    name: String,
    title: String,
    passage: String,
}

/// The state of the picker.
struct Picker<'a> {
    context: &'a Context,
    /// The filters of the command; its query is what the user types.
    request: Search,
    choices: Vec<Choice>,
    selected: usize,
    /// The reason for an empty list.
    message: String,
}

/// The effect of a key.
enum KeyAction {
    Search,
    Redraw,
    Choose,
    End,
}

/// Lets the user choose a page. Returns `None` if the user ends the picker.
///
/// # Errors
/// `usage` without a terminal, or if the terminal fails.
pub(crate) fn pick(context: &Context, request: Search) -> Result<Option<PageRef>, Fault> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(fail::usage("`brain search -i` needs a terminal")
            .hint("without -i, `brain search WORDS` prints the pages"));
    }
    let mut picker =
        Picker { context, request, choices: Vec::new(), selected: 0, message: String::new() };
    // The first search can start the daemon, whose notice must appear before the screen changes.
    picker.search();
    let screen = RawScreen::enter().map_err(|e| terminal_fault(&e))?;
    let chosen = picker.run().map_err(|e| terminal_fault(&e));
    drop(screen);
    chosen
}

fn terminal_fault(error: &io::Error) -> Fault {
    fail::usage(format!("the terminal cannot be used: {}", fail::reason(error)))
}

/// The screen in raw mode, until it is dropped.
struct RawScreen;

impl RawScreen {
    fn enter() -> io::Result<Self> {
        enable_raw_mode()?;
        let screen = Self;
        execute!(io::stderr(), EnterAlternateScreen)?;
        Ok(screen)
    }
}

impl Drop for RawScreen {
    fn drop(&mut self) {
        let _ = execute!(io::stderr(), Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}

impl Picker<'_> {
    fn run(&mut self) -> io::Result<Option<PageRef>> {
        let mut is_stale = false;
        loop {
            // Keys that were typed during a search are read before the next search.
            if !event::poll(Duration::ZERO)? {
                if std::mem::take(&mut is_stale) {
                    self.search();
                }
                self.draw()?;
            }
            let Event::Key(key) = event::read()? else { continue };
            match self.press(key) {
                KeyAction::Search => is_stale = true,
                KeyAction::Redraw => {}
                KeyAction::Choose => {
                    if std::mem::take(&mut is_stale) {
                        self.search();
                    }
                    if let Some(choice) = self.choices.get(self.selected) {
                        return Ok(Some(choice.page.clone()));
                    }
                }
                KeyAction::End => return Ok(None),
            }
        }
    }

    fn press(&mut self, key: KeyEvent) -> KeyAction {
        if key.kind == KeyEventKind::Release {
            return KeyAction::Redraw;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let last = self.choices.len().saturating_sub(1);
        let query = &mut self.request.query;
        match key.code {
            KeyCode::Esc => return KeyAction::End,
            KeyCode::Char('c' | 'd' | 'g') if control => return KeyAction::End,
            KeyCode::Enter => return KeyAction::Choose,
            KeyCode::Char('j' | 'm') if control => return KeyAction::Choose,
            KeyCode::Up => self.selected = self.selected.saturating_sub(1),
            KeyCode::Char('p') if control => self.selected = self.selected.saturating_sub(1),
            KeyCode::Down => self.selected = (self.selected + 1).min(last),
            KeyCode::Char('n') if control => self.selected = (self.selected + 1).min(last),
            KeyCode::PageUp => self.selected = self.selected.saturating_sub(10),
            KeyCode::PageDown => self.selected = (self.selected + 10).min(last),
            KeyCode::Backspace => {
                query.pop();
                return KeyAction::Search;
            }
            KeyCode::Char('u') if control => {
                query.clear();
                return KeyAction::Search;
            }
            KeyCode::Char('w') if control => {
                let end = query.trim_end().rfind(' ').map_or(0, |at| at + 1);
                query.truncate(end);
                return KeyAction::Search;
            }
            KeyCode::Char(c) if !control => {
                query.push(c);
                return KeyAction::Search;
            }
            _ => {}
        }
        KeyAction::Redraw
    }

    /// Fills the list for the typed words; without words, with the newest pages.
    fn search(&mut self) {
        self.selected = 0;
        self.message.clear();
        let result = match self.request.query.trim().is_empty() {
            true => self.newest_pages(),
            false => self.search_results(),
        };
        match result {
            Ok(choices) => {
                if choices.is_empty() {
                    self.message = "no page found".into();
                }
                self.choices = choices;
            }
            Err(fault) => {
                self.choices.clear();
                self.message = fault.message;
            }
        }
    }

    fn newest_pages(&self) -> Result<Vec<Choice>, Fault> {
        let pages = self.context.call(List {
            source: self.request.source.clone(),
            page_type: self.request.page_type.clone(),
            tag: self.request.tags.first().cloned(),
            limit: MAX_CHOICES,
            ..List::default()
        })?;
        let choice = |row: &PageRow| Choice {
            page: PageRef::new(&row.source_id, &row.slug),
            name: page_name(pages.default_source.as_str(), &row.source_id, &row.slug),
            title: row.title.clone(),
            passage: String::new(),
        };
        Ok(pages.pages.iter().map(choice).collect())
    }

    fn search_results(&self) -> Result<Vec<Choice>, Fault> {
        let request =
            Search { limit: MAX_CHOICES, explain: false, prefix: true, ..self.request.clone() };
        let mut choices = choices(&self.context.call(request.clone())?);
        let ends_in_word = request.query.ends_with(char::is_alphanumeric);
        if choices.len() < MIN_RESULTS && ends_in_word {
            let query = format!("{}*", request.query);
            // If the query is invalid with `*`, these results are not shown.
            if let Ok(more) = self.context.call(Search { query, ..request }) {
                for choice in self::choices(&more) {
                    if choices.iter().all(|known| known.page != choice.page) {
                        choices.push(choice);
                    }
                }
            }
        }
        Ok(choices)
    }

    fn draw(&self) -> io::Result<()> {
        let (columns, lines) = terminal::size()?;
        let columns = usize::from(columns.max(10));
        let list_lines = usize::from(lines).saturating_sub(OTHER_LINES).max(1);
        let cut = |text: &str| cut_to_width(&clean(text), Some(columns - 1));
        let mut out = io::stderr().lock();
        queue!(out, Hide, MoveTo(0, 0), Clear(ClearType::All))?;
        let first = self.selected.saturating_sub(list_lines - 1);
        for (line, (at, choice)) in
            (1..).zip(self.choices.iter().enumerate().skip(first).take(list_lines))
        {
            let text = cut(&format!("{}  {}", choice.name, choice.title));
            queue!(out, MoveTo(0, line))?;
            if at == self.selected {
                queue!(out, SetAttribute(Attribute::Reverse))?;
            }
            queue!(out, Print(text), SetAttribute(Attribute::Reset))?;
        }
        let passage = self.choices.get(self.selected).map_or(&self.message, |it| &it.passage);
        let help = "Enter: open   Up, Down: choose   Esc: cancel";
        queue!(out, MoveTo(0, lines.saturating_sub(2)), SetAttribute(Attribute::Dim))?;
        queue!(out, Print(cut(passage)))?;
        queue!(out, MoveTo(0, lines.saturating_sub(1)), Print(cut(help)))?;
        queue!(out, SetAttribute(Attribute::Reset), MoveTo(0, 0))?;
        queue!(out, Print(cut(&format!("search: {}", self.request.query))), Show)?;
        out.flush()
    }
}

fn choices(hits: &Hits) -> Vec<Choice> {
    let choice = |hit: &Hit| Choice {
        page: PageRef::new(&hit.source_id, &hit.slug),
        name: page_name(hits.default_source.as_str(), &hit.source_id, &hit.slug),
        title: hit.title.clone(),
        passage: hit.snippet.clone(),
    };
    hits.hits.iter().map(choice).collect()
}

//! Reads a file of a month: YAML, with the days as keys.

use serde_saphyr::granit_parser::{Event, Options, Parser, ScalarStyle, StrInput};

/// Maximum nesting of collections. RedNotebook writes three levels.
const MAX_DEPTH: usize = 8;

/// A day.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Day {
    /// The day of the month.
    pub(super) number: i8,
    pub(super) text: String,
    /// The categories, which are tags, with their entries.
    pub(super) categories: Vec<(String, Vec<String>)>,
}

/// Reads the days of a month. What is before an error is returned with it.
pub(super) fn days(text: &str) -> (Vec<Day>, Option<String>) {
    let mut options = Options::default();
    options.emit_comments = false;
    options.flow_nesting_limit = MAX_DEPTH;
    options.block_nesting_limit = MAX_DEPTH;
    let mut reader = Reader { events: Parser::new_from_str_with_options(text, options) };
    let mut days = Vec::new();
    let error = reader.month(&mut days).err();
    (days, error)
}

struct Reader<'a> {
    events: Parser<'a, StrInput<'a>>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<Event<'a>, String> {
        match self.events.next_event() {
            Some(Ok((event, _))) => Ok(event),
            Some(Err(error)) => {
                let line = error.marker().line();
                Err(format!("line {line}: {}", error.kind()))
            }
            None => Ok(Event::StreamEnd),
        }
    }

    fn month(&mut self, days: &mut Vec<Day>) -> Result<(), String> {
        loop {
            match self.next()? {
                Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
                Event::StreamEnd => return Ok(()),
                // An empty month.
                Event::Scalar(text, ..) if text.is_empty() || &*text == "{}" => {}
                Event::MappingStart(..) => break,
                _ => return Err("it is no month of RedNotebook".to_owned()),
            }
        }
        loop {
            let number = match self.next()? {
                Event::MappingEnd => return Ok(()),
                Event::Scalar(number, ..) => number
                    .parse()
                    .ok()
                    .filter(|number| (1..=31).contains(number))
                    .ok_or_else(|| format!("{number} is no day"))?,
                _ => return Err("a day is no number".to_owned()),
            };
            days.push(self.day(number)?);
        }
    }

    fn day(&mut self, number: i8) -> Result<Day, String> {
        let mut day = Day { number, ..Day::default() };
        match self.next()? {
            Event::MappingStart(..) => {}
            Event::Scalar(..) => return Ok(day),
            _ => return Err(format!("day {number} is no mapping")),
        }
        loop {
            let key = match self.next()? {
                Event::MappingEnd => return Ok(day),
                Event::Scalar(key, ..) => key.into_owned(),
                _ => return Err(format!("a key of day {number} is no text")),
            };
            let value = self.next()?;
            match (key.as_str(), value) {
                ("text", Event::Scalar(text, style, ..)) => {
                    let is_null = style == ScalarStyle::Plain && ["null", "~"].contains(&&*text);
                    day.text = if is_null { String::new() } else { text.into_owned() };
                }
                // Older versions: each entry is a tag.
                ("Tags", value) => {
                    let tags = self.entries(value)?;
                    day.categories.extend(tags.into_iter().map(|tag| (tag, Vec::new())));
                }
                (_, value) => {
                    let entries = self.entries(value)?;
                    day.categories.push((key, entries));
                }
            }
        }
    }

    /// Reads the entries of a category: the keys of a mapping, or a list, or nothing.
    fn entries(&mut self, first: Event<'a>) -> Result<Vec<String>, String> {
        let is_mapping = match first {
            Event::MappingStart(..) => true,
            Event::SequenceStart(..) => false,
            Event::Scalar(text, style, ..) => {
                let is_null = style == ScalarStyle::Plain && ["", "null", "~"].contains(&&*text);
                return Ok(if is_null { Vec::new() } else { vec![text.into_owned()] });
            }
            _ => return Err("a category has an alias".to_owned()),
        };
        let mut entries = Vec::new();
        loop {
            match self.next()? {
                Event::MappingEnd | Event::SequenceEnd => return Ok(entries),
                Event::Scalar(entry, ..) => entries.push(entry.into_owned()),
                _ => return Err("an entry of a category is no text".to_owned()),
            }
            if is_mapping {
                match self.next()? {
                    Event::Scalar(..) => {}
                    _ => return Err("an entry of a category has a value".to_owned()),
                }
            }
        }
    }
}

//! Reads calendars (iCalendar, RFC 5545, and vCalendar 1.0): a file, or a directory of them, such
//! as that of khal or vdirsyncer.
//!
//! A page has an event with all its instances. The moved instances of a series have its UID, and
//! can stand before it or alone.

mod described_zone;
mod moment;
mod old_rule;
mod page;
mod rule;
mod rule_words;
mod series;
mod windows_zones;
mod zone;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::HashMap;
use std::io::Read as _;
use std::path::Path;

use brain_convert_base::{ConvertError, Format, Output, Paths, Sample, literal_line};
use jiff::civil::DateTime;

use crate::content_line::{Component, Components};
use crate::sources::{SourceFile, begins_with, for_each_file, has_only};
use moment::Moment;
use page::Draft;
use series::{Series, Timed};
use zone::Zones;

pub(crate) const FORMAT: Format =
    Format { name: "ics", title: "calendars (iCalendar)", is_by_others: false, recognise, convert };

/// How a file begins.
const BEGIN: &str = "BEGIN:VCALENDAR";
/// Endings of the files in a directory.
const EXTENSIONS: [&str; 4] = ["ics", "ical", "ifb", "vcs"];
/// The folder of all pages.
const FOLDER: &str = "calendar";
/// Maximum size of a file, in bytes. Its events are in memory while it is read.
const MAX_FILE: u64 = 20 * 1024 * 1024;

fn recognise(sample: &Sample) -> bool {
    begins_with(sample.head(), BEGIN) || has_only(sample, &EXTENSIONS, BEGIN)
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    let mut paths = Paths::default();
    for_each_file(path, &EXTENSIONS, BEGIN, out, |file, reader, out| {
        let mut limited = reader.take(MAX_FILE);
        let mut components = Components::new(&mut limited);
        let mut calendars = Vec::new();
        while let Some(calendar) = components.next().map_err(|error| file.error(error))? {
            calendars.push(calendar);
        }
        write(file, &calendars, &mut paths, out)?;
        let result = file.end(&components, "calendar", out);
        match limited.limit() {
            0 => Err(ConvertError::Malformed {
                from: file.name.clone(),
                reason: format!("it has more than {MAX_FILE} bytes; the rest is not read"),
            }),
            _ => result,
        }
    })
}

/// An entry of a calendar: a series with its changed instances.
#[derive(Default)]
struct Entry<'a> {
    main: Option<&'a Component>,
    changed: Vec<&'a Component>,
}

/// Writes the pages of a file, by the time of their start.
fn write(
    file: &SourceFile,
    calendars: &[Component],
    paths: &mut Paths,
    out: &mut Output<'_>,
) -> Result<(), ConvertError> {
    let mut zones = Zones::of(calendars);
    let mut drafts = Vec::new();
    let (entries, lost) = entries(calendars);
    for (title, reason) in lost {
        let title = if title.is_empty() { title } else { format!(", \"{title}\"") };
        out.lost(&format!("{}{title}", file.name), &reason)?;
    }
    for (uid, entry) in entries {
        let (start, mut draft, lost) = draft(&entry, &mut zones);
        let unread = unread_times(&entry);
        let title = match draft.page.title.as_str() {
            "" => &uid,
            title => title,
        };
        let from = format!("{}, \"{title}\"", file.name);
        for reason in lost.into_iter().chain(unread) {
            out.lost(&from, &reason)?;
        }
        draft.page.from = format!("{}, entry {uid}", file.name);
        drafts.push((start, uid, draft));
    }
    drafts.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    for (start, _, mut draft) in drafts {
        let name = match start {
            Some(start) => format!("{} {}", start.strftime("%Y-%m-%d"), draft.page.title),
            None => draft.page.title.clone(),
        };
        draft.page.path = paths.add(file.folders(FOLDER), &name);
        out.page(&draft.page)?;
        for (name, bytes) in &draft.files {
            out.file(&draft.page, name, bytes)?;
        }
    }
    for name in &zones.offsets {
        let reason =
            format!("of the time zone \"{name}\" only the offset is known; summer time is not");
        out.lost(&file.name, &reason)?;
    }
    for name in &zones.unknown {
        let reason = format!("the time zone \"{name}\" is not known; its times are without a zone");
        out.lost(&file.name, &reason)?;
    }
    Ok(())
}

/// Returns the entries of a calendar as text, for the mail that has it. An entry with files of its
/// own is left out.
pub(crate) fn text(calendar: &[u8]) -> String {
    let mut reader = calendar;
    let mut components = Components::new(&mut reader);
    let mut calendars = Vec::new();
    while let Ok(Some(calendar)) = components.next() {
        calendars.push(calendar);
    }
    let mut zones = Zones::of(&calendars);
    let mut blocks = Vec::new();
    for (_, entry) in entries(&calendars).0 {
        let Draft { page, files } = draft(&entry, &mut zones).1;
        if files.is_empty() {
            blocks.extend([literal_line(&page.title), page.body]);
        }
    }
    blocks.retain(|block| !block.is_empty());
    blocks.join("\n\n")
}

/// The title of an entry, or none for the whole file, and what is not read of it.
type Loss = (String, String);

/// Returns the entries of calendars by their UID, in the order in which they begin.
fn entries(calendars: &[Component]) -> (Vec<(String, Entry<'_>)>, Vec<Loss>) {
    let mut entries: Vec<(String, Entry<'_>)> = Vec::new();
    let mut numbers = HashMap::new();
    let (mut unread, mut lost): (Vec<&str>, Vec<Loss>) = (Vec::new(), Vec::new());
    for component in calendars.iter().flat_map(|calendar| &calendar.children) {
        match component.name.as_str() {
            "VEVENT" | "VTODO" | "VJOURNAL" => {}
            "VTIMEZONE" => continue,
            name => {
                unread.push(name);
                continue;
            }
        }
        let uid = match component.text("UID") {
            uid if uid.is_empty() => format!("number {}", entries.len() + 1),
            uid => uid,
        };
        let number =
            *numbers.entry((component.name.as_str(), uid.clone())).or_insert(entries.len());
        if number == entries.len() {
            entries.push((uid, Entry::default()));
        }
        let Some((_, entry)) = entries.get_mut(number) else { continue };
        if let Some(replaced) = entry.add(component) {
            let reason = "a newer version of it is in the file".to_owned();
            lost.push((replaced.text("SUMMARY"), reason));
        }
    }
    unread.sort_unstable();
    for names in unread.chunk_by(|a, b| a == b) {
        let name = names.first().copied().unwrap_or_default();
        let reason = format!("entries of the kind {name} are not read: {}", names.len());
        lost.push((String::new(), reason));
    }
    (entries, lost)
}

impl<'a> Entry<'a> {
    /// Adds a component. Returns an older version that it replaces, or itself if it is older.
    fn add(&mut self, component: &'a Component) -> Option<&'a Component> {
        let original = component.text("RECURRENCE-ID");
        let place = match original.is_empty() {
            true => &mut self.main,
            false => {
                let same = |it: &&mut &Component| it.text("RECURRENCE-ID") == original;
                match self.changed.iter_mut().find(same) {
                    Some(known) => return replace(known, component),
                    None => {
                        self.changed.push(component);
                        return None;
                    }
                }
            }
        };
        match place {
            Some(known) => replace(known, component),
            None => {
                *place = Some(component);
                None
            }
        }
    }
}

/// Replaces a component unless the new one is older. Returns the one that is not used.
fn replace<'a>(known: &mut &'a Component, new: &'a Component) -> Option<&'a Component> {
    if *known == new {
        return None;
    }
    let version = |it: &Component| it.text("SEQUENCE").parse::<u64>().unwrap_or(0);
    if version(new) < version(known) { Some(new) } else { Some(std::mem::replace(known, new)) }
}

/// Returns why times of an entry are not read.
fn unread_times(entry: &Entry<'_>) -> Vec<String> {
    let mut reasons = Vec::new();
    let zone = std::rc::Rc::new(zone::Zone::Floating);
    for component in entry.main.iter().chain(&entry.changed) {
        for line in ["DTSTART", "DTEND", "DUE"].iter().filter_map(|name| component.line(name)) {
            let text = brain_page::single_line(&line.raw());
            if !text.is_empty() && Moment::parse(&text, &zone).is_none() {
                let text: String = text.chars().take(100).collect();
                reasons.push(format!("its {} \"{text}\" is no time that can be read", line.name));
            }
        }
    }
    reasons
}

/// Returns the start, the page, and what is not in it.
fn draft(entry: &Entry<'_>, zones: &mut Zones<'_>) -> (Option<DateTime>, Draft, Vec<String>) {
    let mut changed: Vec<Timed<'_>> =
        entry.changed.iter().map(|component| Timed::of(component, zones)).collect();
    changed.sort_by_key(|it| it.start.as_ref().map(|start| start.local));
    let main = match entry.main {
        Some(main) => Timed::of(main, zones),
        // One was invited to this instance only.
        None => changed.remove(0),
    };
    match main.component.name.as_str() {
        "VTODO" => {
            let due = main.component.line("DUE");
            let due = due.and_then(|line| Moment::all(line, zones).into_iter().next());
            let lost = match changed.len() {
                0 => Vec::new(),
                n => vec![format!("{n} changed instances of the task are not read")],
            };
            (None, page::task(&main, due.map(|due| due.shown())), lost)
        }
        "VJOURNAL" => (main.start.as_ref().map(|it| it.local), page::journal(&main), Vec::new()),
        _ => {
            let mut series = Series::of(&main, &changed, zones);
            let lost = std::mem::take(&mut series.lost);
            let start = series.instances.first().map(|it| it.start.local);
            (start, page::event(&main, &changed, &series), lost)
        }
    }
}

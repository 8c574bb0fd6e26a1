//! The page of an event, a task or a journal entry.

use brain_convert_base::{Page, Value, literal_line, literal_text};
use jiff::Timestamp;

use super::moment::Moment;
use super::series::{Series, Timed};
use crate::content_line::{Component, Line};

/// Properties that are shown as `Name: value`, and what they are called.
const FACTS: [(&str, &str); 10] = [
    ("LOCATION", "Place"),
    ("GEO", "Position"),
    ("CONFERENCE", "Conference"),
    ("X-GOOGLE-CONFERENCE", "Conference"),
    ("URL", "Website"),
    ("CONTACT", "Contact"),
    ("RESOURCES", "Resources"),
    ("STATUS", "Status"),
    ("CLASS", "Class"),
    ("PRIORITY", "Priority"),
];
/// States that say nothing for people.
const DULL_VALUES: [&str; 7] =
    ["CONFIRMED", "COMPLETED", "NEEDS-ACTION", "NEEDS ACTION", "PUBLIC", "DEFAULT", "0"];

/// The content of a page.
pub(super) struct Draft {
    pub(super) page: Page,
    pub(super) files: Vec<(String, Vec<u8>)>,
}

/// Returns the page of an event with its instances. `changed` are its changed instances.
pub(super) fn event(main: &Timed<'_>, changed: &[Timed<'_>], series: &Series) -> Draft {
    let mut draft = draft(main.component, "event");
    let lines: Vec<String> = series
        .instances
        .iter()
        .map(|instance| format!("- {} | {}", instance.start.day(), literal_line(&instance.text)))
        .collect();
    let mut blocks = vec![lines.join("\n")];
    let mut facts = facts(main.component);
    if !series.rule.is_empty() {
        facts.insert(0, literal_line(&format!("Repeats: {}", series.rule)));
    }
    blocks.push(list(&facts));
    blocks.push(description(main.component));
    for instance in changed {
        blocks.push(section(main.component, instance));
    }
    if let Some(first) = series.instances.first() {
        draft.page.fields.insert(0, ("date".to_owned(), Value::Text(first.start.iso())));
    }
    let end = main.end.as_ref().filter(|_| series.instances.len() == 1).and_then(Moment::last);
    let is_later = |end: &Moment| main.start.as_ref().is_none_or(|it| it.local < end.local);
    if let Some(end) = end.filter(is_later) {
        draft.page.fields.insert(1, ("end".to_owned(), Value::Text(end.iso())));
    }
    draft.finish(blocks, main.component)
}

/// Returns the page of a task.
pub(super) fn task(main: &Timed<'_>, due: Option<String>) -> Draft {
    let component = main.component;
    let mut draft = draft(component, "task");
    let status = component.text("STATUS").to_uppercase();
    let percent = component.text("PERCENT-COMPLETE");
    let completed = component.line("COMPLETED").map(Line::text);
    let is_done = status == "COMPLETED" || percent == "100" || completed.is_some();
    let mut more = Vec::new();
    more.extend(due.map(|due| format!("due {due}")));
    more.extend(main.start.as_ref().map(|start| format!("from {}", start.shown())));
    if !matches!(percent.as_str(), "" | "0" | "100") {
        more.push(format!("{percent} % done"));
    }
    more.extend(component.line("RRULE").map(|line| format!("repeats {}", line.raw())));
    let more = if more.is_empty() { String::new() } else { format!(" ({})", more.join("; ")) };
    let title = if draft.page.title.is_empty() { "Untitled task" } else { &draft.page.title };
    let text = literal_line(&format!("{title}{more}"));
    let line = match (status.as_str(), is_done) {
        ("CANCELLED", _) => format!("- {text}"),
        (_, true) => format!("- [x] {text}"),
        (_, false) => format!("- [ ] {text}"),
    };
    if let Some(text) = completed.filter(|text| !text.is_empty()) {
        let shown = time(component, "COMPLETED").map_or(text, |time| time.to_string());
        draft.page.fields.push(("completed".to_owned(), Value::Text(shown)));
    }
    draft.page.created = time(component, "CREATED").or_else(|| time(component, "DCREATED"));
    draft.page.updated = time(component, "LAST-MODIFIED");
    let blocks = vec![line, list(&facts(component)), description(component)];
    draft.finish(blocks, component)
}

/// Returns the page of an entry of a journal.
pub(super) fn journal(main: &Timed<'_>) -> Draft {
    let mut draft = draft(main.component, "journal");
    if let Some(start) = &main.start {
        draft.page.fields.insert(0, ("date".to_owned(), Value::Text(start.iso())));
    }
    let blocks = vec![list(&facts(main.component)), description(main.component)];
    draft.finish(blocks, main.component)
}

fn draft(component: &Component, kind: &str) -> Draft {
    let mut page = Page::default();
    page.title = brain_page::single_line(&component.text("SUMMARY"));
    // vCalendar 1.0 separates them by `;`.
    let separator = |line: &Line| if line.raw().contains(',') { b',' } else { b';' };
    let tags = component.all("CATEGORIES").flat_map(|line| line.texts(separator(line)));
    page.tags = tags.filter(|tag| !tag.is_empty()).collect();
    page.fields.push(("type".to_owned(), Value::Text(kind.to_owned())));
    let attendees: Vec<String> = component.all("ATTENDEE").map(address).collect();
    if !attendees.is_empty() {
        // The page of a contact has its addresses as aliases.
        page.fields.push(("attendees".to_owned(), Value::List(attendees)));
    }
    Draft { page, files: Vec::new() }
}

impl Draft {
    fn finish(mut self, mut blocks: Vec<String>, component: &Component) -> Self {
        let mut links = Vec::new();
        for line in component.all("ATTACH") {
            match line.binary() {
                Some((bytes, kind)) => {
                    let wish = line.param("FILENAME").or_else(|| line.param("X-FILENAME"));
                    let extension = kind.rsplit('/').next().filter(|it| !it.is_empty());
                    let other = format!("attachment.{}", extension.unwrap_or("bin"));
                    let name = self.page.attach(wish.unwrap_or(&other));
                    let mark = if brain_page::is_picture(&name) { "!" } else { "" };
                    links.push(format!("- {mark}[[{name}]]"));
                    self.files.push((name, bytes));
                }
                None => links.push(format!("- {}", literal_line(&line.raw()))),
            }
        }
        blocks.push(links.join("\n"));
        blocks.retain(|block| !block.is_empty());
        self.page.body = blocks.join("\n\n");
        self
    }
}

fn list(facts: &[String]) -> String {
    facts.iter().map(|fact| format!("- {fact}")).collect::<Vec<_>>().join("\n")
}

fn description(component: &Component) -> String {
    let texts = component.all("DESCRIPTION").chain(component.all("COMMENT"));
    texts.map(|line| literal_text(&line.text())).collect::<Vec<_>>().join("\n\n")
}

/// Returns the facts of a component.
fn facts(component: &Component) -> Vec<String> {
    let mut facts = Vec::new();
    for (name, shown) in FACTS {
        for line in component.all(name) {
            let value = brain_page::single_line(&line.text());
            if !value.is_empty() && !DULL_VALUES.contains(&value.as_str()) {
                facts.push(format!("{shown}: {value}"));
            }
        }
    }
    facts.extend(component.line("ORGANIZER").map(|line| format!("Organizer: {}", person(line))));
    facts.extend(component.all("ATTENDEE").map(|line| format!("Attendee: {}", person(line))));
    for alarm in component.children.iter().filter(|child| child.name == "VALARM") {
        facts.extend(
            alarm.line("TRIGGER").map(|line| format!("Reminder: {}", reminder(&line.raw()))),
        );
    }
    facts.iter().map(|fact| literal_line(fact)).collect()
}

/// Returns `-PT15M` as `15m before`.
fn reminder(trigger: &str) -> String {
    let Some(duration) = super::moment::duration(trigger) else { return trigger.to_owned() };
    let length = format!("{:#}", duration.abs());
    match duration.signum() {
        0 => "at the start".to_owned(),
        ..0 => format!("{length} before"),
        _ => format!("{length} after"),
    }
}

/// Returns the mail address of a person, or their name.
fn address(line: &Line) -> String {
    let text = brain_page::single_line(&line.text());
    match text.get(.."mailto:".len()) {
        Some(scheme) if scheme.eq_ignore_ascii_case("mailto:") => text[scheme.len()..].to_owned(),
        _ => common_name(line).unwrap_or(text),
    }
}

/// Returns the name of a person. Some programs escape its commas, as in a text.
fn common_name(line: &Line) -> Option<String> {
    line.param("CN").map(|name| brain_page::single_line(&name.replace("\\,", ",")))
}

fn person(line: &Line) -> String {
    let address = address(line);
    let name = common_name(line).filter(|name| *name != address);
    let status = match line.param("PARTSTAT").map(str::to_ascii_uppercase).as_deref() {
        Some("ACCEPTED") => ", accepted",
        Some("DECLINED") => ", declined",
        Some("TENTATIVE") => ", tentative",
        _ => "",
    };
    match name {
        Some(name) => format!("{name} ({address}){status}"),
        None => format!("{address}{status}"),
    }
}

/// Returns what a changed instance says other than its series.
fn section(main: &Component, instance: &Timed<'_>) -> String {
    let Some(start) = &instance.start else { return String::new() };
    let known = facts(main);
    let facts: Vec<String> =
        facts(instance.component).into_iter().filter(|fact| !known.contains(fact)).collect();
    let text = description(instance.component);
    let text = if text == description(main) { String::new() } else { text };
    let blocks: Vec<String> =
        [list(&facts), text].into_iter().filter(|it| !it.is_empty()).collect();
    match blocks.is_empty() {
        true => String::new(),
        false => format!("## {}\n\n{}", literal_line(&start.shown()), blocks.join("\n\n")),
    }
}

/// Returns a time in UTC.
fn time(component: &Component, name: &str) -> Option<Timestamp> {
    let text = component.text(name);
    let local: jiff::civil::DateTime = text.strip_suffix('Z')?.parse().ok()?;
    jiff::tz::TimeZone::UTC.to_timestamp(local).ok()
}

//! Tasks of newer versions of Evernote: elements `task` beside the content of a note. In the
//! content, an empty `div` with the style `--en-task-group` stands for a group of them.

use jiff::tz::TimeZone;

use super::time::time;

/// Elements of a task that say where it stands, or who changed it when.
const UNUSED: [&str; 10] = [
    "created",
    "updated",
    "creator",
    "lastEditor",
    "noteLevelID",
    "inNote",
    "statusUpdated",
    "reminderDateUIOption",
    "reminder",
    "status",
];

/// A task.
#[derive(Debug, Default)]
pub(super) struct Task {
    /// The id of its group.
    pub(super) group: String,
    title: String,
    pub(super) is_done: bool,
    /// Its place in the group: texts that sort by their bytes.
    pub(super) weight: String,
    due: String,
    /// How the program shows `due`.
    due_form: String,
    zone: String,
    repeats: String,
    is_flagged: bool,
    /// Times of its reminders.
    pub(super) reminders: Vec<String>,
}

impl Task {
    /// Takes the text of an element of the task, or of its last reminder. Returns whether it is
    /// known.
    pub(super) fn text(&mut self, is_reminder: bool, name: &str, text: String) -> bool {
        match name {
            "reminderDate" => {
                if let Some(last) = self.reminders.last_mut() {
                    *last = text;
                }
            }
            "timeZone" | "dueDate" if is_reminder => {}
            _ if is_reminder => return text.is_empty() || UNUSED.contains(&name),
            "title" => self.title = text,
            "taskStatus" => self.is_done = text.eq_ignore_ascii_case("completed"),
            "taskFlag" => self.is_flagged = text == "true",
            "sortWeight" => self.weight = text,
            "taskGroupNoteLevelID" => self.group = text,
            "dueDate" => self.due = text,
            "dueDateUIOption" => self.due_form = text,
            "timeZone" => self.zone = text,
            "recurrence" => self.repeats = text,
            _ => return text.is_empty() || UNUSED.contains(&name),
        }
        true
    }

    /// Returns the title with what else the task has: `Call Ann (due 2024-05-01)`.
    pub(super) fn line(&self) -> String {
        let mut facts = Vec::new();
        if !self.due.is_empty() {
            facts.push(format!("due {}", self.local(&self.due, self.due_form == "date_only")));
        }
        if !self.repeats.is_empty() {
            facts.push(format!("repeats {}", self.repeats));
        }
        let reminders = self.reminders.iter().filter(|time| !time.is_empty());
        facts.extend(reminders.map(|time| format!("reminder {}", self.local(time, false))));
        if self.is_flagged {
            facts.push("flagged".to_owned());
        }
        let facts = match facts.is_empty() {
            true => String::new(),
            false => format!(" ({})", facts.join("; ")),
        };
        let title = if self.title.is_empty() { "Untitled task" } else { &self.title };
        brain_page::single_line(&format!("{title}{facts}"))
    }

    /// Returns a time of ENEX in the zone of the task, or in UTC if the zone is unknown.
    fn local(&self, text: &str, is_date: bool) -> String {
        let Some(time) = time(text) else { return text.to_owned() };
        match TimeZone::get(&self.zone) {
            Ok(zone) if is_date => time.to_zoned(zone).date().to_string(),
            Ok(zone) => format!("{} {}", time.to_zoned(zone).strftime("%Y-%m-%d %H:%M"), self.zone),
            Err(_) => time.to_string(),
        }
    }
}

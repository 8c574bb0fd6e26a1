//! Reads mail: mbox files, and files of one message each (`.eml`, Maildir).
//!
//! A page has a thread. The first pass reads the headers and groups the messages; the second reads
//! each thread. So a mailbox is never in memory as a whole.

mod address;
mod date;
mod embedded;
mod file_name;
mod folder;
mod header;
mod html;
mod page;
mod params;
mod part;
mod plain;
mod quote;
mod scan;
mod store;
mod subject;
mod threads;
mod words;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::path::Path;

use brain_convert_base::{ConvertError, Format, Output, Paths, Sample, hidden_text};

use header::Header;
use store::{Kind, Store};
use threads::Threads;

pub(crate) const MBOX: Format = Format {
    name: "mbox",
    title: "mailboxes (mbox)",
    is_by_others: true,
    recognise: has_mboxes,
    convert,
};
pub(crate) const EML: Format = Format {
    name: "eml",
    title: "mail messages (EML, Maildir)",
    is_by_others: true,
    recognise: has_messages,
    convert,
};
pub(crate) const ALL: Format = Format {
    name: "mail-all",
    title: "mail with its deleted messages",
    is_by_others: true,
    // Only who asks for it gets them.
    recognise: |_| false,
    convert: |path, out| convert_messages(path, out, true),
};

/// How many files of a directory are looked at to recognise the format.
const MAX_LOOKS: usize = 50;
/// Labels of Gmail for mail that is not imported.
const GONE_LABELS: [&str; 2] = ["Spam", "Trash"];
/// Folders for mail that is not imported with others, in lower case: those of Thunderbird, Dovecot,
/// Outlook, Apple Mail and others.
const GONE_FOLDERS: [&str; 7] =
    ["trash", "junk", "spam", "deleted items", "deleted messages", "junk e-mail", "bin"];
/// The bit of `X-Mozilla-Status` for messages that the user deleted or moved.
const MOZILLA_EXPUNGED: u32 = 8;
/// The bit of `X-Mozilla-Status2` for messages that are deleted on the server.
const MOZILLA_IMAP_DELETED: u32 = 0x0020_0000;
/// The bit of `X-Evolution` for deleted messages. Its form is `uid-flags`.
const EVOLUTION_DELETED: u32 = 2;

fn has_mboxes(sample: &Sample) -> bool {
    Kind::of(sample.head()) == Kind::Mbox || has_only(sample, Kind::Mbox)
}

fn has_messages(sample: &Sample) -> bool {
    Kind::of(sample.head()) == Kind::Message || has_only(sample, Kind::Message)
}

/// Returns whether a directory or archive has files of this kind, and else only files that mail
/// programs keep beside them.
fn has_only(sample: &Sample, kind: Kind) -> bool {
    let Some(tree) = sample.tree() else { return false };
    let step = tree.entries().len() / MAX_LOOKS + 1;
    let mut has_any = false;
    for entry in tree.entries().iter().step_by(step) {
        match Kind::of_entry(tree, entry) {
            Ok(found) if found == kind => has_any = true,
            Ok(Kind::Side) => {}
            _ => return false,
        }
    }
    has_any && !tree.has_markdown()
}

fn convert(path: &Path, out: &mut Output<'_>) -> Result<(), ConvertError> {
    convert_messages(path, out, false)
}

fn convert_messages(
    path: &Path,
    out: &mut Output<'_>,
    with_deleted: bool,
) -> Result<(), ConvertError> {
    let store = Store::open(path, out)?;
    let has_folders = store.has_several_folders();
    let mut threads = Threads::default();
    store.for_each(out, |out, position, found| {
        let (header, _) = Header::parse(&found.header);
        let name = || format!("{}, \"{}\"", store.name(position), header.text("subject"));
        // A folder that is imported alone is meant.
        let folder = if has_folders { store.folder(position) } else { "" };
        let in_apple_mail = found.is_deleted.then_some("deleted in Apple Mail");
        let reason = in_apple_mail.or_else(|| gone(&header, store.file(position), folder));
        if let Some(reason) = reason.filter(|_| !with_deleted) {
            return Ok(out.lost(&name(), reason)?);
        }
        if let Some(first) = threads.add(position, &header, &found) {
            let reason = format!("the same message is in {}", store.name(first));
            out.lost(&name(), &reason)?;
        }
        Ok(())
    })?;
    let (mut paths, mut hidden_words) = (Paths::default(), 0);
    for thread in threads.sorted().threads() {
        hidden_words += page::write_thread(&store, thread, &mut paths, out)?;
    }
    // One line for all: newsletters hide the text that lists of messages show.
    match hidden_text(hidden_words) {
        Some(reason) => Ok(out.lost("text of messages", &reason)?),
        None => Ok(()),
    }
}

/// Returns why a message is not imported, if its owner deleted it.
fn gone(header: &Header, file: &str, folder: &str) -> Option<&'static str> {
    let bits = |text: &str| u32::from_str_radix(text, 16).unwrap_or_default();
    let is_expunged = bits(header.raw("x-mozilla-status")) & MOZILLA_EXPUNGED != 0
        || bits(header.raw("x-mozilla-status2")) & MOZILLA_IMAP_DELETED != 0;
    let evolution = header.raw("x-evolution").split_once('-').map_or(0, |(_, it)| bits(it));
    let flags = file.rsplit_once(":2,").map_or("", |(_, flags)| flags);
    let labels = header.text("x-gmail-labels");
    let is_gone = |folder: &str| GONE_FOLDERS.contains(&folder.to_lowercase().as_str());
    if is_expunged {
        Some("deleted in Thunderbird")
    } else if evolution & EVOLUTION_DELETED != 0 {
        Some("deleted in Evolution")
    } else if header.raw("x-status").contains('D') {
        Some("deleted: its X-Status has the flag D")
    } else if flags.contains('T') {
        Some("deleted: it has the flag T in the Maildir")
    } else if labels.split(',').any(|label| GONE_LABELS.contains(&label.trim())) {
        Some("in the trash or spam of Gmail")
    } else if folder.split('/').any(is_gone) {
        Some("in a folder for deleted mail or spam")
    } else {
        None
    }
}

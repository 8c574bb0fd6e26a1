//! The tables of the two ledgers: requests that left the machine, and calls of AI clients.

use std::collections::HashSet;

use redb::{AccessGuard, ReadableTable, ReadableTableMetadata};

use super::error::unless_damaged;
use super::ledger_records::{
    LeftRecord, SeenHit, SeenRecord, SeenReplyRecord, SeenSnippet, SeenTexts, ledger_id,
};
use super::record::{Content, PageRecord, VersionRecord, from_bytes, read, to_bytes};
use super::{Reader, StoreError, Transaction, tables as t};

/// Maximum rows removed in one transaction, so that other writers do not wait.
const MAX_REMOVED_ROWS: usize = 2000;
/// Minimum length of a word with a digit that is compared with purged texts, in characters.
const MIN_WORD_CHARS: usize = 3;

impl Transaction<'_> {
    /// Stores requests that left this machine, with their ids. A row that exists is replaced.
    pub fn add_left(&mut self, rows: &[(u64, LeftRecord)]) -> Result<(), StoreError> {
        for (id, record) in rows {
            self.write_count += 1;
            let record = LeftRecord { machine: self.machine, ..record.clone() };
            self.left.insert(id, to_bytes(&record)?.as_slice())?;
        }
        Ok(())
    }

    /// Stores calls of AI clients, with their ids. An id that is taken is raised. A call that was
    /// given a page which was purged meanwhile, here or on another machine, is stored without texts.
    pub fn add_seen(&mut self, rows: &[(u64, SeenRecord)], now: i64) -> Result<(), StoreError> {
        for (id, record) in rows {
            self.write_count += 1;
            let mut id = *id;
            while self.seen.get(id)?.is_some() {
                id += 1;
            }
            let mut record = SeenRecord { machine: self.machine, ..record.clone() };
            if self.is_given_purged(&record)? {
                record = record.emptied(now);
            }
            self.seen.insert(id, to_bytes(&record)?.as_slice())?;
        }
        Ok(())
    }

    /// Returns whether the call was given a version of a page that is not there any more.
    fn is_given_purged(&self, call: &SeenRecord) -> Result<bool, StoreError> {
        for (page, version) in call.given_versions() {
            let Some(name) = self.ids.get(page)? else { return Ok(true) };
            let current = self.pages.get(name.value())?;
            let current = read::<PageRecord>(current.as_ref().map(AccessGuard::value))?;
            // Of a page that was only named, the version is 0.
            let is_there =
                version == 0 || current.is_some_and(|current| current.version == version);
            if !is_there && self.versions.get((page, version))?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Removes up to 2,000 requests that left before `before` (Unix milliseconds), the oldest first.
    /// Returns whether there may be more.
    pub fn forget_left(&mut self, before: i64) -> Result<bool, StoreError> {
        self.task.frees_space = true;
        let old = self.left.range(..ledger_id(before, 0))?.take(MAX_REMOVED_ROWS);
        let old: Vec<u64> = old.map(|row| Ok(row?.0.value())).collect::<Result<_, StoreError>>()?;
        for id in &old {
            self.write_count += 1;
            self.left.remove(id)?;
        }
        Ok(old.len() == MAX_REMOVED_ROWS)
    }

    /// Removes up to 2,000 calls of AI clients that ended before `before` (Unix milliseconds), the
    /// oldest first. Returns whether there may be more.
    pub fn forget_seen(&mut self, before: i64) -> Result<bool, StoreError> {
        self.task.frees_space = true;
        let old = self.seen.range(..ledger_id(before, 0))?.take(MAX_REMOVED_ROWS);
        let old: Vec<u64> = old.map(|row| Ok(row?.0.value())).collect::<Result<_, StoreError>>()?;
        for id in &old {
            self.write_count += 1;
            self.seen.remove(id)?;
        }
        Ok(old.len() == MAX_REMOVED_ROWS)
    }

    /// Removes the texts of calls that were given something of what is `purged`, or that name
    /// something of its texts. Time, client, outcome and counts stay.
    pub(super) fn purge_seen(&mut self, purged: &Purged, now: i64) -> Result<(), StoreError> {
        let mut emptied = Vec::new();
        for row in self.seen.iter()? {
            let (key, value) = row?;
            let record: SeenRecord = from_bytes(value.value())?;
            let Some(seen) = &record.texts else { continue };
            let mut given = record.given_versions().into_iter();
            let was_given = given.any(|(page, version)| purged.has(page, version));
            if was_given || purged.occurs_in(seen) {
                emptied.push((key.value(), record.emptied(now)));
            }
        }
        for (key, record) in emptied {
            self.write_count += 1;
            self.seen.insert(key, to_bytes(&record)?.as_slice())?;
        }
        Ok(())
    }

    /// Adds a page, with the texts of all its versions, to what is purged.
    pub(super) fn add_purged_page(
        &self,
        id: u64,
        slug: &str,
        purged: &mut Purged,
    ) -> Result<(), StoreError> {
        purged.versions.push((id, None));
        purged.add_text(slug);
        let current = self.contents.get(id)?;
        if let Some(content) =
            unless_damaged(read::<Content>(current.as_ref().map(AccessGuard::value)))?.flatten()
        {
            purged.add_content(&content);
        }
        for row in self.versions.range((id, 0)..=(id, u32::MAX))? {
            let version = unless_damaged(read::<VersionRecord>(Some(row?.1.value())))?.flatten();
            if let Some(version) = version {
                purged.add_content(&version.content);
            }
        }
        Ok(())
    }
}

/// What is purged, and what must not be left of its texts: words with a digit, and pairs of
/// neighbouring long words.
#[derive(Default)]
pub(super) struct Purged {
    /// The pages, each with the version if it is not purged whole.
    pub(super) versions: Vec<(u64, Option<u32>)>,
    words: HashSet<String>,
    pairs: HashSet<(String, String)>,
}

/// Returns the words of a text in lower case.
fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase)
}

/// Whether a word tells something alone: it has a digit, as numbers and keys have. A year or a part
/// of a time tells nothing: every page has them.
fn is_telling(word: &str) -> bool {
    let is_number = |text: &str| text.chars().all(char::is_numeric);
    let is_year = word.len() == 4 && is_number(word) && ["19", "20"].contains(&&word[..2]);
    let is_hour = word.len() == 5 && word.split('t').all(|part| part.len() == 2 && is_number(part));
    let is_second =
        word.strip_suffix('z').is_some_and(|digits| digits.len() <= 3 && is_number(digits));
    word.chars().count() >= MIN_WORD_CHARS
        && word.chars().any(char::is_numeric)
        && !(is_year || is_hour || is_second)
}

/// Returns the pair of neighbouring words, if both are long enough to tell something.
fn pair(last: Option<String>, word: &str) -> Option<(String, String)> {
    let is_long = |word: &str| word.chars().count() > MIN_WORD_CHARS;
    last.filter(|last| is_long(last) && is_long(word)).map(|last| (last, word.to_owned()))
}

impl Purged {
    /// Adds a text, such as a title or a slug.
    pub(super) fn add_text(&mut self, text: &str) {
        let mut last = None;
        for word in words(text) {
            if is_telling(&word) {
                self.words.insert(word.clone());
            }
            self.pairs.extend(pair(last.replace(word.clone()), &word));
        }
    }

    /// Adds the text of a page.
    pub(super) fn add_content(&mut self, content: &Content) {
        self.add_text(&content.frontmatter);
        self.add_text(&content.body);
    }

    /// Whether a version of a page is purged. The version 0 stands for any.
    fn has(&self, id: u64, version: u32) -> bool {
        self.versions.iter().any(|(page, purged)| {
            *page == id && purged.is_none_or(|purged| version == purged || version == 0)
        })
    }

    /// Whether a text names something of the purged texts.
    pub(super) fn occurs_in_text(&self, text: &str) -> bool {
        let mut last = None;
        words(text).any(|word| {
            let is_known = self.words.contains(&word);
            let pair = pair(last.replace(word.clone()), &word);
            is_known || pair.is_some_and(|pair| self.pairs.contains(&pair))
        })
    }

    /// Whether the request of a call, or one of the texts that are kept of its answer, names
    /// something of the purged texts.
    fn occurs_in(&self, seen: &SeenTexts) -> bool {
        let is_in =
            |text: &Option<String>| text.as_deref().is_some_and(|text| self.occurs_in_text(text));
        is_in(&seen.request) || seen.replies.iter().any(|reply| self.occurs_in_reply(reply))
    }

    fn occurs_in_reply(&self, reply: &SeenReplyRecord) -> bool {
        let is_in =
            |text: &Option<String>| text.as_deref().is_some_and(|text| self.occurs_in_text(text));
        match reply {
            SeenReplyRecord::Fault(text) | SeenReplyRecord::Other { reply: text, .. } => {
                self.occurs_in_text(&String::from_utf8_lossy(text))
            }
            SeenReplyRecord::Hits { hits, note, .. } => {
                let hits = SeenHit::unpack(hits).unwrap_or_default();
                is_in(note)
                    || hits.iter().any(|hit| match &hit.snippet {
                        SeenSnippet::Text(text) => self.occurs_in_text(text),
                        SeenSnippet::Span(_) => false,
                    })
            }
            SeenReplyRecord::Pages { next, .. } => is_in(next),
            SeenReplyRecord::NotShown(reply) => self.occurs_in_reply(reply),
            SeenReplyRecord::Page(_) | SeenReplyRecord::TooLarge { .. } => false,
        }
    }
}

impl Reader {
    /// Calls `each` with the requests that left at or after `since` (Unix milliseconds), last
    /// first. Stops when `each` returns `false`.
    pub fn left_since(
        &self,
        since: i64,
        mut each: impl FnMut(u64, LeftRecord) -> bool,
    ) -> Result<(), StoreError> {
        let Some(table) = self.new_table(t::LEFT)? else { return Ok(()) };
        for row in table.range(ledger_id(since, 0)..)?.rev() {
            let (key, value) = row?;
            if !each(key.value(), from_bytes(value.value())?) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Calls `each` with the calls of AI clients that ended at or after `since` (Unix
    /// milliseconds), last first. Stops when `each` returns `false`.
    pub fn seen_since(
        &self,
        since: i64,
        mut each: impl FnMut(u64, SeenRecord) -> bool,
    ) -> Result<(), StoreError> {
        let Some(table) = self.new_table(t::SEEN)? else { return Ok(()) };
        for row in table.range(ledger_id(since, 0)..)?.rev() {
            let (key, value) = row?;
            if !each(key.value(), from_bytes(value.value())?) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns the number of recorded calls, and the bytes of their rows with their keys.
    pub fn seen_size(&self) -> Result<(u64, u64), StoreError> {
        let Some(table) = self.new_table(t::SEEN)? else { return Ok((0, 0)) };
        Ok((table.len()?, table.stats()?.stored_bytes()))
    }

    /// Returns the call with this id.
    pub fn seen(&self, id: u64) -> Result<Option<SeenRecord>, StoreError> {
        let Some(table) = self.new_table(t::SEEN)? else { return Ok(None) };
        let row = table.get(id)?;
        read(row.as_ref().map(AccessGuard::value))
    }
}

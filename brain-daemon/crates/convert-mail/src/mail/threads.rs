//! Groups messages into threads.
//!
//! Messages belong together if their headers name each other or the same third message. Only a
//! reply without such headers is grouped by its subject.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use jiff::Timestamp;

use super::header::Header;
use super::store::Position;
use super::subject::{base_subject, is_reply};

/// Maximum length of a subject, in characters.
const MAX_SUBJECT: usize = 1000;

/// What is known of a message before its text is read.
#[derive(Debug)]
pub(super) struct Summary {
    pub(super) position: Position,
    pub(super) date: Option<Timestamp>,
    /// The subject without `Re:`.
    pub(super) subject: String,
    /// Whether its subject says that it is a reply, and no header names a message.
    is_loose_reply: bool,
    /// Its group in [`Threads::parents`].
    group: usize,
}

/// All messages and how they belong together.
#[derive(Default)]
pub(super) struct Threads {
    messages: Vec<Summary>,
    /// A forest: each group names its parent or itself.
    parents: Vec<usize>,
    /// Groups by the checksum of a message id.
    groups: HashMap<u64, usize>,
    /// The positions of messages by the checksums of id and body.
    known: HashMap<(u64, u64), Position>,
}

impl Threads {
    /// Adds a message. Returns the position of an equal one, if there is one; then it is not added.
    pub(super) fn add(
        &mut self,
        position: Position,
        header: &Header,
        digest: u64,
    ) -> Option<Position> {
        let id = header.id();
        if !id.is_empty()
            && let Some(known) = self.known.insert((hash(id), digest), position)
        {
            self.known.insert((hash(id), digest), known);
            return Some(known);
        }
        let group = if id.is_empty() { self.new_group() } else { self.group(id) };
        let mut has_references = false;
        for reference in header.references() {
            has_references = true;
            let other = self.group(reference);
            self.join(group, other);
        }
        let subject: String = header.text("subject").chars().take(MAX_SUBJECT).collect();
        self.messages.push(Summary {
            position,
            date: header.sent().map(|sent| sent.timestamp()),
            is_loose_reply: !has_references && is_reply(&subject),
            subject: base_subject(&subject).to_owned(),
            group,
        });
        None
    }

    /// Returns the threads by the date of their first message. Each has its messages by date;
    /// those without a date are last.
    pub(super) fn into_threads(mut self) -> Vec<Vec<Summary>> {
        let mut messages = std::mem::take(&mut self.messages);
        messages.sort_by_key(|message| (message.date.is_none(), message.date, message.position));
        self.join_by_subject(&messages);
        let mut threads: Vec<Vec<Summary>> = Vec::new();
        let mut numbers = HashMap::new();
        for message in messages {
            let number = *numbers.entry(self.root(message.group)).or_insert(threads.len());
            match threads.get_mut(number) {
                Some(thread) => thread.push(message),
                None => threads.push(vec![message]),
            }
        }
        threads
    }

    /// Joins each reply that names no message with the last message before it of that subject.
    fn join_by_subject(&mut self, messages: &[Summary]) {
        let mut last: HashMap<String, usize> = HashMap::new();
        for message in messages {
            if message.subject.is_empty() {
                continue;
            }
            let earlier = last.insert(message.subject.to_lowercase(), message.group);
            if let Some(earlier) = earlier.filter(|_| message.is_loose_reply) {
                self.join(message.group, earlier);
            }
        }
    }

    fn group(&mut self, id: &str) -> usize {
        let id = hash(id);
        match self.groups.get(&id) {
            Some(group) => *group,
            None => {
                let group = self.new_group();
                self.groups.insert(id, group);
                group
            }
        }
    }

    fn new_group(&mut self) -> usize {
        self.parents.push(self.parents.len());
        self.parents.len() - 1
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        if let Some(parent) = self.parents.get_mut(one.max(other)) {
            *parent = one.min(other);
        }
    }

    /// Returns the root of a group, and shortens the way to it.
    fn root(&mut self, mut group: usize) -> usize {
        while let Some(parent) = self.parents.get(group).copied().filter(|it| *it != group) {
            let above = self.parents.get(parent).copied().unwrap_or(parent);
            if let Some(shorter) = self.parents.get_mut(group) {
                *shorter = above;
            }
            group = above;
        }
        group
    }
}

fn hash(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

//! Groups messages into threads.
//!
//! Messages belong together if their headers name each other or the same third message. Only a
//! reply without such headers is grouped by its subject.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher as _};

use jiff::Timestamp;

use super::header::Header;
use super::scan::Found;
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
    pub(super) subject: Box<str>,
    /// Whether its subject says that it is a reply, and no header names a message.
    is_loose_reply: bool,
    /// Its group in [`Threads::parents`]; later the number of its thread.
    group: u32,
}

/// The messages of all threads, in order.
pub(super) struct Sorted(Vec<Summary>);

impl Sorted {
    /// Returns the threads by the date of their first message. Each has its messages by date;
    /// those without a date are last.
    pub(super) fn threads(&self) -> impl Iterator<Item = &[Summary]> {
        self.0.chunk_by(|a, b| a.group == b.group)
    }
}

/// All messages and how they belong together.
#[derive(Default)]
pub(super) struct Threads {
    messages: Vec<Summary>,
    /// A forest: each group names its parent or itself.
    parents: Vec<u32>,
    /// Groups by the checksum of a message id.
    groups: HashMap<u64, u32>,
    /// Numbers of messages by the checksum of id and body.
    known: HashMap<u64, u32>,
}

impl Threads {
    /// Adds a message. Returns the position of an equal one, if there is one; then it is not added.
    pub(super) fn add(
        &mut self,
        position: Position,
        header: &Header,
        found: &Found,
    ) -> Option<Position> {
        let id = header.id();
        if !id.is_empty() {
            let number = u32::try_from(self.messages.len()).unwrap_or(u32::MAX);
            let number = *self.known.entry(hash(&(id, found.digest))).or_insert(number);
            let known = usize::try_from(number).ok().and_then(|it| self.messages.get(it));
            if let Some(known) = known {
                return Some(known.position);
            }
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
            date: header.sent().map(|sent| sent.timestamp()).or(found.delivered),
            is_loose_reply: !has_references && is_reply(&subject),
            subject: base_subject(&subject).into(),
            group,
        });
        None
    }

    /// Groups the messages.
    pub(super) fn sorted(mut self) -> Sorted {
        self.groups = HashMap::new();
        self.known = HashMap::new();
        let mut messages = std::mem::take(&mut self.messages);
        messages.sort_by_key(|message| (message.date.is_none(), message.date, message.position));
        self.join_by_subject(&messages);
        let mut numbers = HashMap::new();
        for message in &mut messages {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            message.group = *numbers.entry(self.root(message.group)).or_insert(next);
        }
        messages.sort_by_key(|message| message.group);
        Sorted(messages)
    }

    /// Joins each reply that names no message with the last message before it of that subject.
    fn join_by_subject(&mut self, messages: &[Summary]) {
        let mut last = HashMap::new();
        for message in messages.iter().filter(|message| !message.subject.is_empty()) {
            let earlier = last.insert(hash(&message.subject.to_lowercase()), message.group);
            if let Some(earlier) = earlier.filter(|_| message.is_loose_reply) {
                self.join(message.group, earlier);
            }
        }
    }

    fn group(&mut self, id: &str) -> u32 {
        let id = hash(&id);
        match self.groups.get(&id) {
            Some(group) => *group,
            None => {
                let group = self.new_group();
                self.groups.insert(id, group);
                group
            }
        }
    }

    fn new_group(&mut self) -> u32 {
        let group = u32::try_from(self.parents.len()).unwrap_or(u32::MAX);
        self.parents.push(group);
        group
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.root(one), self.root(other));
        if let Some(parent) = self.parent_mut(one.max(other)) {
            *parent = one.min(other);
        }
    }

    /// Returns the root of a group, and shortens the way to it.
    fn root(&mut self, mut group: u32) -> u32 {
        loop {
            let Some(parent) = self.parent_mut(group).copied() else { return group };
            if parent == group {
                return group;
            }
            let above = self.parent_mut(parent).copied().unwrap_or(parent);
            if let Some(shorter) = self.parent_mut(group) {
                *shorter = above;
            }
            group = above;
        }
    }

    fn parent_mut(&mut self, group: u32) -> Option<&mut u32> {
        self.parents.get_mut(usize::try_from(group).ok()?)
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

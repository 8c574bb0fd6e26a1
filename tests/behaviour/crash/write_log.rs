//! The writes of one writer, and the states that its pages must have.

use std::fmt;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use brain_protocol::{FaultCode, Origin, PageRef, Put, Reply, Request, Slug, WriteStatus};
use brain_tests::{Client, capture};

use super::run::Rng;

/// The text of a page that a writer sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Text {
    /// A word that occurs in no other text.
    pub(super) word: String,
    pub(super) title: Option<String>,
    pub(super) body: String,
}

impl Text {
    fn new(writer: usize, number: usize, rng: &mut Rng) -> Self {
        let word = rare_word(writer, number);
        let sentence = "The budget of the harbour was settled after a long talk about pumps, \
                        tides and money. ";
        // Most texts are small; some need many pages of the store.
        let times = if rng.one_in(40) { 200 + rng.below(800) } else { rng.below(12) };
        let body = format!("A note with {word} in it.\n\n{}\n", sentence.repeat(times as usize));
        let title = rng.one_in(2).then(|| format!("Page {number} of writer {writer}"));
        Self { word, title, body }
    }

    fn content(&self) -> Vec<u8> {
        match &self.title {
            None => self.body.clone(),
            Some(title) => {
                format!("---\ntitle: {title}\ntags: [crash, harbour]\n---\n{}", self.body)
            }
        }
        .into_bytes()
    }
}

/// Returns a word of consonants that is unique to the writer and number and that no stemmer
/// changes.
pub(crate) fn rare_word(writer: usize, number: usize) -> String {
    let letters = b"bcdfghjkmpqrtvwx";
    let mut rest = number * 16 + writer + 1;
    let mut word = String::from("zq");
    for _ in 0..8 {
        word.push(char::from(letters[rest % 16]));
        rest /= 16;
    }
    word + "zq"
}

/// The expected state of a page.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum State {
    Absent,
    Active(Text),
    Deleted(Text),
}

impl State {
    pub(super) fn text(&self) -> Option<&Text> {
        match self {
            Self::Absent => None,
            Self::Active(text) | Self::Deleted(text) => Some(text),
        }
    }
}

/// A page and its expected states.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(super) slug: Slug,
    /// The acknowledged state.
    pub(super) now: State,
    /// The word of the previous text, which search must not find any more.
    pub(super) former: Option<String>,
    /// The state that was sent but not acknowledged.
    pub(super) pending: Option<State>,
    /// The round of the last acknowledgement; 0 before the first one.
    round: usize,
    /// The time of the last acknowledgement.
    acknowledged_at: Option<Instant>,
}

impl Entry {
    pub(super) fn set_state(&mut self, state: State) {
        let (old, new) = (self.now.text().map(|t| t.word.clone()), state.text().map(|t| &t.word));
        if old.as_ref() != new && old.is_some() {
            self.former = old;
        }
        self.now = state;
    }
}

/// Leaves out the body, which may have a hundred kilobytes.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |state: &State| match state {
            State::Absent => "absent".to_owned(),
            State::Active(text) => format!("active with {} ({} bytes)", text.word, text.body.len()),
            State::Deleted(text) => format!("deleted with {}", text.word),
        };
        write!(f, "{}: {}", self.slug, short(&self.now))?;
        if let Some(at) = self.acknowledged_at {
            write!(f, ", acknowledged in round {} {:.1?} ago", self.round, at.elapsed())?;
        }
        match &self.pending {
            Some(pending) => write!(f, ", maybe {}", short(pending)),
            None => Ok(()),
        }
    }
}

/// All writes of one writer. No page has two writers.
pub(crate) struct WriteLog {
    writer: usize,
    /// The number of the last text.
    last_number: usize,
    pub(crate) entries: Vec<Entry>,
    /// Whether the disk may fail. Then a failed write ends the writer, and its effect is unknown.
    pub(crate) disk_fails: bool,
}

impl WriteLog {
    pub(crate) fn new(writer: usize) -> Self {
        Self { writer, last_number: 0, entries: Vec::new(), disk_fails: false }
    }

    /// Writes until the daemon is killed. Returns the number of acknowledged writes.
    pub(crate) fn write_until_killed(
        &mut self,
        socket: &Path,
        mut rng: Rng,
        round: usize,
    ) -> usize {
        let Some(mut client) = Client::connect(socket) else { return 0 };
        let mut count = 0;
        loop {
            let (at, request, new_state) = self.next(&mut rng);
            self.entries[at].pending = Some(new_state.clone());
            let Some(answer) = client.try_ask(&request) else { return count };
            let entry = &mut self.entries[at];
            match answer {
                Ok(Reply::Write(reply)) if self.disk_fails && !reply.written => return count,
                Ok(Reply::Delete(reply)) if self.disk_fails && !reply.warnings.is_empty() => {
                    return count;
                }
                Err(_) if self.disk_fails => return count,
                Ok(Reply::Write(reply)) => {
                    assert!(reply.written && reply.warnings.is_empty(), "{entry}: {reply:?}");
                    let restores = matches!(entry.now, State::Deleted(_));
                    let expected = match entry.now {
                        State::Absent => WriteStatus::Created,
                        State::Active(_) => WriteStatus::Updated,
                        State::Deleted(_) => WriteStatus::Restored,
                    };
                    assert_eq!(reply.status, expected, "{entry} (restores: {restores})");
                    // Another capture may have the same first eight digits.
                    entry.slug = reply.slug;
                }
                Ok(Reply::Delete(reply)) => {
                    assert!(reply.warnings.is_empty(), "{entry}: {reply:?}");
                }
                Err(fault) if matches!(fault.code, FaultCode::Stopping | FaultCode::Cancelled) => {
                    return count;
                }
                other => panic!("{entry}: {other:?}"),
            }
            entry.pending = None;
            entry.set_state(new_state);
            (entry.round, entry.acknowledged_at) = (round, Some(Instant::now()));
            count += 1;
        }
    }

    /// Returns the next write: the entry, the request, and the state of the page after success.
    fn next(&mut self, rng: &mut Rng) -> (usize, Request, State) {
        let old = self.entries.len();
        let choice = rng.below(100);
        if choice >= 70 && old > 0 {
            // Prefer recent pages, so that changes follow each other closely.
            let at = if rng.one_in(2) {
                old - 1 - rng.below(old.min(5) as u64) as usize
            } else {
                rng.below(old as u64) as usize
            };
            let slug = self.entries[at].slug.clone();
            let page = PageRef { source: None, slug };
            match &self.entries[at].now {
                State::Active(text) if choice >= 88 => {
                    return (at, Request::Delete(page.into()), State::Deleted(text.clone()));
                }
                State::Active(_) | State::Deleted(_) => {
                    let text = self.text(rng);
                    return (at, put(page, &text), State::Active(text));
                }
                State::Absent => {}
            }
        }
        let text = self.text(rng);
        let new_state = State::Active(text.clone());
        if choice < 35 {
            let slug = inbox_slug(&text);
            let request = capture(text.content());
            return (self.new_entry(slug), request, new_state);
        }
        let slug = format!("crash/w{}/page-{}", self.writer, self.last_number);
        let slug = Slug::parse(slug).unwrap();
        let page = PageRef { source: None, slug: slug.clone() };
        (self.new_entry(slug), put(page, &text), new_state)
    }

    fn text(&mut self, rng: &mut Rng) -> Text {
        self.last_number += 1;
        Text::new(self.writer, self.last_number, rng)
    }

    fn new_entry(&mut self, slug: Slug) -> usize {
        let (now, former, pending) = (State::Absent, None, None);
        self.entries.push(Entry { slug, now, former, pending, round: 0, acknowledged_at: None });
        self.entries.len() - 1
    }

    /// Returns up to eight entries that were acknowledged in this round, the latest first, and
    /// three random ones of any round.
    pub(crate) fn sample(&self, rng: &mut Rng, round: usize) -> Vec<&Entry> {
        let mut sample: Vec<&Entry> =
            self.entries.iter().filter(|entry| entry.round == round).collect();
        sample.sort_by_key(|entry| std::cmp::Reverse(entry.acknowledged_at));
        sample.truncate(8);
        if !self.entries.is_empty() {
            sample.extend(
                (0..3).map(|_| &self.entries[rng.below(self.entries.len() as u64) as usize]),
            );
        }
        sample
    }
}

fn put(page: PageRef, text: &Text) -> Request {
    Request::Put(Put {
        page,
        content: text.content(),
        origin: Origin::Stdin,
        allow_empty: false,
        expect: None,
    })
}

/// Returns the slug of a capture of today.
fn inbox_slug(text: &Text) -> Slug {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
    let digest = brain_page::hex(&brain_page::content_digest(&text.body));
    Slug::parse(format!("inbox/{}-{}", brain_base::clock::day(now), &digest[..8])).unwrap()
}

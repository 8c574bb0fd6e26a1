//! SIGKILL at random moments: whatever was acknowledged is there afterwards, in the store, in its
//! file and in search; whatever was not is there whole or not at all; and nothing is there that
//! nobody sent.
//!
//! `BRAIN_CRASH_ROUNDS` says how many times the daemon is killed under load (25; the full run has
//! 200), and `BRAIN_CRASH_SEED` repeats the choices of a run that failed. Moments are not repeated:
//! they are the machine's.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use brain_protocol::{
    FaultCode, Get, Import, ImportReply, List, Origin, Page, PageRef, PageRow, Put, Reply, Request,
    Search, Slug, Sort, Status, WriteStatus,
};
use brain_tests::{Client, PATIENCE, TestHome, capture};
use rustix::process::{Pid, Signal, kill_process};

/// Clients that write at the same time.
const WRITERS: usize = 12;
/// A run of the default number of rounds ends after this, however slow the machine is.
const ENOUGH: Duration = Duration::from_secs(45);

#[test]
fn acknowledged_writes_survive_sigkill_under_load() {
    let run = Run::new(25);
    let home = TestHome::new();
    let mut dice = run.dice();
    let mut books: Vec<Book> = (0..WRITERS).map(Book::new).collect();
    let (mut kills, mut written) = (0, 0);
    for round in 1..=run.rounds {
        if run.is_default && run.began.elapsed() > ENOUGH {
            break;
        }
        if dice.one_in(5) {
            kill_during_start(&home, &mut dice);
            kills += 1;
        }
        let daemon = home.daemon();
        settle(&home);
        let socket = home.socket();
        // Most soon after the first writes; a few when the index has been writing by itself.
        let moment = if dice.one_in(100) {
            Duration::from_millis(4800 + dice.below(800))
        } else {
            Duration::from_micros((600 << dice.below(10)) + dice.below(4000))
        };
        let ending = dice.one_in(4);
        std::thread::scope(|scope| {
            let writers: Vec<_> = books
                .iter_mut()
                .map(|book| {
                    let (socket, dice) = (&socket, dice.split());
                    scope.spawn(move || book.write_until_killed(socket, dice, round))
                })
                .collect();
            std::thread::sleep(moment);
            if ending {
                // Killed while it drains and writes its index.
                let pid = Pid::from_raw(daemon.pid() as i32).unwrap();
                kill_process(pid, Signal::TERM).unwrap();
                std::thread::sleep(Duration::from_micros(dice.below(80_000)));
            }
            daemon.kill();
            kills += 1;
            for writer in writers {
                written += writer.join().expect("a writer found a fault; see above");
            }
        });

        let daemon = home.daemon();
        settle(&home);
        let mut check = Check::new(&home);
        for book in &mut books {
            check.resolve(book);
            for entry in book.sample(&mut dice, round) {
                check.entry(entry);
            }
        }
        // Half of the rounds go on from a daemon that was killed again at rest, the others from a
        // clean end.
        if dice.one_in(2) {
            daemon.kill();
            kills += 1;
        } else {
            assert!(daemon.terminate().0.success(), "{}", home.log());
        }
    }
    kill_during_start(&home, &mut dice);
    let _daemon = home.daemon();
    settle(&home);
    check_everything(&home, &books);
    assert!(written > 0, "nobody could write anything");
    run.tell(&format!(
        "{} kills, {written} acknowledged writes, {:.0?}",
        kills + 1,
        run.began.elapsed()
    ));
}

#[test]
fn an_import_that_is_killed_is_finished_by_the_next_one() {
    const FILES: usize = 400;
    let run = Run::new(25);
    let home = TestHome::new();
    let mut dice = run.dice();
    let dir = home.outside().join("notes");
    let texts = |version: usize| (0..FILES).map(move |n| ImportFile::new(n, version));
    let (mut version, mut cut_short) = (0, 0);
    let mut usual = Duration::from_millis(200);
    for _ in 0..(run.rounds / 5).clamp(2, 20) {
        version += 1;
        texts(version).for_each(|file| file.write(&dir));
        let daemon = home.daemon();
        settle(&home);
        let moment = Duration::from_micros(dice.below(usual.as_micros() as u64));
        std::thread::scope(|scope| {
            let import = scope.spawn(|| import(&home, &dir));
            std::thread::sleep(moment);
            daemon.kill();
            match import.join().expect("the import found no fault") {
                None => cut_short += 1,
                Some(reply) => usual = Duration::from_millis(reply.took_ms),
            }
        });
        // What is there is whole, of this version or of an earlier one.
        let _daemon = home.daemon();
        settle(&home);
        let mut check = Check::new(&home);
        for row in check.list(false) {
            let page = check.page(&row.slug).expect("a listed page can be read");
            let (n, seen) = ImportFile::numbers(&row.slug, &page.body);
            assert!(seen <= version, "{}: version {seen} of {version}", row.slug);
            assert_eq!(page.body, ImportFile::new(n, seen).body, "{}", row.slug);
            check.file(&page);
        }
    }
    let _daemon = home.daemon();
    let reply = import(&home, &dir).expect("the daemon answers");
    assert_eq!((reply.files, reply.failed_total), (FILES as u64, 0), "{reply:?}");
    assert_eq!(reply.created + reply.updated + reply.unchanged, FILES as u64, "{reply:?}");
    assert_eq!(reply.warnings, Vec::<String>::new());
    let again = import(&home, &dir).expect("the daemon answers");
    assert_eq!(again.unchanged, FILES as u64, "a second import changes nothing: {again:?}");

    let mut check = Check::new(&home);
    let slugs: Vec<Slug> = check.list(false).into_iter().map(|row| row.slug).collect();
    let mut expected: Vec<Slug> = texts(version).map(|file| file.slug).collect();
    expected.sort();
    assert_eq!(slugs, expected, "each file is one page");
    for file in texts(version) {
        let page = check.page(&file.slug).expect("it is there");
        assert_eq!(page.body, file.body, "{}", file.slug);
        check.file(&page);
        check.found(&file.word, &file.slug);
        check.not_found(&ImportFile::new(file.n, version - 1).word, &file.slug);
    }
    check.no_other_files(&expected, &[]);
    run.tell(&format!("imports: {cut_short} of {version} cut short, {:.0?}", run.began.elapsed()));
}

#[test]
fn a_daemon_that_is_killed_again_and_again_while_it_starts_comes_up() {
    let run = Run::new(25);
    let home = TestHome::new();
    let mut dice = run.dice();
    // The first start makes the store: it is killed, too.
    for _ in 0..(run.rounds / 5).clamp(3, 20) {
        kill_during_start(&home, &mut dice);
    }
    let mut books = vec![Book::new(0)];
    let daemon = home.daemon();
    let socket = home.socket();
    std::thread::scope(|scope| {
        let (book, dice) = (&mut books[0], dice.split());
        let socket = &socket;
        let writer = scope.spawn(move || book.write_until_killed(socket, dice, 1));
        std::thread::sleep(Duration::from_millis(700));
        daemon.kill();
        assert!(writer.join().expect("a writer found a fault; see above") > 0);
    });
    for _ in 0..run.rounds {
        kill_during_start(&home, &mut dice);
    }
    let _daemon = home.daemon();
    settle(&home);
    Check::new(&home).resolve(&mut books[0]);
    check_everything(&home, &books);
}

/// Starts a daemon and kills it before, or just after, it is ready.
fn kill_during_start(home: &TestHome, dice: &mut Dice) {
    let mut command = home.command("brain-daemon");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    std::thread::sleep(Duration::from_micros(dice.below(40_000)));
    assert!(child.try_wait().unwrap().is_none(), "the daemon ended by itself");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Waits until everything stored can be searched. A start with little to catch up with is settled
/// at once.
pub(crate) fn settle(home: &TestHome) {
    let mut client = home.connect().expect("the daemon answers");
    let patience = Instant::now() + PATIENCE;
    loop {
        let Ok(Reply::Status(status)) = client.ask(&Request::Status(Status)) else {
            panic!("no status")
        };
        if status.degraded.is_empty() {
            return;
        }
        assert!(Instant::now() < patience, "still {:?}", status.degraded);
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn import(home: &TestHome, dir: &Path) -> Option<ImportReply> {
    let request =
        Request::Import(Import { path: dir.display().to_string(), source: None, dry_run: false });
    match home.connect()?.try_ask(&request)? {
        Ok(Reply::Import(reply)) => Some(reply),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn check_everything(home: &TestHome, books: &[Book]) {
    std::thread::scope(|scope| {
        for part in books.chunks(books.len().div_ceil(3)) {
            scope.spawn(move || {
                let mut check = Check::new(home);
                part.iter().flat_map(|book| &book.entries).for_each(|entry| check.entry(entry));
            });
        }
    });
    let slugs_that_are = |wanted: fn(&State) -> bool| {
        let entries = books.iter().flat_map(|book| &book.entries);
        let mut slugs: Vec<Slug> =
            entries.filter(|e| wanted(&e.now)).map(|e| e.slug.clone()).collect();
        slugs.sort();
        slugs
    };
    let active = slugs_that_are(|state| matches!(state, State::Active(_)));
    let deleted = slugs_that_are(|state| matches!(state, State::Deleted(_)));
    let mut check = Check::new(home);
    let listed = |rows: Vec<PageRow>| rows.into_iter().map(|row| row.slug).collect::<Vec<_>>();
    assert_eq!(listed(check.list(false)), active, "active pages are those that were sent");
    let mut bin = listed(check.list(true));
    bin.sort();
    assert_eq!(bin, deleted, "deleted pages are those that were deleted");
    check.no_other_files(&active, &deleted);
    let Ok(Reply::Status(status)) = check.client.ask(&Request::Status(Status)) else {
        panic!("no status")
    };
    assert_eq!((status.pages, status.deleted), (active.len() as u64, deleted.len() as u64));
    assert_eq!(status.outbox, 0, "every file is written");
}

/// What the writers sent, one page.
#[derive(Debug, Clone, PartialEq)]
struct Text {
    /// Stands in this text only.
    word: String,
    title: Option<String>,
    body: String,
}

impl Text {
    fn new(writer: usize, number: usize, dice: &mut Dice) -> Self {
        let word = rare_word(writer, number);
        let sentence = "The budget of the harbour was settled after a long talk about pumps, tides and money. ";
        // Most are small; some need many pages of the store.
        let times = if dice.one_in(40) { 200 + dice.below(800) } else { dice.below(12) };
        let body = format!("A note with {word} in it.\n\n{}\n", sentence.repeat(times as usize));
        let title = dice.one_in(2).then(|| format!("Page {number} of writer {writer}"));
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

/// A word of consonants that no other number of no other writer has, and that no stemmer touches.
fn rare_word(writer: usize, number: usize) -> String {
    let letters = b"bcdfghjkmpqrtvwx";
    let mut rest = number * 16 + writer + 1;
    let mut word = String::from("zq");
    for _ in 0..8 {
        word.push(char::from(letters[rest % 16]));
        rest /= 16;
    }
    word + "zq"
}

/// How a page should be.
#[derive(Debug, Clone, PartialEq)]
enum State {
    Absent,
    Active(Text),
    Deleted(Text),
}

impl State {
    fn text(&self) -> Option<&Text> {
        match self {
            Self::Absent => None,
            Self::Active(text) | Self::Deleted(text) => Some(text),
        }
    }
}

/// A page and what is known of it.
#[derive(Debug)]
pub(crate) struct Entry {
    slug: Slug,
    /// As it was acknowledged.
    now: State,
    /// The word of the text before, which must not be found any more.
    former: Option<String>,
    /// Sent, and not acknowledged.
    pending: Option<State>,
    /// The round of the last acknowledgement, and when in the run it came.
    round: usize,
    acknowledged: Option<Instant>,
}

impl Entry {
    fn becomes(&mut self, state: State) {
        let (old, new) = (self.now.text().map(|t| t.word.clone()), state.text().map(|t| &t.word));
        if old.as_ref() != new && old.is_some() {
            self.former = old;
        }
        self.now = state;
    }
}

/// For messages: a body of a hundred kilobytes helps nobody.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |state: &State| match state {
            State::Absent => "absent".to_owned(),
            State::Active(text) => format!("active with {} ({} bytes)", text.word, text.body.len()),
            State::Deleted(text) => format!("deleted with {}", text.word),
        };
        write!(f, "{}: {}", self.slug, short(&self.now))?;
        if let Some(at) = self.acknowledged {
            write!(f, ", acknowledged in round {} {:.1?} ago", self.round, at.elapsed())?;
        }
        match &self.pending {
            Some(pending) => write!(f, ", maybe {}", short(pending)),
            None => Ok(()),
        }
    }
}

/// Everything that one writer sent. No page has two writers.
pub(crate) struct Book {
    writer: usize,
    numbers: usize,
    pub(crate) entries: Vec<Entry>,
    /// Its disk may fail under the daemon: what is not done then is as if it had never been
    /// answered.
    pub(crate) disk_fails: bool,
}

impl Book {
    pub(crate) fn new(writer: usize) -> Self {
        Self { writer, numbers: 0, entries: Vec::new(), disk_fails: false }
    }

    /// Writes one thing after another until the daemon is gone; how many were acknowledged.
    pub(crate) fn write_until_killed(
        &mut self,
        socket: &Path,
        mut dice: Dice,
        round: usize,
    ) -> usize {
        let Some(mut client) = Client::connect(socket) else { return 0 };
        let mut count = 0;
        loop {
            let (at, request, wanted) = self.next(&mut dice);
            self.entries[at].pending = Some(wanted.clone());
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
                    // Another capture may have had the first eight digits.
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
            entry.becomes(wanted);
            (entry.round, entry.acknowledged) = (round, Some(Instant::now()));
            count += 1;
        }
    }

    /// What to do next: the entry, the request, and how the page is when it succeeds.
    fn next(&mut self, dice: &mut Dice) -> (usize, Request, State) {
        let old = self.entries.len();
        let choice = dice.below(100);
        if choice >= 70 && old > 0 {
            // Rather the pages of late: changes that follow each other closely.
            let at = if dice.one_in(2) {
                old - 1 - dice.below(old.min(5) as u64) as usize
            } else {
                dice.below(old as u64) as usize
            };
            let slug = self.entries[at].slug.clone();
            let page = PageRef { source: None, slug };
            match &self.entries[at].now {
                State::Active(text) if choice >= 88 => {
                    return (at, Request::Delete(page.into()), State::Deleted(text.clone()));
                }
                State::Active(_) | State::Deleted(_) => {
                    let text = self.text(dice);
                    return (at, put(page, &text), State::Active(text));
                }
                State::Absent => {}
            }
        }
        let text = self.text(dice);
        let wanted = State::Active(text.clone());
        if choice < 35 {
            let slug = inbox_slug(&text);
            let request = capture(text.content());
            return (self.new_entry(slug), request, wanted);
        }
        let slug = Slug::parse(format!("crash/w{}/page-{}", self.writer, self.numbers)).unwrap();
        let page = PageRef { source: None, slug: slug.clone() };
        (self.new_entry(slug), put(page, &text), wanted)
    }

    fn text(&mut self, dice: &mut Dice) -> Text {
        self.numbers += 1;
        Text::new(self.writer, self.numbers, dice)
    }

    fn new_entry(&mut self, slug: Slug) -> usize {
        let (now, former, pending) = (State::Absent, None, None);
        self.entries.push(Entry { slug, now, former, pending, round: 0, acknowledged: None });
        self.entries.len() - 1
    }

    /// Some of what this round acknowledged, the last ones first, and some of what earlier ones
    /// did.
    pub(crate) fn sample(&self, dice: &mut Dice, round: usize) -> Vec<&Entry> {
        let mut fresh: Vec<&Entry> =
            self.entries.iter().filter(|entry| entry.round == round).collect();
        fresh.sort_by_key(|entry| std::cmp::Reverse(entry.acknowledged));
        fresh.truncate(8);
        if !self.entries.is_empty() {
            fresh.extend(
                (0..3).map(|_| &self.entries[dice.below(self.entries.len() as u64) as usize]),
            );
        }
        fresh
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

/// The slug that a capture gets today.
fn inbox_slug(text: &Text) -> Slug {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
    let digest = brain_page::hex(&brain_page::content_digest(&text.body));
    Slug::parse(format!("inbox/{}-{}", brain_base::clock::day(now), &digest[..8])).unwrap()
}

/// Looks whether things are as they should be.
pub(crate) struct Check {
    client: Client,
    pages: PathBuf,
}

impl Check {
    pub(crate) fn new(home: &TestHome) -> Self {
        Self {
            client: home.connect().expect("the daemon answers"),
            pages: home.path().join("pages"),
        }
    }

    /// Finds out what became of what was sent and not acknowledged: the old state or the new one,
    /// nothing between.
    pub(crate) fn resolve(&mut self, book: &mut Book) {
        for entry in book.entries.iter_mut().filter(|entry| entry.pending.is_some()) {
            let Some(pending) = entry.pending.take() else { continue };
            let page = self.page(&entry.slug);
            let happened = match (&page, &pending, &entry.now) {
                (Some(page), State::Active(text), _) if page.body == text.body => true,
                (Some(page), _, State::Active(text)) if page.body == text.body => false,
                (None, State::Deleted(_), _) => true,
                (None, _, State::Absent | State::Deleted(_)) => false,
                _ => panic!("neither before nor after: {entry}, found {:?}", page.map(|p| p.body)),
            };
            if happened {
                entry.becomes(pending);
            } else if let Some(text) =
                pending.text().filter(|_| matches!(pending, State::Active(_)))
            {
                self.not_found(&text.word, &entry.slug);
            }
            self.entry(entry);
        }
    }

    pub(crate) fn entry(&mut self, entry: &Entry) {
        match &entry.now {
            State::Active(text) => {
                let page = self.page(&entry.slug).unwrap_or_else(|| panic!("lost: {entry}"));
                assert_eq!(page.body, text.body, "{entry}");
                if let Some(title) = &text.title {
                    assert_eq!(&page.title, title, "{entry}");
                    assert_eq!(page.tags, ["crash", "harbour"], "{entry}");
                }
                self.file(&page);
                self.found(&text.word, &entry.slug);
                if let Some(former) = &entry.former {
                    let version = self.version(&entry.slug, page.version - 1);
                    assert!(version.body.contains(former), "its former version: {entry}");
                }
            }
            State::Deleted(text) => {
                assert!(self.page(&entry.slug).is_none(), "{entry}");
                assert!(!self.place(&entry.slug).exists(), "still there: {entry}");
                self.trashed(entry, text);
                self.not_found(&text.word, &entry.slug);
            }
            State::Absent => {
                assert!(self.page(&entry.slug).is_none(), "never stored: {entry}");
                assert!(!self.place(&entry.slug).exists(), "never stored: {entry}");
            }
        }
        if let Some(word) = &entry.former {
            self.not_found(word, &entry.slug);
        }
    }

    fn page(&mut self, slug: &Slug) -> Option<Page> {
        let page = PageRef { source: None, slug: slug.clone() };
        match self.client.ask(&Request::Get(Get { page, version: None })) {
            Ok(Reply::Page(page)) => Some(page),
            Err(fault) if fault.code == FaultCode::NotFound => None,
            other => panic!("{slug}: {other:?}"),
        }
    }

    fn version(&mut self, slug: &Slug, version: u32) -> Page {
        let page = PageRef { source: None, slug: slug.clone() };
        match self.client.ask(&Request::Get(Get { page, version: Some(version) })) {
            Ok(Reply::Page(page)) => page,
            other => panic!("{slug}, version {version}: {other:?}"),
        }
    }

    fn place(&self, slug: &Slug) -> PathBuf {
        self.pages.join(format!("{slug}.md"))
    }

    /// The page's file holds the page.
    fn file(&self, page: &Page) {
        let place = self.place(&page.slug);
        let text =
            std::fs::read_to_string(&place).unwrap_or_else(|e| panic!("{}: {e}", place.display()));
        assert_eq!(text, page.content, "{}", place.display());
    }

    /// The file of a deleted page is in the trash. An earlier deletion may have left another one.
    fn trashed(&self, entry: &Entry, text: &Text) {
        let first = self.pages.join(".trash").join(format!("{}.md", entry.slug));
        let places = std::iter::once(first.clone())
            .chain((1..).map(|n| PathBuf::from(format!("{}~{n}", first.display()))));
        let mut texts = places.map_while(|place| std::fs::read_to_string(place).ok());
        assert!(texts.any(|found| found.ends_with(&text.body)), "not in the trash: {entry}");
    }

    fn hits(&mut self, word: &str) -> Vec<Slug> {
        let request =
            Request::Search(Search { query: word.into(), limit: 10, ..Search::default() });
        match self.client.ask(&request) {
            Ok(Reply::Hits(hits)) => hits.hits.into_iter().map(|hit| hit.slug).collect(),
            other => panic!("{word}: {other:?}"),
        }
    }

    fn found(&mut self, word: &str, slug: &Slug) {
        let hits = self.hits(word);
        assert_eq!(hits, std::slice::from_ref(slug), "search for {word}");
    }

    fn not_found(&mut self, word: &str, slug: &Slug) {
        let hits = self.hits(word);
        assert!(!hits.contains(slug), "{slug} is found by {word}, which is not there any more");
    }

    /// All pages in the order of their slugs.
    fn list(&mut self, deleted: bool) -> Vec<PageRow> {
        let (mut rows, mut after) = (Vec::new(), None);
        loop {
            let list = List { deleted, sort: Sort::Slug, limit: 1000, after, ..List::default() };
            match self.client.ask(&Request::List(list)) {
                Ok(Reply::Pages(pages)) => {
                    rows.extend(pages.pages);
                    after = pages.next;
                }
                other => panic!("{other:?}"),
            }
            if after.is_none() {
                return rows;
            }
        }
    }

    /// Below the home's pages are the files of these pages, and nothing else: nothing half-written
    /// either.
    fn no_other_files(&self, active: &[Slug], deleted: &[Slug]) {
        let paths =
            |slugs: &[Slug]| slugs.iter().map(|slug| format!("{slug}.md")).collect::<BTreeSet<_>>();
        let (trashed, found): (BTreeSet<String>, BTreeSet<String>) =
            files_below(&self.pages).into_iter().partition(|path| path.starts_with(".trash/"));
        assert_eq!(found, paths(active), "files of pages");
        let trashed: BTreeSet<String> = trashed
            .iter()
            .map(|path| path.trim_start_matches(".trash/").split('~').next().unwrap().to_owned())
            .collect();
        assert_eq!(trashed, paths(deleted), "files in the trash");
    }
}

fn files_below(dir: &Path) -> BTreeSet<String> {
    let (mut found, mut left) = (BTreeSet::new(), vec![dir.to_owned()]);
    while let Some(place) = left.pop() {
        for entry in std::fs::read_dir(&place).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else {
                found.insert(path.strip_prefix(dir).unwrap().display().to_string());
            }
        }
    }
    found
}

/// One file of the directory that is imported again and again, with another text each time.
struct ImportFile {
    n: usize,
    slug: Slug,
    word: String,
    body: String,
}

impl ImportFile {
    fn new(n: usize, version: usize) -> Self {
        let word = rare_word(version, n);
        let body = format!(
            "Number {n} version {version}\n\nIt has {word}. {}\n",
            "Water and money. ".repeat(20)
        );
        Self { n, slug: Slug::parse(format!("group-{}/note-{n}", n % 7)).unwrap(), word, body }
    }

    fn write(&self, dir: &Path) {
        let place = dir.join(format!("{}.md", self.slug));
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(
            place,
            format!("---\ntitle: Note {}\ntags: [import]\n---\n{}", self.n, self.body),
        )
        .unwrap();
    }

    /// The number and the version that a stored text says it is.
    fn numbers(slug: &Slug, body: &str) -> (usize, usize) {
        let words: Vec<&str> = body.split_whitespace().take(4).collect();
        let number = |at: usize| {
            words.get(at).and_then(|w| w.parse().ok()).unwrap_or_else(|| panic!("{slug}: {body}"))
        };
        (number(1), number(3))
    }
}

/// How long, and by which chances.
pub(crate) struct Run {
    pub(crate) rounds: usize,
    pub(crate) is_default: bool,
    seed: u64,
    pub(crate) began: Instant,
}

impl Run {
    pub(crate) fn new(rounds: usize) -> Self {
        let number =
            |name: &str| std::env::var(name).ok().map(|v| v.parse::<u64>().expect("a number"));
        let asked = number("BRAIN_CRASH_ROUNDS").map(|n| n as usize);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
        Self {
            rounds: asked.unwrap_or(rounds),
            is_default: asked.is_none(),
            seed: number("BRAIN_CRASH_SEED").unwrap_or(now),
            began: Instant::now(),
        }
    }

    pub(crate) fn dice(&self) -> Dice {
        Dice(self.seed)
    }

    /// On the terminal even when the test passes.
    pub(crate) fn tell(&self, text: &str) {
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), "crash: {text} (seed {})", self.seed);
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.tell("failed; repeat the choices with BRAIN_CRASH_SEED");
        }
    }
}

/// Chances that a seed repeats (splitmix64).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn split(&mut self) -> Self {
        Self(self.next())
    }
}

//! SIGKILL at random moments. Acknowledged writes survive in the store, in files and in search.
//! Other writes are stored completely or not at all, and nothing else appears.
//!
//! `BRAIN_CRASH_ROUNDS` is the number of kills under load (25; the full run has 200).
//! `BRAIN_CRASH_SEED` repeats the random choices of a failed run, except for the moments of kills.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use brain_protocol::{
    FaultCode, Get, Import, ImportReply, List, Origin, Page, PageRef, PageRow, Put, Reply, Request,
    Search, Slug, Sort, Status, WriteStatus,
};
use brain_tests::{Client, PATIENCE, TestHome, capture, expect_reply};
use rustix::process::{Pid, Signal, kill_process};

/// Clients that write at the same time.
const WRITERS: usize = 12;
/// Time limit of a run with the default number of rounds.
const TIME_LIMIT: Duration = Duration::from_secs(45);

#[test]
fn acknowledged_writes_survive_sigkill_under_load() {
    let run = Run::new(25);
    let home = TestHome::new();
    let mut dice = run.dice();
    let mut books: Vec<Book> = (0..WRITERS).map(Book::new).collect();
    let (mut kills, mut written) = (0, 0);
    for round in 1..=run.rounds {
        if run.is_default && run.began.elapsed() > TIME_LIMIT {
            break;
        }
        if dice.one_in(5) {
            kill_during_start(&home, &mut dice);
            kills += 1;
        }
        let daemon = home.daemon();
        settle(&home);
        let socket = home.socket();
        // Most kills come soon after the first writes, a few after the index has been written.
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
                // Kill it while it shuts down and writes its index.
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
        // Half of the rounds start after a kill at rest, the others after a clean shutdown.
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
fn a_killed_import_is_finished_by_the_next() {
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
        // Stored pages are complete, in this version or an earlier one.
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
fn repeated_kills_during_start_do_no_harm() {
    let run = Run::new(25);
    let home = TestHome::new();
    let mut dice = run.dice();
    // The first start, which creates the store, is killed, too.
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

/// Waits until every stored page can be searched. After a start with little to index, this is
/// immediate.
pub(crate) fn settle(home: &TestHome) {
    let mut client = home.connect().expect("the daemon answers");
    let patience = Instant::now() + PATIENCE;
    loop {
        let status = expect_reply!(client.ask(&Request::Status(Status)), Status);
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
    let status = expect_reply!(check.client.ask(&Request::Status(Status)), Status);
    assert_eq!((status.pages, status.deleted), (active.len() as u64, deleted.len() as u64));
    assert_eq!(status.outbox, 0, "every file is written");
}

/// The text of a page that a writer sent.
#[derive(Debug, Clone, PartialEq)]
struct Text {
    /// A word that occurs in no other text.
    word: String,
    title: Option<String>,
    body: String,
}

impl Text {
    fn new(writer: usize, number: usize, dice: &mut Dice) -> Self {
        let word = rare_word(writer, number);
        let sentence = "The budget of the harbour was settled after a long talk about pumps, tides and money. ";
        // Most texts are small; some need many pages of the store.
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

/// Returns a word of consonants that is unique to the writer and number and that no stemmer
/// changes.
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

/// The expected state of a page.
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

/// A page and its expected states.
#[derive(Debug)]
pub(crate) struct Entry {
    slug: Slug,
    /// The acknowledged state.
    now: State,
    /// The word of the previous text, which search must not find any more.
    former: Option<String>,
    /// The state that was sent but not acknowledged.
    pending: Option<State>,
    /// The round of the last acknowledgement and its order in the run.
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

/// Leaves out the body, which may have a hundred kilobytes.
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

/// All writes of one writer. No page has two writers.
pub(crate) struct Book {
    writer: usize,
    numbers: usize,
    pub(crate) entries: Vec<Entry>,
    /// Whether the disk may fail. Then failed writes count as never answered.
    pub(crate) disk_fails: bool,
}

impl Book {
    pub(crate) fn new(writer: usize) -> Self {
        Self { writer, numbers: 0, entries: Vec::new(), disk_fails: false }
    }

    /// Writes until the daemon is killed. Returns the number of acknowledged writes.
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
            entry.becomes(wanted);
            (entry.round, entry.acknowledged) = (round, Some(Instant::now()));
            count += 1;
        }
    }

    /// Returns the next write: the entry, the request, and the state of the page after success.
    fn next(&mut self, dice: &mut Dice) -> (usize, Request, State) {
        let old = self.entries.len();
        let choice = dice.below(100);
        if choice >= 70 && old > 0 {
            // Prefer recent pages, so that changes follow each other closely.
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

    /// Returns some entries that were acknowledged in this round, the latest first, and some of
    /// earlier rounds.
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

/// Returns the slug of a capture of today.
fn inbox_slug(text: &Text) -> Slug {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
    let digest = brain_page::hex(&brain_page::content_digest(&text.body));
    Slug::parse(format!("inbox/{}-{}", brain_base::clock::day(now), &digest[..8])).unwrap()
}

/// Checks the daemon's state.
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

    /// Resolves unacknowledged writes: the page has either the old or the new state.
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
            // A beginning of another page's slug opens that page.
            Ok(Reply::Page(page)) => (page.slug == *slug).then_some(page),
            Err(fault) if matches!(fault.code, FaultCode::NotFound | FaultCode::AmbiguousSlug) => {
                None
            }
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

    /// Asserts that the page's file has the page's content.
    fn file(&self, page: &Page) {
        let place = self.place(&page.slug);
        let text =
            std::fs::read_to_string(&place).unwrap_or_else(|e| panic!("{}: {e}", place.display()));
        assert_eq!(text, page.content, "{}", place.display());
    }

    /// Asserts that the trash has the file of a deleted page. It may have another file of an
    /// earlier deletion.
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

    /// Returns all pages in the order of their slugs.
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

    /// Asserts that the home's pages directory has the files of these pages and no others, not even
    /// partial ones.
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

/// A file of the directory that is imported repeatedly, with another text each time.
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

    /// Returns the number and the version in a stored text.
    fn numbers(slug: &Slug, body: &str) -> (usize, usize) {
        let words: Vec<&str> = body.split_whitespace().take(4).collect();
        let number = |at: usize| {
            words.get(at).and_then(|w| w.parse().ok()).unwrap_or_else(|| panic!("{slug}: {body}"))
        };
        (number(1), number(3))
    }
}

/// The length and the seed of a run.
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

    /// Prints a text even when the test passes.
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

/// A seeded random generator (SplitMix64).
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

//! Speed of questions in an index of many generated notes.
//!
//! `cargo bench --workspace --bench million -- DIR PAGES [--notes]`
//!
//! The index in DIR is made at the first run and used again. `--notes` also writes the notes and
//! questions there, for `million_fts5.py`, which asks SQLite the same.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr
)]

use std::{
    fmt::Write as _,
    fs::{self, File},
    io::{BufWriter, Write},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use brain_protocol::{Slug, SourceId};
use brain_search::{Index, IndexChange, IndexPage, Options, Query, Question};
use rustix::time::{ClockId, clock_gettime};

/// Number of words of a note.
const NOTE_WORDS: usize = 80;
/// Number of different words beside those that only one note has.
const VOCABULARY: usize = 60_000;
/// One word in this many is in this note only, as names and numbers are.
const RARE_EVERY: u64 = 200;
/// Number of questions of each kind.
const QUESTIONS: usize = 60;
/// Number of hits of a question.
const HITS: usize = 10;
/// Number of segments of an index whose merges are done.
const MAX_SEGMENTS: usize = 8;
/// Number of changes that are pushed at once.
const BATCH: u64 = 2000;

/// The words of English that are written most, most frequent first.
const FUNCTION_WORDS: &str = "the of and to a in is it that was for on are with as at be this have \
                              from or by not but what all were when we there can an your which \
                              their if will each about how up out them then she many some so these \
                              would other into has more her two like him see time could no make than";

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    // `cargo test` also runs benchmarks, without arguments.
    let [dir, pages, ..] = args.as_slice() else { return };
    let (dir, pages) = (Path::new(dir), pages.parse::<u64>().expect("PAGES is a number"));
    let words = Vocabulary::new();
    if args.iter().any(|arg| arg == "--notes") {
        write_notes(dir, pages, &words).expect("DIR cannot be written");
    }
    let index = open(dir, pages, &words);
    println!("| question | median | p95 | maximum | cold | hits |\n|---|---|---|---|---|---|");
    for kind in Kind::ALL {
        measure(&index, kind, &kind.questions(pages, &words));
    }
}

/// Opens the index in `dir`; fills and merges it if it has too few pages.
fn open(dir: &Path, pages: u64, words: &Vocabulary) -> Index {
    let began = Instant::now();
    let open = || Index::open(&dir.join("index"), "million", pages, Options::default()).unwrap();
    let (index, report) = open();
    if report.seq == pages && segment_count(dir) <= MAX_SEGMENTS {
        eprintln!("opened in {:?}", began.elapsed());
        return index;
    }
    for first in (report.seq + 1..=pages).step_by(BATCH as usize) {
        let batch = first..(first + BATCH).min(pages + 1);
        let changes = batch.map(|id| IndexChange::Put(Arc::new(note(id, words))));
        index.push_bulk(changes.collect());
        index.wait_for_backlog_below(2 * BATCH as usize);
        if first % 50_000 == 1 {
            eprintln!("{first} pages after {:?}", began.elapsed());
        }
    }
    index.flush().unwrap();
    eprintln!("made in {:?}; merging", began.elapsed());
    // The idle index merges its segments.
    while segment_count(dir) > MAX_SEGMENTS {
        std::thread::sleep(Duration::from_secs(1));
    }
    drop(index);
    open().0
}

/// Returns the number of segments of the index.
fn segment_count(dir: &Path) -> usize {
    let meta = fs::read_to_string(dir.join("index/meta.json")).unwrap_or_default();
    meta.matches("segment_id").count()
}

/// Pseudo-random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Returns a word of `syllables` syllables.
    fn word(&mut self, syllables: u64) -> String {
        let mut word = String::new();
        for _ in 0..syllables {
            let mut letter = |letters: &[u8]| {
                word.push(char::from(letters[self.below(letters.len() as u64) as usize]));
            };
            letter(b"bcdfghjklmnprstvwz");
            letter(b"aeiou");
            if self.below(3) == 0 {
                word.push(char::from(b"lnrst"[self.below(5) as usize]));
            }
        }
        word
    }
}

/// Words with natural frequencies.
struct Vocabulary {
    words: Vec<String>,
    /// The share of words up to each rank.
    shares: Vec<f64>,
}

impl Vocabulary {
    fn new() -> Self {
        let mut random = Random(1);
        let mut words: Vec<String> = FUNCTION_WORDS.split_whitespace().map(str::to_owned).collect();
        let mut known: std::collections::HashSet<String> = words.iter().cloned().collect();
        while words.len() < VOCABULARY {
            let syllables = 2 + random.below(3);
            let word = random.word(syllables);
            if known.insert(word.clone()) {
                words.push(word);
            }
        }
        let mut sum = 0.0;
        let mut shares: Vec<f64> = (0..VOCABULARY)
            .map(|rank| {
                sum += (rank as f64 + 2.7).powf(-1.07);
                sum
            })
            .collect();
        shares.iter_mut().for_each(|share| *share /= sum);
        Self { words, shares }
    }

    fn word(&self, random: &mut Random) -> &str {
        let at = random.next() as f64 / u64::MAX as f64;
        let rank = self.shares.partition_point(|share| *share < at);
        &self.words[rank.min(VOCABULARY - 1)]
    }
}

/// Returns the words of note `id`.
fn words_of(id: u64, words: &Vocabulary) -> Vec<String> {
    let mut random = Random(id << 20);
    (0..NOTE_WORDS)
        .map(|_| match random.below(RARE_EVERY) {
            0 => random.word(4),
            _ => words.word(&mut random).to_owned(),
        })
        .collect()
}

/// Returns the words of note `id` that are no function words.
fn content_words(id: u64, words: &Vocabulary) -> Vec<String> {
    let is_function_word = |word: &str| FUNCTION_WORDS.split(' ').any(|known| known == word);
    words_of(id, words).into_iter().filter(|word| !is_function_word(word)).collect()
}

/// Returns the tag of note `id`; a thousandth of the notes have the same.
fn tag_of(id: u64, words: &Vocabulary) -> String {
    words.words[200 + (id % 1000) as usize].clone()
}

fn note(id: u64, words: &Vocabulary) -> IndexPage {
    let mut body = String::with_capacity(NOTE_WORDS * 7);
    for sentence in words_of(id, words).chunks(10) {
        let mut sentence = sentence.join(" ");
        sentence[..1].make_ascii_uppercase();
        _ = write!(body, "{sentence}. ");
    }
    let title = content_words(id, words)[..3].join(" ");
    let file_name = format!("{}-{id}", title.replace(' ', "-"));
    IndexPage {
        id,
        seq: id,
        source: SourceId::parse("notes").unwrap(),
        slug: Slug::parse(format!("notes/{file_name}")).unwrap(),
        file_name,
        title,
        aliases: Vec::new(),
        tags: vec![tag_of(id, words)],
        page_type: "note".into(),
        fields: Vec::new(),
        body: body.into(),
        updated_at: 1_700_000_000_000 + id as i64 * 1000,
        days: Vec::new(),
    }
}

/// A kind of question.
#[derive(Clone, Copy)]
enum Kind {
    Rare,
    Two,
    Sentence,
    Mistyped,
    Tagged,
    Required,
}

impl Kind {
    const ALL: [Self; 6] =
        [Self::Rare, Self::Two, Self::Sentence, Self::Mistyped, Self::Tagged, Self::Required];

    fn label(self) -> &'static str {
        match self {
            Self::Rare => "one rare word",
            Self::Two => "two words",
            Self::Sentence => "a sentence of seven words",
            Self::Mistyped => "two mistyped words",
            Self::Tagged => "a word and a tag",
            Self::Required => "two required words",
        }
    }

    /// Returns questions about notes that exist.
    fn questions(self, pages: u64, words: &Vocabulary) -> Vec<String> {
        let mut random = Random(7);
        let mut questions = Vec::new();
        while questions.len() < QUESTIONS {
            let id = 1 + random.below(pages);
            let content = content_words(id, words);
            let is_common = |word: &&String| words.words.contains(word);
            let common: Vec<&String> = content.iter().filter(is_common).collect();
            let mut pick = || common[random.below(common.len() as u64) as usize].clone();
            let question = match self {
                Self::Rare => content.iter().find(|word| !is_common(word)).cloned(),
                Self::Two => Some(format!("{} {}", pick(), pick())),
                Self::Sentence => Some(words_of(id, words)[20..27].join(" ")),
                Self::Mistyped => {
                    let long = content.iter().filter(|word| word.len() > 6).take(2);
                    let words: Vec<String> = long.map(|word| mistyped(word)).collect();
                    (words.len() == 2).then(|| words.join(" "))
                }
                Self::Tagged => Some(format!("{} tag:{}", pick(), tag_of(id, words))),
                Self::Required => Some(format!("\"{}\" \"{}\"", pick(), pick())),
            };
            questions.extend(question);
        }
        questions
    }
}

/// Returns a word with its fourth and fifth letters exchanged.
fn mistyped(word: &str) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    letters.swap(3, 4);
    letters.into_iter().collect()
}

/// Returns the processor time of this thread. Other programs hardly change it.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}

/// Asks each question once cold and three times warm, and prints a row: the processor time of the
/// warm ones, the longest time of a cold one, and a number that other hits would change.
fn measure(index: &Index, kind: Kind, questions: &[String]) {
    let (mut times, mut cold, mut digest) = (Vec::new(), Duration::ZERO, 0_u64);
    for round in 0..4 {
        for text in questions {
            let (began, used) = (Instant::now(), processor_time());
            let query = Query::parse(text.as_str());
            index.question_terms(&query, None).unwrap();
            let question = Question { query, limit: HITS + 10, ..Question::default() };
            let found = index.search(&question).unwrap();
            if round > 0 {
                times.push((processor_time() - used).as_secs_f64() * 1000.0);
                continue;
            }
            cold = cold.max(began.elapsed());
            for hit in found.hits.iter().take(HITS) {
                digest = (digest ^ hit.id).wrapping_mul(0x0100_0000_01B3);
            }
        }
    }
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let (label, cold) = (kind.label(), cold.as_secs_f64() * 1000.0);
    println!(
        "| {label} | {:.2} ms | {:.2} ms | {:.2} ms | {cold:.1} ms | {digest:016x} |",
        at(0.5),
        at(0.95),
        at(1.0),
    );
}

/// Writes the notes and questions as lines of fields that tabs separate.
fn write_notes(dir: &Path, pages: u64, words: &Vocabulary) -> std::io::Result<()> {
    fs::create_dir_all(dir)?;
    let mut notes = BufWriter::new(File::create(dir.join("notes.tsv"))?);
    for id in 1..=pages {
        let page = note(id, words);
        writeln!(notes, "{}\t{}\t{}", page.title, page.body, page.tags[0])?;
    }
    let mut questions = BufWriter::new(File::create(dir.join("questions.tsv"))?);
    for kind in Kind::ALL {
        for question in kind.questions(pages, words) {
            writeln!(questions, "{}\t{question}", kind.label())?;
        }
    }
    notes.into_inner()?.sync_all()?;
    questions.into_inner()?.sync_all()
}

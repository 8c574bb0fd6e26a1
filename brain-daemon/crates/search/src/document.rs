//! Turns a page into indexed terms.

use std::{
    collections::HashSet,
    sync::{Arc, OnceLock},
};

use brain_protocol::SourceId;
use parking_lot::Mutex;

use super::{
    IndexPage,
    days::keys_of_days,
    encoding::{HashedTerm, TERM_MARK, Terms, field_value, key, key_of},
    exact,
    fold::{BuildTermHasher, hash},
    language::{Lang, Stems, alphabet, detect},
    name_key::{name_key, tag_key, words_in_any_order},
    numbers,
    token::{self, Kind},
};

/// Maximum bytes of a name that are read.
const MAX_NAME_BYTES: usize = 600;
/// Maximum bytes of a value of a field that a filter finds by one of its words.
const MAX_FILTER_BYTES: usize = 80;

/// The terms of a page.
#[derive(Debug)]
pub(super) struct PageTerms {
    pub(super) id: u64,
    pub(super) updated_at: i64,
    pub(super) body: Terms,
    pub(super) title: Terms,
    /// The distinct words that differ from their stems, and the exact forms of words (see
    /// [`exact`]), each after [`TERM_MARK`].
    pub(super) words: String,
    /// The distinct words of the page's names, each after [`TERM_MARK`].
    pub(super) names: String,
    /// Exact values, each after [`TERM_MARK`]; see [`key`].
    pub(super) keys: String,
    pub(super) key_hashes: Vec<u64>,
    pub(super) lang: Lang,
}

impl PageTerms {
    /// Returns whether the document has the key with this hash.
    pub(super) fn has_key(&self, key_hash: u64) -> bool {
        self.key_hashes.contains(&key_hash)
    }
}

/// Extracts terms from pages and questions. Caches stems, so it is worth reusing. Serves one thread
/// at a time.
pub(super) struct Analyzer {
    pub(super) stems: Stems,
    default: Lang,
    /// Hashes of the words of the current page.
    word_hashes: HashSet<u64, BuildTermHasher>,
}

impl Analyzer {
    /// Creates an analyzer; `default` is the language of pages whose language is unclear.
    pub(super) fn new(default: Lang) -> Self {
        Self { stems: Stems::new(12_000), default, word_hashes: HashSet::default() }
    }

    pub(super) fn default_language(&self) -> Lang {
        self.default
    }

    /// Returns the terms of a folded word of letters in each of `languages`.
    pub(super) fn forms(&mut self, word: &str, languages: &[Lang]) -> Vec<HashedTerm> {
        let mut forms: Vec<HashedTerm> = Vec::with_capacity(2);
        let alphabet = alphabet(word);
        for lang in languages {
            self.stems.with(word, lang.of_word(alphabet, self.default), |stem| {
                if !forms.iter().any(|form| form.text == stem) {
                    forms.push(HashedTerm::new(stem));
                }
            });
        }
        forms
    }

    /// Extracts the terms of `page`.
    pub(super) fn document(&mut self, page: &IndexPage) -> PageTerms {
        let lang = detect(&page.body, self.default);
        self.word_hashes.clear();
        let mut words = String::with_capacity(page.body.len() / 3);
        let mut body = Terms::default();
        body.reserve(&page.body);
        self.terms(&page.body, lang, &mut body, &mut words);
        let mut title = Terms::default();
        self.terms(&page.title, lang, &mut title, &mut words);
        for alias in &page.aliases {
            let mut more = Terms::default();
            self.terms(alias, lang, &mut more, &mut words);
            title.append_behind_gap(&more);
        }
        for (key, values) in &page.fields {
            let mut more = Terms::default();
            self.terms(&format!("{key}: {}", values.join(", ")), lang, &mut more, &mut words);
            body.append_behind_gap(&more);
        }
        body.encoded.shrink_to_fit();
        body.hashes.shrink_to_fit();
        let (keys, key_hashes) = keys(page, lang);
        PageTerms {
            id: page.id,
            updated_at: page.updated_at,
            body,
            title,
            words,
            names: name_words(page),
            keys,
            key_hashes,
            lang,
        }
    }

    fn terms(&mut self, text: &str, lang: Lang, terms: &mut Terms, words: &mut String) {
        let Self { stems, default, word_hashes } = self;
        numbers::each_code(text, &mut |code| {
            let key = exact::key_of_code(code);
            if word_hashes.insert(hash(key.as_bytes())) {
                words.push(char::from(TERM_MARK));
                words.push_str(&key);
            }
        });
        // The previous word, and its end.
        let mut before = (String::new(), usize::MAX);
        token::scan(text, &mut |t| {
            let mut add = |key: String| {
                if word_hashes.insert(hash(key.as_bytes())) {
                    words.push(char::from(TERM_MARK));
                    words.push_str(&key);
                }
            };
            if t.kind != Kind::Word {
                terms.push(t.text, TERM_MARK);
                if t.kind == Kind::Whole {
                    numbers::each_beginning(t.text, &mut |it| add(exact::key_of_part(it)));
                }
                return;
            }
            let source = &text[t.start..t.end];
            exact::each_key(source, t.text, &text[t.end..], &mut add);
            // Words that an apostrophe or a hyphen divides are one or three bytes apart.
            if t.start > before.1 && t.start - before.1 <= 3 {
                let second = (t.text, t.start..t.end);
                exact::joined_key(text, (&before.0, before.1), second).map(&mut add);
            }
            before.0.clear();
            before.0.push_str(t.text);
            before.1 = t.end;
            stems.with(t.text, lang.of_word(alphabet(t.text), *default), |stem| {
                terms.push(stem, TERM_MARK);
                if stem != t.text && word_hashes.insert(hash(t.text.as_bytes())) {
                    words.push(char::from(TERM_MARK));
                    words.push_str(t.text);
                }
            });
        });
    }
}

/// Returns the number of indexed terms of `body`; for benchmarks.
#[must_use]
pub fn count_terms(body: &str) -> usize {
    let mut analyzer = Analyzer::new(Lang::UNSTEMMED);
    let (lang, mut terms, mut words) =
        (detect(body, Lang::UNSTEMMED), Terms::default(), String::new());
    terms.reserve(body);
    analyzer.terms(body, lang, &mut terms, &mut words);
    terms.hashes.len()
}

/// Returns the names of `page`: its title without and with explanation, its aliases, and the names
/// of its file.
fn names(page: &IndexPage) -> impl Iterator<Item = &str> {
    let aliases = page.aliases.iter().take(64).map(String::as_str);
    let titles = std::iter::once(page.title.as_str()).chain(short_title(&page.title));
    titles.chain(aliases).chain([page.slug.name(), page.file_name.as_str()])
}

/// Returns the distinct words of the names of `page`, each after [`TERM_MARK`].
fn name_words(page: &IndexPage) -> String {
    let (mut words, mut hashes) = (String::new(), Vec::new());
    for name in names(page) {
        token::scan(token::head(name, MAX_NAME_BYTES), &mut |t| {
            let h = hash(t.text.as_bytes());
            if !hashes.contains(&h) {
                hashes.push(h);
                words.push(char::from(TERM_MARK));
                words.push_str(t.text);
            }
        });
    }
    words
}

/// Returns the keys of `page`.
fn keys(page: &IndexPage, lang: Lang) -> (String, Vec<u64>) {
    let mut all = String::with_capacity(128);
    let mut hashes = Vec::with_capacity(10);
    let mut add = |namespace: char, value: &str| {
        if value.is_empty() {
            return;
        }
        let key = key_of(namespace, value);
        let h = hash(key.as_bytes());
        if !hashes.contains(&h) {
            hashes.push(h);
            all.push(char::from(TERM_MARK));
            all.push_str(&key);
        }
    };
    add(key::SOURCE, page.source.as_str());
    add(key::TYPE, &page.page_type.trim().to_lowercase());
    add(key::LANGUAGE, lang.code());
    let title = name_key(&page.title);
    add(key::TITLE, &title);
    for alias in page.aliases.iter().take(64) {
        add(key::ALIAS, &name_key(alias));
    }
    // A page is found by its path, by each suffix of its path, and by its file name.
    let mut path = Some(page.slug.as_str());
    while let Some(rest) = path {
        let name = name_key(rest);
        add(key::SLUG, &name);
        add(key::ANY_ORDER, &words_in_any_order(&name));
        path = rest.split_once('/').map(|(_, rest)| rest);
    }
    add(key::SLUG, &name_key(&page.file_name));
    for name in names(page) {
        let name = name_key(name);
        add(key::BEGINNING, &name);
        add(key::ANY_ORDER, &words_in_any_order(&name));
    }
    for tag in page.tags.iter().take(256) {
        add(key::TAG, &tag_key(tag));
        token::scan(tag, &mut |t| add(key::TAG_WORD, t.text));
    }
    for key in page.days.iter().flat_map(|days| keys_of_days(*days)) {
        add(key::DAY, &key);
    }
    for (name, values) in &page.fields {
        for value in values {
            add(key::FIELD, &field_value(name, value));
            if value.len() <= MAX_FILTER_BYTES {
                token::scan(value, &mut |t| add(key::FIELD, &field_value(name, t.text)));
            }
        }
    }
    token::scan(page.slug.name(), &mut |t| {
        // Dates and hashes in a slug are not words.
        let is_word = t.text.len() > 1 && !t.text.bytes().any(|b| b.is_ascii_digit());
        if is_word && !title.split(' ').any(|w| w == t.text) {
            add(key::SLUG_WORD, t.text);
        }
    });
    (all, hashes)
}

/// Returns the short name in a title with an explanation: `Accel` for `Accel - Venture Capital`,
/// `Dune` for `Dune (film)`.
fn short_title(title: &str) -> Option<&str> {
    let end = [" - ", " – ", " — ", ": ", " ("].iter().filter_map(|mark| title.find(mark)).min()?;
    Some(&title[..end])
}

/// A page to index, analyzed on first use.
pub(super) struct PageToIndex {
    pub(super) id: u64,
    pub(super) seq: u64,
    /// The page's source, available before it is analyzed.
    pub(super) source: SourceId,
    /// Approximate memory in bytes.
    pub(super) weight: usize,
    /// Whether searches may omit the page until it is analyzed.
    is_bulk: bool,
    page: Mutex<Option<Arc<IndexPage>>>,
    document: OnceLock<PageTerms>,
}

impl PageToIndex {
    pub(super) fn new(page: Arc<IndexPage>, is_bulk: bool) -> Self {
        Self {
            id: page.id,
            seq: page.seq,
            source: page.source.clone(),
            weight: page.body.len() * 4 + 1024,
            is_bulk,
            page: Mutex::new(Some(page)),
            document: OnceLock::new(),
        }
    }

    /// Returns the document. Analyzes the page first if necessary, and then drops the page.
    pub(super) fn document(&self, analyzer: &mut Analyzer) -> &PageTerms {
        self.document.get_or_init(|| {
            let page = self.page.lock().take();
            // The page is absent only if an earlier analysis panicked.
            page.map_or_else(
                || PageTerms {
                    id: self.id,
                    updated_at: 0,
                    body: Terms::default(),
                    title: Terms::default(),
                    words: String::new(),
                    names: String::new(),
                    keys: String::new(),
                    key_hashes: Vec::new(),
                    lang: Lang::UNSTEMMED,
                },
                |page| analyzer.document(&page),
            )
        })
    }

    /// Returns whether the next search must see the page.
    pub(super) fn is_due(&self) -> bool {
        !self.is_bulk || self.analyzed_document().is_some()
    }

    /// Returns the document if the page was analyzed.
    pub(super) fn analyzed_document(&self) -> Option<&PageTerms> {
        self.document.get()
    }
}

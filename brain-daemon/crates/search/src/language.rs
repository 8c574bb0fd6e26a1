//! Languages: detection, stemming and stop words.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use frostem::{Algorithm, Stemmer};

use super::{fold::BuildTermHasher, stopwords, token};

/// A language, as an index of [`TABLE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Lang(u8);

/// The alphabet of a word. All but [`Alphabet::Other`] have stemmers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alphabet {
    Latin,
    Cyrillic,
    Greek,
    Arabic,
    Other,
}

/// A row of [`TABLE`].
struct Entry {
    /// The ISO 639-1 code; `und` for no language.
    code: &'static str,
    whatlang: Option<whatlang::Lang>,
    algorithm: Option<Algorithm>,
    alphabet: Alphabet,
    /// The stop words, separated by white space.
    stop: &'static str,
}

const fn entry(
    code: &'static str,
    whatlang: whatlang::Lang,
    algorithm: Algorithm,
    alphabet: Alphabet,
    stop: &'static str,
) -> Entry {
    Entry { code, whatlang: Some(whatlang), algorithm: Some(algorithm), alphabet, stop }
}

use Alphabet::{Arabic, Cyrillic, Greek, Latin};
use whatlang::Lang as W;

/// The language without a stemmer comes last. At most 32, because sets of languages are bits.
static TABLE: [Entry; 22] = [
    entry("en", W::Eng, Algorithm::English, Latin, stopwords::ENGLISH),
    entry("de", W::Deu, Algorithm::German, Latin, stopwords::GERMAN),
    entry("fr", W::Fra, Algorithm::French, Latin, stopwords::FRENCH),
    entry("es", W::Spa, Algorithm::Spanish, Latin, stopwords::SPANISH),
    entry("it", W::Ita, Algorithm::Italian, Latin, stopwords::ITALIAN),
    entry("pt", W::Por, Algorithm::Portuguese, Latin, stopwords::PORTUGUESE),
    entry("nl", W::Nld, Algorithm::Dutch, Latin, stopwords::DUTCH),
    entry("sv", W::Swe, Algorithm::Swedish, Latin, stopwords::SWEDISH),
    entry("da", W::Dan, Algorithm::Danish, Latin, stopwords::DANISH),
    entry("nb", W::Nob, Algorithm::Norwegian, Latin, stopwords::NORWEGIAN),
    entry("fi", W::Fin, Algorithm::Finnish, Latin, stopwords::FINNISH),
    entry("hu", W::Hun, Algorithm::Hungarian, Latin, stopwords::HUNGARIAN),
    entry("ro", W::Ron, Algorithm::Romanian, Latin, stopwords::ROMANIAN),
    entry("ca", W::Cat, Algorithm::Catalan, Latin, stopwords::CATALAN),
    entry("cs", W::Ces, Algorithm::Czech, Latin, stopwords::CZECH),
    entry("pl", W::Pol, Algorithm::Polish, Latin, stopwords::POLISH),
    entry("id", W::Ind, Algorithm::Indonesian, Latin, stopwords::INDONESIAN),
    entry("tr", W::Tur, Algorithm::Turkish, Latin, stopwords::TURKISH),
    entry("ru", W::Rus, Algorithm::Russian, Cyrillic, stopwords::RUSSIAN),
    entry("el", W::Ell, Algorithm::Greek, Greek, stopwords::GREEK),
    entry("ar", W::Ara, Algorithm::Arabic, Arabic, stopwords::ARABIC),
    Entry { code: "und", whatlang: None, algorithm: None, alphabet: Alphabet::Other, stop: "" },
];

/// Folded stop word → languages that have it, as bits.
static STOP: LazyLock<HashMap<String, u32, BuildTermHasher>> = LazyLock::new(|| {
    let mut map: HashMap<String, u32, BuildTermHasher> = HashMap::default();
    for (index, entry) in TABLE.iter().enumerate() {
        for word in entry.stop.split_whitespace() {
            token::scan(word, &mut |t| *map.entry(t.text.to_owned()).or_default() |= 1 << index);
        }
    }
    map
});

impl Lang {
    pub(super) const ENGLISH: Self = Self(0);
    const RUSSIAN: Self = Self(18);
    const GREEK: Self = Self(19);
    const ARABIC: Self = Self(20);
    /// A language without a stemmer.
    pub(super) const UNSTEMMED: Self = Self(TABLE.len() as u8 - 1);

    /// Returns all languages, the one without a stemmer last.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        (0..TABLE.len() as u8).map(Self)
    }

    /// Returns the language with this ISO 639-1 code; `None` for one without a stemmer.
    pub(super) fn from_code(code: &str) -> Option<Self> {
        let code = if code == "no" { "nb" } else { code };
        Self::all().find(|lang| lang.code() == code)
    }

    pub(super) fn code(self) -> &'static str {
        self.entry().code
    }

    fn entry(self) -> &'static Entry {
        // Values come from the table's own indexes.
        TABLE.get(self.0 as usize).unwrap_or(&TABLE[TABLE.len() - 1])
    }

    fn bit(self) -> u32 {
        1 << self.0
    }

    /// Returns the language for stemming a word of `alphabet` on a page of this language: a Russian
    /// word on an English page is Russian.
    pub(super) fn of_word(self, alphabet: Alphabet, default: Self) -> Self {
        if self.entry().alphabet == alphabet {
            return self;
        }
        match alphabet {
            // The page's language is known and has no stemmer.
            Latin if self == Self::UNSTEMMED => self,
            Latin if default.entry().alphabet == Latin => default,
            Latin => Self::ENGLISH,
            Cyrillic => Self::RUSSIAN,
            Greek => Self::GREEK,
            Arabic => Self::ARABIC,
            Alphabet::Other => Self::UNSTEMMED,
        }
    }
}

/// Returns the alphabet of a folded word by its first character; [`Alphabet::Other`] if it has a
/// digit.
pub(super) fn alphabet(word: &str) -> Alphabet {
    if word.bytes().any(|b| b.is_ascii_digit()) {
        return Alphabet::Other;
    }
    match word.chars().next() {
        Some('a'..='z' | '\u{00DF}'..='\u{024F}') => Latin,
        Some('\u{0370}'..='\u{03FF}') => Greek,
        Some('\u{0400}'..='\u{052F}') => Cyrillic,
        Some('\u{0600}'..='\u{06FF}') => Arabic,
        _ => Alphabet::Other,
    }
}

/// Maximum number of bytes of a page that detection reads.
const SAMPLE_BYTES: usize = 1200;
/// Maximum number of words of a page that detection reads.
const SAMPLE_WORDS: u32 = 120;

/// A language of Latin script has at least one stop word among so many words of a page.
const MIN_STOP_WORDS: u32 = 16;

/// Detects the language of `text`; returns `default` when it is unclear. Languages without a
/// stemmer are [`Lang::UNSTEMMED`].
///
/// Stop words decide if they can (60 times faster than trigrams on English notes). Otherwise
/// trigrams decide, on texts long enough to be sure.
pub(super) fn detect(text: &str, default: Lang) -> Lang {
    let sample = token::head(text, SAMPLE_BYTES);
    let mut counts = [0_u32; TABLE.len()];
    let mut words = 0;
    let mut pair_count = 0;
    let mut has_non_ascii = false;
    token::scan(sample, &mut |t| match t.kind {
        token::Kind::Word if words < SAMPLE_WORDS => {
            words += 1;
            has_non_ascii |= !t.text.is_ascii();
            let mut bits = STOP.get(t.text).copied().unwrap_or(0);
            while bits != 0 {
                counts[bits.trailing_zeros() as usize] += 1;
                bits &= bits - 1;
            }
        }
        token::Kind::Pair => pair_count += 1,
        _ => {}
    });
    // Chinese, Japanese, Korean, Thai: pairs need no stemmer, and Latin words use the default
    // language.
    if words < 8 || pair_count > words * 2 {
        return default;
    }
    let mut best = 0;
    let mut second = 0;
    let mut winner = 0;
    for (index, &count) in counts.iter().enumerate() {
        if count > best {
            second = best;
            best = count;
            winner = index;
        } else if count > second {
            second = count;
        }
    }
    if best * 8 >= words && best * 2 >= second * 3 {
        return Lang(winner as u8);
    }
    if words < 20 && !has_non_ascii {
        return default;
    }
    // Trigrams find only languages of Latin script here, and each has too few stop words: see
    // below.
    if sample.is_ascii() && best * MIN_STOP_WORDS < words {
        return default;
    }
    let Some(info) = whatlang::detect(sample) else { return default };
    if !info.is_reliable() || info.confidence() < 0.9 {
        return default;
    }
    // A language that shares no stop words with the page is a wrong guess (lists, code, names).
    match Lang::all().find(|lang| lang.entry().whatlang == Some(info.lang())) {
        Some(lang)
            if lang.entry().alphabet != Latin
                || counts[lang.0 as usize] * MIN_STOP_WORDS >= words =>
        {
            lang
        }
        Some(_) => default,
        None if info.script() == whatlang::Script::Latin && !has_non_ascii => default,
        None => Lang::UNSTEMMED,
    }
}

/// Returns the language of a question with these folded words, by its stop words. It is one of the
/// corpus's `languages`, unless at least two more of the words than in each of `languages` are stop
/// words of another language: `week end` has a stop word of Danish.
pub(super) fn of_question(words: &[&str], languages: &[Lang]) -> Option<Lang> {
    let bits: Vec<u32> = words.iter().map(|w| STOP.get(*w).copied().unwrap_or(0)).collect();
    let count = |lang: Lang| bits.iter().filter(|&&b| b & lang.bit() != 0).count();
    let of_corpus = languages.iter().map(|lang| count(*lang)).max().unwrap_or(0);
    let is_other = |lang: &Lang| !languages.contains(lang) && count(*lang) >= of_corpus + 2;
    let others = Lang::all().filter(is_other);
    let mut best: Option<(usize, Lang)> = None;
    for lang in languages.iter().copied().chain(others) {
        let n = count(lang);
        if n > best.map_or(0, |(most, _)| most) {
            best = Some((n, lang));
        }
    }
    best.map(|(_, lang)| lang)
}

/// Returns whether a folded word is a stop word in one of `languages`.
pub(super) fn is_stop_word(word: &str, languages: &[Lang]) -> bool {
    let bits = STOP.get(word).copied().unwrap_or(0);
    languages.iter().any(|lang| bits & lang.bit() != 0)
}

/// Returns whether a folded word is a stop word in any language.
pub(super) fn is_stop_word_of_any_language(word: &str) -> bool {
    STOP.contains_key(word)
}

/// Returns the words of a question that are stop words in one language: that of `languages` in
/// which most of them are. Empty when all words are stop words.
pub(super) fn stop_words<'a>(words: &[&'a str], languages: &[Lang]) -> HashSet<&'a str> {
    let bits: Vec<u32> = words.iter().map(|w| STOP.get(*w).copied().unwrap_or(0)).collect();
    let count = |lang: Lang| bits.iter().filter(|&&b| b & lang.bit() != 0).count();
    let mut best = (0, None);
    for &lang in languages {
        let n = count(lang);
        if n > best.0 {
            best = (n, Some(lang));
        }
    }
    match best {
        (n, Some(lang)) if n < words.len() => words
            .iter()
            .zip(&bits)
            .filter(|(_, b)| **b & lang.bit() != 0)
            .map(|(w, _)| *w)
            .collect(),
        _ => HashSet::new(),
    }
}

/// Returns the stem of the folded `word` in `lang`; the word itself if it has no ending.
pub(super) fn stem(word: &str, lang: Lang) -> Cow<'_, str> {
    // Two letters have no ending.
    let (Some(algorithm), 3..) = (lang.entry().algorithm, word.len()) else {
        return Cow::Borrowed(word);
    };
    let stem = Stemmer::new(algorithm).stem(word);
    if stem.is_empty() { Cow::Borrowed(word) } else { stem }
}

/// Stems words and caches the results. Not shared between threads.
pub(super) struct Stems {
    cache: Vec<HashMap<Box<str>, Box<str>, BuildTermHasher>>,
    max_words: usize,
}

impl Stems {
    /// Creates a cache of up to `max_words` words per language (about 60 bytes each); a full cache
    /// is cleared.
    pub(super) fn new(max_words: usize) -> Self {
        Self {
            cache: std::iter::repeat_with(HashMap::default).take(TABLE.len()).collect(),
            max_words,
        }
    }

    /// Calls `f` with the stem of the folded `word` in `lang`.
    pub(super) fn with<R>(&mut self, word: &str, lang: Lang, f: impl FnOnce(&str) -> R) -> R {
        if lang.entry().algorithm.is_none() || word.len() < 3 {
            return f(word);
        }
        let Some(cache) = self.cache.get_mut(lang.0 as usize) else { return f(word) };
        if let Some(stem) = cache.get(word) {
            return f(stem);
        }
        let stem = stem(word, lang);
        let result = f(&stem);
        if self.max_words > 0 {
            if cache.len() >= self.max_words {
                cache.clear();
            }
            cache.insert(word.into(), stem.into_owned().into());
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_detected() {
        let en = Lang::ENGLISH;
        let code = |text: &str| detect(text, en).code();
        assert_eq!(code("short"), "en");
        assert_eq!(
            code(
                "Das ist ein Haus, und in dem Haus wohnt die Familie, die nicht mit der Katze \
                 spielen will."
            ),
            "de"
        );
        assert_eq!(
            code(
                "Le chat est sur la table et les enfants ne sont pas dans la maison avec nous \
                 ce soir."
            ),
            "fr"
        );
        assert_eq!(
            code(
                "Компания была основана в Москве и занимается разработкой программного \
                 обеспечения для банков и государственных учреждений по всей стране."
            ),
            "ru"
        );
        assert_eq!(
            code("fn main() { let x = 5; println!(\"{x}\"); for i in 0..9 { foo(i) } } // nothing"),
            "en"
        );
        assert_eq!(code("東京都庁は新宿区にあります。"), "en");
    }

    #[test]
    fn language_of_a_question_is_that_of_its_stop_words() {
        let corpus = [Lang::ENGLISH];
        let code = |words: &[&str]| of_question(words, &corpus).map(Lang::code);
        assert_eq!(code(&["what", "did", "ann", "say"]), Some("en"));
        assert_eq!(code(&["was", "hat", "ann", "uber", "das", "budget", "gesagt"]), Some("de"));
        assert_eq!(code(&["butce", "icin", "ne", "kadar", "para", "var"]), Some("tr"));
        assert_eq!(code(&["die", "cast"]), None, "one stop word of another language");
        let french = [Lang(2)];
        let words = ["problemes", "de", "week", "end"];
        assert_eq!(of_question(&words, &french).map(Lang::code), Some("fr"), "and Danish has two");
    }

    #[test]
    fn stop_words_are_dropped_but_never_all() {
        let langs = [Lang::ENGLISH, Lang(1)];
        assert_eq!(
            stop_words(&["how", "did", "he", "die"], &langs),
            HashSet::from(["how", "did", "he"])
        );
        assert!(stop_words(&["to", "be", "or", "not", "to", "be"], &langs).is_empty());
    }

    #[test]
    fn the_language_table_is_consistent() {
        assert_eq!(Lang::from_code("ru"), Some(Lang::RUSSIAN));
        assert_eq!(Lang::from_code("el"), Some(Lang::GREEK));
        assert_eq!(Lang::from_code("ar"), Some(Lang::ARABIC));
        assert_eq!(Lang::UNSTEMMED.code(), "und");
        assert_eq!(Lang::from_code("tlh"), None);
    }
}

//! Questions for the pages that mention something: `what links to Acme`, `which notes mention the
//! tide gauge`, `wo habe ich Acme erwähnt`. No I/O.

use std::ops::Range;

use brain_search::{QuestionTerms, QuestionWord};

use super::forms::{WHICH, WHO};
use super::function_words::{begins_with, is_any_page, is_function_word};
use super::tagged::OR;

/// Verbs for mentions in the text, and nouns for them before a word of [`OF`].
const MENTION: [&str; 41] = [
    "mention",
    "mentions",
    "mentioned",
    "mentioning",
    "referenced",
    "referencing",
    "cite",
    "cites",
    "cited",
    "citing",
    "erwahne",
    "erwahnen",
    "erwahnt",
    "erwahnte",
    "erwahnten",
    "erwahnung",
    "erwahnungen",
    "referenziert",
    "referenzieren",
    "zitiere",
    "zitieren",
    "zitiert",
    "zitierte",
    "mentionne",
    "mentionnent",
    "mentionnes",
    "mentionnee",
    "mentionnees",
    "citent",
    "citer",
    "citee",
    "mencion",
    "menciones",
    "menciona",
    "mencionan",
    "mencione",
    "menciono",
    "mencionado",
    "mencionada",
    "mencionar",
    "referencian",
];
/// Verbs for mentions before a word of [`LINK_TO`].
const REFER: [&str; 10] = [
    "refer",
    "refers",
    "referred",
    "referring",
    "refere",
    "referent",
    "refiere",
    "refieren",
    "bezieht",
    "beziehen",
];
/// Words that are verbs or nouns: `which notes reference Acme`, but not `my booking reference`.
const REFERENCE: [&str; 4] = ["reference", "references", "referencia", "referencias"];
const TALK: [&str; 2] = ["talk", "talks"];
/// Words before such a verb, besides nouns for any page.
const BEFORE_VERB: [&str; 6] = ["i", "we", "you", "they", "that", "to"];
/// Verbs with such a noun: `fait référence à Acme`.
const MAKE: [&str; 7] = ["fait", "font", "faire", "fais", "hace", "hacen", "hago"];
/// Words after such a noun.
const AFTER_NOUN: [&str; 12] =
    ["did", "do", "does", "is", "was", "are", "were", "has", "have", "of", "for", "from"];
/// Words before a noun: `the talk about oak`, `das Schreiben von Acme`.
const BEFORE_NOUN: [&str; 34] = [
    "the", "a", "an", "my", "your", "our", "his", "her", "their", "das", "dem", "des", "ein",
    "einem", "mein", "meinem", "dein", "unser", "le", "la", "les", "l", "un", "une", "mon", "ma",
    "mes", "el", "los", "las", "una", "mi", "mis", "su",
];
/// Prepositions after a noun for mentions: `mentions of Acme`.
const OF: [&str; 6] = ["of", "de", "del", "des", "von", "der"];
/// Beginnings of words for links.
const LINK: [&str; 12] = [
    "backlink",
    "verlink",
    "verweis",
    "ruckverweis",
    "renvo",
    "enlaz",
    "enlace",
    "link",
    "lien",
    "point",
    "pointent",
    "apunta",
];
/// Nouns that are a question by themselves: `backlinks of Acme`.
const BACKLINKS: [&str; 4] = ["backlink", "backlinks", "ruckverweise", "retroliens"];
/// Words after a verb or noun for a link: `links to Acme`.
const LINK_TO: [&str; 11] =
    ["to", "with", "auf", "zu", "mit", "a", "au", "vers", "con", "hacia", "al"];
/// Articles before a noun for one link, which asks for an address: `the link to the wiki`.
const ONE_LINK: [&str; 10] = ["the", "a", "der", "den", "ein", "einen", "le", "un", "el", "enlace"];
/// Verbs before such a noun: `pages that have a link to the wiki`.
const HAVE: [&str; 8] = ["have", "has", "having", "haben", "ont", "tienen", "contain", "with"];
/// Verbs that need a word for `about`: `where did I write about Acme`.
const SPEAK: [&str; 43] = [
    "talked",
    "talking",
    "speak",
    "speaks",
    "spoke",
    "spoken",
    "speaking",
    "write",
    "writes",
    "wrote",
    "written",
    "writing",
    "schreibe",
    "schreiben",
    "schrieb",
    "schrieben",
    "geschrieben",
    "spreche",
    "sprechen",
    "sprach",
    "sprachen",
    "gesprochen",
    "parle",
    "parlent",
    "parlons",
    "parlait",
    "ecrit",
    "ecris",
    "ecrivent",
    "ecrivons",
    "habla",
    "hablan",
    "hable",
    "hablo",
    "hablamos",
    "hablado",
    "escribe",
    "escriben",
    "escribi",
    "escribio",
    "escribo",
    "escribimos",
    "escrito",
];
const ABOUT: [&str; 6] = ["about", "uber", "von", "de", "sur", "sobre"];
/// Words that ask for a place.
const WHERE: [&str; 6] = ["where", "wo", "ou", "donde", "onde", "dove"];
/// Number of words at the beginning of a question in which its question word stands.
const FIRST_WORDS: usize = 4;

/// Words for daily notes, as kinds of pages: `which days link to Acme`.
const DAYS: [&str; 10] =
    ["day", "days", "tag", "tage", "tagen", "jour", "jours", "journee", "dia", "dias"];

/// Returns whether the word for a kind stands for daily notes.
pub fn is_day_word(word: &QuestionWord) -> bool {
    DAYS.contains(&word.text.as_str())
}

/// A question for the pages that mention something. Its words are indices of
/// [`QuestionTerms::words`].
#[derive(Debug, PartialEq, Eq)]
pub struct MentionQuestion {
    /// Whether only links count, not names in the text.
    pub is_for_links: bool,
    /// The word for the kind of the pages, if they must be of a kind.
    pub kind: Option<usize>,
    /// The words of what is mentioned.
    pub target: Range<usize>,
}

/// Returns what a question for mentions asks for; `None` for any other question.
pub fn mention_question(terms: &QuestionTerms) -> Option<MentionQuestion> {
    let words = &terms.words;
    let word = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
    let (trigger, is_for_links) = (0..words.len()).find_map(|at| trigger(terms, at))?;
    let first = words.len().min(FIRST_WORDS);
    // `who or what links to Acme` asks for pages, too.
    let is_who = |at: usize| WHO.contains(&word(at)) && word(at) != "qui" && word(at + 1) != "or";
    if (0..first).any(is_who) {
        return None;
    }
    let asks = (0..first).any(|at| {
        WHICH.contains(&word(at))
            || WHERE.contains(&word(at))
            || is_any_page(&words[at])
            || ["was", "qu", "quest", "quoi"].contains(&word(at))
    });
    // `backlinks of Acme`, `mentions of Acme`
    let is_noun = is_for_links || ["of", "de", "del", "von", "der"].contains(&word(trigger + 1));
    if !asks && (trigger > 1 || !is_noun) {
        return None;
    }
    // `what refers back to Acme`, `fait référence à Acme`
    let is_of_verb = |at: usize| {
        (at == trigger + 1 && word(at) == "back") || (at + 1 == trigger && MAKE.contains(&word(at)))
    };
    let is_content = |at: &usize| {
        *at != trigger
            && !is_of_verb(*at)
            && !is_function_word(&words[*at])
            && !is_any_page(&words[*at])
    };
    let after: Vec<usize> = (trigger + 1..words.len()).filter(is_content).collect();
    let before: Vec<usize> = (0..trigger).filter(is_content).collect();
    let (kind, target) = match (after.as_slice(), before.as_slice()) {
        ([], []) => return None,
        // `what is the last mention`
        ([], _) if is_what_is(terms) => return None,
        ([_, ..], []) => (None, after),
        // `which meetings mention Acme`
        ([_, ..], [kind]) => (Some(*kind), after),
        ([_, ..], _) => return None,
        // `what does Acme mention`
        ([], [subject, ..]) if has_subject(terms, *subject) => return None,
        // `in welchen Treffen habe ich Acme erwähnt`
        ([], [kind, ..]) => {
            let is_kind = *kind > 0 && before.len() > 1 && WHICH.contains(&word(*kind - 1));
            (is_kind.then_some(*kind), before[usize::from(is_kind)..].to_vec())
        }
    };
    let (first, last) = (*target.first()?, *target.last()?);
    Some(MentionQuestion { is_for_links, kind, target: first..last + 1 })
}

/// Returns the parts of a target of which a page mentions at least one: `rope or kelp`.
pub fn alternatives(terms: &QuestionTerms, target: &Range<usize>) -> Vec<Range<usize>> {
    let words: Vec<usize> = target.clone().collect();
    let is_or =
        |at: &usize| terms.words.get(*at).is_some_and(|word| OR.contains(&word.text.as_str()));
    let parts = words.split(is_or).filter_map(|part| Some(*part.first()?..*part.last()? + 1));
    parts.collect()
}

/// Returns whether what stands at `at` is what mentions, rather than what is mentioned: `what does
/// Acme mention`, `which pages does Acme link to`.
fn has_subject(terms: &QuestionTerms, at: usize) -> bool {
    let word = |at: usize| terms.words.get(at).map_or("", |word| word.text.as_str());
    let mut before = (0..at).rev().map(word).skip_while(|it| BEFORE_NOUN.contains(it));
    before.next().is_some_and(|it| ["do", "does", "did"].contains(&it))
}

/// Returns `at` if the word there asks for mentions, and whether it asks for links.
fn trigger(terms: &QuestionTerms, at: usize) -> Option<(usize, bool)> {
    let word = |at: usize| terms.words.get(at).map_or("", |word| word.text.as_str());
    let text = word(at);
    if is_mention(terms, at) {
        return Some((at, false));
    }
    let before = at.checked_sub(1).map_or("", word);
    if BACKLINKS.contains(&text) {
        return Some((at, true));
    }
    let is_one_link =
        ONE_LINK.contains(&before) && !at.checked_sub(2).is_some_and(|at| HAVE.contains(&word(at)));
    if begins_with(text, &LINK) && !is_one_link {
        let is_verb = begins_with(text, &["verlink", "renvo", "enlaz"]);
        let next = if word(at + 1) == "back" { at + 2 } else { at + 1 };
        let leads = LINK_TO.contains(&word(next));
        return (is_verb || leads).then_some((at, true));
    }
    let speaks = (SPEAK.contains(&text) && !BEFORE_NOUN.contains(&before))
        || (TALK.contains(&text) && is_verb(terms, at));
    let is_about =
        speaks && (at.saturating_sub(3)..=at + 2).any(|near| ABOUT.contains(&word(near)));
    is_about.then_some((at, false))
}

/// Returns whether the word at `at` asks for mentions in the text.
fn is_mention(terms: &QuestionTerms, at: usize) -> bool {
    let word = |at: usize| terms.words.get(at).map_or("", |word| word.text.as_str());
    let before = |count: usize| at.checked_sub(count).map_or("", word);
    let text = word(at);
    let leads = || (1..=2).any(|next| LINK_TO.contains(&word(at + next)));
    if MENTION.contains(&text) {
        let is_noun = begins_with(text, &["mention", "mencion", "erwahnung"]);
        return !BEFORE_NOUN.contains(&before(1)) || (is_noun && OF.contains(&word(at + 1)));
    }
    if REFERENCE.contains(&text) {
        let has = (1..=2).any(|count| HAVE.contains(&before(count)));
        return is_verb(terms, at) || (has && leads());
    }
    REFER.contains(&text) && leads()
}

/// Returns whether a word that can be a noun is a verb: it stands after its subject and before an
/// object.
fn is_verb(terms: &QuestionTerms, at: usize) -> bool {
    let word = |at: usize| terms.words.get(at).map_or("", |word| word.text.as_str());
    let Some(before) = at.checked_sub(1) else { return false };
    let is_of_plural = before.checked_sub(1).is_some_and(|at| WHICH.contains(&word(at)))
        && word(before).ends_with('s');
    // `which references Acme`, but not `which reference`
    let is_of_question = WHICH.contains(&word(before)) && word(at).ends_with('s');
    let has_subject = is_of_plural
        || is_of_question
        || BEFORE_VERB.contains(&word(before))
        || MAKE.contains(&word(before))
        || is_any_page(&terms.words[before]);
    has_subject && at + 1 < terms.words.len() && !AFTER_NOUN.contains(&word(at + 1))
}

/// Returns whether a question asks what something is: `what is my booking reference`.
fn is_what_is(terms: &QuestionTerms) -> bool {
    const WHAT: [&str; 8] = ["what", "was", "quel", "quelle", "quels", "quelles", "cual", "que"];
    const IS: [&str; 8] = ["is", "was", "are", "were", "ist", "war", "est", "es"];
    let word = |at: usize| terms.words.get(at).map_or("", |word| word.text.as_str());
    word(0) == "whats" || (WHAT.contains(&word(0)) && IS.contains(&word(1)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::forms::tests::terms;
    use super::*;

    /// Returns the kind, the words of the target, and whether the question asks for links.
    fn parsed(text: &str) -> Option<(String, String, bool)> {
        let terms = terms(text);
        let question = mention_question(&terms)?;
        let word = |at: usize| terms.words[at].text.clone();
        let target: Vec<String> = question.target.map(word).collect();
        Some((question.kind.map(word).unwrap_or_default(), target.join(" "), question.is_for_links))
    }

    #[test]
    fn target_and_kind_are_read() {
        for (text, kind, target, links) in [
            ("what links to Night Ferry?", "", "night ferry", true),
            ("which pages link to the Night Ferry", "", "night ferry", true),
            ("backlinks of Night Ferry", "", "night ferry", true),
            ("mentions of Night Ferry", "", "night ferry", false),
            ("show everything that links to Night Ferry", "", "night ferry", true),
            ("Which notes mention Night Ferry?", "", "night ferry", false),
            ("where did I mention the tide gauge", "", "tide gauge", false),
            ("where have I written about oak", "", "oak", false),
            ("notes that refer to Night Ferry", "", "night ferry", false),
            ("which meetings mention Ann", "meetings", "ann", false),
            ("which notes reference Night Ferry", "", "night ferry", false),
            ("what references Night Ferry", "", "night ferry", false),
            ("which meetings reference Ann", "meetings", "ann", false),
            ("where did I reference oak", "", "oak", false),
            ("notes with a reference to Night Ferry", "", "night ferry", false),
            ("what refers back to Night Ferry", "", "night ferry", false),
            ("which notes cite Night Ferry", "", "night ferry", false),
            ("show the mentions of Night Ferry", "", "night ferry", false),
            ("which notes talk about oak", "", "oak", false),
            ("where is Night Ferry mentioned", "", "night ferry", false),
            ("quelles notes font référence à Bateau", "", "bateau", false),
            ("qué notas hacen referencia a Barco", "", "barco", false),
            ("on which days did I mention Ann", "days", "ann", false),
            ("what days link to Night Ferry?", "days", "night ferry", true),
            ("an welchen Tagen habe ich Nachtboot erwähnt", "tagen", "nachtboot", false),
            ("quels jours mentionnent Bateau ?", "jours", "bateau", false),
            ("¿qué días mencionan Barco?", "dias", "barco", false),
            ("was verlinkt auf Nachtboot", "", "nachtboot", true),
            ("Welche Seiten verweisen auf das Nachtboot?", "", "nachtboot", true),
            ("welche Notizen erwähnen Nachtboot", "", "nachtboot", false),
            ("Wo habe ich das Nachtboot erwähnt?", "", "nachtboot", false),
            ("in welchen Treffen habe ich Nachtboot erwähnt", "treffen", "nachtboot", false),
            ("wo habe ich über Eichen geschrieben", "", "eichen", false),
            ("quelles notes mentionnent Bateau", "", "bateau", false),
            ("où ai-je mentionné le Bateau ?", "", "bateau", false),
            ("qu'est-ce qui renvoie à Bateau ?", "", "bateau", true),
            ("quelles pages ont un lien vers Bateau", "", "bateau", true),
            ("¿qué enlaza a Barco?", "", "barco", true),
            ("¿Dónde mencioné el Barco?", "", "barco", false),
            ("qué notas mencionan Barco", "", "barco", false),
            ("quelles pages pointent vers Bateau ?", "", "bateau", true),
            ("who or what links to Night Ferry", "", "night ferry", true),
        ] {
            let expected = (kind.to_owned(), target.to_owned(), links);
            assert_eq!(parsed(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_questions_ask_for_no_mentions() {
        for text in [
            "what is the link to the wiki",
            "how do I link to a heading",
            "who mentioned the budget",
            "link budget of the antenna",
            "the reference manual",
            "what is my booking reference",
            "what's my booking reference?",
            "which booking reference did Acme send",
            "what reference manual do I use",
            "where is my booking reference for Acme",
            "where is the talk about oak",
            "what is my garden talk about oak",
            "who is the referee of the final",
            "what is the referral code of Acme",
            "wo ist das Schreiben von Acme",
            "wo ist der Schreibtisch von Ann",
            "quelle est ma référence de réservation",
            "¿cuál es mi referencia de reserva?",
            "who wrote about ferries",
            "what did Ann write",
            "what does Night Ferry link to?",
            "where does the Night Ferry link to",
            "which notes does Night Ferry mention?",
            "what did Ann Lee mention?",
            "mention",
            "",
        ] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }
}

//! Questions for the pages that mention something: `what links to Acme`, `which notes mention the
//! tide gauge`, `wo habe ich Acme erwähnt`. No I/O.

use std::ops::Range;

use brain_search::{QuestionTerms, QuestionWord};

use super::forms::{WHICH, WHO};
use super::function_words::{begins_with, is_any_page, is_function_word};

/// Beginnings of words for mentions in the text.
const MENTION: [&str; 8] =
    ["mention", "erwahn", "mencion", "referenc", "refer", "zitier", "citer", "cite"];
/// Beginnings of words for links.
const LINK: [&str; 9] =
    ["backlink", "verlink", "verweis", "ruckverweis", "renvo", "enlaz", "enlace", "link", "lien"];
/// Nouns that are a question by themselves: `backlinks of Acme`.
const BACKLINKS: [&str; 4] = ["backlink", "backlinks", "ruckverweise", "retroliens"];
/// Words after a verb or noun for a link: `links to Acme`.
const LINK_TO: [&str; 11] =
    ["to", "with", "auf", "zu", "mit", "a", "au", "vers", "con", "hacia", "al"];
/// Articles before a noun for one link, which asks for an address: `the link to the wiki`.
const ONE_LINK: [&str; 10] = ["the", "a", "der", "den", "ein", "einen", "le", "un", "el", "enlace"];
/// Verbs before such a noun: `pages that have a link to the wiki`.
const HAVE: [&str; 8] = ["have", "has", "having", "haben", "ont", "tienen", "contain", "with"];
/// Beginnings of verbs that need a word for `about`: `where did I write about Acme`.
const SPEAK: [&str; 13] = [
    "talk",
    "speak",
    "spoke",
    "write",
    "wrote",
    "written",
    "schreib",
    "geschrieb",
    "sprech",
    "parle",
    "ecri",
    "habl",
    "escrib",
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
    if (0..first).any(|at| WHO.contains(&word(at)) && word(at) != "qui") {
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
    let is_content =
        |at: &usize| *at != trigger && !is_function_word(&words[*at]) && !is_any_page(&words[*at]);
    let after: Vec<usize> = (trigger + 1..words.len()).filter(is_content).collect();
    let before: Vec<usize> = (0..trigger).filter(is_content).collect();
    let (kind, target) = match (after.as_slice(), before.as_slice()) {
        ([], []) => return None,
        ([_, ..], []) => (None, after),
        // `which meetings mention Acme`
        ([_, ..], [kind]) => (Some(*kind), after),
        ([_, ..], _) => return None,
        // `in welchen Treffen habe ich Acme erwähnt`
        ([], [kind, ..]) => {
            let is_kind = *kind > 0 && before.len() > 1 && WHICH.contains(&word(*kind - 1));
            (is_kind.then_some(*kind), before[usize::from(is_kind)..].to_vec())
        }
    };
    let (first, last) = (*target.first()?, *target.last()?);
    Some(MentionQuestion { is_for_links, kind, target: first..last + 1 })
}

/// Returns `at` if the word there asks for mentions, and whether it asks for links.
fn trigger(terms: &QuestionTerms, at: usize) -> Option<(usize, bool)> {
    let word = |at: usize| terms.words.get(at).map_or("", |word| word.text.as_str());
    let text = word(at);
    if begins_with(text, &MENTION) {
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
    let is_about = begins_with(text, &SPEAK) && {
        (at.saturating_sub(3)..=at + 2).any(|near| ABOUT.contains(&word(near)))
    };
    is_about.then_some((at, false))
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
            "who wrote about ferries",
            "what did Ann write",
            "mention",
            "",
        ] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }
}

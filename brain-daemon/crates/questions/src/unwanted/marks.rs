//! Words that exclude what stands beside them: `but not X`, `X is not mentioned`. No I/O.
//!
//! In a mark, `|` stands between words for the same place.

use std::iter;

/// Words after which everything is excluded, also in whole sentences.
pub(super) const CLEAR_MARKS: &[&str] = &[
    "not mentioning|including",
    "that|which|who do|does|did not mention|contain|include|involve|cover",
    "that|which|who don't|doesn't|didn't mention|contain|include|involve|cover",
    "that|which|who have|has nothing to do with",
    "that|which is|are not about",
    "that|which isn't|aren't about",
    "with nothing to do with",
    "with nothing about",
    "but not|no|without",
    "but nothing about|on",
    "but leave out",
    "and not|NOT",
    "NOT",
    "and nothing about",
    "anything|everything but",
    "other than",
    "apart|aside from",
    "except|excepting|excluding",
    "leaving out",
    "aber nicht|ohne|kein|keine|keinen",
    "aber nichts über|zu",
    "jedoch nicht|ohne|kein|keine|keinen",
    "und nicht",
    "nicht aber",
    "ohne dass|daß",
    "abgesehen von",
    "mit ausnahme von",
    "ausgenommen",
    "außer|ausser",
    "qui ne mentionne|mentionnent|parle|parlent|contient|contiennent pas",
    "mais pas|sans",
    "mais rien sur",
    "et pas|non",
    "à part|exception",
    "excepté",
    "sauf",
    "hormis",
    "que no menciona|mencionan|mencione|mencionen",
    "que no sea|sean|contenga|contengan|hable|hablen",
    "pero no|sin",
    "pero nada de",
    "y no",
    "excluyendo",
    "a excepción",
    "excepto",
    "salvo",
];
/// The same after a word for pages: `which notes about tea do not mention X`. Elsewhere they are
/// said of other things: `regex that ignores case`.
pub(super) const PAGE_MARKS: &[&str] = &[
    "do|does|did not mention|contain|include|involve|cover",
    "don't|doesn't|didn't mention|contain|include|involve|cover",
    "that|which skip|skips|omit|omits|exclude|excludes|lack|lacks|ignore|ignores",
    "that|which leave|leaves out",
    "lacking|omitting|ignoring|skipping",
    "en las|los que no aparece|aparecen|figura|figuran",
];
/// The same if one of [`VERBS_AT_END`] is the last word: `in which no X is mentioned`.
pub(super) const CLAUSE_MARKS: &[&str] = &["in|on which no", "in denen|dem|der kein|keine|keinen"];
pub(super) const VERBS_AT_END: &[&str] = &[
    "is",
    "are",
    "mentioned",
    "appears",
    "appear",
    "vorkommt",
    "vorkommen",
    "steht",
    "erwähnt",
    "wird",
    "werden",
    "auftaucht",
];
/// Words after which something is excluded if the question is a list of words.
pub(super) const MARKS: &[&str] =
    &["without", "w/o", "with no", "minus", "ohne", "bis auf", "sans", "sin", "menos"];
/// Words that exclude after a comma or a bracket.
pub(super) const MARKS_AFTER_COMMA: &[&str] = &[
    "not|no",
    "nothing about",
    "nicht|kein|keine|keinen",
    "nichts über",
    "pas|non",
    "rien sur",
    "nada de",
];
/// Words at the end of a question that exclude what stands before them.
pub(super) const MARKS_AT_END: &[&str] = &[
    "is|are|was|were not mentioned|discussed",
    "isn't|aren't|wasn't|weren't mentioned|discussed",
    "not mentioned|discussed",
    "nicht vorkommt|vorkommen|erwähnt|erwähnen",
    "nicht erwähnt wird|werden|ist|sind",
    "n'est|ne sont pas mentionné|mentionnée|mentionnés|mentionnées",
    "no se menciona|mencionan",
];
/// The same after a word for pages: `dialog where the button does not appear` is about the button.
pub(super) const PAGE_MARKS_AT_END: &[&str] = &[
    "do|does|did not appear|occur",
    "don't|doesn't|didn't appear|occur",
    "not included",
    "left out",
    "n'apparaît|n'apparaissent pas",
];
/// Words before what such an end excludes; a comma is enough.
pub(super) const BEGINNINGS: &[&str] = &[
    "in|on which",
    "where",
    "with|mit|avec|con",
    "in denen|der|dem",
    "wo",
    "dans lesquelles|lesquels|laquelle|lequel",
    "où",
    "en las|los|la|el que",
    "en que",
    "donde",
];
/// Words after a mark with which it excludes nothing: `not only`, `last but not least`.
pub(super) const PHRASES_AFTER_MARK: &[&str] = &[
    "only",
    "just",
    "least",
    "to",
    "yet",
    "nur",
    "bloß",
    "zuletzt",
    "seulement",
    "solo",
    "sólo",
    "solamente",
];
/// How texts go on after a word that excludes: `without a password`.
pub(super) const FILLERS_AFTER_MARK: [(&str, &[&str]); 4] = [
    ("without", &["without", "without a", "without any", "without the"]),
    ("ohne", &["ohne", "ohne den", "ohne die", "ohne ein"]),
    ("sans", &["sans", "sans le", "sans la", "sans les"]),
    ("sin", &["sin", "sin el", "sin la", "sin los"]),
];

/// Returns the number of words of the longest of these marks with which `words` begin.
pub(super) fn mark_length<'w>(
    words: &(impl Iterator<Item = &'w str> + Clone),
    marks: &[&str],
) -> Option<usize> {
    let lengths = marks.iter().filter_map(|mark| {
        let mut own = words.clone();
        let fits =
            |place: &str| own.next().is_some_and(|word| place.split('|').any(|it| it == word));
        mark.split(' ').all(fits).then(|| mark.split(' ').count())
    });
    lengths.max()
}

/// Returns whether a word alone excludes in a list of words, or after a comma.
pub(super) fn is_mark(word: &str) -> bool {
    let is_one_of = |marks| mark_length(&iter::once(word), marks) == Some(1);
    [MARKS, MARKS_AFTER_COMMA].into_iter().any(is_one_of)
}

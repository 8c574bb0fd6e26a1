//! Words for the newest and the oldest page: `latest`, `älteste`, `la plus ancienne`. No I/O.

use brain_search::{QuestionTerms, QuestionWord};

use super::times::{Order, Times, is_order_word};

/// Words before an adjective that make it a superlative.
const MOST: [&str; 2] = ["plus", "mas"];
/// Adjectives that ask for an order after a word of [`MOST`] only: `l'ancienne maison` is no order.
const NEWER: [&str; 10] = [
    "recent",
    "nouveau",
    "nouvel",
    "nouvelle",
    "nouvelles",
    "nuevo",
    "nueva",
    "nuevos",
    "nuevas",
    "actual",
];
const OLDER: [&str; 14] = [
    "ancien",
    "ancienne",
    "anciens",
    "anciennes",
    "vieux",
    "vieil",
    "vieille",
    "vieilles",
    "antiguo",
    "antigua",
    "antiguos",
    "antiguas",
    "viejo",
    "vieja",
];
/// German superlatives without their endings.
const NEWEST: [&str; 3] = ["neuest", "jungst", "aktuellst"];
const OLDEST: [&str; 2] = ["altest", "fruhest"];
const ENDINGS: [&str; 5] = ["e", "en", "er", "es", "em"];

/// Returns the order that a question asks for: that of its [`Times`], else that of a superlative.
pub fn order_of(terms: &QuestionTerms, times: &Times) -> Option<Order> {
    let superlative = || (0..terms.words.len()).find_map(|at| superlative(&terms.words, at));
    times.order.as_ref().map(|(order, _)| *order).or_else(superlative)
}

/// Returns whether the word at `at` asks for an order, or stands before one that does.
pub(crate) fn is_order(words: &[QuestionWord], at: usize) -> bool {
    let asks = |at: usize| {
        words.get(at).is_some_and(|word| is_order_word(&word.text))
            || superlative(words, at).is_some()
    };
    asks(at) || (is_most(words, at) && asks(at + 1))
}

/// Returns whether the word at `at` makes a superlative of the next one: `la plus récente`.
pub(crate) fn is_most(words: &[QuestionWord], at: usize) -> bool {
    MOST.contains(&text(words, at))
}

/// Returns the order that the superlative at `at` asks for.
fn superlative(words: &[QuestionWord], at: usize) -> Option<Order> {
    let word = text(words, at);
    let has_most = at.checked_sub(1).is_some_and(|before| is_most(words, before));
    let is_german = |roots: &[&str]| {
        let endings = roots.iter().filter_map(|root| word.strip_prefix(root));
        endings.into_iter().any(|ending| ENDINGS.contains(&ending))
    };
    match () {
        () if (has_most && NEWER.contains(&word)) || is_german(&NEWEST) => Some(Order::Newest),
        () if (has_most && OLDER.contains(&word)) || is_german(&OLDEST) => Some(Order::Oldest),
        () => None,
    }
}

fn text(words: &[QuestionWord], at: usize) -> &str {
    words.get(at).map_or("", |word| word.text.as_str())
}

#[cfg(test)]
mod tests {
    use super::super::forms::tests::terms;
    use super::*;

    #[test]
    fn superlatives_ask_for_an_order() {
        let today = "2026-11-23".parse().unwrap_or_default();
        let order = |text: &str| order_of(&terms(text), &Times::of(text, today));
        for (text, expected) in [
            ("le devis le plus ancien", Some(Order::Oldest)),
            ("la lettre la plus vieille", Some(Order::Oldest)),
            ("la plus nouvelle des lettres", Some(Order::Newest)),
            ("el pedido más antiguo", Some(Order::Oldest)),
            ("la carta más nueva", Some(Order::Newest)),
            ("mein ältester Brief", Some(Order::Oldest)),
            ("in der jüngsten Mail", Some(Order::Newest)),
            ("dernier devis", Some(Order::Newest)),
            ("l'ancienne maison", None),
            ("la nouvelle cuisine", None),
            ("plus de lettres", None),
        ] {
            assert_eq!(order(text), expected, "{text}");
        }
        let mas = terms("el pedido más antiguo");
        assert!(is_order(&mas.words, 2) && is_order(&mas.words, 3) && !is_order(&mas.words, 1));
    }
}

//! Pages that a question is about, because it names them: `how does Night Ferry work`. No I/O.

use brain_search::{QuestionTerms, Subject};

use super::forms::PAGE_CONTENT;

/// The bonus of a page whose name is all that the question says, where the best text score is 1.
const WEIGHT: f32 = 1.0;
/// The factor for a name of one word, which is often an ordinary word.
const ONE_WORD_FACTOR: f32 = 0.5;

/// Returns the pages that the question names, each with its bonus. It grows with the share of the
/// question's words that are in the name.
pub fn named_pages(terms: &QuestionTerms) -> Vec<(u64, f32)> {
    let is_content = |at: &usize| {
        let word = &terms.words[*at];
        !word.is_stop_word && !PAGE_CONTENT.contains(&word.text.as_str())
    };
    let content = (0..terms.words.len()).filter(is_content).count();
    let bonus = |subject: &Subject| {
        let of_name = subject.words.clone().filter(is_content).count();
        let factor = if of_name < 2 { ONE_WORD_FACTOR } else { 1.0 };
        WEIGHT * factor * of_name as f32 / content.max(1) as f32
    };
    let pages = |subject: &Subject| {
        let bonus = bonus(subject);
        subject.pages.iter().map(|page| (*page, bonus)).collect::<Vec<_>>()
    };
    terms.subjects.iter().flat_map(pages).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use brain_search::QuestionWord;

    #[test]
    fn bonus_grows_with_the_share_of_the_name() {
        let words = |text: &str| -> Vec<QuestionWord> {
            let word = |word: &str| {
                let mut out = QuestionWord::new(word);
                out.is_stop_word = ["how", "does"].contains(&word);
                out
            };
            text.split(' ').map(word).collect()
        };
        let bonus = |text: &str, name: std::ops::Range<usize>| {
            let subjects = vec![Subject { words: name, pages: vec![7] }];
            let terms = QuestionTerms { text: text.into(), words: words(text), subjects };
            let pages = named_pages(&terms);
            assert_eq!(pages.len(), 1);
            pages[0].1
        };
        let whole = bonus("notes night ferry", 1..3);
        assert!((whole - WEIGHT).abs() < 1e-6, "words for a page do not count: {whole}");
        assert!(bonus("how does night ferry work", 2..4) < whole);
        assert!(bonus("how does ferry work", 2..3) < bonus("how does night ferry work", 2..4));
    }
}

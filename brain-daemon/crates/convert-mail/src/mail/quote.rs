//! Folds quoted history: text that an earlier message of the thread has already.
//!
//! Each text stays in the page once. A quoted line is folded only if its words stand in the same
//! order in the text before it. Programs break quoted lines anew, so words are compared, not lines.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// How many words in a row are compared.
const RUN: usize = 4;
/// What stands in the place of folded lines.
const FOLDED: &str = "> …";
/// How the line begins with which Outlook and others introduce a quoted message, in lower case.
const ORIGINAL: [&str; 9] = [
    "original message",
    "ursprüngliche nachricht",
    "message d'origine",
    "mensaje original",
    "mensagem original",
    "messaggio originale",
    "oorspronkelijk bericht",
    "forwarded message",
    "original-nachricht",
];
/// Names of the first line of such a message, in lower case.
const FROM: [&str; 10] = ["from", "von", "de", "da", "van", "från", "fra", "lähettäjä", "od", "от"];

/// The text of a page so far.
#[derive(Default)]
pub(super) struct Seen {
    /// Checksums of runs of words, and of whole lines that are shorter.
    runs: HashSet<u64>,
    /// The last words, for runs that go on.
    last: Vec<u64>,
}

impl Seen {
    /// Returns the markdown of a message without quoted text that was seen before, and adds the
    /// rest to what was seen.
    pub(super) fn fold(&mut self, markdown: &str) -> String {
        let lines: Vec<&str> = markdown.split('\n').collect();
        let original = lines.iter().enumerate().position(|(n, _)| is_original(&lines[n..]));
        let original = original.unwrap_or(lines.len());
        let mut out: Vec<&str> = Vec::with_capacity(lines.len());
        let mut rest = &lines[..];
        while let Some(first) = rest.first() {
            let is_quote = |at: usize, line: &str| line.starts_with('>') || at >= original;
            let start = lines.len() - rest.len();
            let kind = is_quote(start, first);
            let len = rest.iter().enumerate();
            let len = len.take_while(|(n, line)| is_quote(start + n, line) == kind).count();
            let (block, after) = rest.split_at(len);
            match kind {
                true => self.fold_block(block, &mut out),
                false => out.extend(block),
            }
            rest = after;
        }
        for line in &out {
            self.add(line);
        }
        self.last.clear();
        out.join("\n").trim_matches('\n').to_owned()
    }

    /// Adds the lines of a block that were not seen, and a mark for the others.
    fn fold_block<'a>(&self, block: &[&'a str], out: &mut Vec<&'a str>) {
        let known = self.known(block);
        // A table or code block is only folded as a whole.
        let has_form = |line: &&str| {
            let text = line.trim_start_matches(['>', ' ']);
            text.starts_with(['|', '`', '~'])
        };
        if block.iter().any(has_form) && known.contains(&Some(false)) {
            out.extend(block);
            return;
        }
        let mut lines = block.iter().zip(&known).peekable();
        while let Some((line, is_known)) = lines.next() {
            if *is_known != Some(true) {
                out.push(line);
                continue;
            }
            while lines.next_if(|(_, is_known)| **is_known != Some(false)).is_some() {}
            out.push(FOLDED);
            // Else the next line would go on in the quotation.
            if lines.peek().is_some_and(|(line, _)| !line.starts_with('>')) {
                out.push("");
            }
        }
    }

    /// Returns for each line whether all its words were seen, or `None` if it has none.
    fn known(&self, block: &[&str]) -> Vec<Option<bool>> {
        let mut words: Vec<(usize, u64)> = Vec::new();
        for (n, line) in block.iter().enumerate() {
            words.extend(words_of(line).map(|word| (n, word)));
        }
        let mut known = vec![None; block.len()];
        let mut is_seen = vec![false; words.len()];
        for (at, run) in words.windows(RUN).enumerate() {
            if self.runs.contains(&hash(run.iter().map(|(_, word)| *word))) {
                is_seen[at..at + RUN].fill(true);
            }
        }
        for ((n, _), is_seen) in words.iter().zip(&is_seen) {
            if let Some(known) = known.get_mut(*n) {
                *known = Some(known.unwrap_or(true) && *is_seen);
            }
        }
        for (line, known) in block.iter().zip(&mut known) {
            if *known == Some(false) && words_of(line).count() < RUN {
                *known = Some(self.runs.contains(&hash(words_of(line))));
            }
        }
        known
    }

    fn add(&mut self, line: &str) {
        let words: Vec<u64> = words_of(line).collect();
        if words.is_empty() {
            return;
        }
        if words.len() < RUN {
            self.runs.insert(hash(words.iter().copied()));
        }
        self.last.extend(words);
        for run in self.last.windows(RUN) {
            self.runs.insert(hash(run.iter().copied()));
        }
        self.last.drain(..self.last.len().saturating_sub(RUN - 1));
    }
}

/// Returns whether the lines begin with the header of a quoted message.
fn is_original(lines: &[&str]) -> bool {
    let text = |line: &str| line.replace(['*', '\\', '_'], "").trim().to_lowercase();
    let Some(first) = lines.first().map(|line| text(line)) else { return false };
    if first.starts_with("---") {
        let inner = first.trim_matches(['-', ' ', '\u{2013}']);
        return ORIGINAL.iter().any(|it| inner.starts_with(it));
    }
    let is_from = first.split_once(':').is_some_and(|(name, _)| FROM.contains(&name));
    // The next lines are fields, too: date, recipients, subject.
    let is_field = |line: &&str| {
        text(line).split_once(':').is_some_and(|(name, _)| !name.is_empty() && name.len() < 20)
    };
    is_from
        && lines.iter().skip(1).filter(|line| !line.trim().is_empty()).take(2).all(is_field)
        && lines.len() > 3
}

/// Returns checksums of the words of a line, without marks of markdown.
fn words_of(line: &str) -> impl Iterator<Item = u64> + '_ {
    let words = line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| {
        let mut hasher = DefaultHasher::new();
        word.hash(&mut hasher);
        hasher.finish()
    })
}

fn hash(words: impl Iterator<Item = u64>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for word in words {
        hasher.write_u64(word);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "The ferry leaves at six from the old pier,\nnot from the new one.\n\nIda";

    #[test]
    fn a_quote_of_an_earlier_message_is_folded() {
        let mut seen = Seen::default();
        assert_eq!(seen.fold(FIRST), FIRST);
        let reply = "Thanks!\n\nIda wrote:\n\n> The ferry leaves at six from the\n\
                     > old pier, not from \
                     the new one.\n>\n> Ida\n\nBo";
        assert_eq!(seen.fold(reply), "Thanks!\n\nIda wrote:\n\n> …\n\nBo");
    }

    #[test]
    fn quoted_words_that_are_new_stay() {
        let mut seen = Seen::default();
        seen.fold(FIRST);
        let reply = "> The ferry leaves at six from the old pier,\n> not from the new one.\n\
                     > And bring \
                     a coat for the night.";
        assert_eq!(seen.fold(reply), "> …\n> And bring a coat for the night.");
        let changed = "> The ferry leaves at seven from the old pier,";
        assert_eq!(seen.fold(changed), changed);
        // It was kept once, so the next quote of it is folded.
        assert_eq!(seen.fold("> > And bring a coat for the night."), "> …");
    }

    #[test]
    fn an_original_message_without_marks_is_folded() {
        let mut seen = Seen::default();
        seen.fold(FIRST);
        for head in
            ["\\-----Original Message-----  \nFrom: Ida  ", "**From:** Ida  \n**Sent:** today  "]
        {
            let reply = format!("Good.\n\n{head}\nSubject: Ferry\nTo: Bo\n\n{FIRST}");
            let folded = seen.fold(&reply);
            assert!(folded.starts_with("Good."), "{folded}");
            assert!(!folded.contains("old pier") && folded.contains('…'), "{folded}");
        }
        // The same words of the sender's own stay.
        assert_eq!(seen.fold(FIRST), FIRST);
    }

    #[test]
    fn a_table_is_folded_as_a_whole() {
        let mut seen = Seen::default();
        seen.fold("one two three four five");
        let table = "> | one two three four | x |\n> | --- | --- |\n> | new | y |";
        assert_eq!(seen.fold(table), table);
    }
}

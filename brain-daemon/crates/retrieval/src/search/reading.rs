//! How a question is read: as words, as a pasted command line, with excluded words, and with quoted
//! phrases as conditions or as preferences.

use std::sync::Arc;

use brain_pages::index::index_fault;
use brain_protocol::Fault;
use brain_questions::ParsedQuestion;
use brain_questions::times::Times;
use brain_questions::unwanted::{Unwanted, unwanted};
use brain_search::{Index, Query, Question, is_option};
use brain_store::{Reader, unless_damaged};

use super::no_day::without_no_day;

/// Maximum number of pages whose text is compared with a command line.
const MAX_PAGES: usize = 10;

/// A question as it is searched, and what the reader should know about that.
pub(super) struct Reading {
    pub(super) question: Question,
    pub(super) parsed: ParsedQuestion,
    pub(super) notes: Vec<String>,
}

impl Reading {
    /// Decides how `question` is read.
    ///
    /// # Errors
    /// If the index or the store cannot answer.
    pub(super) fn of(
        index: &Index,
        question: Question,
        parsed: ParsedQuestion,
        reader: &Reader,
    ) -> Result<Self, Fault> {
        let mut reading = Self { question, parsed, notes: Vec::new() };
        let text = reading.question.query.text.clone();
        if text.contains(':') {
            reading.set_query(reading.parse(index, &text)?);
        }
        reading.read_exclusions(index, &text, reader)?;
        if let Some((other, note)) = without_no_day(index, &reading.question, &reading.parsed)
            .map_err(|e| index_fault(&e))?
        {
            reading.set_query(Arc::clone(&other.query));
            reading.parsed = other;
            reading.notes.push(note);
        }
        let quotes = index.quotes(&reading.question).map_err(|e| index_fault(&e))?;
        reading.question.prefer_quotes = quotes.are_preferences;
        if !quotes.unmet.is_empty() {
            let phrases = listed(&quotes.unmet, "and");
            reading
                .notes
                .push(format!("no page has {phrases}: pages with similar words are shown"));
        }
        Ok(reading)
    }

    fn set_query(&mut self, query: Arc<Query>) {
        if query != self.question.query {
            self.parsed = ParsedQuestion::of(Arc::clone(&query), self.parsed.today);
            self.question.query = query;
        }
    }

    fn parse(&self, index: &Index, text: &str) -> Result<Arc<Query>, Fault> {
        index.parse(text, self.question.view.as_deref()).map_err(|e| index_fault(&e))
    }

    /// Decides which words are excluded, by a dash or in plain words.
    fn read_exclusions(&mut self, index: &Index, text: &str, reader: &Reader) -> Result<(), Fault> {
        let excluded: Vec<String> =
            self.question.query.excluded_words().map(str::to_owned).collect();
        if !excluded.is_empty() {
            match is_command_of_a_page(index, &self.question, reader)? {
                true => self.set_query(Query::of_words(text)),
                false => self.note_exclusion(&excluded),
            }
            return Ok(());
        }
        // While a question is being typed, its last word can be the beginning of another one.
        let is_words = self.question.query.is_plain() && !text.contains(['"', '“', '„', '«']);
        if self.question.is_being_typed || !is_words || text.split_whitespace().any(is_option) {
            return Ok(());
        }
        for found in unwanted(text) {
            if self.exclude(index, &found)? {
                break;
            }
        }
        Ok(())
    }

    /// Leaves out the pages with the excluded words. Returns whether the question excludes them.
    fn exclude(&mut self, index: &Index, found: &Unwanted) -> Result<bool, Fault> {
        let is_time = |item: &String| {
            let period = Times::of(item, self.parsed.today).period;
            period.is_some_and(|period| period.range == (0..item.len()))
        };
        let is_sought = !found.are_tags && self.is_sought(index, found)?;
        if is_sought || found.words.iter().any(is_time) {
            return Ok(false);
        }
        let field = if found.are_tags { "tag:" } else { "" };
        let dashes = found.words.iter().map(|words| format!(" -{field}\"{words}\""));
        let query =
            self.parse(index, &format!("{}{}", found.wanted, dashes.collect::<String>()))?;
        let has_others = has_pages(index, &self.question, Arc::clone(&query))?;
        if has_others {
            self.set_query(query);
            self.note_exclusion(&found.words);
        }
        Ok(has_others)
    }

    /// Returns whether pages say what the question seems to exclude: they have it as a name, or the
    /// wanted words and `without a password`.
    fn is_sought(&self, index: &Index, found: &Unwanted) -> Result<bool, Fault> {
        let wanted: String = found.topic.iter().map(|word| format!("\"{word}\" ")).collect();
        for (number, phrase) in found.phrases.iter().enumerate() {
            let conditions = if number == 0 { "" } else { &wanted };
            let query = Query::parse(format!("{conditions}\"{phrase}\""));
            if has_pages(index, &self.question, query)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn note_exclusion(&mut self, words: &[String]) {
        self.notes.push(format!("pages with {} are left out", listed(words, "or")));
    }
}

/// Returns words in quotation marks: `"a" and "b"`.
fn listed(words: &[String], conjunction: &str) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    quoted.join(&format!(" {conjunction} "))
}

/// Returns whether a page matches the query, with the options of `question`.
fn has_pages(index: &Index, question: &Question, query: Arc<Query>) -> Result<bool, Fault> {
    let question = Question { query, limit: 1, ..question.clone() };
    let found = index.search(&question).map_err(|e| index_fault(&e))?;
    Ok(!found.hits.is_empty())
}

/// Returns whether the question is a command line, because one of the pages with its words has each
/// of its options in a line with the word before it: `java -jar server.jar`.
fn is_command_of_a_page(
    index: &Index,
    question: &Question,
    reader: &Reader,
) -> Result<bool, Fault> {
    let text = question.query.text.to_lowercase();
    let words: Vec<&str> = words_of_line(&text).collect();
    let options = words.windows(2).filter(|pair| is_option(pair[1]));
    let options: Vec<(&str, &str)> = options.map(|pair| (pair[0], pair[1])).collect();
    if options.is_empty() || words.first().is_some_and(|first| is_option(first)) {
        return Ok(false);
    }
    let question =
        Question { query: Query::of_words(&*text), limit: MAX_PAGES, ..question.clone() };
    for hit in index.search(&question).map_err(|e| index_fault(&e))?.hits {
        let Some((_, _, record)) = reader.by_id(hit.id)? else { continue };
        let Some(content) = unless_damaged(reader.content(&record))? else { continue };
        let body = content.body.to_lowercase();
        if options.iter().all(|(before, option)| has_option(&body, before, option)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether a line of `body` has `option` as a word and, before it, `before`.
fn has_option(body: &str, before: &str, option: &str) -> bool {
    body.lines().any(|line| {
        let mut words = words_of_line(line);
        let begins = |word: &str| word == before || is_option(before);
        let is_option = |word: &str| word.strip_prefix(option).is_some_and(ends_option);
        words.any(begins) && words.any(is_option)
    })
}

/// Returns whether an option ends before `rest`: `-all` in `-all=`.
fn ends_option(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('=')
}

/// Returns the words of a line, without the signs of code and quotes.
fn words_of_line(line: &str) -> impl Iterator<Item = &str> {
    let is_between = |c: char| c.is_whitespace() || matches!(c, '`' | '(' | '"' | '\'');
    line.split(is_between).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_words_of_a_line() {
        let body = "run `java -Xmx2g -jar app.jar`\n-car and jaguar\n";
        assert!(has_option(body, "java", "-jar"));
        assert!(has_option("find . -name x -type f", "x", "-type"));
        assert!(has_option("`find . -name \"*.log\" -delete`", "*.log", "-delete"));
        assert!(has_option("exiftool -all= a.jpg", "exiftool", "-all"));
        assert!(!has_option("exiftool -allow a.jpg", "exiftool", "-all"));
        assert!(!has_option(body, "jaguar", "-car"), "the option stands before the word");
        assert!(!has_option("java jar", "java", "-jar"));
        assert_eq!(listed(&["a".into(), "b c".into()], "or"), "\"a\" or \"b c\"");
    }
}

//! Questions that are a line of a page, such as a pasted command line. In it, `-x` is an option of
//! the command and excludes nothing.

use brain_protocol::Fault;
use brain_search::{Index, Query, Question};
use brain_store::{Reader, unless_damaged};

use brain_pages::index::index_fault;

/// Maximum number of pages whose text is compared with the question.
const MAX_PAGES: usize = 10;

/// Returns the words of `question` without the dashes of excluded words, if a page has the question
/// literally, in any case and with any white space.
pub(super) fn pasted_text(
    index: &Index,
    question: &Question,
    reader: &Reader,
) -> Result<Option<String>, Fault> {
    let normalized =
        |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let line = normalized(&question.query.text);
    let words: Vec<&str> = line.split(' ').map(|word| word.trim_start_matches('-')).collect();
    let has_option = line.split(' ').skip(1).zip(&words[1..]).any(|(part, word)| part != *word);
    if !has_option || line.contains(['"', '“', '„', '”']) {
        return Ok(None);
    }
    let text = words.join(" ");
    let phrase = Question {
        query: Query::parse(format!("\"{text}\"")),
        limit: MAX_PAGES,
        ..question.clone()
    };
    let found = index.search(&phrase).map_err(|e| index_fault(&e))?;
    for hit in found.hits {
        let Some((_, _, record)) = reader.by_id(hit.id)? else { continue };
        let content = unless_damaged(reader.content(&record))?;
        if content.is_some_and(|content| normalized(&content.body).contains(&line)) {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

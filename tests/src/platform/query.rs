//! A part of the search language: words, `"phrases"`, `OR`, `-`, groups, `from:`, `to:`, `@handle`,
//! `#tag`, `$tag`, `is:`, `has:`, `lang:`. Adjacent clauses must all match, and they bind more
//! closely than `OR`. Other operators are an error, as unknown ones are on the real platform.

use super::world::{Post, World};

/// Maximum length of a search query in characters, in the platform's pay-per-use plan.
pub(super) const MAX_LENGTH: usize = 512;

/// A query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Query {
    All(Vec<Query>),
    Any(Vec<Query>),
    Not(Box<Query>),
    /// A word in lower case. Punctuation inside it is replaced by spaces.
    Word(String),
    /// Words in lower case, separated by spaces.
    Phrase(String),
    /// Name and value. The name of `@handle`, `#tag` and `$tag` is their sign.
    Operator(String, String),
}

/// Parses a query.
///
/// # Errors
/// When the query is invalid: the platform's error message.
pub(super) fn parse(text: &str) -> Result<Query, String> {
    let mut tokens = tokens(text)?;
    tokens.reverse();
    let query = parse_any(&mut tokens)?;
    if !tokens.is_empty() {
        return Err("There were errors processing your request: extraneous input ')'".into());
    }
    if has_no_positive_clause(&query) {
        return Err(
            "There were errors processing your request: Rules must contain at least one positive, \
                    non-stopword clause"
                .into(),
        );
    }
    Ok(query)
}

/// Returns whether a query, or an alternative in it, has only clauses that exclude or filter.
fn has_no_positive_clause(query: &Query) -> bool {
    match query {
        Query::Not(_) => true,
        Query::Operator(name, _) => name == "is" || name == "has" || name == "lang",
        Query::All(parts) => parts.iter().all(has_no_positive_clause),
        Query::Any(parts) => parts.iter().any(has_no_positive_clause),
        Query::Word(_) | Query::Phrase(_) => false,
    }
}

/// Splits a query into its tokens. A token of a phrase has only the opening quotation mark.
fn tokens(text: &str) -> Result<Vec<String>, String> {
    let (mut tokens, mut chars) = (Vec::new(), text.chars().peekable());
    while let Some(first) = chars.next() {
        match first {
            c if c.is_whitespace() => {}
            '(' | ')' => tokens.push(first.to_string()),
            '-' if chars.peek().is_some_and(|c| !c.is_whitespace()) => tokens.push("-".into()),
            '"' => {
                let phrase: String = chars.by_ref().take_while(|c| *c != '"').collect();
                if phrase.trim().is_empty() {
                    return Err("There were errors processing your request: empty phrase".into());
                }
                tokens.push(format!("\"{phrase}"));
            }
            _ => {
                let mut word = String::from(first);
                while let Some(c) = chars.next_if(|c| !c.is_whitespace() && !"()\"".contains(*c)) {
                    word.push(c);
                }
                tokens.push(word);
            }
        }
    }
    Ok(tokens)
}

/// Parses clauses that `OR` separates. `rest` has the remaining tokens in reverse order.
fn parse_any(rest: &mut Vec<String>) -> Result<Query, String> {
    let mut parts = vec![parse_all(rest)?];
    while rest.last().is_some_and(|token| token == "OR") {
        rest.pop();
        parts.push(parse_all(rest)?);
    }
    Ok(if parts.len() == 1 { parts.remove(0) } else { Query::Any(parts) })
}

fn parse_all(rest: &mut Vec<String>) -> Result<Query, String> {
    let mut parts = Vec::new();
    while rest.last().is_some_and(|token| token != "OR" && token != ")") {
        parts.push(parse_one(rest)?);
    }
    match parts.len() {
        0 => Err("There were errors processing your request: missing a clause".into()),
        1 => Ok(parts.remove(0)),
        _ => Ok(Query::All(parts)),
    }
}

fn parse_one(rest: &mut Vec<String>) -> Result<Query, String> {
    let token = rest.pop().unwrap_or_default();
    if token == "-" {
        if rest.last().is_some_and(|next| next == "(") {
            return Err(
                "There were errors processing your request: negated groups are not supported"
                    .into(),
            );
        }
        return Ok(Query::Not(Box::new(parse_one(rest)?)));
    }
    if token == "(" {
        let inner = parse_any(rest)?;
        return match rest.pop() {
            Some(end) if end == ")" => Ok(inner),
            _ => Err("There were errors processing your request: missing ')'".into()),
        };
    }
    if let Some(phrase) = token.strip_prefix('"') {
        return Ok(Query::Phrase(words(phrase).join(" ")));
    }
    if let Some((name, value)) = token.split_once(':') {
        let is_known = match name {
            "from" | "to" => is_handle(value.trim_start_matches('@')),
            "is" => ["retweet", "reply", "quote", "verified"].contains(&value),
            "has" => {
                ["images", "media", "links", "mentions", "hashtags", "videos"].contains(&value)
            }
            "lang" => value.len() == 2,
            _ => false,
        };
        if !is_known {
            return Err(format!(
                "There were errors processing your request: Reference to invalid operator '{name}'."
            ));
        }
        return Ok(Query::Operator(name.into(), value.trim_start_matches('@').to_lowercase()));
    }
    let sign = token.chars().next().filter(|c| "@#$".contains(*c));
    match sign {
        Some(sign) => Ok(Query::Operator(sign.to_string(), token[1..].to_lowercase())),
        None => Ok(Query::Word(words(&token).join(" "))),
    }
}

/// Returns whether `text` has the form of a handle.
pub(super) fn is_handle(text: &str) -> bool {
    (1..=15).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Returns the words of a text in lower case.
fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '\'')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// Returns the position of each `sign` (`@`, `#` or `$`) in a text, in characters, and the name
/// after it. A `sign` without a name is left out.
pub(super) fn names_after(text: &str, sign: char) -> Vec<(usize, String)> {
    let chars: Vec<char> = text.chars().collect();
    let is_name_char = |c: &char| c.is_alphanumeric() || *c == '_';
    let starts_name =
        |at: &usize| chars[*at] == sign && (*at == 0 || !is_name_char(&chars[at - 1]));
    let name =
        |at: usize| chars[at + 1..].iter().take_while(|c| is_name_char(c)).collect::<String>();
    (0..chars.len())
        .filter(starts_name)
        .map(|at| (at, name(at)))
        .filter(|(_, name)| !name.is_empty())
        .collect()
}

/// Returns whether a text mentions a handle.
pub(super) fn mentions(text: &str, handle: &str) -> bool {
    names_after(text, '@').iter().any(|(_, name)| name.eq_ignore_ascii_case(handle))
}

impl Query {
    /// Returns whether a post matches.
    pub(super) fn matches(&self, world: &World, post: &Post) -> bool {
        let text = post.text.as_str();
        match self {
            Self::All(parts) => parts.iter().all(|part| part.matches(world, post)),
            Self::Any(parts) => parts.iter().any(|part| part.matches(world, post)),
            Self::Not(part) => !part.matches(world, post),
            Self::Word(phrase) | Self::Phrase(phrase) => {
                let phrase_words: Vec<&str> = phrase.split(' ').collect();
                words(text).windows(phrase_words.len()).any(|window| window == phrase_words)
            }
            Self::Operator(name, value) => match (name.as_str(), value.as_str()) {
                ("from", handle) => {
                    world.accounts[&post.author].username.eq_ignore_ascii_case(handle)
                }
                ("to", handle) => {
                    let parent = post.reply_to.and_then(|id| world.posts.get(&id));
                    parent.is_some_and(|parent| {
                        world.accounts[&parent.author].username.eq_ignore_ascii_case(handle)
                    })
                }
                ("is", "reply") => post.reply_to.is_some(),
                ("is", "quote") => post.quotes.is_some(),
                ("is", "retweet") => post.reposts.is_some(),
                ("is", "verified") => world.accounts[&post.author].verified,
                ("has", "links") => text.contains("https://"),
                ("has", "mentions") => !names_after(text, '@').is_empty(),
                ("has", "hashtags") => !names_after(text, '#').is_empty(),
                ("has", "media") => !post.media.is_empty(),
                ("has", "images") => post.media.iter().any(|media| media.kind == "photo"),
                ("has", "videos") => post.media.iter().any(|media| media.kind == "video"),
                ("lang", lang) => post.lang == lang,
                (sign, name) => {
                    let sign = sign.chars().next().unwrap_or('@');
                    names_after(text, sign)
                        .iter()
                        .any(|(_, found)| found.eq_ignore_ascii_case(name))
                }
            },
        }
    }
}

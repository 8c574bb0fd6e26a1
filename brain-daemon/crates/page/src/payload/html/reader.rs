//! Reads the tokens of an HTML document, without the parts that are not text.

use html5gum::{DefaultEmitter, HtmlString, StartTag, Token, Tokenizer};

use super::hidden::{HiddenParts, HiddenText};
use super::{is_one_of, math, text};

/// Maximum length of a script that is read, in bytes.
const MAX_SCRIPT: usize = 64 * 1024;
/// Elements that are dropped with their content.
const DROPPED_ELEMENTS: [&str; 17] = [
    "script", "style", "noscript", "iframe", "template", "svg", "canvas", "object", "embed",
    "audio", "video", "noframes", "noembed", "select", "textarea", "datalist", "applet",
];
/// The dropped elements that never have content.
const VOID_ELEMENTS: [&str; 1] = ["embed"];
/// The dropped elements that show nothing, so that the text around them is one text.
const INVISIBLE_ELEMENTS: [&str; 6] =
    ["script", "style", "noscript", "template", "noframes", "datalist"];

/// A piece of a document.
pub(super) enum Piece<'a> {
    /// A token of the text.
    Token(&'a Token),
    /// A script with data: its type and its text.
    Data(&'a str, &'a str),
    /// Something visible that is not text.
    Dropped,
}

/// Calls `show` with the pieces of `html`, without the content of dropped elements. Returns the
/// number of hidden words that were left out.
pub(super) fn read(html: &str, hidden_text: HiddenText, mut show: impl FnMut(Piece)) -> usize {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    // The name of the dropped element that is open, and how many elements of this name are open.
    let mut dropped: Option<(HtmlString, usize)> = None;
    // The type of the open script, and its text.
    let mut script: Option<(String, String)> = None;
    // Whether only white space came since the last formula.
    let mut follows_math = false;
    let mut hidden = HiddenParts::new(hidden_text);
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        if let Some((name, depth)) = &mut dropped {
            match &token {
                Token::StartTag(tag) if tag.name == *name && !tag.self_closing => *depth += 1,
                Token::EndTag(tag) if tag.name == *name => *depth -= 1,
                Token::String(string) => {
                    if let Some((_, content)) = &mut script
                        && content.len() + string.len() <= MAX_SCRIPT
                    {
                        content.push_str(&text(string));
                    }
                }
                _ => {}
            }
            if *depth == 0 {
                dropped = None;
                if let Some((kind, content)) = script.take()
                    && !(kind.starts_with("math/tex") && follows_math)
                {
                    show(Piece::Data(&kind, &content));
                }
            }
            continue;
        }
        let is_dropped = matches!(&token, Token::StartTag(tag)
            if is_one_of(&tag.name, &DROPPED_ELEMENTS) || math::is_copy(tag, follows_math));
        if hidden.contains(&token, is_dropped) {
            continue;
        }
        match &token {
            Token::StartTag(tag) if is_dropped => {
                let is_void = is_one_of(&tag.name, &VOID_ELEMENTS);
                if !(is_void || &**tag.name == b"svg" && tag.self_closing) {
                    dropped = Some((tag.name.clone(), 1));
                }
                script = data_type(tag).map(|kind| (kind, String::new()));
                if !is_one_of(&tag.name, &INVISIBLE_ELEMENTS) {
                    show(Piece::Dropped);
                }
            }
            token => {
                match token {
                    Token::EndTag(tag) if &**tag.name == b"math" => follows_math = true,
                    Token::String(string) if !string.trim_ascii().is_empty() => {
                        follows_math = false;
                    }
                    _ => {}
                }
                show(Piece::Token(token));
            }
        }
    }
    hidden.words
}

/// Returns the type of a script whose text is data.
fn data_type(tag: &StartTag<()>) -> Option<String> {
    let kind = tag.attributes.get(&b"type"[..]).filter(|_| &**tag.name == b"script")?;
    let kind = text(&kind.value).trim().to_ascii_lowercase();
    (kind.starts_with("math/tex") || kind == "application/ld+json").then_some(kind)
}

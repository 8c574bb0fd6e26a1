//! `brain ask`: answers a question from the pages, with citations.

use std::io;

use brain_protocol::{AskReply, Citation, Exit, Fault, Hits, SourceId, usd};
use clap::Args;
use serde::{Serialize, Serializer};

use crate::{
    args::{Group, Verb},
    context::Context,
    fail,
    money::{Cost, millionths},
    output::{Outcome, Show, Text, clean_lines, stdout_width, width, write_stdout},
};

/// Arguments of `ask`.
#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// The question
    #[arg(value_name = "QUESTION", required = true, allow_negative_numbers = true)]
    question: Vec<String>,

    /// Number of pages to read, 1 to 50
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=50))]
    limit: u32,

    /// Only pages of this source
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,

    /// Model to use instead of llm.model, at the same service
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    /// Cost limit in US dollars [default: llm.max_cost]
    #[arg(long, value_name = "USD", value_parser = millionths)]
    max_cost: Option<u64>,
}

impl Verb for Ask {
    const NAME: &'static str = "ask";
    const GROUP: Group = Group::Reading;
    const ABOUT: &'static str = "Get an answer from your pages, with sources";
    const EXAMPLES: &'static str = "Examples:
  brain ask \"what did we decide about the launch?\"
  brain ask \"who knows rust at acme?\" --limit 12 --max-cost 0.05 --json

Without a language model it shows the passages. What is sent where: docs/ask.md";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        let request = brain_protocol::Ask {
            question: self.question.join(" "),
            limit: self.limit,
            source: fail::source(self.source.as_deref())?,
            model: self.model,
            max_cost: self.max_cost,
        };
        // Prose is read while it comes, by whoever sits at a terminal; everybody else gets it
        // whole.
        let room = stdout_width().filter(|_| !context.json && !context.quiet);
        let mut flow = ProseWrapper::new(room.unwrap_or_default());
        let reply = context.follow(request, &mut |piece| {
            if room.is_some() {
                flow.write(piece);
            }
        });
        let has_streamed = flow.end();
        context.show(&AskOutput { asked: reply?, has_streamed })
    }
}

/// Wraps streamed prose at the width of the terminal.
struct ProseWrapper {
    room: usize,
    /// Columns used in the current line.
    used: usize,
    /// Whether white space precedes the word.
    gap: bool,
    /// The word that may be incomplete.
    word: String,
    has_begun: bool,
    failed: Option<io::Error>,
}

impl ProseWrapper {
    fn new(room: usize) -> Self {
        Self { room, used: 0, gap: false, word: String::new(), has_begun: false, failed: None }
    }

    /// Wraps the next piece of text.
    fn broken(&mut self, piece: &str) -> String {
        let mut out = String::new();
        for c in clean_lines(piece).chars() {
            match c {
                '\n' => {
                    self.put_word(&mut out);
                    out.push('\n');
                    self.used = 0;
                }
                c if c.is_whitespace() => {
                    self.put_word(&mut out);
                    self.gap = true;
                }
                c => {
                    self.word.push(c);
                    // Chinese and Japanese have no spaces to wait for.
                    if width(c.encode_utf8(&mut [0; 4])) > 1 {
                        self.put_word(&mut out);
                    }
                }
            }
        }
        out
    }

    fn put_word(&mut self, out: &mut String) {
        let word = std::mem::take(&mut self.word);
        if word.is_empty() {
            return;
        }
        let gap = usize::from(std::mem::take(&mut self.gap));
        let columns = width(&word);
        if self.used > 0 && self.used + gap + columns > self.room {
            out.push('\n');
            self.used = 0;
        } else if self.used > 0 && gap > 0 {
            out.push(' ');
            self.used += 1;
        }
        out.push_str(&word);
        self.used += columns;
    }

    fn write(&mut self, piece: &str) {
        let out = self.broken(piece);
        self.has_begun |= !piece.is_empty();
        self.send(&out);
    }

    /// Ends the prose. Returns whether there was any.
    fn end(&mut self) -> bool {
        let mut out = String::new();
        self.put_word(&mut out);
        if self.has_begun {
            out.push('\n');
        }
        self.send(&out);
        // What could not be written is shown again, and fails where it is reported.
        self.has_begun && self.failed.is_none()
    }

    fn send(&mut self, out: &str) {
        if self.failed.is_none() && !out.is_empty() {
            self.failed = write_stdout(out.as_bytes()).err();
        }
    }
}

/// An answer, and whether its prose is already on the terminal.
struct AskOutput {
    asked: AskReply,
    has_streamed: bool,
}

/// The JSON form of an answer.
#[derive(Serialize)]
struct Json<'a> {
    question: &'a str,
    answer: &'a Option<String>,
    partial: bool,
    citations: &'a [Citation],
    unknown: &'a Option<String>,
    passages: &'a [brain_protocol::Hit],
    hint: &'a Option<String>,
    model: &'a Option<String>,
    cost: Cost,
    degraded: &'a Option<String>,
}

impl Serialize for AskOutput {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let AskReply {
            question,
            answer,
            partial,
            citations,
            unknown,
            passages,
            hint,
            model,
            cost,
            degraded,
        } = &self.asked;
        Json {
            question,
            answer,
            partial: *partial,
            citations,
            unknown,
            passages,
            hint,
            model,
            cost: (*cost).into(),
            degraded,
        }
        .serialize(serializer)
    }
}

impl Show for AskOutput {
    fn text(&self, t: &mut Text) {
        let asked = &self.asked;
        match &asked.answer {
            Some(answer) => {
                if !self.has_streamed {
                    answer.lines().for_each(|line| t.prose("", 0, line));
                }
            }
            // The passages are the answer then.
            None => self.passages().text(t),
        }
        if let Some(unknown) = &asked.unknown {
            if asked.answer.as_ref().is_some_and(|answer| !answer.is_empty()) {
                t.raw("");
            }
            t.prose("Not known: ", 11, unknown);
        }
        if !asked.citations.is_empty() {
            t.raw("");
        }
        for citation in &asked.citations {
            show_citation(citation, t);
        }
    }

    fn quiet(&self, t: &mut Text) {
        match &self.asked.answer {
            Some(answer) => answer.lines().for_each(|line| t.line(line)),
            None => self.passages().quiet(t),
        }
    }

    fn failures(&self) -> Vec<String> {
        self.asked.hint.iter().filter(|_| self.asked.partial).cloned().collect()
    }

    fn notes(&self) -> Vec<String> {
        let asked = &self.asked;
        let hint = asked.hint.iter().filter(|_| !asked.partial).cloned();
        let degraded = asked.degraded.iter().map(|why| format!("results may be incomplete: {why}"));
        let cost = (asked.cost.calls > 0).then(|| {
            let name = asked.model.as_deref().unwrap_or_default();
            let tokens = asked.cost.tokens_in.saturating_add(asked.cost.tokens_out);
            format!("{name}: {tokens} tokens, {} USD", usd(asked.cost.actual))
        });
        hint.chain(degraded).chain(cost).collect()
    }

    fn exit(&self) -> Exit {
        if self.asked.partial { Exit::Failed } else { Exit::Done }
    }
}

impl AskOutput {
    fn passages(&self) -> Hits {
        Hits {
            query: self.asked.question.clone(),
            hits: self.asked.passages.clone(),
            truncated: false,
            degraded: None,
            took_us: 0,
        }
    }
}

/// Prints `[1] people/ada  Ada Lovelace`. The slug is never cut, because users copy it.
fn show_citation(citation: &Citation, t: &mut Text) {
    let mark = format!("[{}]", citation.number);
    let mut place = citation.slug.to_string();
    if citation.source_id.as_str() != SourceId::DEFAULT {
        place.push_str(&format!(" --source {}", citation.source_id));
    }
    let taken = width(&mark) + width(&place) + 3;
    let title = if t.width.is_none_or(|room| taken + 6 <= room) {
        t.rest(&citation.title, taken)
    } else {
        String::new()
    };
    let line = format!("{mark} {}  {title}", t.paint.cyan(&place));
    t.raw(line.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;
    use brain_protocol::{Slug, Spending};

    fn asked() -> AskReply {
        let citation = Citation {
            number: 2,
            slug: Slug::parse("people/ada-lovelace").expect("slug"),
            source_id: SourceId::default(),
            title: "Ada Lovelace, who wrote the first program \u{1b}[2J for a machine".into(),
            line: 7,
        };
        AskReply {
            question: "who?".into(),
            answer: Some(
                "Ada Lovelace wrote the first program for the analytical engine of Charles Babbage [2]."
                    .into(),
            ),
            partial: false,
            citations: vec![citation],
            unknown: Some("what became of the machine that it was written for, and where it is".into()),
            passages: Vec::new(),
            hint: None,
            model: Some("m".into()),
            cost: Spending { actual: 1200, tokens_in: 10, tokens_out: 2, calls: 1, ..Spending::default() },
            degraded: None,
        }
    }

    #[test]
    fn an_answer_fits_60_columns_and_names_its_pages_below() {
        let shown = AskOutput { asked: asked(), has_streamed: false };
        let mut t = Text::plain(Some(60));
        shown.text(&mut t);
        let lines: Vec<&str> = t.as_str().lines().collect();
        assert!(
            lines.iter().all(|line| width(line) <= 60 && !line.contains('\u{1b}')),
            "{lines:?}"
        );
        assert!(
            lines.last().is_some_and(|line| line.starts_with("[2] people/ada-lovelace  Ada")),
            "{lines:?}"
        );
        assert!(t.as_str().contains("\nNot known: what became of"), "{lines:?}");
        assert_eq!(shown.notes(), ["m: 12 tokens, 0.0012 USD"]);
        // What was read while it came is not shown again.
        let mut t = Text::plain(Some(60));
        AskOutput { asked: asked(), has_streamed: true }.text(&mut t);
        assert!(t.as_str().starts_with("\nNot known: "), "{}", t.as_str());
    }

    #[test]
    fn prose_that_comes_in_pieces_is_broken_between_words() {
        let text = "One two three four five [1].\nSix\u{1b}[2J seven 解析機関 eight\n\nnine";
        let mut whole = ProseWrapper::new(12);
        let mut once = whole.broken(text);
        whole.put_word(&mut once);
        let mut flow = ProseWrapper::new(12);
        let mut pieces: String = text.chars().map(|c| flow.broken(&c.to_string())).collect();
        flow.put_word(&mut pieces);
        assert_eq!(pieces, once);
        assert_eq!(once.lines().next(), Some("One two"));
        assert!(once.lines().all(|line| width(line) <= 12 && !line.contains('\u{1b}')), "{once}");
        assert!(once.ends_with("\n\nnine"), "{once}");
    }

    #[test]
    fn prose_without_spaces_is_shown_while_it_comes_and_broken_too() {
        let mut flow = ProseWrapper::new(12);
        assert_eq!(flow.broken("解析機関は"), "解析機関は");
        assert_eq!(flow.broken("動いた[1]。"), "動\nいた[1]。");
        assert_eq!(flow.broken(" x か\u{3099}y "), " x\nか\u{3099}y");
    }

    #[test]
    fn a_broken_answer_is_a_failure() {
        let asked =
            AskReply { partial: true, hint: Some("the answer broke off".into()), ..asked() };
        let shown = AskOutput { asked, has_streamed: false };
        assert_eq!(
            (shown.exit(), shown.failures()),
            (Exit::Failed, vec!["the answer broke off".to_owned()])
        );
        assert_eq!(shown.notes().len(), 1);
    }
}

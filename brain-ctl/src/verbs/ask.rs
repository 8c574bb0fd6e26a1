//! `brain ask`: answers a question from the pages, with citations.

use std::io;

use brain_protocol::{AskReply, Citation, Exit, Fault, Hint, Hits, Slug, SourceId, usd};
use clap::Args;
use serde::{Serialize, Serializer};

use super::{ask_saved, search::FoundPages};
use crate::{
    command::{Group, Verb},
    context::Context,
    fail,
    money::{Cost, parse_millionths},
    output::{
        Outcome, Show, Text, clean_lines, count, page_name, stdout_width, width, write_stdout,
    },
};

/// Arguments of `ask`.
#[derive(Debug, Args)]
pub(crate) struct AskCommand {
    /// The question
    #[arg(
        value_name = "QUESTION",
        required_unless_present = "stale",
        allow_negative_numbers = true
    )]
    question: Vec<String>,

    /// Number of pages to read, 1 to 50
    #[arg(
        long,
        value_name = "N",
        default_value_t = 8,
        value_parser = clap::value_parser!(u32).range(1..=50)
    )]
    limit: u32,

    /// Only pages of this source
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,

    /// Another model of the configured service
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    /// Cost limit in US dollars [default: llm.max_cost]
    #[arg(long, value_name = "USD", value_parser = parse_millionths)]
    max_cost: Option<u64>,

    /// Print what the answer can cost at most, without asking the model
    #[arg(long)]
    estimate: bool,

    /// Save the answer as a page, with the texts that it cites
    #[arg(long, conflicts_with = "estimate")]
    save: bool,

    /// List the saved answers whose cited texts changed, with what changed
    #[arg(long, conflicts_with_all = ["question", "estimate", "save"])]
    stale: bool,
}

impl Verb for AskCommand {
    const NAME: &'static str = "ask";
    const GROUP: Group = Group::Reading;
    const ABOUT: &'static str = "Answer a question from your pages";
    const EXAMPLES: &'static str = "Examples:
  brain ask \"what did we decide about the launch?\"
  brain ask \"who knows rust at acme?\" --limit 12 --max-cost 0.05 --json
  brain ask \"which port does the server use?\" --save
  brain ask --stale

Without a language model, it prints the matching passages.
The service of the model gets the question and passages: see docs/ask.md.";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        if self.stale {
            return ask_saved::stale(context);
        }
        let request = brain_protocol::Ask {
            question: self.question.join(" "),
            limit: self.limit,
            source: fail::parse_source(self.source.as_deref())?,
            model: self.model,
            max_cost: self.max_cost,
            estimate: self.estimate,
        };
        if self.estimate {
            let reply = context.call(request)?;
            return context.show(&AskOutput { reply, has_streamed: false, saved: None });
        }
        // A terminal shows the answer while it arrives. Files, pipes and `--json` get it whole.
        let max_width = stdout_width().filter(|_| !context.json && !context.quiet);
        let mut wrapper = ProseWrapper::new(max_width.unwrap_or_default());
        let reply = context.call_with_progress(request, &mut |piece| {
            if max_width.is_some() {
                wrapper.write(piece);
            }
        });
        let has_streamed = wrapper.end();
        let reply = reply?;
        let saved = match self.save {
            true => Some(ask_saved::save(context, &reply)?.slug),
            false => None,
        };
        context.show(&AskOutput { reply, has_streamed, saved })
    }
}

/// Wraps streamed prose at the width of the terminal.
struct ProseWrapper {
    max_width: usize,
    /// Columns of the current line that have text.
    used_columns: usize,
    /// Whether white space precedes the current word.
    has_space: bool,
    /// The current word. More letters of it can follow.
    word: String,
    /// Whether a piece of text arrived.
    has_begun: bool,
    /// The first error of standard output. Nothing is written after it.
    error: Option<io::Error>,
}

impl ProseWrapper {
    fn new(max_width: usize) -> Self {
        Self {
            max_width,
            used_columns: 0,
            has_space: false,
            word: String::new(),
            has_begun: false,
            error: None,
        }
    }

    /// Returns the next piece of text with line breaks. The last word stays in `self.word` until it
    /// is complete.
    fn wrap(&mut self, piece: &str) -> String {
        let mut out = String::new();
        for c in clean_lines(piece).chars() {
            match c {
                '\n' => {
                    self.add_word(&mut out);
                    out.push('\n');
                    self.used_columns = 0;
                }
                c if c.is_whitespace() => {
                    self.add_word(&mut out);
                    self.has_space = true;
                }
                c => {
                    self.word.push(c);
                    // Chinese and Japanese have no spaces between words.
                    if width(c.encode_utf8(&mut [0; 4])) > 1 {
                        self.add_word(&mut out);
                    }
                }
            }
        }
        out
    }

    /// Adds the current word to `out`, after a space or a line break.
    fn add_word(&mut self, out: &mut String) {
        let word = std::mem::take(&mut self.word);
        if word.is_empty() {
            return;
        }
        let space = usize::from(std::mem::take(&mut self.has_space));
        let columns = width(&word);
        if self.used_columns > 0 && self.used_columns + space + columns > self.max_width {
            out.push('\n');
            self.used_columns = 0;
        } else if self.used_columns > 0 && space > 0 {
            out.push(' ');
            self.used_columns += 1;
        }
        out.push_str(&word);
        self.used_columns += columns;
    }

    /// Prints the next piece of text.
    fn write(&mut self, piece: &str) {
        let out = self.wrap(piece);
        self.has_begun |= !piece.is_empty();
        self.print(&out);
    }

    /// Prints the last word. Returns whether there was text and all of it was printed.
    fn end(&mut self) -> bool {
        let mut out = String::new();
        self.add_word(&mut out);
        if self.has_begun {
            out.push('\n');
        }
        self.print(&out);
        // After an error, `finish` prints the whole answer again and reports the error.
        self.has_begun && self.error.is_none()
    }

    fn print(&mut self, out: &str) {
        if self.error.is_none() && !out.is_empty() {
            self.error = write_stdout(out.as_bytes()).err();
        }
    }
}

/// The reply, as the command prints it.
struct AskOutput {
    reply: AskReply,
    /// Whether the text of the answer is already on the terminal.
    has_streamed: bool,
    /// The page of the saved answer.
    saved: Option<Slug>,
}

/// The JSON form of an answer.
#[derive(Serialize)]
struct AnswerJson<'a> {
    question: &'a str,
    answer: &'a Option<String>,
    partial: bool,
    citations: &'a [Citation],
    unknown: &'a Option<String>,
    passages: &'a [brain_protocol::Hit],
    hint: &'a Option<Hint>,
    model: &'a Option<String>,
    cost: Cost,
    degraded: &'a Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    saved_slug: &'a Option<Slug>,
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
        } = &self.reply;
        AnswerJson {
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
            saved_slug: &self.saved,
        }
        .serialize(serializer)
    }
}

impl Show for AskOutput {
    fn text(&self, t: &mut Text) {
        let reply = &self.reply;
        match &reply.answer {
            Some(answer) => {
                if !self.has_streamed {
                    answer.lines().for_each(|line| t.prose("", 0, line));
                }
            }
            // Without a language model, the passages are the answer.
            None => self.passages().text(t),
        }
        if let Some(unknown) = &reply.unknown {
            if reply.answer.as_ref().is_some_and(|answer| !answer.is_empty()) {
                t.raw_line("");
            }
            t.prose("Not known: ", 11, unknown);
        }
        if !reply.citations.is_empty() {
            t.raw_line("");
        }
        for citation in &reply.citations {
            show_citation(citation, t);
        }
    }

    fn quiet(&self, t: &mut Text) {
        match &self.reply.answer {
            Some(answer) => answer.lines().for_each(|line| t.line(line)),
            None => self.passages().quiet(t),
        }
    }

    fn failures(&self) -> Vec<String> {
        self.reply.hint.iter().filter(|_| self.reply.partial).map(ToString::to_string).collect()
    }

    fn notes(&self) -> Vec<String> {
        let reply = &self.reply;
        let hint = reply.hint.iter().filter(|_| !reply.partial).map(ToString::to_string);
        let degraded =
            reply.degraded.iter().map(|reason| format!("results may be incomplete: {reason}"));
        // Only the reply to `--estimate` has a model and no answer.
        let estimate = (reply.model.is_some() && reply.answer.is_none()).then(|| {
            let name = reply.model.as_deref().unwrap_or_default();
            let pages = count(reply.passages.len() as u64, "page");
            format!("{name}: at most {} USD to read {pages}", usd(reply.cost.estimated))
        });
        let cost = (reply.cost.calls > 0).then(|| {
            let name = reply.model.as_deref().unwrap_or_default();
            let tokens = reply.cost.tokens_in.saturating_add(reply.cost.tokens_out);
            format!("{name}: {tokens} tokens, {} USD", usd(reply.cost.actual))
        });
        let saved = self.saved.iter().map(|slug| format!("saved as {slug}"));
        hint.chain(degraded).chain(estimate).chain(cost).chain(saved).collect()
    }

    fn exit(&self) -> Exit {
        if self.reply.partial { Exit::Failed } else { Exit::Done }
    }
}

impl AskOutput {
    fn passages(&self) -> FoundPages {
        let hits = Hits {
            query: self.reply.question.clone(),
            hits: self.reply.passages.clone(),
            truncated: false,
            degraded: None,
            took_us: 0,
            default_source: SourceId::default(),
            note: None,
        };
        FoundPages { hits, skipped: 0, page: 1 }
    }
}

/// Prints `[1] people/ada  Ada Lovelace`. The slug is never cut, because users copy it.
fn show_citation(citation: &Citation, t: &mut Text) {
    let number = format!("[{}]", citation.number);
    let page = page_name(&citation.source_id, &citation.slug);
    let used_columns = width(&number) + width(&page) + 3;
    let title = if t.width.is_none_or(|max_width| used_columns + 6 <= max_width) {
        t.cut(&citation.title, used_columns)
    } else {
        String::new()
    };
    let line = format!("{number} {}  {title}", t.paint.cyan(&page));
    t.raw_line(line.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;
    use brain_protocol::Spending;

    fn reply() -> AskReply {
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
                "Ada Lovelace wrote the first program for the analytical engine \
                 of Charles Babbage [2]."
                    .into(),
            ),
            partial: false,
            citations: vec![citation],
            unknown: Some("what became of the machine after that, and where it is today".into()),
            passages: Vec::new(),
            hint: None,
            model: Some("m".into()),
            cost: Spending {
                actual: 1200,
                tokens_in: 10,
                tokens_out: 2,
                calls: 1,
                ..Spending::default()
            },
            degraded: None,
        }
    }

    #[test]
    fn an_answer_fits_60_columns_and_names_its_pages_below() {
        let output = AskOutput { reply: reply(), has_streamed: false, saved: None };
        let mut t = Text::plain(Some(60));
        output.text(&mut t);
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
        assert_eq!(output.notes(), ["m: 12 tokens, 0.0012 USD"]);
        // A streamed answer is not printed again.
        let mut t = Text::plain(Some(60));
        AskOutput { reply: reply(), has_streamed: true, saved: None }.text(&mut t);
        assert!(t.as_str().starts_with("\nNot known: "), "{}", t.as_str());
    }

    #[test]
    fn prose_in_pieces_wraps_between_words() {
        let text = "One two three four five [1].\nSix\u{1b}[2J seven 解析機関 eight\n\nnine";
        let mut whole = ProseWrapper::new(12);
        let mut wrapped = whole.wrap(text);
        whole.add_word(&mut wrapped);
        let mut wrapper = ProseWrapper::new(12);
        let mut pieces: String = text.chars().map(|c| wrapper.wrap(&c.to_string())).collect();
        wrapper.add_word(&mut pieces);
        assert_eq!(pieces, wrapped);
        assert_eq!(wrapped.lines().next(), Some("One two"));
        assert!(
            wrapped.lines().all(|line| width(line) <= 12 && !line.contains('\u{1b}')),
            "{wrapped}"
        );
        assert!(wrapped.ends_with("\n\nnine"), "{wrapped}");
    }

    #[test]
    fn prose_without_spaces_is_printed_and_wrapped_at_once() {
        let mut wrapper = ProseWrapper::new(12);
        assert_eq!(wrapper.wrap("解析機関は"), "解析機関は");
        assert_eq!(wrapper.wrap("動いた[1]。"), "動\nいた[1]。");
        assert_eq!(wrapper.wrap(" x か\u{3099}y "), " x\nか\u{3099}y");
    }

    #[test]
    fn a_partial_answer_is_a_failure() {
        let reply =
            AskReply { partial: true, hint: Some("the answer broke off".into()), ..reply() };
        let output = AskOutput { reply, has_streamed: false, saved: None };
        assert_eq!(
            (output.exit(), output.failures()),
            (Exit::Failed, vec!["the answer broke off".to_owned()])
        );
        assert_eq!(output.notes().len(), 1);
    }
}

//! Prints ideas and runs as text and JSON. In text for a terminal, control characters are replaced.

use brain_protocol::{
    ClosePage, Exit, Idea, IdeaProfile, IdeaPrompt, IdeaRunRow, IdeaRunsReply, IdeaStatus,
    IdeasReply, usd,
};
use serde::Serialize;

use crate::{
    money::Cost,
    output::{Column, Paint, Show, Table, Text, format_to_minute, page_name},
};

/// Maximum number of ideas to show if none passes and no limit is given.
const MAX_FAILING: usize = 5;

/// The JSON form of an answer; documented fields come first, in order.
#[derive(Debug, Serialize)]
pub(super) struct IdeasJson<'a> {
    profile: IdeaProfile,
    run_id: &'a str,
    question: &'a str,
    ideas: &'a [Idea],
    close_set: &'a [ClosePage],
    far_set: &'a [brain_protocol::FarPage],
    short_of_target: bool,
    judge_failed: bool,
    cost: Cost,
    saved_slug: Option<&'a str>,
    status: IdeaStatus,
    prompts: &'a [IdeaPrompt],
    failed_crosses: u32,
    problem: Option<&'a str>,
    save_problem: Option<&'a str>,
    degraded: Option<&'a str>,
    notes: &'a [String],
    /// The path of the file to which the prompts were written.
    prompts_file: Option<&'a str>,
    /// Whether the text omits the prompts: on a terminal, or because a file has them.
    #[serde(skip)]
    hides_prompts: bool,
    /// The requested maximum number of ideas.
    #[serde(skip)]
    limit: Option<u32>,
    #[serde(skip)]
    exit: Exit,
}

impl<'a> IdeasJson<'a> {
    /// Converts a reply; `limit` is the requested maximum number of ideas.
    pub(super) fn of(reply: &'a IdeasReply, limit: Option<u32>) -> Self {
        Self {
            profile: reply.profile,
            run_id: &reply.run_id,
            question: &reply.question,
            ideas: &reply.ideas,
            close_set: &reply.close_set,
            far_set: &reply.far_set,
            short_of_target: reply.short_of_target,
            judge_failed: reply.judge_failed,
            cost: reply.cost.into(),
            saved_slug: reply.saved_slug.as_ref().map(brain_protocol::Slug::as_str),
            status: reply.status,
            prompts: &reply.prompts,
            failed_crosses: reply.failed_crosses,
            problem: reply.problem.as_deref(),
            save_problem: reply.save_problem.as_deref(),
            degraded: reply.degraded.as_deref(),
            notes: &reply.notes,
            prompts_file: None,
            hides_prompts: false,
            limit,
            exit: super::exit(reply),
        }
    }

    /// Sets where the prompts go. The text omits them if standard output is a terminal, or if
    /// `file` has them. JSON always has them.
    pub(super) fn with_prompts(self, file: Option<&'a str>, is_terminal: bool) -> Self {
        Self { prompts_file: file, hides_prompts: is_terminal || file.is_some(), ..self }
    }

    /// Returns the prompts that the text contains.
    fn visible_prompts(&self) -> &'a [IdeaPrompt] {
        if self.hides_prompts { &[] } else { self.prompts }
    }

    /// Returns the ideas to print: all if a limit was requested (the daemon applied it), else the
    /// passing ones. If none passes, returns the best [`MAX_FAILING`], or all if none was judged.
    fn visible_ideas(&self) -> &'a [Idea] {
        let passing = self.ideas.iter().take_while(|idea| idea.passes).count();
        let is_judged = self.ideas.iter().any(|idea| idea.judge.is_some());
        let count = match (self.limit, passing) {
            (Some(_), _) => self.ideas.len(),
            (None, 0) if is_judged => MAX_FAILING,
            (None, 0) => self.ideas.len(),
            (None, passing) => passing,
        };
        self.ideas.get(..count).unwrap_or(self.ideas)
    }
}

impl Show for IdeasJson<'_> {
    fn text(&self, t: &mut Text) {
        show_crosses(self.prompts, t);
        for (at, prompt) in self.visible_prompts().iter().enumerate() {
            t.raw_line("");
            let head = t.cut(&prompt_head(at, self.prompts), 0);
            t.raw_line(&t.paint.bold(&head));
            t.raw_line("");
            t.verbatim(&prompt.text);
        }
        for (at, idea) in self.visible_ideas().iter().enumerate() {
            if at > 0 {
                t.raw_line("");
            }
            show_idea(idea, t);
        }
        if !self.ideas.is_empty() {
            t.raw_line("");
            let list = |mut names: Vec<String>| {
                names.dedup();
                names.join(", ")
            };
            let close = self.close_set.iter().map(|page| page_name(&page.source_id, &page.slug));
            let far = self.far_set.iter().map(|page| page_name(&page.source_id, &page.slug));
            let (close, far) = (list(close.collect()), list(far.collect()));
            t.prose(&format!("{} ", t.paint.dim("close")), 6, &close);
            t.prose(&format!("{}   ", t.paint.dim("far")), 6, &far);
        }
    }

    fn quiet(&self, t: &mut Text) {
        for idea in self.visible_ideas() {
            t.line(&idea.text);
        }
        for prompt in self.visible_prompts() {
            t.verbatim(&prompt.text);
        }
    }

    fn failures(&self) -> Vec<String> {
        [self.problem, self.save_problem].into_iter().flatten().map(str::to_owned).collect()
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let hidden_count = self.ideas.len() - self.visible_ideas().len();
        if hidden_count > 0 {
            let more = if self.ideas.iter().any(|idea| idea.passes) { "more " } else { "" };
            let ideas = if hidden_count == 1 { "idea" } else { "ideas" };
            notes.push(format!(
                "{hidden_count} {more}{ideas} did not pass: --resume {} --limit {} shows them",
                self.run_id,
                self.ideas.len().min(200)
            ));
        }
        notes.extend_from_slice(self.notes);
        let bytes: usize = self.prompts.iter().map(|prompt| prompt.text.len()).sum();
        match self.prompts_file {
            Some(file) => notes.push(format!("the prompts are in {file}")),
            None if bytes > 0 && self.hides_prompts => notes.push(format!(
                "{} prompts ({} KB): --resume {} --prompts FILE writes them to a file",
                self.prompts.len(),
                bytes.div_ceil(1000),
                self.run_id
            )),
            None => {}
        }
        notes.push(match self.saved_slug {
            Some(slug) => format!("run {}, saved as {slug}", self.run_id),
            None if self.status == IdeaStatus::Prompts => format!("run {}", self.run_id),
            None => {
                format!(
                    "run {}, not saved as a page (--resume {} --save does it)",
                    self.run_id, self.run_id
                )
            }
        });
        notes
    }

    fn exit(&self) -> Exit {
        self.exit
    }
}

/// Formats the prompts for a file.
pub(super) fn prompts_text(prompts: &[IdeaPrompt]) -> String {
    let with_head = |(index, prompt): (usize, &IdeaPrompt)| {
        format!("{}\n\n{}\n\n", prompt_head(index, prompts), prompt.text.trim_end())
    };
    prompts.iter().enumerate().map(with_head).collect()
}

/// Returns the line above the prompt with the index `index`, from 0.
fn prompt_head(index: usize, prompts: &[IdeaPrompt]) -> String {
    let names = prompts.get(index).map(|prompt| {
        let close = page_name(&prompt.close_source_id, &prompt.close_slug);
        let far = page_name(&prompt.far_source_id, &prompt.far_slug);
        format!(": {close} × {far}")
    });
    format!("Prompt {} of {}{}", index + 1, prompts.len(), names.unwrap_or_default())
}

const CROSS_COLUMNS: &[Column] = &[
    Column::fixed("CROSS").align_right(),
    Column::fixed("APART").align_right().droppable(1),
    Column::uncut("CLOSE").with_paint(Paint::cyan),
    Column::uncut("FAR").with_paint(Paint::cyan),
];

/// Prints a table of the crosses that have a prompt.
fn show_crosses(prompts: &[IdeaPrompt], t: &mut Text) {
    let mut table = Table::new(CROSS_COLUMNS);
    for (at, prompt) in prompts.iter().enumerate() {
        let close = page_name(&prompt.close_source_id, &prompt.close_slug);
        let far = page_name(&prompt.far_source_id, &prompt.far_slug);
        table.row([&(at + 1).to_string(), &format!("{:.2}", prompt.distance), &close, &far]);
    }
    table.write(t);
}

/// Prints score, number, text, pages and the judge's note of an idea.
fn show_idea(idea: &Idea, t: &mut Text) {
    let score = match (&idea.judge, idea.passes) {
        (Some(judge), true) => t.paint.green(&format!("{:.2}", judge.weighted)),
        (Some(judge), false) => format!("{:.2}", judge.weighted),
        (None, _) => "   -".into(),
    };
    t.prose(&format!("{score}  "), 6, &idea.text);
    let close = page_name(&idea.close_source_id, &idea.close_slug);
    let far = page_name(&idea.far_source_id, &idea.far_slug);
    let from = format!("#{} {close} × {far} ({:.2} apart)", idea.id, idea.distance);
    t.prose(&format!("      {} ", t.paint.dim("from")), 11, &from);
    if let Some(judge) = &idea.judge {
        let s = &judge.scores;
        let scores = format!(
            "originality {} · resistance {} · thesis {} · grounding {} · load-bearing {}",
            s.originality, s.resistance, s.thesis, s.grounding, s.load_bearing
        );
        t.prose("      ", 6, &scores);
        if !judge.note.is_empty() {
            t.prose("      ", 6, &judge.note);
        }
    }
}

/// The runs of one command.
#[derive(Debug, Serialize)]
pub(super) struct Runs {
    runs: Vec<RunJson>,
    damaged: Vec<String>,
}

/// The JSON form of a run.
#[derive(Debug, Serialize)]
struct RunJson {
    run_id: String,
    profile: IdeaProfile,
    question: String,
    started_at: String,
    status: IdeaStatus,
    crosses_done: u32,
    crosses: u32,
    cost: Cost,
    saved_slug: Option<String>,
    /// The actual cost in millionths of a dollar.
    #[serde(skip)]
    spent: u64,
}

impl Runs {
    /// Selects the runs of `profile`; damaged files can belong to either profile.
    pub(super) fn of(all: IdeaRunsReply, profile: IdeaProfile) -> Self {
        let row = |run: IdeaRunRow| RunJson {
            run_id: run.run_id,
            profile: run.profile,
            question: run.question,
            started_at: run.started_at,
            status: run.status,
            crosses_done: run.crosses_done,
            crosses: run.crosses,
            spent: run.cost.actual,
            cost: run.cost.into(),
            saved_slug: run.saved_slug.map(String::from),
        };
        let runs = all.runs.into_iter().filter(|run| run.profile == profile).map(row).collect();
        Self { runs, damaged: all.damaged }
    }
}

const RUN_COLUMNS: &[Column] = &[
    Column::fixed("RUN").with_paint(Paint::cyan),
    Column::fixed("STATUS"),
    Column::fixed("CROSSES").droppable(2),
    Column::fixed("COST").align_right().droppable(3),
    Column::fixed("STARTED").droppable(1),
    Column::flexible("QUESTION", 16),
];

impl Show for Runs {
    fn text(&self, t: &mut Text) {
        let mut table = Table::new(RUN_COLUMNS);
        for run in &self.runs {
            let crosses = format!("{}/{}", run.crosses_done, run.crosses);
            let cost = format!("${}", usd(run.spent));
            table.row([
                &run.run_id,
                run.status.as_str(),
                &crosses,
                &cost,
                &format_to_minute(&run.started_at),
                &run.question,
            ]);
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for run in &self.runs {
            t.line(&run.run_id);
        }
    }

    fn warnings(&self) -> &[String] {
        &self.damaged
    }

    fn notes(&self) -> Vec<String> {
        match self.runs.is_empty() {
            true => vec!["no stored runs".into()],
            false => Vec::new(),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use brain_protocol::{FarPage, Judgement, Scores, Slug, SourceId, Spending};

    use super::*;
    use crate::output::width;

    fn slug(text: &str) -> Slug {
        Slug::parse(text).expect("slug")
    }

    fn idea(id: u32, weighted: f32, passes: bool) -> Idea {
        let scores = Scores {
            originality: 4.0,
            resistance: 3.5,
            thesis: 4.0,
            grounding: 2.0,
            load_bearing: 5.0,
        };
        Idea {
            id,
            text: format!(
                "Idea {id}\u{1b}[2J: let the meeting decide what the agenda was, \
                 and write it afterwards"
            ),
            close_slug: slug("concepts/a-rather-long-slug-that-hardly-fits"),
            far_slug: slug("people/ada"),
            distance: 0.5,
            judge: Some(Judgement {
                scores,
                weighted,
                note: "Bold, and it follows from both.".into(),
            }),
            passes,
            close_source_id: SourceId::default(),
            far_source_id: SourceId::parse("work").expect("source"),
        }
    }

    pub(in super::super) fn reply() -> IdeasReply {
        let far = |text: &str| FarPage {
            slug: slug(text),
            title: "T".into(),
            distance: 0.5,
            band: "far".into(),
            source_id: SourceId::default(),
        };
        IdeasReply {
            profile: IdeaProfile::Brainstorm,
            run_id: "abcdefgh".into(),
            question: "Why?".into(),
            status: IdeaStatus::Done,
            ideas: vec![idea(1, 4.25, true), idea(2, 3.5, false)],
            prompts: Vec::new(),
            close_set: vec![ClosePage {
                slug: slug("concepts/a"),
                title: "A".into(),
                score: 1.0,
                source_id: SourceId::default(),
            }],
            far_set: vec![far("people/ada"), far("people/bob")],
            short_of_target: false,
            judge_failed: false,
            failed_crosses: 0,
            cost: Spending {
                estimated: 960_000,
                actual: 912_345,
                tokens_in: 70_000,
                tokens_out: 21_000,
                calls: 30,
            },
            saved_slug: Some(slug("ideas/2026-11-21-why-abcdefgh")),
            problem: None,
            degraded: None,
            crosses: 2,
            ideas_per_cross: 3,
            save_problem: None,
            notes: Vec::new(),
        }
    }

    #[test]
    fn json_begins_with_the_documented_fields() {
        let reply = reply();
        let json = serde_json::to_string(&IdeasJson::of(&reply, None)).expect("json");
        let mut at = 0;
        for name in [
            "profile",
            "run_id",
            "question",
            "ideas",
            "close_set",
            "far_set",
            "short_of_target",
            "judge_failed",
            "cost",
            "saved_slug",
            "status",
        ] {
            let offset = json[at..].find(&format!("\"{name}\":"));
            assert!(offset.is_some(), "{name} after {at} in {json}");
            at += offset.unwrap_or(0);
        }
        let value: serde_json::Value = serde_json::from_str(&json).expect("json");
        let cost = serde_json::json!({
            "estimated_usd": 0.96,
            "actual_usd": 0.912345,
            "input_tokens": 70_000,
            "output_tokens": 21_000,
            "calls": 30,
        });
        assert_eq!(value["cost"], cost);
        let keys: Vec<&String> = value["ideas"][0].as_object().expect("object").keys().collect();
        for key in ["id", "text", "close_slug", "far_slug", "distance", "judge", "passes"] {
            assert!(keys.iter().any(|name| *name == key), "{key}");
        }
        for axis in ["originality", "resistance", "thesis", "grounding", "load_bearing"] {
            assert!(value["ideas"][0]["judge"]["scores"][axis].is_number(), "{axis}");
        }
    }

    #[test]
    fn an_answer_fits_60_columns_and_is_clean() {
        let reply = reply();
        let mut t = Text::plain(Some(60));
        IdeasJson::of(&reply, Some(2)).text(&mut t);
        for line in t.as_str().lines() {
            assert!(width(line) <= 60, "{line}");
        }
        assert!(!t.as_str().contains('\u{1b}'), "{}", t.as_str());
        assert!(t.as_str().contains("4.25") && t.as_str().contains("3.50"), "{}", t.as_str());
        assert!(t.as_str().contains("work:people/ada"), "{}", t.as_str());
    }

    #[test]
    fn text_shows_passing_ideas_and_counts_the_others() {
        let mut reply = reply();
        let answer = IdeasJson::of(&reply, None);
        assert_eq!(answer.visible_ideas().len(), 1);
        let notes = answer.notes();
        assert!(
            notes[0].contains("1 more idea did not pass: --resume abcdefgh --limit 2"),
            "{notes:?}"
        );
        assert!(notes[1].contains("saved as ideas/2026-11-21-why-abcdefgh"), "{notes:?}");
        assert_eq!(IdeasJson::of(&reply, Some(2)).visible_ideas().len(), 2);
        for idea in &mut reply.ideas {
            (idea.passes, idea.judge) = (false, None);
        }
        let visible = IdeasJson::of(&reply, None).visible_ideas().len();
        assert_eq!(visible, 2, "ideas without a judgement are all shown");
    }
}

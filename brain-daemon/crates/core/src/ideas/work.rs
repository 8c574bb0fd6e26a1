//! The phases that ask: crosses, then the judge. Each step is kept before the next one is paid.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use brain_protocol::{Fault, Judged, Spent, usd};

use super::cross::{self, Came};
use super::estimate::estimate;
use super::judge;
use super::kept::Shelf;
use super::mind::{Because, Lost, Paid};
use super::parse::Verdict;
use super::profile::Profile;
use super::prompt::{self, Judgeable, Page, Prompt};
use super::state::{Child, CrossState, Pick, Run};
use crate::{Brain, Progress};
use brain_costs::{Budget, Price};
use brain_llm::Model;

/// A run that is worked on, and what the work needs.
pub(super) struct Work<'a> {
    pub(super) brain: &'a Brain,
    pub(super) profile: &'static Profile,
    pub(super) run: Mutex<Run>,
    pub(super) shelf: &'a Shelf,
    /// Texts of close and far pages; `None` when a page is gone.
    pub(super) close: Vec<Option<String>>,
    pub(super) far: Vec<Option<String>>,
    pub(super) progress: &'a dyn Progress,
    pub(super) done: AtomicU64,
    pub(super) total: u64,
}

/// Who is asked, and what may be spent.
pub(super) struct Means {
    pub(super) ideas: Model,
    pub(super) judge: Model,
    /// Of either's tokens.
    pub(super) price: Price,
    pub(super) budget: Budget,
    pub(super) most: u64,
}

/// The phases by their names.
const CROSSES: &str = "crosses";
pub(super) const JUDGE: &str = "judge";

impl Work<'_> {
    /// Crosses, then the judge. The phase that ended before its end, and why.
    pub(super) fn phases(&self, means: &Means) -> Option<(&'static str, Lost)> {
        let ended = match self.crosses(means) {
            Ok(ended) => ended,
            Err(fault) => Some(lost(&fault)),
        };
        // What the judge costs was held back from the budget; a service that fails would not judge either.
        if let Some(lost) = &ended
            && lost.because != Because::Budget
        {
            return ended.map(|lost| (CROSSES, lost));
        }
        if self.run().children().next().is_none() {
            return Some((CROSSES, ended.unwrap_or_else(|| self.nothing())));
        }
        let judged = self.judge(means);
        ended.map(|lost| (CROSSES, lost)).or_else(|| judged.map(|lost| (JUDGE, lost)))
    }

    fn crosses(&self, means: &Means) -> Result<Option<Lost>, Fault> {
        let texts = self.close.iter().chain(&self.far).flatten().map(String::as_str);
        let mark = self.brain.mark(&texts)?;
        let mut tasks = Vec::new();
        {
            let mut run = self.run();
            for number in run.open() {
                match cross_prompt(&run, number, &self.close, &self.far, &mark) {
                    Some(prompt) => tasks.push((number, prompt)),
                    None => {
                        run.crosses[number].state =
                            CrossState::Failed { why: "a page of it is gone".into() }
                    }
                }
            }
        }
        let mind = Paid { model: &means.ideas, budget: &means.budget, kind: self.profile.kind };
        let affords = || self.affords(means);
        let goes_on = || self.goes_on();
        let keep = |number: usize, came: Came| {
            let state = match came {
                Came::Ideas(texts) => CrossState::Done {
                    ideas: texts.into_iter().map(|text| Child { text, judge: None }).collect(),
                },
                Came::Failed(why) => CrossState::Failed { why },
            };
            self.done.fetch_add(1, Ordering::Relaxed);
            self.kept(means, |run| {
                if let Some(cross) = run.crosses.get_mut(number) {
                    cross.state = state;
                }
            })
        };
        let phase = cross::Phase {
            mind: &mind,
            each: self.profile.ideas as usize,
            affords: &affords,
            goes_on: &goes_on,
            keep: &keep,
        };
        Ok(phase.run(tasks))
    }

    /// Whether one more cross can be paid, and judging all that is there then.
    fn affords(&self, means: &Means) -> Result<(), Lost> {
        let price = means.price;
        let unjudged = self.run().unjudged() as u64;
        let needed = estimate(price, 1, u64::from(self.profile.ideas), unjudged);
        let left = means.most.saturating_sub(means.budget.spent().actual);
        if needed <= left {
            return Ok(());
        }
        Err(Lost {
            because: Because::Budget,
            message: format!(
                "one more cross and the judge cost about ${}, and ${} are left of the budget of ${}",
                usd(needed),
                usd(left),
                usd(means.most)
            ),
            hint: String::new(),
        })
    }

    fn judge(&self, means: &Means) -> Option<Lost> {
        // A copy: what is judged does not change meanwhile.
        let run = self.run().clone();
        let unjudged: Vec<(usize, usize, &Child)> =
            run.children().filter(|(_, _, child)| child.judge.is_none()).collect();
        let mind = Paid { model: &means.judge, budget: &means.budget, kind: self.profile.kind };
        let prompt = |batch: &[usize]| {
            self.judge_prompt(&run, batch.iter().filter_map(|at| unjudged.get(*at)))
        };
        let mut keep = |said: Vec<(usize, Verdict)>| {
            self.kept(means, |run| {
                for (at, verdict) in said {
                    let child =
                        unjudged.get(at).and_then(|(cross, at, _)| run.child_mut(*cross, *at));
                    if let Some(child) = child {
                        let Verdict { scores, note, .. } = verdict;
                        let weighted = self.profile.weighted(&scores);
                        child.judge = Some(Judged { scores, weighted, note });
                    }
                }
            })?;
            self.done.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        let all: Vec<usize> = (0..unjudged.len()).collect();
        judge::Phase { mind: &mind, prompt: &prompt, goes_on: &|| self.goes_on(), keep: &mut keep }
            .run(&all)
    }

    /// The question about some ideas. Its mark is a new one: a model that had the former may have written it into an idea.
    fn judge_prompt<'c>(
        &self,
        run: &Run,
        ideas: impl Iterator<Item = &'c (usize, usize, &'c Child)>,
    ) -> Result<Prompt, Lost> {
        let mut judgeable = Vec::new();
        for (number, _, child) in ideas {
            let (Some(cross), Some((close, far))) = (run.crosses.get(*number), run.pages(*number))
            else {
                continue;
            };
            judgeable.push(Judgeable {
                text: &child.text,
                close: gist(&close.page, text_of(&self.close, cross.close)),
                far: gist(&far.page, text_of(&self.far, cross.far)),
            });
        }
        let texts = judgeable.iter().flat_map(|idea| [idea.text, idea.close.text, idea.far.text]);
        let mark = self.brain.mark(&texts).map_err(|fault| lost(&fault))?;
        Ok(prompt::judge(&run.question, &judgeable, &mark))
    }

    /// Changes the run, and keeps it with what it has cost until now.
    fn kept(&self, means: &Means, change: impl FnOnce(&mut Run)) -> Result<(), Lost> {
        let mut run = self.run();
        change(&mut run);
        run.cost = Spent { estimated: run.cost.estimated, ..means.budget.spent() };
        run.changed_at = self.brain.clock.now();
        self.shelf.keep(&run).map_err(|fault| lost(&fault))
    }

    fn goes_on(&self) -> bool {
        let done = self.done.load(Ordering::Relaxed).min(self.total);
        self.progress.at(done, self.total) && !self.brain.is_stopping()
    }

    /// Why there is no idea at all.
    fn nothing(&self) -> Lost {
        let run = self.run();
        let why = run.crosses.iter().find_map(|cross| match &cross.state {
            CrossState::Failed { why } => Some(why.as_str()),
            _ => None,
        });
        Lost {
            because: Because::Question,
            message: format!("no cross gave an idea: {}", why.unwrap_or("there is none")),
            hint: "another model may: --model".into(),
        }
    }

    fn run(&self) -> MutexGuard<'_, Run> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The prompt of a cross; `None` when a page of it is gone.
pub(super) fn cross_prompt(
    run: &Run,
    number: usize,
    close: &[Option<String>],
    far: &[Option<String>],
    mark: &str,
) -> Option<Prompt> {
    let cross = run.crosses.get(number)?;
    let (near, wide) = run.pages(number)?;
    let (near, wide) = (
        page(&near.page, text_of(close, cross.close)?),
        page(&wide.page, text_of(far, cross.far)?),
    );
    Some(prompt::cross(Profile::of(run.profile), &run.question, near, wide, mark))
}

fn text_of(texts: &[Option<String>], at: usize) -> Option<&str> {
    texts.get(at)?.as_deref()
}

fn page<'a>(pick: &'a Pick, text: &'a str) -> Page<'a> {
    Page { slug: pick.slug.as_str(), title: &pick.title, text }
}

/// A page beside an idea: of one that is gone nothing is told, not even its title.
fn gist<'a>(pick: &'a Pick, text: Option<&'a str>) -> Page<'a> {
    text.map_or(Page { slug: "", title: "a page that is gone", text: "" }, |text| page(pick, text))
}

fn lost(fault: &Fault) -> Lost {
    let hint = fault.hint.clone().unwrap_or_default();
    Lost { because: Because::Service, message: fault.message.clone(), hint }
}

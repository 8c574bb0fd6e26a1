//! A question's vector, and the pages near it.
//!
//! One thread asks the provider, whatever has gathered at once; whoever searches waits for it no longer than the deadline. So a provider that stalls holds no search, and holds one
//! thread and not many. While it stalls, who comes next does not wait at all.

use std::collections::VecDeque;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::scale::{Scale, Windows};
use super::state::{InUse, locked};
use super::{Brain, Lacking, Meant, Own, QUERY_DEADLINE};
use brain_base::caller::Visibility;
use brain_embed::{EmbedFault, EmbedWhy, Embedder, Purpose};

/// How many questions may wait. More than that come from no person.
const WAITING: usize = 64;
/// The thread goes when nobody asked for so long.
const IDLE: Duration = Duration::from_secs(60);
/// What is taken of a question, in characters: models read no more.
const LONGEST: usize = 2000;
/// So many of a hundred pages may be without vectors before an answer says so: pages that just came are few, and found by their words.
const FEW: u64 = 2;
/// So many sets of sources have a scale of their own in memory.
const MAX_SCALES: usize = 256;

/// Asks for questions' vectors.
#[derive(Default)]
pub(super) struct Asker {
    state: Mutex<State>,
    bell: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    has_thread: bool,
    /// Since when the provider has been asked.
    asked: Option<Instant>,
}

struct Waiting {
    embedder: Arc<dyn Embedder>,
    question: String,
    until: Instant,
    answer: SyncSender<Result<Vec<f32>, EmbedFault>>,
}

impl Asker {
    /// Whether somebody waits for a question's vector.
    pub(super) fn is_asked(&self) -> bool {
        let state = locked(&self.state);
        state.asked.is_some() || !state.waiting.is_empty()
    }

    /// The vector of `question`, until then.
    fn ask(
        self: &Arc<Self>,
        embedder: &Arc<dyn Embedder>,
        question: &str,
        until: Instant,
    ) -> Result<Vec<f32>, EmbedFault> {
        let (answer, answered) = sync_channel(1);
        let question = question.chars().take(LONGEST).collect();
        {
            let mut state = locked(&self.state);
            let stalls = state.asked.is_some_and(|since| since.elapsed() > QUERY_DEADLINE);
            if stalls || state.waiting.len() >= WAITING {
                return Err(late());
            }
            state.waiting.push_back(Waiting {
                embedder: Arc::clone(embedder),
                question,
                until,
                answer,
            });
            if !state.has_thread {
                let asker = Arc::clone(self);
                std::thread::Builder::new()
                    .name("questions".into())
                    .spawn(move || asker.work())
                    .map_err(|e| EmbedFault {
                        message: format!("no thread to ask with: {e}"),
                        ..late()
                    })?;
                state.has_thread = true;
            }
        }
        self.bell.notify_one();
        match answered.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Err(late()),
        }
    }

    /// The thread: asks for whatever waits, until nobody has for a while.
    fn work(&self) {
        loop {
            let mut state = locked(&self.state);
            while state.waiting.is_empty() {
                let (next, rest) =
                    self.bell.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
                state = next;
                if rest.timed_out() && state.waiting.is_empty() {
                    state.has_thread = false;
                    return;
                }
            }
            let now = Instant::now();
            let all: Vec<Waiting> =
                state.waiting.drain(..).filter(|waiting| waiting.until > now).collect();
            state.asked = Some(now);
            drop(state);
            // A provider that panics must not leave questions without a thread.
            let asked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| answer(all)));
            if asked.is_err() {
                tracing::error!("asking for a question's vector ended in a defect");
            }
            locked(&self.state).asked = None;
        }
    }
}

/// Asks for what has one embedder at once, and tells everybody.
fn answer(mut all: Vec<Waiting>) {
    while let Some(first) = all.first() {
        let embedder = Arc::clone(&first.embedder);
        let (same, others) =
            all.into_iter().partition(|waiting| Arc::ptr_eq(&waiting.embedder, &embedder));
        all = others;
        let same: Vec<Waiting> = same;
        let texts: Vec<String> = same.iter().map(|waiting| waiting.question.clone()).collect();
        let until = same.iter().map(|waiting| waiting.until).max();
        let goes_on = || until.is_some_and(|until| Instant::now() < until);
        let ask = |texts: &[String]| match embedder.embed(texts, Purpose::Query, &goes_on) {
            Ok(vectors) if vectors.len() == texts.len() => Ok(vectors),
            Ok(_) => {
                Err(EmbedFault { message: "not every question got a vector".into(), ..late() })
            }
            Err(fault) => Err(fault),
        };
        match ask(&texts) {
            Ok(vectors) => {
                for (waiting, vector) in same.into_iter().zip(vectors) {
                    // Who does not wait any more has no use for it.
                    let _ = waiting.answer.send(Ok(vector));
                }
            }
            // One that is not taken spoils it for no other.
            Err(fault) if fault.why == EmbedWhy::Text && same.len() > 1 => {
                for waiting in same {
                    let alone = ask(std::slice::from_ref(&waiting.question));
                    let _ = waiting.answer.send(
                        alone.and_then(|vectors| vectors.into_iter().next().ok_or_else(late)),
                    );
                }
            }
            Err(fault) => {
                for waiting in same {
                    let _ = waiting.answer.send(Err(fault.clone()));
                }
            }
        }
    }
}

fn late() -> EmbedFault {
    let message =
        format!("the embedding model did not answer within {} s", QUERY_DEADLINE.as_secs());
    EmbedFault { why: EmbedWhy::Later(None), message, hint: None }
}

impl Brain {
    /// Whether something is configured that makes vectors.
    pub(crate) fn has_embedding(&self) -> bool {
        self.embedding_provider().is_some()
    }

    /// Pages near `question`, at most `limit`, only those that `admits` lets through; `own` are the
    /// pages of a caller who may see some sources only, and nothing else makes a difference then.
    /// Never fails and never takes longer than [`QUERY_DEADLINE`].
    pub(crate) fn near(
        &self,
        question: &str,
        limit: usize,
        admits: &dyn Fn(u64) -> bool,
        own: Option<&Own>,
    ) -> Meant {
        let until = Instant::now() + QUERY_DEADLINE;
        let without = |why: String| Meant {
            lacking: Some(Lacking { share: None, why: Some(why) }),
            ..Meant::default()
        };
        if !self.has_embedding() {
            return Meant::default();
        }
        let Some(in_use) = self.meaning.shared.wait(until, QUERY_DEADLINE) else {
            let problem = self.meaning.problem().map(|(problem, _)| problem);
            return without(problem.unwrap_or_else(|| "the vectors are being opened".into()));
        };
        let windows = match own {
            None => Windows::all(&in_use.vectors),
            Some(own) => Windows::of(&in_use.vectors, &own.pages),
        };
        let lacking = self.lacking(&windows, own);
        if windows.windows == 0 {
            return Meant { lacking, ..Meant::default() };
        }
        let vector = match self.meaning.asker.ask(&in_use.embedder, question, until) {
            Ok(vector) if vector.len() == in_use.space.dimensions => vector,
            Ok(_) => return without("the model's vectors have another length than before".into()),
            Err(fault) => {
                if fault.why == EmbedWhy::Changed {
                    self.embedding_changed();
                }
                return without(fault.message);
            }
        };
        let near = match own {
            None => in_use.vectors.search(&vector, limit, admits),
            Some(own) => {
                let mut pages = own.pages.iter().copied().filter(|page| admits(*page));
                in_use.vectors.search_among(&vector, limit, &mut pages)
            }
        };
        let scale = match own {
            None => *in_use.scale.read().unwrap_or_else(PoisonError::into_inner),
            Some(own) => in_use.scale_of(own, &windows),
        };
        let background = Scale::background(&windows, &vector).unwrap_or(scale.floor);
        // Where nobody knows what a cosine means in this space, the question itself tells where nearness begins.
        let floor = if scale.is_guess(&in_use.space.model) { background } else { scale.floor };
        let read = in_use.embedder.reads(question);
        Meant { near, floor, background, span: scale.span, read, lacking }
    }

    /// How far two pages are from each other: (1 - cosine) / 2; `None` without vectors of both.
    pub(crate) fn distance(&self, one: u64, other: u64) -> Option<f32> {
        let in_use = self.meaning.shared.in_use()?;
        in_use.vectors.between(one, other).map(|cosine| (1.0 - cosine) / 2.0)
    }

    /// Why vectors say less than they could, when it is more than a few pages.
    fn lacking(&self, windows: &Windows<'_>, own: Option<&Own>) -> Option<Lacking> {
        let active = match own {
            Some(own) => own.pages.len() as u64,
            None => {
                self.store.read(Visibility::All).and_then(|reader| reader.counts()).ok()?.active
            }
        };
        let pages = windows.pages.min(active);
        let missing = active - pages;
        if missing * 100 <= active * FEW {
            return None;
        }
        // A share: how many pages there are is not for everybody who searches.
        let share = Some(pages * 100 / active);
        Some(Lacking { share, why: self.meaning.problem().map(|(problem, _)| problem) })
    }
}

impl InUse {
    /// What cosines mean to who sees `own` pages, which have these windows; measured when there is
    /// enough to measure.
    fn scale_of(&self, own: &Own, windows: &Windows<'_>) -> Scale {
        let known = locked(&self.scales).get(&own.sources).copied().unwrap_or(Scale::new());
        if !known.is_due(&self.space.model, windows) {
            return known;
        }
        let scale = Scale::measured(windows);
        let mut scales = locked(&self.scales);
        if scales.len() >= MAX_SCALES {
            scales.clear();
        }
        scales.insert(own.sources.clone(), scale);
        scale
    }
}

//! Ratings: by numbers at once and again after an hour, by a model once where one is configured. Kept as `data/ratings/<id>.json`: the
//! rating, and beside it which model spoke or how often it was asked.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use brain_protocol::Rating;
use serde::{Deserialize, Serialize};

use super::super::named::Names;
use super::super::topics::{WEEK_MS, mentioned};
use super::rubric::{Seen, Ties, again, is_again_due, novelty, words};
use super::{BOUND, FAULTS, Reads, Round, Tries, judged};
use brain_base::caller::Visibility;
use brain_base::clock::{parse_instant, rfc3339};
use brain_collector::{DataFault, Noted, PostId, Record, SEARCHES, Stream};
use brain_llm::{Model, ModelFault, Question};

const KIND: &str = "ratings";
/// How many posts one question is about.
const BATCH: usize = 10;
/// The most tokens of an answer: 60 for each post, and room for models that think before they speak.
const TOKENS: u32 = 4000;
/// The most posts of the last week that a post's words are compared with.
const COMPARED: usize = 2000;
/// A snapshot this close to the numbers of a post is not a former one, in milliseconds.
const SAME_MS: i64 = 60_000;

/// What is kept of a rating.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Kept {
    #[serde(flatten)]
    rating: Rating,
    /// The model that rated it, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(flatten)]
    tries: Tries,
}

/// What a post is compared with.
struct Compared {
    names: Names,
    /// The account's handle.
    handle: Option<String>,
    /// The place of each post of the week in the order in which they were noted.
    places: HashMap<PostId, usize>,
    /// The first place of each word.
    first: HashMap<u64, usize>,
}

impl Round<'_> {
    /// Rates the posts that wait for it; whether more wait.
    ///
    /// # Errors
    /// When files cannot be used.
    pub(super) fn ratings(&mut self) -> Result<bool, DataFault> {
        let by_model = self.model_name(Reads::Text).is_some();
        let (mut new, mut old, mut unasked) = (Vec::new(), Vec::new(), Vec::new());
        let now = self.brain.now();
        for id in self.undone(KIND) {
            let Some(kept) = self.beside::<Kept>(KIND, &id)? else {
                new.push(id);
                continue;
            };
            let waits = by_model && kept.model.is_none() && !kept.tries.are_over();
            if kept.rating.before.is_some() && !waits {
                self.done(KIND, &id);
                continue;
            }
            if is_again_due(&kept.rating, now) {
                old.push(id.clone());
            }
            if waits && kept.tries.are_due(now) {
                unasked.push(id);
            }
        }
        let more = new.len() + old.len() > BOUND;
        // What is new has no rating at all.
        new.truncate(BOUND);
        old.truncate(BOUND - new.len());
        for id in old {
            self.rate_again(&id)?;
        }
        if !new.is_empty() {
            let compared = self.compared()?;
            for id in new {
                if self.rate(&id, compared.as_ref())? && by_model {
                    unasked.push(id);
                }
            }
        }
        Ok(self.ask(unasked)? || more)
    }

    /// The first rating, by numbers; whether there is a post to rate.
    fn rate(&mut self, id: &PostId, compared: Option<&Compared>) -> Result<bool, DataFault> {
        let Some((post, streams)) = self.post(id)? else {
            self.done(KIND, id);
            return Ok(false);
        };
        let seen = self.seen(&post)?;
        let rating = Rating {
            reach: seen.reach(),
            virality: seen.virality(),
            relevance: compared.map(|with| with.ties(&post, &streams).relevance()),
            novelty: compared.and_then(|with| with.novelty(id, self.memory.words.get(id)?)),
            rated_at: rfc3339(self.brain.now()),
            ..Rating::default()
        };
        self.keep(KIND, id, &Kept { rating, model: None, tries: Tries::default() })?;
        Ok(true)
    }

    /// The second rating, by numbers.
    fn rate_again(&mut self, id: &PostId) -> Result<(), DataFault> {
        let (Some(kept), Some((post, _))) = (self.beside::<Kept>(KIND, id)?, self.post(id)?) else {
            self.done(KIND, id);
            return Ok(());
        };
        let rating = again(kept.rating, &self.seen(&post)?, self.brain.now());
        self.keep(KIND, id, &Kept { rating, ..kept })
    }

    fn seen<'p>(&self, post: &'p Record) -> Result<Seen<'p>, DataFault> {
        let at = post.instant(brain_collector::LAST_UPDATED).unwrap_or_else(|| self.brain.now());
        let snapshots = match self.data.snapshots(post.id()) {
            Err(fault) if fault.is_damage() => Vec::new(),
            read => read?,
        };
        let former = snapshots
            .iter()
            .rev()
            .filter_map(|one| Some((parse_instant(&one.timestamp, false)?, one.metrics)));
        let before = former.into_iter().find(|(taken, _)| at - taken >= SAME_MS);
        Ok(Seen { post, before, at })
    }

    /// What new posts are compared with; `None` when the brain's pages cannot be read.
    fn compared(&mut self) -> Result<Option<Compared>, DataFault> {
        let reader = self.brain.store.read(Visibility::All).map_err(brain_protocol::Fault::from);
        let names = match reader.and_then(|reader| Names::read(&reader)) {
            Ok(names) => names,
            Err(fault) => {
                tracing::warn!(%fault, "pages that posts name");
                return Ok(None);
            }
        };
        let week = self.journal.since(self.brain.now() - WEEK_MS)?;
        let ids = week.into_iter().filter_map(|entry| match entry.noted {
            Noted::Post { id, .. } => PostId::parse(&id),
            _ => None,
        });
        let mut seen = HashSet::new();
        let mut ids: Vec<PostId> = ids.filter(|id| seen.insert(id.clone())).collect();
        ids.drain(..ids.len().saturating_sub(COMPARED));
        let mut first = HashMap::new();
        let mut words_of = std::mem::take(&mut self.memory.words);
        let mut kept = HashMap::with_capacity(ids.len());
        for (place, id) in ids.iter().enumerate() {
            let words = match words_of.remove(id) {
                Some(words) => words,
                None => self.post(id)?.map(|(post, _)| numbers(post.text())).unwrap_or_default(),
            };
            for word in &words {
                first.entry(*word).or_insert(place);
            }
            kept.insert(id.clone(), words);
        }
        self.memory.words = kept;
        let handle = self.handle()?;
        let places = ids.into_iter().enumerate().map(|(place, id)| (id, place)).collect();
        Ok(Some(Compared { names, handle, places, first }))
    }

    /// Asks the model about posts that it has not rated; whether more wait.
    fn ask(&mut self, ids: Vec<PostId>) -> Result<bool, DataFault> {
        if ids.is_empty() {
            return Ok(false);
        }
        let Some(model) = self.model(Reads::Text) else { return Ok(false) };
        let mut waiting = Vec::new();
        for id in ids {
            let (Some(kept), Some((post, _))) = (self.beside::<Kept>(KIND, &id)?, self.post(&id)?)
            else {
                continue;
            };
            waiting.push((post, kept));
        }
        waiting.sort_by_key(|(_, kept)| kept.tries.attempts);
        let more = waiting.len() > BOUND;
        waiting.truncate(BOUND);
        // One of those that were asked about in vain may be the reason: each of them goes alone.
        let fresh = waiting.iter().take_while(|(_, kept)| kept.tries.attempts == 0).count();
        let (fresh, tried) = waiting.split_at(fresh);
        let handle = self.handle()?;
        let mut faults = 0;
        for batch in fresh.chunks(BATCH).chain(tried.chunks(1)) {
            if !self.goes_on() {
                return Ok(false);
            }
            match self.ask_about(&model, handle.as_deref(), batch) {
                Ok(()) => faults = 0,
                Err(Miss::Files(fault)) => return Err(fault),
                Err(Miss::Model(fault)) => {
                    faults += 1;
                    let ends = self.heard(Reads::Text, &fault) || faults >= FAULTS;
                    if fault.why.may_be_the_questions() {
                        self.in_vain(batch.iter())?;
                    }
                    if ends {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(more)
    }

    fn ask_about(
        &mut self,
        model: &Model,
        handle: Option<&str>,
        batch: &[(Record, Kept)],
    ) -> Result<(), Miss> {
        let posts: Vec<Record> = batch.iter().map(|(post, _)| post.clone()).collect();
        let text = judged::question(handle, &self.settings.searches, &posts);
        let question = Question {
            purpose: "ratings",
            system: judged::SYSTEM,
            text: &text,
            temperature: Some(0.0),
            max_tokens: TOKENS,
            json: true,
            ..Question::default()
        };
        let reply = model.ask(&question, None, &|| self.goes_on()).map_err(Miss::Model)?;
        tracing::debug!(
            model = model.name(),
            tokens_in = reply.tokens_in,
            tokens_out = reply.tokens_out,
            "posts rated"
        );
        let answer = reply.json().map_err(Miss::Model)?;
        let said = judged::read(&answer, &posts);
        for (post, kept) in batch {
            let Some(judged) = said.get(post.id()) else { continue };
            let rating = judged.on(kept.rating.clone());
            let kept = Kept { rating, model: Some(model.name().to_owned()), ..kept.clone() };
            self.keep(KIND, post.id(), &kept).map_err(Miss::Files)?;
        }
        self.in_vain(batch.iter().filter(|(post, _)| !said.contains_key(post.id())))
            .map_err(Miss::Files)
    }

    /// Notes that the model was asked about these and said nothing.
    fn in_vain<'p>(
        &self,
        posts: impl Iterator<Item = &'p (Record, Kept)>,
    ) -> Result<(), DataFault> {
        for (post, kept) in posts {
            let mut kept = kept.clone();
            kept.tries.note(self.brain.now());
            self.keep(KIND, post.id(), &kept)?;
        }
        Ok(())
    }
}

/// Why nothing was heard about a batch.
enum Miss {
    /// The model did not answer.
    Model(ModelFault),
    /// What it said cannot be written down.
    Files(DataFault),
}

impl Compared {
    fn ties(&self, post: &Record, streams: &[Stream]) -> Ties {
        let mentions = mentioned(post);
        let handle = self.handle.as_deref().unwrap_or_default();
        let searches =
            post.fields().get(SEARCHES).and_then(|searches| Some(searches.as_array()?.len()));
        Ties {
            account: streams.iter().any(|stream| *stream != Stream::Searches)
                || mentions.iter().any(|name| name.eq_ignore_ascii_case(handle)),
            searches: searches.unwrap_or(0),
            pages: self.names.named_in(post.text(), &mentions).len(),
        }
    }

    /// How new a post's words were when it was noted.
    fn novelty(&self, id: &PostId, words: &[u64]) -> Option<f32> {
        let place = *self.places.get(id)?;
        novelty(words, |word| self.first.get(&word).is_none_or(|first| *first >= place))
    }
}

/// The words of a text as numbers: two words that share one are no harm.
fn numbers(text: &str) -> Vec<u64> {
    let number = |word: String| {
        let mut hasher = DefaultHasher::new();
        word.hash(&mut hasher);
        hasher.finish()
    };
    words(text).into_iter().map(number).collect()
}

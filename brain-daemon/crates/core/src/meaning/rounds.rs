//! Making the vectors that are missing: newest changes first, a few pages a round, so that the round can be left at any time and little is held in memory.
//!
//! In the background this gives way to everything else: to whoever asks, to what streams in, to `brain embed`. What is kept was compared with the store at that moment, so a page that
//! changed while its vectors were made does not get those.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::follow::{key_of, later};
use super::keeping::FLUSH_EVERY;
use super::scale::{Scale, Windows};
use super::state::{InUse, Work, locked};
use super::{Brain, QUERY_DEADLINE, Round, Standing};
use brain_base::caller::Visibility;
use brain_embed::vectors::{Key, VectorError, Windowed};
use brain_embed::{EmbedFault, EmbedWhy, Purpose};
use brain_page::windows;
use brain_store::{StoreError, unless_damaged};

/// A round takes so many windows and about so many bytes of text, and looks at so many pages for them.
const WINDOWS: usize = 128;
const BYTES: usize = 1_000_000;
const PAGES: usize = 2000;
/// How long a rest is when there is nothing to do; the bell ends it.
const REST: Duration = Duration::from_secs(60);
/// How long the background gives way, and how often it looks within a round whether it may go on.
const WAY: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(50);
/// So many items that wait are many.
const MANY: u64 = 64;
/// After a failure, doubled with each one.
const AGAIN: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(600);

/// What is tried before all vectors are made anew.
const TRIED: &str = "Is anybody there?";

/// A page that is to get vectors.
struct Due {
    page: u64,
    key: Key,
    windows: Vec<brain_page::Window>,
}

impl Brain {
    /// One round of the background work: some pages get their vectors. How long to wait before the next; nothing to do is a long time.
    pub fn embed_due(&self) -> Duration {
        let meaning = &self.meaning;
        if self.is_stopping() || meaning.in_front.load(Ordering::Acquire) > 0 {
            return WAY;
        }
        let Ok(mut work) = meaning.turn.try_lock() else { return WAY };
        let idle = self.config.embedding_idle();
        if !self.is_home_here() {
            return idle.min(REST);
        }
        self.begin_afresh(&mut work);
        if let Some(open) = meaning.shared.in_use() {
            open.embedder.rest(idle);
        }
        if work.given_up {
            return idle.min(REST);
        }
        let now = Instant::now();
        if let Some(rest) = work.rests_until.map(|until| until.saturating_duration_since(now))
            && !rest.is_zero()
        {
            return rest.min(idle).min(REST);
        }
        let open = match self.open_vectors() {
            Ok(Some(open)) => open,
            Ok(None) => return REST,
            Err(fault) => return self.failed(&mut work, &fault),
        };
        if self.should_give_way() {
            self.keep(&mut work, &open, false);
            return WAY;
        }
        let goes_on = || !self.is_stopping() && !meaning.afresh.load(Ordering::Acquire);
        // Within a round, too: that of a long page takes minutes. Not while somebody waits for the turn.
        let may = || {
            while self.should_give_way()
                && goes_on()
                && meaning.in_front.load(Ordering::Acquire) == 0
            {
                std::thread::sleep(LOOK);
            }
            goes_on()
        };
        match self.make_some(&open, &goes_on, &may) {
            Ok(Some(_)) => {
                self.went_well(&mut work);
                self.keep(&mut work, &open, false);
                self.measure(&open);
                Duration::ZERO
            }
            Ok(None) => {
                self.keep(&mut work, &open, false);
                self.forget_others(&mut work, &open);
                idle.min(if self.is_kept(&work, &open) { REST } else { FLUSH_EVERY })
            }
            Err(fault) if fault.why == EmbedWhy::Stopped => WAY,
            Err(fault) => self.failed(&mut work, &fault),
        }
    }

    /// Returns when there may be something to do for [`Brain::embed_due`] before its time.
    pub async fn pages_change(&self) {
        self.meaning.shared.bell.notified().await;
    }

    /// For `brain embed`: one round of work now, whatever rest was given before; `all` forgets every vector first. `goes_on` as
    /// [`brain_embed::Embedder::embed`] has it. Nothing is missing any more when the round has no pages.
    pub(super) fn embed_round(
        &self,
        all: bool,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Round, EmbedFault> {
        let meaning = &self.meaning;
        meaning.in_front.fetch_add(1, Ordering::AcqRel);
        let mut work = locked(&meaning.turn);
        meaning.in_front.fetch_sub(1, Ordering::AcqRel);
        self.begin_afresh(&mut work);
        if work.given_up || work.failures > 0 {
            // What was wrong may be well: the model is there now, the key is right.
            *work =
                Work { flushed: work.flushed, unkept: work.unkept, ..Work::new(Instant::now()) };
            if meaning.shared.in_use().is_none() {
                *locked(&meaning.provider) = None;
            }
        }
        let open = match self.open_vectors() {
            Ok(Some(open)) => open,
            Ok(None) => {
                let message = "no embedding model is there".to_owned();
                return Err(EmbedFault { why: EmbedWhy::Model, message, hint: None });
            }
            Err(fault) => {
                self.failed(&mut work, &fault);
                return Err(fault);
            }
        };
        if all {
            // Those that are there go only when there is somebody who makes new ones.
            if let Err(fault) = open.embedder.embed(&[TRIED.to_owned()], Purpose::Document, goes_on)
            {
                if fault.why != EmbedWhy::Stopped {
                    self.failed(&mut work, &fault);
                }
                return Err(fault);
            }
            open.vectors.clear();
        }
        if all || !locked(&meaning.shared.held).is_empty() {
            meaning.shared.look_again();
        }
        let result = loop {
            match self.make_some(&open, goes_on, goes_on) {
                Ok(Some(round)) if round.pages == 0 => {}
                Ok(Some(round)) => break Ok(round),
                Ok(None) => {
                    self.forget_others(&mut work, &open);
                    break Ok(Round::default());
                }
                Err(fault) => break Err(fault),
            }
            if !goes_on() {
                let message = "told to stop".to_owned();
                break Err(EmbedFault { why: EmbedWhy::Stopped, message, hint: None });
            }
        };
        match &result {
            Err(fault) if fault.why != EmbedWhy::Stopped => drop(self.failed(&mut work, fault)),
            Err(_) => {}
            Ok(_) => self.went_well(&mut work),
        }
        self.keep(&mut work, &open, result.as_ref().is_ok_and(|round| round.pages == 0));
        self.measure(&open);
        result
    }

    /// A model was installed: looks at what is configured and installed anew, without a restart.
    pub(super) fn embedding_changed(&self) {
        self.meaning.afresh.store(true, Ordering::Release);
        self.meaning.shared.bell.notify_one();
    }

    /// How search by meaning is: for `brain model list`, `brain embed` and doctor. Quick; loads and asks nothing.
    pub(crate) fn meaning_standing(&self) -> Standing {
        let until = Instant::now() + QUERY_DEADLINE;
        // What was installed just now is in use in a moment; what was before is no answer any more.
        while self.meaning.afresh.load(Ordering::Acquire) && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        let Some(provider) = self.embedding_provider() else {
            return Standing { provider: "none".into(), ..Standing::default() };
        };
        let open = self.meaning.shared.wait(until, QUERY_DEADLINE);
        let size = open.as_ref().map(|open| open.vectors.size()).unwrap_or_default();
        let counts = self.store.read(Visibility::All).and_then(|reader| reader.counts());
        let active = counts.map_or(size.pages, |counts| counts.active);
        Standing {
            provider: provider.name.into(),
            model: Some(open.map_or(provider.model, |open| open.space.model.clone())),
            pages: size.pages.min(active),
            windows: size.windows,
            missing: active.saturating_sub(size.pages),
            problem: self.meaning.problem(),
        }
    }

    /// Lets go of everything when another model is to be used.
    fn begin_afresh(&self, work: &mut Work) {
        let meaning = &self.meaning;
        if !meaning.afresh.load(Ordering::Acquire) {
            return;
        }
        let former = meaning.shared.in_use();
        meaning.shared.opening();
        *locked(&meaning.provider) = None;
        meaning.afresh.store(false, Ordering::Release);
        // Again: somebody may have looked before a model that came just now.
        *locked(&meaning.provider) = None;
        former.iter().for_each(|former| self.settle_these(former));
        meaning.set_problem(None);
        *work = Work::new(Instant::now());
    }

    /// Whether something else goes first: pages that stream in, items that wait, a sync.
    fn should_give_way(&self) -> bool {
        let changes = self.meaning.shared.changes.load(Ordering::Relaxed);
        locked(&self.meaning.pace).streams(Instant::now(), changes)
            || self.ingest_load().waiting > MANY
            || self.syncing.try_lock().is_err()
    }

    /// Vectors of some pages; `None` when nothing is left to look at. `may` waits until the next batch may be made, and says whether to go on.
    fn make_some(
        &self,
        open: &InUse,
        goes_on: &dyn Fn() -> bool,
        may: &dyn Fn() -> bool,
    ) -> Result<Option<Round>, EmbedFault> {
        let unseen = &self.meaning.shared.unseen;
        let Some((after, upto)) = locked(unseen).take() else { return Ok(None) };
        let made = self.due(open, after, upto).map_err(|e| later(&e)).and_then(|(due, reached)| {
            let round = self.make(open, &due, goes_on, may)?;
            Ok((round, reached))
        });
        // What failed is looked at again; pages that have theirs by now cost nothing.
        let upto = made.as_ref().map_or(upto, |(_, reached)| *reached);
        locked(unseen).add(after, upto);
        made.map(|(round, _)| Some(round))
    }

    /// Pages without vectors among the changes behind `after` up to `upto`, newest first; the second value is the change up to which it must still be looked.
    fn due(&self, open: &InUse, after: u64, upto: u64) -> Result<(Vec<Due>, u64), StoreError> {
        let reader = self.store.read(Visibility::All)?;
        let (mut due, mut reached) = (Vec::new(), after);
        let (mut looked, mut count, mut bytes) = (0, 0, 0);
        reader.newest(upto + 1, |(_, _, record)| {
            if record.seq <= after {
                return Ok(false);
            }
            let key = key_of(&record);
            looked += 1;
            if open.vectors.key(record.id) != Some(key)
                && !locked(&self.meaning.shared.held).contains(&record.id)
                && let Some(content) = unless_damaged(reader.content(&record))?
            {
                let windows = windows(&record.title, &content.body);
                count += windows.len().max(1);
                bytes += windows.iter().map(|window| window.text.len()).sum::<usize>();
                due.push(Due { page: record.id, key, windows });
            }
            let more = looked < PAGES && count < WINDOWS && bytes < BYTES;
            if !more {
                reached = record.seq - 1;
            }
            Ok(more)
        })?;
        Ok((due, reached))
    }

    /// Makes and keeps vectors of these pages.
    fn make(
        &self,
        open: &InUse,
        due: &[Due],
        goes_on: &dyn Fn() -> bool,
        may: &dyn Fn() -> bool,
    ) -> Result<Round, EmbedFault> {
        let mut texts = due.iter().flat_map(|due| &due.windows).map(|window| window.text.clone());
        let (mut ready, mut round) = (std::collections::VecDeque::new(), Round::default());
        let mut due = due.iter().peekable();
        loop {
            while let Some(page) = due.next_if(|page| page.windows.len() <= ready.len()) {
                let vectors = ready.drain(..page.windows.len());
                if self.keep_page(open, page, vectors)? {
                    round.pages += 1;
                    round.windows += page.windows.len() as u64;
                }
            }
            let some: Vec<String> = texts.by_ref().take(open.at_once).collect();
            if some.is_empty() {
                return Ok(round);
            }
            while may() && self.meaning.asker.is_asked() {
                std::thread::sleep(Duration::from_millis(5));
            }
            ready.extend(some_vectors(open, &some, goes_on)?);
        }
    }

    /// Keeps a page's vectors, if it still says what they were made of.
    fn keep_page(
        &self,
        open: &InUse,
        due: &Due,
        vectors: impl Iterator<Item = Option<Vec<f32>>>,
    ) -> Result<bool, EmbedFault> {
        let windowed: Vec<Windowed> = due
            .windows
            .iter()
            .zip(vectors)
            .filter_map(|(window, vector)| {
                Some(Windowed {
                    start: window.start as u32,
                    end: window.end as u32,
                    vector: vector?,
                })
            })
            .collect();
        let _gate = locked(&self.meaning.shared.gate);
        // Not by `Store::read`, which may wait for the writer, who may wait for the gate.
        let reader = self.store.reader_maker().read(Visibility::All).map_err(|e| later(&e))?;
        let now =
            reader.by_id(due.page).map_err(|e| later(&e))?.map(|(_, _, record)| key_of(&record));
        if now != Some(due.key) {
            return Ok(false);
        }
        match open.vectors.put(due.page, due.key, &windowed) {
            Ok(()) => Ok(true),
            Err(error @ VectorError::Length { .. }) => {
                Err(EmbedFault { why: EmbedWhy::Model, message: error.to_string(), hint: None })
            }
            Err(error) => Err(later(&error)),
        }
    }

    fn measure(&self, open: &InUse) {
        let due = open
            .scale
            .read()
            .is_ok_and(|scale| scale.is_due(&open.space.model, &Windows::all(&open.vectors)));
        if due {
            let scale = Scale::measured(&Windows::all(&open.vectors));
            tracing::debug!(
                floor = scale.floor,
                span = scale.span,
                "what a cosine means was measured"
            );
            if let Ok(mut place) = open.scale.write() {
                *place = scale;
            }
        }
    }

    fn went_well(&self, work: &mut Work) {
        if !work.unkept {
            self.meaning.set_problem(None);
        }
        (work.failures, work.rests_until) = (0, None);
    }

    /// Notes why nothing can be made. How long to rest.
    fn failed(&self, work: &mut Work, fault: &EmbedFault) -> Duration {
        if fault.why == EmbedWhy::Changed {
            tracing::info!(%fault, "search by meaning begins anew");
            self.embedding_changed();
            return WAY;
        }
        if work.failures == 0 {
            tracing::warn!(%fault, "no vectors are made");
        }
        self.meaning.set_problem(Some((fault.message.clone(), fault.hint.clone())));
        let rest = match fault.why {
            EmbedWhy::Later(seconds) => {
                let again = AGAIN.saturating_mul(1 << work.failures.min(10)).min(LONGEST);
                again.max(Duration::from_secs(seconds.unwrap_or_default()))
            }
            _ => {
                work.given_up = true;
                REST
            }
        };
        work.failures += 1;
        work.rests_until = Some(Instant::now() + rest);
        rest.min(REST)
    }
}

/// A vector of each text; `None` for one that the model does not take.
fn some_vectors(
    open: &InUse,
    texts: &[String],
    goes_on: &dyn Fn() -> bool,
) -> Result<Vec<Option<Vec<f32>>>, EmbedFault> {
    match open.embedder.embed(texts, Purpose::Document, goes_on) {
        Ok(vectors) if vectors.len() == texts.len() => Ok(vectors.into_iter().map(Some).collect()),
        Ok(vectors) => {
            let message =
                format!("the model made {} vectors of {} texts", vectors.len(), texts.len());
            Err(EmbedFault { why: EmbedWhy::Model, message, hint: None })
        }
        Err(fault) if fault.why == EmbedWhy::Text && texts.len() > 1 => {
            let each =
                texts.iter().map(|text| some_vectors(open, std::slice::from_ref(text), goes_on));
            Ok(each.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
        }
        Err(fault) if fault.why == EmbedWhy::Text => {
            tracing::warn!(%fault, "a window of a page has no vector");
            Ok(vec![None])
        }
        Err(fault) => Err(fault),
    }
}

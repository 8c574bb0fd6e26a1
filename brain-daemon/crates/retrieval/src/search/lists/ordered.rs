//! The newest or oldest pages of a kind: `latest release`, `the last note about gardens`.

use brain_base::clock::local_date;
use brain_protocol::Fault;
use brain_questions::function_words::{folder_word, is_item};
use brain_questions::ordered::{OrderedQuestion, ordered_question};
use brain_questions::times::Order;
use brain_store::{PageEntry, StoreError};
use jiff::civil::Date;

use super::kinds::KindPages;
use super::{ListReader, days, names};

/// Maximum number of pages with the words of a question that are put into order. A search reads the
/// days of no more pages of a kind.
const MAX_PAGES: usize = 2_000;

/// Pages in the order that a question asks for.
#[derive(Debug)]
pub(in super::super) struct OrderedPages {
    /// The pages with their days. A page without a day has that of its creation, unless most pages
    /// have a day: then it is left out.
    pub(in super::super) pages: Vec<(PageEntry, Date)>,
    /// Number of pages that state no day.
    pub(in super::super) without_day: usize,
    /// Whether there are more pages than were read: one of them can be the first.
    pub(in super::super) is_cut: bool,
}

impl ListReader<'_> {
    /// Returns the pages that the question asks for in order. `None` if it asks for no kind in
    /// order, or if no page of the kind has its other words.
    pub(in super::super) fn ordered(&self) -> Result<Option<OrderedPages>, Fault> {
        match self.pages_to_order()? {
            Some(pages) => self.in_order(pages),
            None => Ok(None),
        }
    }

    /// As [`Self::ordered`], for a search, which says no doubt: `None` also if one of the other
    /// pages of the kind can be the first, or if there are too many for every search.
    pub(super) fn all_ordered(&self) -> Result<Option<OrderedPages>, Fault> {
        match self.pages_to_order()?.filter(|kind| !kind.is_cut && kind.pages.len() <= MAX_PAGES) {
            Some(pages) => self.in_order(pages),
            None => Ok(None),
        }
    }

    /// Returns the pages that the question asks for in order. `None` as [`Self::ordered`].
    fn pages_to_order(&self) -> Result<Option<KindPages>, Fault> {
        match ordered_question(self.terms).filter(|_| self.order().is_some()) {
            Some(question) => self.pages_of_kind_with_words(&question),
            None => Ok(None),
        }
    }

    /// Puts pages into the order that the question asks for. `None` if there are none.
    pub(super) fn in_order(&self, kind: KindPages) -> Result<Option<OrderedPages>, Fault> {
        let Some(order) = self.order() else { return Ok(None) };
        let KindPages { pages, is_cut, .. } = kind;
        let (mut dated, mut undated) = (Vec::new(), Vec::new());
        for page in pages {
            match self.day_in_order(&page, order)? {
                Some(day) => dated.push((page, day)),
                None => undated.push(page),
            }
        }
        // Where most pages state a day, the creation of the others says little: an import made them.
        let without_day = undated.len();
        if dated.len() <= without_day {
            let created = undated.into_iter().map(|page| {
                let day = local_date(page.2.created_at);
                (page, day)
            });
            dated.extend(created.filter(|(_, day)| self.is_within(*day)));
        }
        dated.sort_by(|(a, day), (b, other)| match order {
            Order::Newest => other.cmp(day).then(b.2.created_at.cmp(&a.2.created_at)),
            Order::Oldest => day.cmp(other).then(a.2.created_at.cmp(&b.2.created_at)),
        });
        Ok((!dated.is_empty()).then_some(OrderedPages { pages: dated, without_day, is_cut }))
    }

    /// Returns the day by which a page is ordered: the last one that it states and that has begun,
    /// or the first one. `None` if it states none of the period of the question.
    pub(in super::super) fn day_in_order(
        &self,
        page: &PageEntry,
        order: Order,
    ) -> Result<Option<Date>, StoreError> {
        let mut stated = days(self.reader, page)?.into_iter().filter(|day| self.is_within(*day));
        Ok(match order {
            Order::Newest => stated.rfind(|day| *day <= self.today),
            Order::Oldest => stated.next(),
        })
    }

    fn is_within(&self, day: Date) -> bool {
        self.times.period.as_ref().is_none_or(|it| (it.first..=it.last).contains(&day))
    }

    /// Returns the pages of the kind that have all other words of the question.
    fn pages_of_kind_with_words(
        &self,
        question: &OrderedQuestion,
    ) -> Result<Option<KindPages>, Fault> {
        let with_text = match question.about.is_empty() {
            true => None,
            false => Some(self.pages_with(question.about.iter().map(|at| self.typed(*at)))?),
        };
        let has_text = |id: u64| with_text.as_ref().is_none_or(|ids| ids.contains(&id));
        for at in &question.kinds {
            let Some(word) = self.terms.words.get(*at) else { continue };
            let Some(mut kind) = self.kind_pages(&folder_word(word))? else { continue };
            let has_words = |page: &PageEntry| {
                has_text(page.2.id) && self.has_names(page, &question.names, *at)
            };
            kind.pages.retain(has_words);
            if !kind.pages.is_empty() {
                return Ok(Some(kind));
            }
        }
        if let Some(kind) = self.kind_of_items(question)? {
            return Ok(Some(kind));
        }
        // `the last note about gardens`, where no folder has the name `notes`
        let Some(ids) = with_text.filter(|_| question.is_any_page) else { return Ok(None) };
        let mut ids: Vec<u64> = ids.into_iter().collect();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        let mut found = KindPages::new(MAX_PAGES);
        found.is_cut = ids.len() > MAX_PAGES;
        for id in ids.into_iter().take(MAX_PAGES) {
            found.pages.extend(self.page(id)?);
        }
        found.pages.retain(|page| self.has_names(page, &question.names, usize::MAX));
        Ok(Some(found))
    }

    /// Returns the pages of the kind after a noun that stands for any of its pages: `the last post of
    /// the blog`.
    fn kind_of_items(&self, question: &OrderedQuestion) -> Result<Option<KindPages>, Fault> {
        let word = |at: &usize| self.terms.words.get(*at);
        let [about] = question.about.as_slice() else { return Ok(None) };
        let mut nouns = question.kinds.iter().filter(|at| *at != about);
        match (nouns.all(|at| word(at).is_some_and(is_item)), word(about)) {
            (true, Some(kind)) => self.kind_pages(kind),
            _ => Ok(None),
        }
    }

    /// Returns whether each of `words`, except the one at `kind`, is in a name of the page, names a
    /// kind of it, or stands for any page of a kind.
    fn has_names(&self, page: &PageEntry, words: &[usize], kind: usize) -> bool {
        let names = names(page);
        let asked = words.iter().filter(|at| **at != kind);
        asked.filter_map(|at| self.terms.words.get(*at)).all(|word| {
            is_item(word)
                || self.is_of_kind(page, word)
                || names.iter().flatten().any(|own| word.similarity(own) >= 1.0)
        })
    }
}

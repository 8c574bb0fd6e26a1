//! Serves `contradictions` and `settle`: reads the statements of all pages that a caller can see.

use std::collections::HashMap;

use brain_base::caller::Caller;
use brain_base::clock::day;
use brain_page::fields;
use brain_protocol::{
    Command, Contradiction, ContradictionList, Contradictions, Fault, FaultCode, Settle, Settled,
    Side, Slug, SourceId, Statement, TrustLevel, hint,
};
use brain_store::{PageRecord, Reader, SettledRecord, StoreError, unless_damaged};

use crate::ReviewService;
use crate::contradictions::{self, Claims, PageNames, PageText};

const MAX_LIMIT: u32 = 1000;

/// The pages that were read, by id.
type Pages = HashMap<u64, (SourceId, Slug, PageRecord)>;

impl ReviewService {
    /// Lists the contradictions that are not settled.
    ///
    /// # Errors
    /// `stopping` if the daemon stops; or the store fails.
    pub fn contradictions(
        &self,
        caller: &Caller,
        request: &ContradictionList,
    ) -> Result<Contradictions, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let (pages, found) = self.find(&reader)?;
        let limit = request.limit.clamp(1, MAX_LIMIT) as usize;
        let (mut open, mut settled) = (Vec::new(), 0);
        for contradiction in found {
            match reader.settled(&contradiction.key)? {
                Some(_) => settled += 1,
                None => open.extend(row(&pages, &contradiction)),
            }
        }
        let truncated = open.len() > limit;
        open.truncate(limit);
        Ok(Contradictions { contradictions: open, truncated, settled })
    }

    /// Records which statement of a contradiction is right, or opens it again.
    ///
    /// # Errors
    /// `not_found` if there is no such contradiction; or the store fails.
    pub fn settle(&self, caller: &Caller, request: &Settle) -> Result<Settled, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let (pages, found) = self.find(&reader)?;
        let found = found.iter().find(|it| it.key == request.key);
        let found = found.and_then(|it| row(&pages, it).map(|row| (it, row)));
        let Some((found, row)) = found else {
            let key = request.key.escape_debug();
            let message = format!("there is no contradiction \"{key}\"");
            return Err(Fault::new(FaultCode::NotFound, message)
                .hint(hint!("list them: {}", Command::Contradictions)));
        };
        let (kept, other) = match request.keep {
            Some(Side::B) => (1, 0),
            _ => (0, 1),
        };
        let side = |at: usize| {
            let page = found.statements[at].page;
            (page, pages.get(&page).map_or(0, |(.., record)| record.version))
        };
        let record = request.keep.map(|keep| SettledRecord {
            kept: side(kept),
            other: side(other),
            is_none: keep == Side::Both,
            at: self.clock.now(),
        });
        let key = request.key.clone();
        self.store.write(move |transaction| transaction.settle(&key, record.as_ref()))?;
        let statements = [row.a, row.b];
        let [kept, other] = [kept, other].map(|at| statements[at].clone());
        let has_result = request.keep.is_some();
        Ok(Settled {
            key: request.key.clone(),
            keep: request.keep,
            kept: has_result.then_some(kept),
            other: has_result.then_some(other),
        })
    }

    /// Reads all pages that `reader` shows, and compares what they state.
    fn find(&self, reader: &Reader) -> Result<(Pages, Vec<contradictions::Contradiction>), Fault> {
        let (mut names, mut pages) = (PageNames::default(), Pages::new());
        reader.pages_in_order(("", ""), |(source, slug, record)| {
            names.add(record.id, slug.as_str(), &record.title, &record.aliases);
            pages.insert(record.id, (source, slug, record));
            Ok(!self.stop.is_cancelled())
        })?;
        let mut claims = Claims::default();
        let mut ids: Vec<u64> = pages.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            let (_, slug, record) = &pages[&id];
            if self.stop.is_cancelled() {
                return Err(Fault::new(FaultCode::Stopping, "the daemon is stopping"));
            }
            add_page(&mut claims, reader, slug, record, &names)?;
        }
        Ok((pages, claims.contradictions(&names)))
    }
}

/// Adds what a page states. A damaged page states nothing.
fn add_page(
    claims: &mut Claims,
    reader: &Reader,
    slug: &Slug,
    record: &PageRecord,
    names: &PageNames,
) -> Result<(), StoreError> {
    let Some(content) = unless_damaged(reader.content(record))? else { return Ok(()) };
    let page = PageText {
        id: record.id,
        slug: slug.as_str(),
        title: &record.title,
        aliases: &record.aliases,
        fields: fields(&content.frontmatter, &[]),
        body: content.body.as_str(),
        day: day(record.updated_at).parse().ok(),
        is_foreign: brain_pages::provenance::trust_of(record) != TrustLevel::Owner,
    };
    claims.add(&page, names);
    Ok(())
}

/// Returns a contradiction as a row of a reply.
fn row(pages: &Pages, found: &contradictions::Contradiction) -> Option<Contradiction> {
    let statement = |it: &contradictions::Statement| {
        let (source_id, slug, record) = pages.get(&it.page)?;
        Some(Statement {
            slug: slug.clone(),
            source_id: source_id.clone(),
            version: record.version,
            sentence: it.sentence.clone(),
            day: it.day.map(|day| day.to_string()),
            has_source: it.has_source,
        })
    };
    let title = found.about.and_then(|id| pages.get(&id)).map(|(.., record)| record.title.clone());
    Some(Contradiction {
        key: found.key.clone(),
        thing: title.or_else(|| found.name.clone())?,
        field: found.field.clone(),
        a: statement(&found.statements[0])?,
        b: statement(&found.statements[1])?,
    })
}

//! Turns answered calls into records: versions of pages instead of their texts. No I/O.

use brain_protocol::{
    Fault, Hit, Hits, PageVersion, Pages, Reply, SeenOutcome, TrustLevel, encode,
};
use brain_store::{SeenHit, SeenPageRecord, SeenRecord, SeenReplyRecord, SeenSnippet, SeenTexts};

/// Maximum size of a reply that is kept as it is, in bytes.
const MAX_REPLY: usize = 4096;
/// What a hit can match: the digits of [`SeenHit::matched`], from 1.
const MATCHES: [&str; 7] = ["title", "alias", "slug", "text", "tag", "meaning", "link"];

/// A call of an AI client that was answered.
#[derive(Debug, Clone)]
pub struct AnsweredCall {
    /// The client.
    pub client: String,
    /// The tool, or the method of the request.
    pub tool: String,
    /// The arguments as JSON; `None` for a call that wrote.
    pub request: Option<String>,
    /// How it ended.
    pub outcome: SeenOutcome,
    /// The code of the failure, or an empty text.
    pub code: String,
    /// The number of the form of answers.
    pub form: u16,
    /// The first half of the SHA-256 of the answer.
    pub hash: [u8; 16],
    /// The size of the answer in bytes.
    pub bytes: u32,
    /// The source of addresses without a source, if the answer depends on it.
    pub default_source: Option<String>,
    /// The address of the daemon's listener, if the answer depends on it.
    pub local_address: Option<String>,
    /// How old the data were, if the answer says so.
    pub age: Option<String>,
    /// The replies of the operations that it ran, in order.
    pub replies: Vec<RecordedReply>,
}

/// What is recorded of a reply.
#[derive(Debug, Clone)]
pub struct RecordedReply {
    record: SeenReplyRecord,
    /// Source and slug of the pages that it names and `record` does not have.
    names: Vec<(String, String)>,
}

impl RecordedReply {
    /// Returns what is recorded of the reply of an operation.
    #[must_use]
    pub fn of(reply: &Result<Reply, Fault>) -> Self {
        let record = match reply {
            Ok(Reply::Page(page)) => SeenReplyRecord::Page(SeenPageRecord {
                page: page.id,
                version: page.version,
                trust: page.trust,
            }),
            Ok(Reply::Hits(found)) => hits(found),
            Ok(Reply::Pages(found)) if found.damaged.is_empty() => pages(found),
            Ok(reply) => return Self { record: other(reply), names: names(reply) },
            Err(fault) => return Self::of_fault(fault),
        };
        Self { record, names: Vec::new() }
    }

    /// Notes that of the hits of a search only those from `first` to `end` are in the answer, `end`
    /// excluded. The ones before are kept, because a cursor names its position among them.
    pub fn show_hits(&mut self, first: usize, end: usize) {
        if let SeenReplyRecord::Hits { hits, truncated, skipped, .. } = &mut self.record {
            let mut all = SeenHit::unpack(hits).unwrap_or_default();
            *truncated |= end < all.len();
            all.truncate(end);
            hits.clear();
            all.iter().for_each(|hit| hit.pack(hits));
            *skipped = u32::try_from(first).unwrap_or(u32::MAX);
        }
    }

    /// Returns whether it is the reply of a search.
    #[must_use]
    pub fn has_hits(&self) -> bool {
        matches!(self.record, SeenReplyRecord::Hits { .. })
    }

    /// Returns this reply as one of which nothing is in the answer.
    #[must_use]
    pub fn not_shown(self) -> Self {
        Self { record: SeenReplyRecord::NotShown(Box::new(self.record)), ..self }
    }

    /// Returns what is recorded of the fault with which a call ended.
    #[must_use]
    pub fn of_fault(fault: &Fault) -> Self {
        let record = match encode(fault) {
            Ok(bytes) if bytes.len() <= MAX_REPLY => SeenReplyRecord::Fault(bytes),
            _ => SeenReplyRecord::TooLarge { pages: Vec::new() },
        };
        Self { record, names: Vec::new() }
    }

    /// Returns the record, with the pages that `find` returns for their sources and slugs.
    fn with_pages(self, find: impl Fn(&str, &str) -> Option<SeenPageRecord>) -> SeenReplyRecord {
        let Self { mut record, names } = self;
        let mut inner = &mut record;
        while let SeenReplyRecord::NotShown(reply) = inner {
            inner = reply;
        }
        if let SeenReplyRecord::Other { pages, .. } | SeenReplyRecord::TooLarge { pages } = inner {
            pages.extend(names.iter().filter_map(|(source, slug)| find(source, slug)));
            pages.sort_by_key(|page| page.page);
            pages.dedup_by_key(|page| page.page);
        }
        record
    }
}

fn hits(found: &Hits) -> SeenReplyRecord {
    let mut packed = Vec::with_capacity(found.hits.len() * 16);
    found.hits.iter().for_each(|it| hit(it).pack(&mut packed));
    SeenReplyRecord::Hits {
        hits: packed,
        truncated: found.truncated,
        degraded: found.degraded.clone(),
        note: found.note.clone(),
        skipped: 0,
    }
}

fn hit(hit: &Hit) -> SeenHit {
    let snippet = match hit.span {
        Some(span) => SeenSnippet::Span(span),
        None => SeenSnippet::Text(hit.snippet.clone()),
    };
    SeenHit {
        page: hit.page.page,
        version: hit.page.version,
        trust: hit.trust,
        score: score_in_hundredths(hit.score),
        line: hit.line,
        matched: pack_matches(&hit.matched),
        snippet,
        also_in: hit.copies.clone(),
    }
}

/// Packs what a hit matches, in its order.
fn pack_matches(matched: &[String]) -> u32 {
    let digit = |name: &String| MATCHES.iter().position(|known| known == name);
    let digits = matched.iter().filter_map(digit).take(MATCHES.len());
    (0..).zip(digits).fold(0, |all, (place, digit)| all | (digit as u32 + 1) << (3 * place))
}

/// Unpacks what a hit matches.
pub(crate) fn unpack_matches(mut packed: u32) -> Vec<String> {
    let mut matched = Vec::new();
    while packed > 0 {
        let name = (packed as usize & 7).checked_sub(1).and_then(|digit| MATCHES.get(digit));
        matched.extend(name.map(|name| (*name).to_owned()));
        packed >>= 3;
    }
    matched
}

/// Returns a score as AI clients see it, times 100.
pub(crate) fn score_in_hundredths(score: f32) -> i64 {
    (f64::from(score) * 100.0).round() as i64
}

fn pages(found: &Pages) -> SeenReplyRecord {
    let page = |(PageVersion { page, version }, trust): (PageVersion, TrustLevel)| SeenPageRecord {
        page,
        version,
        trust,
    };
    SeenReplyRecord::Pages {
        pages: found.pages.iter().map(|row| page((row.page, row.trust))).collect(),
        truncated: found.truncated,
        next: found.next.clone(),
    }
}

fn other(reply: &Reply) -> SeenReplyRecord {
    let pages = pages_then(reply);
    match encode(reply) {
        Ok(reply) if reply.len() <= MAX_REPLY => SeenReplyRecord::Other { pages, reply },
        _ => SeenReplyRecord::TooLarge { pages },
    }
}

/// Returns the pages in a reply about the past, whose names may be others now.
fn pages_then(reply: &Reply) -> Vec<SeenPageRecord> {
    let Reply::AsOf(reply) = reply else { return Vec::new() };
    let mut found = Vec::new();
    let inner = RecordedReply::of(&Ok((*reply.reply).clone()));
    inner.record.pages(|page, _| found.push(page));
    found
}

/// Returns the record of a call. `find` returns the page with a source and a slug.
pub(crate) fn record(
    call: AnsweredCall,
    zone_minutes: i16,
    find: impl Fn(&str, &str) -> Option<SeenPageRecord>,
) -> SeenRecord {
    let replies = call.replies.into_iter().map(|reply| reply.with_pages(&find)).collect();
    let texts = SeenTexts {
        request: call.request,
        hash: call.hash,
        default_source: call.default_source,
        local_address: call.local_address,
        age: call.age,
        replies,
    };
    SeenRecord {
        machine: None,
        client: call.client,
        tool: call.tool,
        outcome: call.outcome,
        code: call.code,
        zone_minutes,
        form: call.form,
        bytes: call.bytes,
        texts: Some(texts),
        purged_pages: 0,
        purged_at: None,
    }
}

/// Returns source and slug of the pages that a reply names: objects with `slug`, and `source_id` or
/// `source`.
fn names(reply: &Reply) -> Vec<(String, String)> {
    let Ok(value) = serde_json::to_value(reply) else { return Vec::new() };
    let (mut found, mut rest) = (Vec::new(), vec![&value]);
    while let Some(value) = rest.pop() {
        match value {
            serde_json::Value::Array(values) => rest.extend(values),
            serde_json::Value::Object(fields) => {
                let text = |name: &str| fields.get(name).and_then(|it| it.as_str());
                let source = text("source_id").or_else(|| text("source"));
                if let (Some(source), Some(slug)) = (source, text("slug")) {
                    found.push((source.to_owned(), slug.to_owned()));
                }
                rest.extend(fields.values());
            }
            _ => {}
        }
    }
    found.sort();
    found.dedup();
    found
}

//! Records of the two ledgers: requests that left the machine, and calls of AI clients.

use brain_protocol::{LeftKind, LeftOutcome, SeenOutcome, TrustLevel};
use serde::{Deserialize, Serialize};

/// Bits of a row's id below its time.
const RANDOM_BITS: u32 = 22;

/// Returns the id of a row: its time in Unix milliseconds, then random bits. Ids sort by time, and
/// two machines do not make the same one.
#[must_use]
pub fn ledger_id(at: i64, random: u64) -> u64 {
    let at = u64::try_from(at).unwrap_or(0) & (u64::MAX >> RANDOM_BITS);
    (at << RANDOM_BITS) | (random & ((1 << RANDOM_BITS) - 1))
}

/// Returns the time in a row's id, in Unix milliseconds.
#[must_use]
pub fn ledger_time(id: u64) -> i64 {
    (id >> RANDOM_BITS) as i64
}

/// A request that left the machine. Has neither text nor slugs. Schema 91.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftRecord {
    /// The id of the first request of the same call.
    pub call: u64,
    /// The machine; `None` if the store is not shared.
    pub machine: Option<u128>,
    /// What the line is about.
    pub kind: LeftKind,
    /// The host, or the name of a program.
    pub host: String,
    /// The port; 0 for a program.
    pub port: u16,
    /// The HTTP method, or an empty text.
    pub method: String,
    /// Why it was sent.
    pub purpose: String,
    /// The ids of the pages whose text was in it.
    pub pages: Vec<u64>,
    /// How it ended.
    pub outcome: LeftOutcome,
    /// The HTTP status, if there was an answer.
    pub status: Option<u16>,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// Its duration in milliseconds, if it is known.
    pub took_ms: Option<u64>,
}

/// A call of an AI client. Schema 91.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenRecord {
    /// The machine that answered; `None` if the store is not shared.
    pub machine: Option<u128>,
    /// The client.
    pub client: String,
    /// The tool, or the method of the request.
    pub tool: String,
    /// How it ended.
    pub outcome: SeenOutcome,
    /// The code of the failure, or an empty text.
    pub code: String,
    /// The offset of the time zone from UTC, in minutes.
    pub zone_minutes: i16,
    /// The number of the form of answers.
    pub form: u16,
    /// The size of the answer in bytes.
    pub bytes: u32,
    /// What the answer was made from; `None` after a purge.
    pub texts: Option<SeenTexts>,
    /// How many pages that a purge has removed were given.
    pub purged_pages: u32,
    /// When a purge removed `texts`, Unix milliseconds.
    pub purged_at: Option<i64>,
}

impl SeenRecord {
    /// Returns the pages that the answer was made from, with their versions.
    #[must_use]
    pub fn given_versions(&self) -> Vec<(u64, u32)> {
        let mut found = Vec::new();
        for reply in self.texts.iter().flat_map(|texts| &texts.replies) {
            reply.pages(|given, _| found.push((given.page, given.version)));
        }
        found
    }

    /// Returns the record without what the answer was made from. Time, client, outcome and counts
    /// stay. `now` is in Unix milliseconds.
    pub(crate) fn emptied(self, now: i64) -> Self {
        let pages = u32::try_from(self.given_versions().len()).unwrap_or(u32::MAX);
        let purged_pages = self.purged_pages.saturating_add(pages);
        Self { texts: None, purged_pages, purged_at: Some(now), ..self }
    }
}

/// What an answer was made from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenTexts {
    /// The arguments as JSON; `None` for a call that wrote.
    pub request: Option<String>,
    /// The first half of the SHA-256 of the answer.
    pub hash: [u8; 16],
    /// The source of addresses without a source, if the answer depends on it.
    pub default_source: Option<String>,
    /// The address of the daemon's listener, if the answer depends on it.
    pub local_address: Option<String>,
    /// How old the data were, if the answer says so.
    pub age: Option<String>,
    /// The replies of the operations, in order.
    pub replies: Vec<SeenReplyRecord>,
}

/// The reply of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SeenReplyRecord {
    /// A page.
    Page(SeenPageRecord),
    /// The hits of a search.
    Hits {
        /// The hits, packed; see [`SeenHit::pack`].
        hits: Vec<u8>,
        /// Whether there were more.
        truncated: bool,
        /// Why results could be missing.
        degraded: Option<String>,
        /// How the query was interpreted.
        note: Option<String>,
        /// How many of the first hits are not in the answer.
        skipped: u32,
    },
    /// A list of pages.
    Pages {
        /// The pages.
        pages: Vec<SeenPageRecord>,
        /// Whether there were more.
        truncated: bool,
        /// The cursor.
        next: Option<String>,
    },
    /// Another reply, as on the wire.
    Other {
        /// The pages that it names.
        pages: Vec<SeenPageRecord>,
        /// The encoded reply.
        reply: Vec<u8>,
    },
    /// A fault, as on the wire.
    Fault(Vec<u8>),
    /// A reply that is too large to be kept.
    TooLarge {
        /// The pages that it names.
        pages: Vec<SeenPageRecord>,
    },
    /// A reply that led to the answer, and of which nothing is in it.
    NotShown(Box<SeenReplyRecord>),
}

/// A version of a page that was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenPageRecord {
    /// The page's id.
    pub page: u64,
    /// The version.
    pub version: u32,
    /// Who wrote what was given.
    pub trust: TrustLevel,
}

impl SeenReplyRecord {
    /// Calls `each` with the pages that the client was given, in order; a hit comes with its score
    /// in hundredths.
    pub fn given(&self, each: impl FnMut(SeenPageRecord, Option<i64>)) {
        match self {
            Self::Hits { skipped, .. } => self.each_page(*skipped as usize, each),
            Self::NotShown(_) => {}
            _ => self.each_page(0, each),
        }
    }

    /// Calls `each` with all pages that the record names.
    pub fn pages(&self, each: impl FnMut(SeenPageRecord, Option<i64>)) {
        self.each_page(0, each);
    }

    fn each_page(&self, skipped: usize, mut each: impl FnMut(SeenPageRecord, Option<i64>)) {
        let mut reply = self;
        while let Self::NotShown(inner) = reply {
            reply = inner;
        }
        match reply {
            Self::Page(page) => each(*page, None),
            Self::Hits { hits, .. } => {
                for hit in SeenHit::unpack(hits).unwrap_or_default().into_iter().skip(skipped) {
                    let SeenHit { page, version, trust, score, also_in, .. } = hit;
                    each(SeenPageRecord { page, version, trust }, Some(score));
                    for page in also_in {
                        each(SeenPageRecord { page, version: 0, trust }, None);
                    }
                }
            }
            Self::Pages { pages, .. } | Self::Other { pages, .. } | Self::TooLarge { pages } => {
                pages.iter().for_each(|page| each(*page, None));
            }
            Self::Fault(_) | Self::NotShown(_) => {}
        }
    }
}

/// A hit of a search that was given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeenHit {
    /// The page's id.
    pub page: u64,
    /// The version.
    pub version: u32,
    /// Who wrote the title and the snippet.
    pub trust: TrustLevel,
    /// The score in hundredths, as it was shown.
    pub score: i64,
    /// The line of the snippet.
    pub line: u32,
    /// What matched: octal digits, the first one the lowest.
    pub matched: u32,
    /// How the snippet is made.
    pub snippet: SeenSnippet,
    /// The ids of other pages with the same text.
    pub also_in: Vec<u64>,
}

/// How the snippet of a hit is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeenSnippet {
    /// From a part of the body.
    Span(brain_protocol::SnippetSpan),
    /// The text itself.
    Text(String),
}

impl Default for SeenSnippet {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

/// Flags of a packed hit: two bits of trust, then these.
const HAS_MORE_BEFORE: u64 = 4;
const HAS_MORE_AFTER: u64 = 8;
const IS_TEXT: u64 = 16;
const HAS_COPIES: u64 = 32;

impl SeenHit {
    /// Appends the hit to `out`: numbers of seven bits a byte. A usual hit has 12 to 16 bytes.
    pub fn pack(&self, out: &mut Vec<u8>) {
        let trust = match self.trust {
            TrustLevel::Owner => 0,
            TrustLevel::Mixed => 1,
            TrustLevel::Outside => 2,
        };
        let flag = |is_set: bool, bit: u64| if is_set { bit } else { 0 };
        let flags = trust | flag(!self.also_in.is_empty(), HAS_COPIES);
        let snippet = match &self.snippet {
            SeenSnippet::Span(span) => {
                flag(span.has_more_before, HAS_MORE_BEFORE)
                    | flag(span.has_more_after, HAS_MORE_AFTER)
            }
            SeenSnippet::Text(_) => IS_TEXT,
        };
        let score = self.score.unsigned_abs() << 1 | u64::from(self.score < 0);
        let head = [self.page, self.version.into(), flags | snippet, score, self.line.into()];
        head.into_iter().chain([self.matched.into()]).for_each(|number| push(out, number));
        match &self.snippet {
            SeenSnippet::Span(span) => {
                push(out, span.start.into());
                push(out, span.matches_end.saturating_sub(span.start).into());
                push(out, span.limit.saturating_sub(span.start).into());
            }
            SeenSnippet::Text(text) => {
                push(out, text.len() as u64);
                out.extend_from_slice(text.as_bytes());
            }
        }
        if !self.also_in.is_empty() {
            push(out, self.also_in.len() as u64);
            self.also_in.iter().for_each(|page| push(out, *page));
        }
    }

    /// Reads packed hits; `None` if they are damaged.
    #[must_use]
    pub fn unpack(bytes: &[u8]) -> Option<Vec<Self>> {
        let (mut rest, mut hits) = (bytes, Vec::new());
        while !rest.is_empty() {
            hits.push(Self::unpack_one(&mut rest)?);
        }
        Some(hits)
    }

    fn unpack_one(rest: &mut &[u8]) -> Option<Self> {
        let page = pull(rest)?;
        let version = pull(rest)?.try_into().ok()?;
        let flags = pull(rest)?;
        let score = pull(rest)?;
        let line = pull(rest)?.try_into().ok()?;
        let matched = pull(rest)?.try_into().ok()?;
        let trust = match flags & 3 {
            0 => TrustLevel::Owner,
            1 => TrustLevel::Mixed,
            _ => TrustLevel::Outside,
        };
        let size = i64::try_from(score >> 1).ok()?;
        let score = if score & 1 == 0 { size } else { -size };
        let snippet = if flags & IS_TEXT == 0 {
            let start: u32 = pull(rest)?.try_into().ok()?;
            let from_start = |length: u64| start.checked_add(length.try_into().ok()?);
            SeenSnippet::Span(brain_protocol::SnippetSpan {
                start,
                matches_end: from_start(pull(rest)?)?,
                limit: from_start(pull(rest)?)?,
                has_more_before: flags & HAS_MORE_BEFORE != 0,
                has_more_after: flags & HAS_MORE_AFTER != 0,
            })
        } else {
            let length = usize::try_from(pull(rest)?).ok()?;
            let (text, after) = rest.split_at_checked(length)?;
            *rest = after;
            SeenSnippet::Text(String::from_utf8(text.to_vec()).ok()?)
        };
        let mut also_in = Vec::new();
        if flags & HAS_COPIES != 0 {
            for _ in 0..pull(rest)? {
                also_in.push(pull(rest)?);
            }
        }
        Some(Self { page, version, trust, score, line, matched, snippet, also_in })
    }
}

/// Appends a number: seven bits a byte, the lowest first; the highest bit says that more follow.
fn push(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads a number of [`push`].
fn pull(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use brain_protocol::SnippetSpan;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ids_sort_by_time() {
        let at = 1_795_257_000_000;
        assert!(ledger_id(at, u64::MAX) < ledger_id(at + 1, 0));
        assert_eq!(ledger_time(ledger_id(at, 77)), at);
    }

    #[test]
    fn a_usual_hit_has_16_bytes_at_most() {
        let span = SnippetSpan {
            start: 12_000,
            matches_end: 12_090,
            limit: 13_900,
            has_more_before: true,
            has_more_after: true,
        };
        let hit = SeenHit {
            page: 10_000,
            version: 20,
            score: 1234,
            line: 120,
            matched: 9,
            snippet: SeenSnippet::Span(span),
            ..SeenHit::default()
        };
        let mut packed = Vec::new();
        hit.pack(&mut packed);
        assert!(packed.len() <= 16, "{}", packed.len());
        assert_eq!(SeenHit::unpack(&packed), Some(vec![hit]));
    }

    proptest! {
        #[test]
        fn damaged_hits_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = SeenHit::unpack(&bytes);
        }

        #[test]
        fn packed_hits_are_read_back(
            page in any::<u64>(), version in any::<u32>(), score in -1_000_000_i64..1_000_000,
            line in any::<u32>(), matched in any::<u32>(), text in ".{0,20}",
            also_in in prop::collection::vec(any::<u64>(), 0..3), start in 0_u32..1_000_000,
            has_more in any::<bool>(),
        ) {
            let span = SnippetSpan {
                start, matches_end: start + 9, limit: start + 99,
                has_more_before: has_more, has_more_after: !has_more,
            };
            let hits: Vec<SeenHit> = [SeenSnippet::Text(text), SeenSnippet::Span(span)]
                .map(|snippet| SeenHit {
                    page, version, trust: TrustLevel::Mixed, score, line, matched, snippet,
                    also_in: also_in.clone(),
                })
                .into();
            let mut packed = Vec::new();
            hits.iter().for_each(|hit| hit.pack(&mut packed));
            prop_assert_eq!(SeenHit::unpack(&packed), Some(hits));
        }
    }
}

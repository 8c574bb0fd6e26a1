//! Compares the facts of all pages: one thing, one field, two values at one time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use brain_page::{content_digest, hex};
use jiff::civil::Date;

use super::claims::{Claim, PageText, claims_of};
use super::fact::{Subject, Timing};
use super::fields::is_lasting;
use super::names::Names;

/// A field with more values than this holds many.
const MAX_VALUES: usize = 4;
/// Maximum number of statements about one field of a thing. More are a log or a list, and are left
/// out: each statement is compared with each other one.
const MAX_CLAIMS: usize = 500;
/// Maximum number of days between two dated lines that are compared. What held a year ago may have
/// ended without a line that says so.
const MAX_DAYS_APART: i32 = 365;
/// The length of a key in hexadecimal digits.
const KEY_LENGTH: usize = 8;

/// A line of a page that states a fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The page.
    pub page: u64,
    /// The line as written.
    pub sentence: String,
    /// The day of the line, or of the page's last change.
    pub day: Option<Date>,
    /// Whether the line names a source.
    pub has_source: bool,
}

/// Two statements that cannot both be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction {
    /// A short name that stays the same while the statements do.
    pub key: String,
    /// The page that both are about, if there is one.
    pub about: Option<u64>,
    /// The name of the thing, if it has no page.
    pub name: Option<String>,
    /// The field.
    pub field: String,
    /// The newer or better sourced statement, and the other one.
    pub statements: [Statement; 2],
}

/// The claims of all pages, by thing and field.
#[derive(Default)]
pub struct Claims {
    groups: BTreeMap<(Subject, String), Vec<Claim>>,
    /// Fields that are a list on some page.
    lists: HashSet<String>,
}

/// The names of pages. All are added before the first claim is read.
#[derive(Default)]
pub struct PageNames(Names);

impl PageNames {
    /// Adds the slug, the title and the aliases of a page.
    pub fn add(&mut self, id: u64, slug: &str, title: &str, aliases: &[String]) {
        let names = aliases.iter().map(String::as_str).chain([title]);
        self.0.add(id, slug, names);
    }
}

impl Claims {
    /// Adds what a page states.
    pub fn add(&mut self, page: &PageText<'_>, names: &PageNames) {
        let (claims, lists) = claims_of(page, &names.0);
        self.lists.extend(lists);
        for claim in claims {
            let key = (claim.fact.subject.clone(), claim.fact.field.clone());
            self.groups.entry(key).or_default().push(claim);
        }
    }

    /// Returns the contradictions, newest and best sourced first.
    #[must_use]
    pub fn contradictions(self, names: &PageNames) -> Vec<Contradiction> {
        let mut found: Vec<(Rank, Contradiction)> = Vec::new();
        for ((subject, field), mut claims) in self.groups {
            if !(2..=MAX_CLAIMS).contains(&claims.len()) || self.lists.contains(&field) {
                continue;
            }
            drop_lists(&mut claims, &names.0);
            end_by_later_lines(&mut claims, &names.0);
            end_by_changes(&mut claims, &names.0);
            for (a, b) in pairs(&claims, &names.0) {
                found.push((rank(a).max(rank(b)), contradiction(&subject, &field, a, b)));
            }
        }
        found.sort_by_key(|(rank, contradiction)| (Reverse(*rank), contradiction.key.clone()));
        found.into_iter().map(|(_, contradiction)| contradiction).collect()
    }
}

/// What makes a statement come first: its day, a named source, and the owner as its author.
type Rank = (Option<Date>, bool, bool);

fn rank(claim: &Claim) -> Rank {
    (claim.day, claim.has_source, !claim.is_foreign)
}

/// A page whose lines state several values at one time is a list of several things.
fn drop_lists(claims: &mut Vec<Claim>, names: &Names) {
    let is_item = |a: &Claim, b: &Claim| {
        a.page == b.page
            && a.is_line
            && b.is_line
            && !a.is_dated
            && !b.is_dated
            && a.fact.span.meets(b.fact.span)
            && a.fact.value.differs(&b.fact.value, names)
    };
    let keep: Vec<bool> =
        claims.iter().map(|claim| !claims.iter().any(|other| is_item(claim, other))).collect();
    let mut keep = keep.into_iter();
    claims.retain(|_| keep.next().unwrap_or(true));
}

/// On one page's timeline, a later line with another value ends the earlier one: it is a log.
fn end_by_later_lines(claims: &mut [Claim], names: &Names) {
    for at in 0..claims.len() {
        let claim = &claims[at];
        let later = claims
            .iter()
            .filter(|other| other.page == claim.page && other.is_dated && claim.is_dated)
            .filter(|other| {
                other.day > claim.day && other.fact.value.differs(&claim.fact.value, names)
            })
            .filter_map(|other| other.fact.span.from.or(other.day))
            .min();
        if let (Some(later), None) = (later, claim.fact.span.to) {
            claims[at].fact.span.end_before(later);
        }
    }
}

/// A statement that a value begins ends all others that were made before. One with a first day
/// ends those that were observed before this day. A statement that a value ends, ends this value.
fn end_by_changes(claims: &mut Vec<Claim>, names: &Names) {
    let is_change = |claim: &&Claim| {
        let has_start = !claim.is_observed && claim.fact.span.from.is_some();
        claim.fact.timing != Timing::Holds || has_start
    };
    let changes: Vec<Claim> = claims.iter().filter(is_change).cloned().collect();
    claims.retain(|claim| claim.fact.timing != Timing::Ends);
    for change in changes {
        let Some(day) = change.fact.span.from.or(change.day) else { continue };
        for claim in claims.iter_mut() {
            let is_before = claim.day.is_some_and(|it| it < day);
            let differs = claim.fact.value.differs(&change.fact.value, names);
            let is_ended = match change.fact.timing {
                Timing::Begins => differs,
                Timing::Holds => differs && claim.is_observed,
                Timing::Ends => !differs,
            };
            if is_before && is_ended && claim.fact.span.to.is_none() {
                claim.fact.span.end_before(day);
            }
        }
    }
}

/// Returns a pair of claims for each two values that meet in time, each the best of its value.
fn pairs<'a>(claims: &'a [Claim], names: &Names) -> Vec<(&'a Claim, &'a Claim)> {
    let mut values: Vec<Vec<&Claim>> = Vec::new();
    for claim in claims {
        let same = values
            .iter_mut()
            .find(|of| of.iter().all(|other| !other.fact.value.differs(&claim.fact.value, names)));
        match same {
            Some(of) => of.push(claim),
            None => values.push(vec![claim]),
        }
    }
    if values.len() > MAX_VALUES {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (at, first) in values.iter().enumerate() {
        for second in &values[at + 1..] {
            let meeting = first.iter().flat_map(|a| second.iter().map(move |b| (*a, *b)));
            let best = meeting
                .filter(|(a, b)| a.fact.value.differs(&b.fact.value, names))
                .filter(|(a, b)| a.fact.span.meets(b.fact.span) && !is_log(a, b))
                .max_by_key(|(a, b)| (rank(a).max(rank(b)), rank(a).min(rank(b))));
            found.extend(best.map(|(a, b)| if rank(b) > rank(a) { (b, a) } else { (a, b) }));
        }
    }
    found
}

/// Returns whether both lines are dated, and so far apart that they tell of a change.
fn is_log(a: &Claim, b: &Claim) -> bool {
    let days = a.day.zip(b.day).map_or(0, |(a, b)| (a - b).get_days().abs());
    a.is_dated && b.is_dated && days > MAX_DAYS_APART && !is_lasting(&a.fact.field)
}

fn contradiction(subject: &Subject, field: &str, a: &Claim, b: &Claim) -> Contradiction {
    let statement = |claim: &Claim| Statement {
        page: claim.page,
        sentence: claim.sentence.clone(),
        day: claim.day,
        has_source: claim.has_source,
    };
    let mut sides: Vec<String> =
        [a, b].map(|claim| format!("{} {}", claim.page, claim.fact.value.key())).into();
    sides.sort_unstable();
    let (about, name) = match subject {
        Subject::Page(id) => (Some(*id), None),
        Subject::Name(name) => (None, Some(name.clone())),
    };
    let identity = format!("{subject:?}\n{field}\n{}", sides.join("\n"));
    let mut key = hex(&content_digest(&identity));
    key.truncate(KEY_LENGTH);
    Contradiction { key, about, name, field: field.to_owned(), statements: [a, b].map(statement) }
}

//! Precision, recall and time of the contradictions in an invented brain.
//!
//! 10,000 pages with 200 pairs of statements that cannot both be right, and 400 that look like it
//! and are none. `cargo bench --workspace --bench contradictions` prints the result; with
//! `BRAIN_SHOW=1` also each miss and each false alarm.

#![allow(clippy::print_stdout, clippy::unwrap_used, unreachable_pub)]

mod planted;

use std::collections::HashSet;
use std::time::Instant;

use brain_page::{Document, FrontmatterText, fields};
use brain_review::contradictions::{Claims, Contradiction, PageNames, PageText};
use planted::{Brain, Kind};

fn main() {
    let brain = Brain::invent(7);
    let started_at = Instant::now();
    let found = contradictions(&brain);
    let took = started_at.elapsed();
    let (mut hits, mut false_alarms) = (HashSet::new(), Vec::new());
    for contradiction in &found {
        let slug = |id: u64| brain.pages[id as usize].0.as_str();
        let pairs = contradiction.statements.each_ref().map(|it| brain.pair_of.get(slug(it.page)));
        match pairs {
            [Some(a), Some(b)] if a == b && brain.planted[*a].kind == Kind::Contradiction => {
                hits.insert(*a);
            }
            _ => false_alarms.push(contradiction),
        }
    }
    let total = brain.planted.iter().filter(|it| it.kind == Kind::Contradiction).count();
    let near = brain.planted.len() - total;
    let precision = hits.len() as f64 / (hits.len() + false_alarms.len()).max(1) as f64;
    let recall = hits.len() as f64 / total as f64;
    println!(
        "{} pages, {total} contradictions, {near} that are none: precision {precision:.3}, recall \
         {recall:.3}, {took:.2?}",
        brain.pages.len(),
    );
    if std::env::var_os("BRAIN_SHOW").is_some() {
        for (pair, planted) in brain.planted.iter().enumerate() {
            if planted.kind == Kind::Contradiction && !hits.contains(&pair) {
                println!("missed, form {}: {}", planted.form, planted.text);
            }
        }
        for contradiction in false_alarms {
            let [a, b] = contradiction.statements.each_ref().map(|it| &it.sentence);
            println!("false: {}: {a} | {b}", contradiction.field);
        }
    }
}

fn contradictions(brain: &Brain) -> Vec<Contradiction> {
    let documents: Vec<Document> =
        brain.pages.iter().filter_map(|(_, text)| Document::parse(text).ok()).collect();
    let mut names = PageNames::default();
    for (id, ((slug, _), document)) in brain.pages.iter().zip(&documents).enumerate() {
        let title = document.frontmatter.get("title").unwrap_or_default();
        names.add(id as u64, slug, &title, &document.frontmatter.aliases());
    }
    let mut claims = Claims::default();
    for (id, ((slug, _), document)) in brain.pages.iter().zip(documents).enumerate() {
        let title = document.frontmatter.get("title").unwrap_or_default();
        let page = PageText {
            id: id as u64,
            slug,
            title: &title,
            aliases: &[],
            fields: fields(&FrontmatterText::from(document.frontmatter), &[]),
            body: document.body.as_str(),
            day: "2026-06-01".parse().ok(),
            is_foreign: false,
        };
        claims.add(&page, &names);
    }
    claims.contradictions(&names)
}

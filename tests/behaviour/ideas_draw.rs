//! The distant pages of `brainstorm` and `lsd`: a draw over the whole brain that changes every day.

use std::collections::BTreeSet;
use std::sync::Arc;

use brain_base::caller::{Caller, Scopes, Visibility};
use brain_core::{Brain, NoProgress};
use brain_protocol::{
    IdeaProfile, Ideas, IdeasReply, Origin, PageRef, Put, Reply, Request, Slug, SourceAdd, SourceId,
};

use brain_tests::embedding::FakeEmbedding;
use brain_tests::{TestHome, slugs};

use crate::mock_clock::{HOUR, MockClock};

const NOON: &str = "2026-11-21T12:00:00Z";
/// The number of topics. Each has ten pages.
const TOPICS: usize = 24;

fn put(brain: &Arc<Brain>, source: Option<&SourceId>, slug: &str, text: &str) {
    let put = Put {
        page: PageRef { source: source.cloned(), slug: Slug::parse(slug).unwrap() },
        content: text.as_bytes().to_vec(),
        origin: Origin::Stdin,
        allow_empty: false,
        expect: None,
    };
    brain.answer(&Caller::local(0), Request::Put(put), &NoProgress).unwrap();
}

/// Returns the invented name of a topic.
fn topic(n: usize) -> String {
    let letter = |n: usize| char::from(b"bdfgklmnprst"[n % 12]);
    format!("{}o{}alum", letter(n), letter(n / 12 + 5))
}

/// Fills a brain with 240 pages of several kinds. Each links to the hub of one of the first five
/// topics.
fn fill(brain: &Arc<Brain>) {
    let kinds = ["people", "meetings", "projects/shared", "concepts", "places"];
    for n in 0..TOPICS * 10 {
        let (topic_number, part) = (n % TOPICS, n / TOPICS);
        let kind = kinds[n % kinds.len()];
        let (hub, topic) = (topic(n % 5), topic(topic_number));
        let text = format!(
            "---\ntags: [{topic}]\n---\nWhat part {part} says about {topic}. See [[hubs/{hub}]].\n"
        );
        let slug = match (part, topic_number) {
            (0, 0..5) => format!("hubs/{topic}"),
            _ => format!("{kind}/{topic}-{part}"),
        };
        put(brain, None, &slug, &text);
    }
}

/// Returns the pages that would be used for a question; no run is made.
fn select(brain: &Arc<Brain>, caller: &Caller, profile: IdeaProfile, question: &str) -> IdeasReply {
    let request = Ideas {
        profile,
        question: question.into(),
        limit: None,
        save: None,
        max_cost: None,
        model: None,
        judge_model: None,
        close: None,
        far: None,
        resume: None,
        estimate: true,
        prompts_only: false,
    };
    match brain.answer(caller, Request::Ideas(request), &NoProgress) {
        Ok(Reply::Ideas(reply)) => reply,
        other => panic!("no ideas: {other:?}"),
    }
}

fn far_slugs(reply: &IdeasReply) -> BTreeSet<String> {
    reply.far_set.iter().map(|page| page.slug.to_string()).collect()
}

/// Returns the expected number of distinct pages in `draws` uniform draws from `pages` pages.
fn expected_distinct_pages(pages: f64, draws: i32) -> f64 {
    pages * (1.0 - (1.0 - 1.0 / pages).powi(draws))
}

#[test]
fn distant_pages_are_drawn_from_the_whole_brain() {
    let dir = tempfile::tempdir().unwrap();
    let clock = MockClock::at(NOON);
    let brain = clock.open_brain(dir.path(), 7);
    fill(&brain);
    let owner = Caller::local(0);
    for (profile, count, pool) in
        [(IdeaProfile::Brainstorm, 6, 120.0), (IdeaProfile::Lsd, 12, 80.0)]
    {
        let mut drawn_slugs = BTreeSet::new();
        for n in 0..TOPICS {
            let question = format!("What could we do about {}?", topic(n));
            let reply = select(&brain, &owner, profile, &question);
            assert_eq!((far_slugs(&reply).len(), reply.short_of_target), (count, false));
            for page in &reply.far_set {
                assert!(!page.slug.as_str().contains(&topic(n)), "{} is near", page.slug);
                assert!(reply.close_set.iter().all(|close| close.slug != page.slug));
            }
            let bands: Vec<&str> = reply.far_set.iter().map(|page| page.band.as_str()).collect();
            let third = |band| vec![band; count / 3];
            assert_eq!(bands, [third("farthest"), third("far"), third("middle")].concat());
            drawn_slugs.extend(far_slugs(&reply));
        }
        // An even draw from half (brainstorm) or a third (lsd) of the 240 pages uses this many.
        let expected = expected_distinct_pages(pool, (TOPICS * count) as i32);
        eprintln!(
            "{profile:?}: {} distinct pages, {expected:.0} of an even draw",
            drawn_slugs.len()
        );
        let distinct = drawn_slugs.len();
        assert!(distinct as f64 > expected * 0.9, "{distinct} of {expected}");
    }

    let question = format!("What could we do about {}?", topic(3));
    let today = select(&brain, &owner, IdeaProfile::Brainstorm, &question);
    clock.advance(HOUR);
    assert_eq!(select(&brain, &owner, IdeaProfile::Brainstorm, &question), today);
    clock.advance(24 * HOUR);
    let tomorrow = select(&brain, &owner, IdeaProfile::Brainstorm, &question);
    assert_eq!(tomorrow.close_set, today.close_set);
    let same = far_slugs(&tomorrow).intersection(&far_slugs(&today)).count();
    assert!(same <= 3, "{same} of 6 pages are the same on the next day");
}

#[test]
fn distances_come_from_vectors_if_pages_have_them() {
    let endpoint = FakeEmbedding::default();
    let mut home = TestHome::new();
    home.env.extend(endpoint.variables("small"));
    let _daemon = home.daemon();
    for n in 0..4 {
        home.put(&format!("traffic/car-{n}"), &format!("# Car {n}\n\nThe automobile.\n"));
        home.put(&format!("fleet/{n}"), &format!("# Fleet {n}\n\nAn automobile beside a ship.\n"));
    }
    // These pages link to the close pages, but their vectors are far from that of the question.
    for (n, text) in ["A loaf.", "The ocean.", "A tempest.", "The tutor."].iter().enumerate() {
        for m in 0..3 {
            let text = format!("# Page {n}{m}\n\n{text} [[traffic/car-{m}]]\n");
            home.put(&format!("notes/{n}-{m}"), &text);
        }
    }
    home.json(["embed", "--stale"]);
    let reply = home.json(["brainstorm", "vehicle", "--far", "4"]);
    let close = slugs(&reply["close_set"]);
    assert!(close.iter().all(|slug| !slug.starts_with("notes/")), "{close:?}");
    let far = slugs(&reply["far_set"]);
    assert!(far.len() == 4 && far.iter().all(|slug| slug.starts_with("notes/")), "{far:?}");
    let distances = reply["far_set"].as_array().unwrap().iter();
    let distances: Vec<f64> = distances.map(|page| page["distance"].as_f64().unwrap()).collect();
    assert!(distances.iter().all(|distance| (0.1..0.8).contains(distance)), "{distances:?}");
    assert!(distances.is_sorted_by(|one, other| one >= other), "{distances:?}");
}

#[test]
fn hidden_pages_do_not_change_the_draw() {
    let select_as_guest = |has_hidden: bool| {
        let dir = tempfile::tempdir().unwrap();
        let brain = MockClock::at(NOON).open_brain(dir.path(), 7);
        let work = SourceId::parse("work").unwrap();
        let path = dir.path().join("work");
        std::fs::create_dir(&path).unwrap();
        let add = SourceAdd {
            id: work.clone(),
            path: path.display().to_string(),
            settings: Default::default(),
        };
        brain.answer(&Caller::local(0), Request::SourceAdd(add), &NoProgress).unwrap();
        for n in 0..40 {
            if has_hidden {
                // The hidden pages link to visible pages and share their words and tags.
                let text = format!("---\ntags: [odd]\n---\n[[notes/page-{}]]", n % 5);
                put(&brain, Some(&work), &format!("notes/hidden-page-{n}"), &text);
            }
            let tag = if n % 2 == 0 { "even" } else { "odd" };
            let text = format!("---\ntags: [{tag}]\n---\nText [[notes/page-{}]].", n % 7);
            put(&brain, None, &format!("notes/page-{n}"), &text);
        }
        put(&brain, None, "notes/latency", "---\ntags: [odd]\n---\nLatency.");
        let only = Visibility::Only(vec![SourceId::default()]);
        let guest = Caller::granted("guest", Scopes::ADMIN, only);
        let reply = select(&brain, &guest, IdeaProfile::Lsd, "latency");
        (reply.far_set, reply.short_of_target, reply.notes)
    };
    let without = select_as_guest(false);
    let (far_set, ..) = &without;
    assert_eq!(far_set.len(), 12);
    assert_eq!(select_as_guest(true), without);
}

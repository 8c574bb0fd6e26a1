//! One value of every reply of the collector, in wire order.

use brain_protocol::*;

fn time() -> String {
    "2026-11-21T10:30:45.123Z".into()
}

fn some_text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn metrics() -> Metrics {
    Metrics { like_count: 70_000, retweet_count: 2, reply_count: 300, quote_count: 1 }
}

fn run() -> CollectorRun {
    let skipped = SkippedStream {
        reason: "rate_limited".into(),
        message: "m".into(),
        reset: Some(1_795_256_100),
    };
    CollectorRun {
        status: "failed".into(),
        reason: some_text("unauthorized"),
        message: some_text("m"),
        started_at: time(),
        finished_at: time(),
        streams: vec![CollectedStream {
            stream: "own".into(),
            total: 300,
            new: 1,
            skipped: Some(skipped),
        }],
        tweets_stored: 1,
        deletions: 2,
        velocity_alerts: 3,
        unverified: 4,
        requests: 5,
        warnings: texts(&["w"]),
    }
}

fn deletion() -> Deletion {
    Deletion {
        id: "17".into(),
        author: "ada".into(),
        text: "t".into(),
        created_at: Some(time()),
        detected_at: time(),
        reason: "not_found".into(),
    }
}

fn alert() -> Alert {
    Alert {
        at: time(),
        kind: "velocity".into(),
        id: "17".into(),
        author: "ada".into(),
        message: "m".into(),
    }
}

fn curve() -> Curve {
    let snapshot = Snapshot { timestamp: time(), metrics: metrics() };
    Curve { id: "17".into(), author: "ada".into(), preview: "p".into(), snapshots: vec![snapshot] }
}

fn page() -> NamedPage {
    NamedPage {
        source_id: SourceId::default(),
        slug: Slug::parse("people/ada").unwrap(),
        title: "Ada".into(),
        page_type: "person".into(),
        relation: "subject".into(),
    }
}

fn digest() -> Digest {
    let rating = Rating {
        reach: Some(1.5),
        relevance: None,
        sentiment: Some(-10.0),
        novelty: None,
        actionability: None,
        virality: Some(0.0),
        rated_at: time(),
        before: Some(RatingBefore { reach: Some(1.0), virality: None, rated_at: time() }),
    };
    let post = DigestPost {
        id: "17".into(),
        streams: texts(&["own", "searches"]),
        created_at: None,
        collected_at: time(),
        text: "t".into(),
        url: "https://x.com/ada/status/17".into(),
        metrics: Some(metrics()),
        topics: texts(&["#x"]),
        mentions: texts(&["eve"]),
        pages: vec![page()],
        rating: Some(rating),
        image_text: some_text("i"),
        deleted: Some(time()),
    };
    let author = DigestAuthor {
        id: "5".into(),
        handle: some_text("ada"),
        name: some_text("Ada"),
        own: true,
        pages: vec![page()],
        posts: vec![post],
    };
    let topic = DigestTopic {
        author_id: "5".into(),
        author: some_text("ada"),
        topic: "#x".into(),
        count: 3,
        first: "2026-11-15".into(),
        last: "2026-11-20".into(),
        posts: texts(&["17"]),
    };
    Digest {
        since: time(),
        until: time(),
        authors: vec![author],
        topics: vec![topic],
        deletions: vec![deletion()],
        alerts: vec![alert()],
        next: some_text("n"),
    }
}

fn status() -> CollectorStatusReply {
    CollectorStatusReply {
        enabled: true,
        off_because: some_text("o"),
        handle: some_text("ada"),
        user_id: some_text("5"),
        platform_api: "https://api.x.com".into(),
        dir: "/h/collector".into(),
        next_run: Some(time()),
        last_run: Some(run()),
        stored: CollectorCounts { own: 1, mentions: 2, searches: 300, deletions: 4, engagement: 5 },
        rate_limits: vec![RateLimit {
            endpoint: "/2/users/me".into(),
            remaining: 300,
            reset: 1_795_256_100,
            held: true,
        }],
        stream: Some(StreamStatus {
            state: "connected".into(),
            message: "m".into(),
            posts: 1,
            connections: 2,
        }),
        movers: vec![curve()],
    }
}

pub(crate) fn replies() -> Vec<(&'static str, Reply)> {
    let step = Step {
        name: "token".into(),
        status: "warned".into(),
        message: "m".into(),
        hint: Some("h".into()),
        took_ms: 70_000,
    };
    let setup =
        CollectorSetupReply { status: "passed".into(), user_id: some_text("5"), steps: vec![step] };
    let enriched = CollectorEnrichReply {
        dry_run: true,
        pages: vec![EnrichedPage {
            source_id: SourceId::default(),
            slug: Slug::parse("people/ada").unwrap(),
            created: true,
            lines: texts(&["- 2026-11-21 | x"]),
        }],
        people_below_threshold: 300,
        pages_without_account: texts(&["u"]),
        failures: texts(&["f"]),
    };
    let deletions = CollectorDeletionsReply { deletions: vec![deletion()], truncated: true };
    let alerts = CollectorAlertsReply { alerts: vec![alert()], truncated: true };
    vec![
        ("collector_setup", Reply::CollectorSetup(setup)),
        ("collector_run", Reply::CollectorRun(run())),
        ("collector_status", Reply::CollectorStatus(status())),
        ("collector_deletions", Reply::CollectorDeletions(deletions)),
        ("collector_alerts", Reply::CollectorAlerts(alerts)),
        ("collector_digest", Reply::CollectorDigest(digest())),
        ("collector_enriched", Reply::CollectorEnrich(enriched)),
        ("collector_curve", Reply::CollectorCurve(curve())),
    ]
}

//! Tests of provenance in records and in frontmatter.

use super::*;
use proptest::prelude::*;

const NOW: i64 = 1_795_257_045_123;

fn parse(raw: &str) -> Frontmatter {
    Frontmatter::parse(raw).unwrap()
}

fn record(kind: &str, uri: &str, via: &str, at: i64) -> Provenance {
    Provenance {
        source_kind: Some(kind.into()),
        source_uri: Some(uri.into()),
        ingested_via: Some(via.into()),
        ingested_at: Some(at),
    }
}

/// Adds a text by a route. Returns its record and its frontmatter.
fn add_text(
    route: &IngestRoute,
    raw: &str,
    previous: Option<&Provenance>,
) -> (Provenance, Frontmatter) {
    let mut frontmatter = parse(raw);
    let record = route.provenance_of_text(&frontmatter, "cli:stdin".into(), NOW, previous);
    write_provenance(&mut frontmatter, &record, previous);
    (record, frontmatter)
}

#[test]
fn the_frontmatter_states_the_provenance_of_the_record() {
    let (own, frontmatter) = add_text(&CAPTURE_CLI, "title: x\n", None);
    assert_eq!(own, record("capture-cli", "cli:stdin", "capture", NOW));
    assert_eq!(
        frontmatter.raw(),
        "title: x\ningested_via: capture\ningested_at: 2026-11-21T10:30:45.123Z\n\
         source_kind: capture-cli\n"
    );
    // A second write changes nothing.
    let mut rewritten = frontmatter.clone();
    write_provenance(&mut rewritten, &own, None);
    assert_eq!(rewritten, frontmatter);
}

#[test]
fn a_false_claim_is_kept_under_received() {
    let raw =
        "source_kind: voice  # said\nmood: good\ningested_via: put_page\nsource_uri: [a, b]\n";
    let (own, frontmatter) = add_text(&CAPTURE_CLI, raw, None);
    assert!(provenance_agrees(&frontmatter, &own));
    let claims = "ingested_via: put_page\nsource_kind: voice  # said\nsource_uri: [a, b]";
    assert_eq!(
        (frontmatter.get(RECEIVED).as_deref(), frontmatter.get("mood").as_deref()),
        (Some(claims), Some("good"))
    );
    // A text or a list that the author has under the key `received` stays.
    let cases = [("received: 2024-01-02\n", "received"), ("received: [a]\n", "received_2")];
    for (existing, key) in cases {
        let (_, frontmatter) =
            add_text(&PUT_PAGE, &format!("{existing}source_kind: voice\n"), None);
        assert!(frontmatter.get(key).unwrap().ends_with("source_kind: voice"), "{frontmatter:?}");
        assert!(
            frontmatter.raw().contains("2024-01-02")
                || frontmatter.raw().contains("received: [a]\n"),
            "{frontmatter:?}"
        );
    }
    // A claim that `received` has already is not added again; null is no claim.
    let (_, twice) =
        add_text(&PUT_PAGE, "received: \"source_kind: voice\"\nsource_kind: voice\n", None);
    assert_eq!(twice.get(RECEIVED).as_deref(), Some("source_kind: voice"));
    assert!(!add_text(&PUT_PAGE, "source_kind:\n", None).1.has(RECEIVED));
}

#[test]
fn a_page_put_back_unchanged_has_no_received_claims() {
    let previous = record("capture-cli", "cli:argument", "capture", NOW - 5000);
    let mut current = parse("title: x\n");
    write_provenance(&mut current, &previous, None);
    let (own, frontmatter) = add_text(&PUT_PAGE, current.raw(), Some(&previous));
    assert_eq!(own, record("put_page", "cli:stdin", "put_page", NOW));
    assert!(provenance_agrees(&frontmatter, &own) && !frontmatter.has(RECEIVED), "{frontmatter:?}");
}

#[test]
fn an_edit_of_the_owner_keeps_the_provenance_from_outside() {
    let previous = record("webhook", "https://x.example/a", "webhook", NOW - 5000);
    let mut current = parse("");
    write_provenance(&mut current, &previous, None);
    let (outside, frontmatter) = add_text(&PUT_PAGE, current.raw(), Some(&previous));
    assert_eq!(outside, record("webhook", "https://x.example/a", "put_page", NOW));
    assert!(
        provenance_agrees(&frontmatter, &outside) && !frontmatter.has(RECEIVED),
        "{frontmatter:?}"
    );
    // Without `source_kind`, or with another value of it, the page becomes the owner's.
    current.remove("source_kind");
    let (own, frontmatter) = add_text(&PUT_PAGE, current.raw(), Some(&previous));
    assert_eq!(own, record("put_page", "cli:stdin", "put_page", NOW));
    assert!(provenance_agrees(&frontmatter, &own), "{frontmatter:?}");
    assert_eq!(add_text(&PUT_PAGE, "source_kind: voice\n", Some(&previous)).0, own);
    // A text of an AI client is from outside.
    let mut current = parse("");
    write_provenance(&mut current, &previous, None);
    assert_eq!(
        add_text(&MCP, current.raw(), Some(&previous)).0.source_kind.as_deref(),
        Some("mcp:put_page")
    );
}

#[test]
fn a_file_claim_counts_only_if_brain_could_have_written_it() {
    let uri = "file:///v/a.md";
    let sync = |raw: &str, previous: Option<&Provenance>| {
        SYNC.provenance_of_file(&parse(raw), uri.into(), NOW, previous)
    };
    let own = record("sync", uri, "sync", NOW);
    assert_eq!(sync("title: x\n", None), own);
    let claims = "source_kind: voice\nsource_uri: tel:+49\ningested_via: voice\n\
                 ingested_at: 2026-01-02T03:04:05Z\n";
    let at = parse_instant("2026-01-02T03:04:05Z").unwrap();
    assert_eq!(sync(claims, None), record("voice", "tel:+49", "voice", at));
    // Values that brain never writes, and times in the future, are ignored.
    for odd in [
        "source_kind: banana\n",
        "source_kind: [voice]\n",
        "ingested_via: hand\n",
        "ingested_at: yesterday\n",
        "ingested_at: 2999-01-01T00:00:00.000Z\n",
        "source_uri: \"a\\nb\"\n",
        "source_kind:\n",
    ] {
        assert_eq!(sync(odd, None), own, "{odd}");
    }
    // A file that states the previous provenance keeps it.
    let previous = record("capture-cli", "cli:argument", "capture", NOW + 5);
    let mut frontmatter = parse("");
    write_provenance(&mut frontmatter, &previous, None);
    assert_eq!(sync(frontmatter.raw(), Some(&previous)), previous);
    assert_eq!(sync("title: x\n", Some(&previous)), own);
    assert_eq!(sync("source_kind: lsd\n", Some(&previous)), record("lsd", uri, "sync", NOW));
}

#[test]
fn a_note_of_the_owner_gets_no_new_keys() {
    let note = record("import", "file:///v/a.md", "import", NOW);
    let mut frontmatter = parse("title: x\n");
    write_provenance(&mut frontmatter, &note, None);
    assert_eq!(frontmatter.raw(), "title: x\n");
    // The provenance of a text from outside is written into every copy.
    let marked = record("webhook", "https://x.example", "import", NOW);
    let mut frontmatter = parse("source_kind: webhook\n");
    write_provenance(&mut frontmatter, &marked, None);
    assert_eq!(frontmatter.get("source_uri").as_deref(), Some("https://x.example"));
}

#[test]
fn a_local_path_is_not_written_into_a_file() {
    let before = record("webhook", "https://x.example", "webhook", NOW);
    let mut frontmatter = parse("source_uri: https://x.example\n");
    let local = record("put_page", "file:///home/me/a.md", "put_page", NOW);
    write_provenance(&mut frontmatter, &local, Some(&before));
    assert!(!frontmatter.has("source_uri"), "{frontmatter:?}");
}

#[test]
fn a_page_without_recorded_provenance_keeps_its_text() {
    let mut frontmatter = parse("source_kind: webhook\n");
    write_provenance(&mut frontmatter, &Provenance::default(), None);
    assert_eq!(frontmatter.raw(), "source_kind: webhook\n");
}

fn any_claims() -> impl Strategy<Value = String> {
    "(source_kind: (voice|banana|import|capture-cli|\\[a\\]|mcp:put_page|)\n)?\
     (source_uri: (https://x\\.example|cli:stdin|\"a b\"|\\{a: 1\\})\n)?\
     (received: (x|\\[y\\])\n)?\
     (ingested_via: (put_page|hand|sync|'')\n)?\
     (ingested_at: (2026-01-02|2026-01-02T03:04:05Z|never|2999-01-01)\n)?(mood: good\n)?"
}

proptest! {
    #[test]
    fn record_and_text_agree_for_all_claims(
        claims in prop::collection::vec((any_claims(), 0..ROUTES.len(), any::<bool>()), 1..5),
    ) {
        let mut previous: Option<Provenance> = None;
        for (raw, route, is_file) in claims {
            let (mut frontmatter, route) = (parse(&raw), ROUTES[route]);
            let uri = "https://y.example".to_owned();
            let record = match is_file {
                true => route.provenance_of_file(&frontmatter, uri, NOW, previous.as_ref()),
                false => route.provenance_of_text(&frontmatter, uri, NOW, previous.as_ref()),
            };
            let mood = frontmatter.get("mood");
            write_provenance(&mut frontmatter, &record, previous.as_ref());
            prop_assert!(
                provenance_agrees(&frontmatter, &record), "{:?} {:?}", frontmatter, record
            );
            prop_assert_eq!(frontmatter.get("mood"), mood);
            if !is_authors_note(&record) {
                for key in [KIND_KEY, VIA_KEY, AT_KEY] {
                    prop_assert!(frontmatter.has(key), "{:?}", frontmatter);
                }
            }
            // Another brain accepts the provenance that this one wrote.
            let uri = "https://y.example".to_owned();
            let mut other = IMPORT.provenance_of_file(&frontmatter, uri, NOW, None);
            if record.source_uri.as_deref().is_some_and(is_local_uri) {
                // A local path is not written into a file.
                other.source_uri.clone_from(&record.source_uri);
            }
            if !is_authors_note(&record) {
                prop_assert_eq!(&other, &record);
            }
            previous = Some(record);
        }
    }
}

use super::*;
use proptest::prelude::*;

const NOW: i64 = 1_795_257_045_123;

fn fm(raw: &str) -> Frontmatter {
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

/// What a door makes of a text.
fn written(door: &Door, raw: &str, known: Option<&Provenance>) -> (Provenance, Frontmatter) {
    let mut frontmatter = fm(raw);
    let record = door.of_text(&frontmatter, "cli:stdin".into(), NOW, known);
    state(&mut frontmatter, &record, known);
    (record, frontmatter)
}

#[test]
fn a_written_page_says_what_its_record_says() {
    let (own, text) = written(&CAPTURE_CLI, "title: x\n", None);
    assert_eq!(own, record("capture-cli", "cli:stdin", "capture", NOW));
    assert_eq!(
        text.raw(),
        "title: x\ningested_via: capture\ningested_at: 2026-11-21T10:30:45.123Z\nsource_kind: capture-cli\n"
    );
    // Stating it again changes nothing.
    let mut again = text.clone();
    state(&mut again, &own, None);
    assert_eq!(again, text);
}

#[test]
fn a_claim_that_is_not_so_is_kept_under_received() {
    let raw =
        "source_kind: voice  # said\nmood: good\ningested_via: put_page\nsource_uri: [a, b]\n";
    let (own, text) = written(&CAPTURE_CLI, raw, None);
    assert!(agrees(&text, &own));
    let claims = "ingested_via: put_page\nsource_kind: voice  # said\nsource_uri: [a, b]";
    assert_eq!(
        (text.get(RECEIVED).as_deref(), text.get("mood").as_deref()),
        (Some(claims), Some("good"))
    );
    // What was there under that name stays; a list of the author's as well.
    for (there, key) in [("received: 2024-01-02\n", "received"), ("received: [a]\n", "received_2")]
    {
        let (_, text) = written(&PUT_PAGE, &format!("{there}source_kind: voice\n"), None);
        assert!(text.get(key).unwrap().ends_with("source_kind: voice"), "{text:?}");
        assert!(
            text.raw().contains("2024-01-02") || text.raw().contains("received: [a]\n"),
            "{text:?}"
        );
    }
    // Said twice, kept once; null says nothing.
    let (_, twice) =
        written(&PUT_PAGE, "received: \"source_kind: voice\"\nsource_kind: voice\n", None);
    assert_eq!(twice.get(RECEIVED).as_deref(), Some("source_kind: voice"));
    assert!(!written(&PUT_PAGE, "source_kind:\n", None).1.has(RECEIVED));
}

#[test]
fn a_page_put_back_loses_nothing_and_claims_nothing() {
    let known = record("capture-cli", "cli:argument", "capture", NOW - 5000);
    let mut got = fm("title: x\n");
    state(&mut got, &known, None);
    let (own, text) = written(&PUT_PAGE, got.raw(), Some(&known));
    assert_eq!(own, record("put_page", "cli:stdin", "put_page", NOW));
    assert!(agrees(&text, &own) && !text.has(RECEIVED), "{text:?}");
}

#[test]
fn the_owner_edits_a_strangers_text_and_it_stays_a_strangers() {
    let known = record("webhook", "https://x.example/a", "webhook", NOW - 5000);
    let mut got = fm("");
    state(&mut got, &known, None);
    let (kept, text) = written(&PUT_PAGE, got.raw(), Some(&known));
    assert_eq!(kept, record("webhook", "https://x.example/a", "put_page", NOW));
    assert!(agrees(&text, &kept) && !text.has(RECEIVED), "{text:?}");
    // Without the line it is the owner's; with another one it is, too, and that one is kept.
    got.remove("source_kind");
    let (own, text) = written(&PUT_PAGE, got.raw(), Some(&known));
    assert_eq!(own, record("put_page", "cli:stdin", "put_page", NOW));
    assert!(agrees(&text, &own), "{text:?}");
    assert_eq!(written(&PUT_PAGE, "source_kind: voice\n", Some(&known)).0, own);
    // An AI client is outside itself.
    let mut got = fm("");
    state(&mut got, &known, None);
    assert_eq!(
        written(&MCP, got.raw(), Some(&known)).0.source_kind.as_deref(),
        Some("mcp:put_page")
    );
}

#[test]
fn a_file_is_believed_where_brain_could_have_written_it() {
    let uri = "file:///v/a.md";
    let sync =
        |raw: &str, known: Option<&Provenance>| SYNC.of_file(&fm(raw), uri.into(), NOW, known);
    let own = record("sync", uri, "sync", NOW);
    assert_eq!(sync("title: x\n", None), own);
    let whole = "source_kind: voice\nsource_uri: tel:+49\ningested_via: voice\ningested_at: 2026-01-02T03:04:05Z\n";
    let at = parse_instant("2026-01-02T03:04:05Z", false).unwrap();
    assert_eq!(sync(whole, None), record("voice", "tel:+49", "voice", at));
    // What brain never writes, and what is yet to come, is not believed.
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
    // A file that says what the record says has only been edited.
    let known = record("capture-cli", "cli:argument", "capture", NOW + 5);
    let mut text = fm("");
    state(&mut text, &known, None);
    assert_eq!(sync(text.raw(), Some(&known)), known);
    assert_eq!(sync("title: x\n", Some(&known)), own);
    assert_eq!(sync("source_kind: lsd\n", Some(&known)), record("lsd", uri, "sync", NOW));
}

#[test]
fn a_note_of_its_authors_gets_no_lines() {
    let note = record("import", "file:///v/a.md", "import", NOW);
    let mut text = fm("title: x\n");
    state(&mut text, &note, None);
    assert_eq!(text.raw(), "title: x\n");
    // But for a mark of outsiders, which is to stand in every copy.
    let marked = record("webhook", "https://x.example", "import", NOW);
    let mut text = fm("source_kind: webhook\n");
    state(&mut text, &marked, None);
    assert_eq!(text.get("source_uri").as_deref(), Some("https://x.example"));
}

#[test]
fn a_place_on_this_machine_is_written_into_no_file() {
    let before = record("webhook", "https://x.example", "webhook", NOW);
    let mut text = fm("source_uri: https://x.example\n");
    state(&mut text, &record("put_page", "file:///home/me/a.md", "put_page", NOW), Some(&before));
    assert!(!text.has("source_uri"), "{text:?}");
}

#[test]
fn a_page_from_before_there_was_provenance_keeps_its_text() {
    let mut text = fm("source_kind: webhook\n");
    state(&mut text, &Provenance::default(), None);
    assert_eq!(text.raw(), "source_kind: webhook\n");
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
    fn record_and_text_agree_whatever_is_claimed(
        claims in prop::collection::vec((any_claims(), 0..DOORS.len(), any::<bool>()), 1..5),
    ) {
        let mut known: Option<Provenance> = None;
        for (raw, door, file) in claims {
            let (mut text, door, uri) = (fm(&raw), DOORS[door], "https://y.example".to_owned());
            let record = match file {
                true => door.of_file(&text, uri, NOW, known.as_ref()),
                false => door.of_text(&text, uri, NOW, known.as_ref()),
            };
            let mood = text.get("mood");
            state(&mut text, &record, known.as_ref());
            prop_assert!(agrees(&text, &record), "{:?} {:?}", text, record);
            prop_assert_eq!(text.get("mood"), mood);
            if !is_authors(&record) {
                for key in [KIND, VIA, AT] {
                    prop_assert!(text.has(key), "{:?}", text);
                }
            }
            // What brain wrote is believed by another brain.
            let mut other = IMPORT.of_file(&text, "https://y.example".into(), NOW, None);
            if record.source_uri.as_deref().is_some_and(is_local) {
                // A place on this machine is written into no file.
                other.source_uri.clone_from(&record.source_uri);
            }
            if !is_authors(&record) {
                prop_assert_eq!(&other, &record);
            }
            known = Some(record);
        }
    }
}

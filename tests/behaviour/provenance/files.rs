//! Files: claims in files, imports and exports.

use brain_page::Frontmatter;
use brain_protocol::{Origin, Request, Slug, Tags};

use super::{MINUTE, ai_client, check_all, columns, read, stamps};
use crate::ingest_fixture::{Fixture, source};

#[test]
fn edits_of_the_file_keep_the_origin_or_claim_another() {
    let fixture = Fixture::new();
    let slug = fixture.own_capture("A thought\n").slug;
    let before = fixture.get(slug.as_str());
    fixture.clock.advance(MINUTE);
    fixture.edit_file(&before, |text| text.replace("A thought", "A second thought"));
    let after = fixture.get(slug.as_str());
    assert_eq!(after.body, "A second thought\n");
    assert_eq!(columns(&after), columns(&before));
    // A possible claim in an edited file is believed as the owner's; an impossible claim stays in
    // the file only.
    fixture
        .edit_file(&after, |text| text.replace("ingested_via: capture", "ingested_via: put_page"));
    assert_eq!(fixture.get(slug.as_str()).ingested_via.as_deref(), Some("put_page"));
    fixture
        .edit_file(&after, |text| text.replace("ingested_via: put_page", "ingested_via: banana"));
    let odd = fixture.get(slug.as_str());
    assert_eq!(
        (odd.ingested_via.as_deref(), read(&fixture.file(&odd)).contains("banana")),
        (Some("sync"), true)
    );
    // A file without provenance counts as read by sync.
    fixture.edit_file(&after, |_| "A bare thought\n".into());
    let bare = fixture.get(slug.as_str());
    assert_eq!(stamps(&bare), [Some("sync"), Some("sync"), Some("2026-11-21T12:01:00.000Z")]);
    assert_eq!(read(&fixture.file(&bare)), "A bare thought\n");
    check_all(&fixture);
}

#[test]
fn an_authors_file_stays_unchanged_with_any_claims() {
    let fixture = Fixture::new();
    fixture.add_source("vault");
    let texts = [
        ("plain", "Just text\r\n"),
        ("claims", "---\nsource_kind: voice\nsource_uri: tel:+49\n---\nText\n"),
        ("odd", "---\nsource_kind: banana\ningested_at: yesterday\n---\nText\n"),
    ];
    for (name, text) in texts {
        std::fs::write(fixture.dir.path().join(format!("vault/{name}.md")), text).unwrap();
    }
    fixture.sync();
    fixture.clock.advance(MINUTE);
    fixture.sync();
    for (name, text) in texts {
        assert_eq!(read(&fixture.dir.path().join(format!("vault/{name}.md"))), text);
    }
    let kinds = texts.map(|(name, _)| fixture.get(&format!("vault:{name}")).source_kind.unwrap());
    assert_eq!(kinds, ["sync", "voice", "sync"]);
    assert_eq!(fixture.get("vault:claims").source_uri.as_deref(), Some("tel:+49"));
    check_all(&fixture);
    // Added tags are written into the file; provenance is not.
    let tag = Tags {
        source: Some(source("vault")),
        slug: Some(Slug::parse("plain").unwrap()),
        add: vec!["x".into()],
        remove: vec![],
    };
    fixture.ask(Request::Tags(tag)).unwrap();
    assert_eq!(
        read(&fixture.dir.path().join("vault/plain.md")),
        "---\r\ntags:\r\n  - x\r\n---\r\n\r\nJust text\r\n"
    );
    check_all(&fixture);
}

#[test]
fn an_import_accepts_valid_claims_and_keeps_the_others() {
    let fixture = Fixture::new();
    let dir = fixture.dir.path().join("notes");
    std::fs::create_dir_all(&dir).unwrap();
    let text = "---\nsource_kind: banana\ningested_via: voice\n---\nText\n";
    std::fs::write(dir.join("odd.md"), text).unwrap();
    std::fs::write(dir.join("plain.md"), "Text\n").unwrap();
    assert_eq!(fixture.import(&dir).created, 2);
    let odd = fixture.get("odd");
    assert_eq!(stamps(&odd), [Some("import"), Some("voice"), Some("2026-11-21T12:00:00.000Z")]);
    let received = Frontmatter::parse(&odd.frontmatter).unwrap().get("received");
    assert_eq!(received.as_deref(), Some("source_kind: banana"));
    assert_eq!(fixture.get("plain").content, "Text\n");
    check_all(&fixture);
    assert_eq!(fixture.import(&dir).unchanged, 2);
    assert_eq!(read(&dir.join("odd.md")), text, "an import does not change the file");
}

#[test]
fn an_export_keeps_its_provenance_in_another_brain() {
    let fixture = Fixture::new();
    fixture.own_capture("A thought\n");
    fixture.own_put("people/ann", "---\ntitle: Ann\n---\nAnn\n");
    fixture.ingest("From the web\n", "https://x.example/a");
    fixture
        .put_as(
            &ai_client(),
            "notes/ai",
            "By a model\n",
            Origin::Agent(Some("https://x.example/b".into())),
        )
        .unwrap();
    fixture.clock.advance(MINUTE);
    let pages = check_all(&fixture);
    let other = Fixture::new();
    other.clock.advance(60 * MINUTE);
    let import = other.import(&fixture.export("out"));
    assert_eq!((import.created, import.failed_total), (4, 0));
    for page in &pages {
        let imported = other.get(page.slug.as_str());
        assert_eq!(
            (stamps(&imported), &imported.content),
            (stamps(page), &page.content),
            "{}",
            page.slug
        );
        let is_local = page
            .source_uri
            .as_ref()
            .is_some_and(|uri| uri.starts_with("file:") || uri.starts_with("cli:"));
        assert!(is_local || imported.source_uri == page.source_uri, "{imported:?}");
    }
    // Importing the same export again changes nothing.
    assert_eq!(other.import(&fixture.dir.path().join("out")).unchanged, 4);
    check_all(&other);
}

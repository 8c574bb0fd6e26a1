//! The bytes on the wire, fixed by fixtures: every change needs a new protocol number.
//!
//! `BRAIN_WRITE_FIXTURES=1 cargo test -p brain-tests wire::` rewrites the fixtures. Do that only
//! together with a higher `PROTOCOL`.

use std::fmt::Debug;
use std::path::Path;

use brain_protocol::*;
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::wire_replies::replies;

/// Compares the bytes of each value with the fixture, and the decoded fixture with the value. Also
/// checks that shorter and longer bytes are refused.
fn assert_bytes<T: Serialize + DeserializeOwned + PartialEq + Debug>(
    file: &str,
    values: &[(&str, T)],
) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/wire").join(file);
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let current: String = values
        .iter()
        .map(|(name, value)| format!("{name} {}\n", hex(&encode(value).unwrap())))
        .collect();
    if std::env::var_os("BRAIN_WRITE_FIXTURES").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &current).unwrap();
    }
    let fixture = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<(&str, &str)> =
        fixture.lines().map(|line| line.rsplit_once(' ').unwrap()).collect();
    assert_eq!(lines.len(), values.len(), "{file} has one line per value");
    for ((name, value), (fixture_name, fixture_hex)) in values.iter().zip(lines) {
        assert_eq!(*name, fixture_name, "{file}: the order of variants is part of the protocol");
        assert_eq!(
            hex(&encode(value).unwrap()),
            fixture_hex,
            "{file}: {name} is encoded differently: raise PROTOCOL"
        );
        let bytes: Vec<u8> = (0..fixture_hex.len())
            .step_by(2)
            .map(|i| u8::from_str_radix(&fixture_hex[i..i + 2], 16).unwrap())
            .collect();
        assert_eq!(
            decode::<T>(&bytes).as_ref(),
            Ok(value),
            "{file}: {name} is decoded differently"
        );
        for cut in 0..bytes.len() {
            assert!(decode::<T>(&bytes[..cut]).is_err(), "{file}: {name} cut at {cut} is accepted");
        }
        assert!(
            decode::<T>(&[bytes, vec![0]].concat()).is_err(),
            "{file}: {name} with an extra byte is accepted"
        );
    }
}

fn slug(text: &str) -> Slug {
    Slug::parse(text).unwrap()
}

fn source(text: &str) -> SourceId {
    SourceId::parse(text).unwrap()
}

fn page() -> PageRef {
    PageRef { source: Some(source("work")), slug: slug("people/ada") }
}

fn requests() -> Vec<Request> {
    let some = |text: &str| Some(text.to_owned());
    vec![
        Request::Status(Status),
        Request::Stop(Stop),
        Request::Capture(Capture {
            content: "🦀".into(),
            origin: Origin::File("/a.md".into()),
            source: None,
            slug: Some(slug("inbox/x")),
            page_type: some("idea"),
            title: some("T"),
            tags: vec!["a".into(), "b".into()],
        }),
        Request::Put(Put {
            page: page(),
            content: b"text".to_vec(),
            origin: Origin::Stdin,
            allow_empty: true,
            expect: Some(Precondition::Hash("ab".repeat(32))),
        }),
        Request::Get(Get { page: page(), version: Some(300) }),
        Request::Search(Search {
            query: "\"q\" -w".into(),
            limit: 20,
            source: Some(source("work")),
            page_type: some("note"),
            tags: vec!["t".into()],
            since: some("2026-01-01"),
            until: None,
            explain: true,
            prefix: true,
        }),
        Request::List(List {
            source: None,
            prefix: some("p/"),
            page_type: None,
            tag: some("t"),
            deleted: true,
            sort: Sort::Slug,
            limit: 1000,
            after: some("c"),
            updated_since: some("2026-01-01"),
            updated_until: some("2026-02-01"),
        }),
        Request::Delete(Delete { page: page(), expect: Some(Precondition::Version(300)) }),
        Request::Restore(page().into()),
        Request::History(page().into()),
        Request::Revert(Revert { page: page(), version: 2 }),
        Request::Tags(Tags {
            source: None,
            slug: Some(slug("a")),
            add: vec!["x".into()],
            remove: vec!["y".into()],
        }),
        Request::Link(Link {
            from: page(),
            to: slug("b"),
            kind: "related".into(),
            remove: false,
            to_source: Some(source("work")),
        }),
        Request::Links(page().into()),
        Request::Backlinks(page().into()),
        Request::Graph(Graph { page: page(), depth: 5, limit: 100 }),
        Request::Timeline(Timeline {
            source: None,
            slug: None,
            since: some("2026-01-01"),
            until: None,
            limit: 50,
            skip: 300,
        }),
        Request::Import(Import {
            path: "/vault".into(),
            source: Some(source("work")),
            dry_run: true,
        }),
        Request::Doctor(Doctor { fix: true }),
        Request::SourceList(SourceList),
        Request::SourceAdd(SourceAdd {
            id: source("work"),
            path: "/notes".into(),
            settings: SourceSettings::default(),
        }),
        Request::SourceRemove(SourceRemove { id: source("work"), yes: true }),
        Request::SourceDefault(SourceDefault { id: Some(source("work")) }),
        Request::Sync(Sync {
            source: Some(source("work")),
            all: false,
            pull: true,
            embed: false,
            dry_run: true,
            full: false,
            yes: true,
        }),
        Request::Export(Export { path: "/out".into(), source: Some(source("work")) }),
        Request::Backup(Backup { path: "/b.redb".into() }),
        Request::BackupVerify(BackupVerify { path: "/b.redb".into() }),
        Request::BrokenLinks(BrokenLinks { source: Some(source("work")), limit: 100 }),
        Request::ClientRegister(ClientRegister {
            name: "Phone".into(),
            scopes: Scopes::READ_WRITE,
            sources: vec![source("work")],
            grant_types: GrantType::ALL.to_vec(),
            redirect_uris: vec!["https://e.org/cb".into()],
            token_ttl: Some(3600),
            public: true,
        }),
        Request::ClientList(ClientList { all: true }),
        Request::ClientUpdate(ClientUpdate {
            client: "Phone".into(),
            scopes: Some(Scopes::ADMIN),
            sources: Some(Vec::new()),
            token_ttl: None,
        }),
        Request::ClientRevoke(ClientRevoke { client: "Phone".into(), yes: true }),
        Request::TokenCreate(TokenCreate {
            name: "shortcut".into(),
            scopes: Scope::Write.into(),
            sources: Vec::new(),
            expires_in: Some(7_776_000),
        }),
        Request::TokenList(TokenList { all: true }),
        Request::TokenRevoke(TokenRevoke { token: "shortcut".into() }),
        Request::AdminToken(AdminToken { rotate: true }),
        Request::AuditList(AuditList {
            since: some("2026-01-01"),
            until: None,
            client: some("brain_cl_x"),
            failed: true,
            limit: 50,
            skip: 300,
        }),
        Request::JobList(JobList {
            state: Some(JobState::Failed),
            limit: 50,
            after: Some(JobId(300)),
        }),
        Request::JobShow(JobShow { id: JobId(17) }),
        Request::JobRetry(JobRetry { id: None }),
        Request::Mcp(Mcp),
        Request::ConnectTest(ConnectTest {
            url: "https://e.org/mcp".into(),
            credentials: Credentials::Client { id: "brain_cl_x".into(), secret: Secret::new("s") },
        }),
        Request::CollectorSetup(CollectorSetup {
            handle: some("ada"),
            token: Some(Secret::new("t")),
        }),
        Request::CollectorCollect(CollectorCollect),
        Request::CollectorStatus(CollectorStatus),
        Request::CollectorDeletions(CollectorDeletions {
            period: CollectorPeriod { since: some("2026-01-01"), limit: 50 },
        }),
        Request::CollectorAlerts(CollectorAlerts {
            period: CollectorPeriod { since: None, limit: 1000 },
        }),
        Request::CollectorDigest(CollectorDigest {
            since: some("2026-01-01"),
            limit: 200,
            after: some("17"),
        }),
        Request::CollectorEnrich(CollectorEnrich { since: None, dry_run: true }),
        Request::CollectorCurve(CollectorCurve { id: "17".into() }),
    ]
    .into_iter()
    .chain(crate::wire_tunnel::requests())
    .chain(crate::wire_meaning::requests())
    .chain(crate::wire_edit::requests())
    .chain(crate::wire_everyday::requests())
    .chain(crate::wire_edit::move_requests())
    .chain(crate::wire_completion::requests())
    .chain(crate::wire_attachments::requests())
    .chain(crate::wire_machines::requests())
    .chain(crate::wire_conflict::requests())
    .collect()
}

#[test]
fn the_bytes_of_requests_do_not_change() {
    let all = requests();
    let named: Vec<(&str, Request)> =
        all.into_iter().map(|request| (request.name(), request)).collect();
    assert_bytes("requests.hex", &named);
    // A variant's position is its number on the wire: no variant is missing or moved.
    for (n, (_, request)) in named.iter().enumerate() {
        assert_eq!(usize::from(encode(request).unwrap()[0]), n);
    }
    let unused_number = [u8::try_from(named.len()).unwrap()];
    assert!(
        decode::<Request>(&unused_number).unwrap_err().to_string().contains("variant"),
        "a request has no fixture yet"
    );
}

#[test]
fn the_bytes_of_replies_do_not_change() {
    let named = replies();
    assert_bytes("replies.hex", &named);
    for (n, (_, reply)) in named.iter().enumerate() {
        assert_eq!(usize::from(encode(reply).unwrap()[0]), n);
    }
    let unused_number = [u8::try_from(named.len()).unwrap()];
    assert!(
        decode::<Reply>(&unused_number).unwrap_err().to_string().contains("variant"),
        "a reply has no fixture yet"
    );
}

#[test]
fn the_bytes_of_faults_events_and_small_enums_do_not_change() {
    let faults: Vec<(&str, Answer)> = FaultCode::ALL
        .iter()
        .map(|&code| (code.as_str(), Answer::Fault(Fault::new(code, "what").hint("way out"))))
        .collect();
    assert_bytes("faults.hex", &faults);
    let event = Answer::Event(Event::Progress { done: 1, total: 70_000 });
    let line = Answer::Event(Event::Line("RUN_START:x".into()));
    assert_bytes(
        "answers.hex",
        &[
            ("event", event),
            ("line", line),
            crate::wire_meaning::text_event(),
            ("reply", Answer::Reply(Reply::Stopping(StopReply))),
        ],
    );
    use WriteStatus::*;
    assert_bytes(
        "write_status.hex",
        &[
            ("created", Created),
            ("updated", Updated),
            ("unchanged", Unchanged),
            ("restored", Restored),
        ],
    );
    use CheckStatus as C;
    assert_bytes("check_status.hex", &[("ok", C::Ok), ("warn", C::Warn), ("fail", C::Fail)]);
    assert_bytes("sort.hex", &[("updated", Sort::Updated), ("slug", Sort::Slug)]);
    assert_bytes("job_state.hex", &JobState::ALL.map(|state| (state.as_str(), state)));
    assert_bytes("grant_type.hex", &GrantType::ALL.map(|kind| (kind.as_str(), kind)));
    let origins = [
        ("argument", Origin::Argument),
        ("stdin", Origin::Stdin),
        ("file", Origin::File("/f".into())),
        ("agent", Origin::Agent(None)),
        ("agent_with_uri", Origin::Agent(Some("https://e.org".into()))),
        ("editor", Origin::Editor),
        ("http", Origin::Http),
        ("browser", Origin::Browser),
    ];
    assert_bytes("origin.hex", &origins);
    let expects = [
        ("absent", Precondition::Absent),
        ("hash", Precondition::Hash("ab".into())),
        ("version", Precondition::Version(300)),
    ];
    assert_bytes("expect.hex", &expects);
    let credentials = [
        ("own", Credentials::Own),
        ("token", Credentials::Token(Secret::new("s"))),
        ("client", Credentials::Client { id: "c".into(), secret: Secret::new("s") }),
    ];
    assert_bytes("credentials.hex", &credentials);
    assert_bytes("voice_event.hex", &crate::wire_tunnel::events());
    assert_bytes("voice_then.hex", &crate::wire_tunnel::actions());
}

#[test]
fn the_bytes_of_the_greeting_do_not_change() {
    let hello = Hello { protocol: 0x0102, version: [3, 4, 5, 6], pid: 0x0708_090a };
    let bytes = *b"brain\0\x01\x02\0\x03\0\x04\0\x05\0\x06\x07\x08\x09\x0a";
    assert_eq!(hello.to_bytes(), bytes);
    assert_eq!(Hello::from_bytes(&bytes), Ok(hello));
}

fn any_capture() -> impl Strategy<Value = Request> {
    let texts = || proptest::option::of(".{0,40}");
    (any::<Vec<u8>>(), texts(), texts(), proptest::collection::vec(".{0,20}", 0..5)).prop_map(
        |(content, page_type, title, tags)| {
            let origin = if title.is_some() { Origin::Stdin } else { Origin::File("/ü".into()) };
            Request::Capture(Capture {
                content,
                origin,
                source: None,
                slug: None,
                page_type,
                title,
                tags,
            })
        },
    )
}

proptest! {
    #[test]
    fn any_capture_survives_encoding(request in any_capture()) {
        let bytes = encode(&request).unwrap();
        let mut wire = Vec::new();
        write_frame(&mut wire, &bytes).unwrap();
        let read = read_frame(&mut wire.as_slice()).unwrap();
        prop_assert_eq!(decode::<Request>(&read).unwrap(), request);
    }

    #[test]
    fn any_search_survives_encoding(query in ".*", limit: u32, tags: Vec<String>, explain: bool) {
        let request = Request::Search(Search { query, limit, tags, explain, ..Search::default() });
        prop_assert_eq!(decode::<Request>(&encode(&request).unwrap()).unwrap(), request);
    }

    #[test]
    fn values_decoded_from_any_bytes_survive_encoding(bytes: Vec<u8>, variant in 0_u8..80) {
        let mut bytes = bytes;
        bytes.insert(0, variant);
        if let Ok(request) = decode::<Request>(&bytes) {
            prop_assert_eq!(decode::<Request>(&encode(&request).unwrap()).unwrap(), request);
        }
        if let Ok(answer) = decode::<Answer>(&bytes) {
            // A score may be NaN, which equals nothing, so compare bytes.
            let again = encode(&answer).unwrap();
            prop_assert_eq!(encode(&decode::<Answer>(&again).unwrap()).unwrap(), again);
        }
    }
}

//! Callers whose grant is for one source.

use super::*;

/// A caller with a grant for one source, as HTTP clients have.
#[test]
fn a_caller_with_a_grant_for_one_source_sees_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path().join("home"));
    let config = Config::load(&home.config(), |_| None).unwrap();
    let brain = Arc::new(Brain::open(home, config, Arc::new(SystemClock), 7).unwrap());
    let work = SourceId::parse("work").unwrap();
    let ask = |caller: &Caller, request: Request| brain.answer(caller, request, &NoProgress);
    let owner = Caller::local(0);
    let path = dir.path().canonicalize().unwrap().join("work");
    fs::create_dir(&path).unwrap();
    let add = SourceAdd {
        id: work.clone(),
        path: path.display().to_string(),
        settings: Default::default(),
    };
    ask(&owner, Request::SourceAdd(add)).unwrap();
    for source in [SourceId::default(), work.clone()] {
        let slug = Slug::parse("a").unwrap();
        let page = PageRef { source: Some(source), slug };
        let put = Put {
            page,
            content: b"[[nowhere]]".to_vec(),
            origin: Origin::Stdin,
            allow_empty: false,
            expect: None,
        };
        ask(&owner, Request::Put(put)).unwrap();
    }
    let guest = Caller::granted("guest", Scope::Write.into(), Visibility::Only(vec![work.clone()]));
    let listed = expect_reply!(ask(&guest, Request::SourceList(SourceList)), Sources);
    assert_eq!(listed.sources.iter().map(|s| s.source_id.as_str()).collect::<Vec<_>>(), ["work"]);
    let broken = |source| ask(&guest, Request::BrokenLinks(BrokenLinks { source, limit: 100 }));
    let links = expect_reply!(broken(None), BrokenLinks);
    assert_eq!(links.links.iter().map(|l| l.source_id.as_str()).collect::<Vec<_>>(), ["work"]);
    assert_eq!(broken(Some(SourceId::default())).unwrap_err().code, FaultCode::UnknownSource);
    // For the guest, a link into a hidden source is broken, whether the page exists or not.
    let slug = Slug::parse("c").unwrap();
    let put = Put {
        page: PageRef { source: Some(work.clone()), slug },
        content: b"[[default:a]] [[default:b]]".to_vec(),
        origin: Origin::Stdin,
        allow_empty: false,
        expect: None,
    };
    ask(&owner, Request::Put(put)).unwrap();
    let links = expect_reply!(broken(None), BrokenLinks);
    let targets: Vec<_> = links.links.iter().map(|link| link.target.as_str()).collect();
    assert_eq!((targets, links.missing), (vec!["nowhere", "default:a", "default:b"], 3));
    let all = Request::BrokenLinks(BrokenLinks { source: None, limit: 100 });
    let links = expect_reply!(ask(&owner, all), BrokenLinks);
    assert_eq!(links.missing, 3, "two to nowhere, one to default:b");
    // A write without a source goes to the guest's only source.
    let page = PageRef { source: None, slug: Slug::parse("b").unwrap() };
    let put = Put {
        page,
        content: b"x".to_vec(),
        origin: Origin::Stdin,
        allow_empty: false,
        expect: None,
    };
    let written = expect_reply!(ask(&guest, Request::Put(put)), Write);
    assert_eq!(written.source_id, work);
    for request in [
        Request::SourceDefault(SourceDefault { id: Some(work.clone()) }),
        Request::SourceRemove(SourceRemove { id: work, yes: true }),
    ] {
        assert_eq!(ask(&guest, request).unwrap_err().code, FaultCode::Forbidden);
    }
}

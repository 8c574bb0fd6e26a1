//! Sign-in of the owner's browsers.

use brain_protocol::{AdminToken, BrowserOpen, PageRef, Slug};

use super::*;

/// Returns a fixture whose local listener is open.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let local = "127.0.0.1:3131".parse().ok();
    fixture.access().set_http_addresses(HttpAddresses { local, ..HttpAddresses::default() });
    fixture
}

fn code(access: &Access, request: &BrowserOpen) -> String {
    let url = access.browser_open(request).unwrap().url.unwrap();
    url.expose().strip_prefix("http://127.0.0.1:3131/open/").unwrap().to_owned()
}

#[test]
fn a_code_opens_one_session_once_within_a_minute() {
    let fixture = fixture();
    let access = fixture.access();
    let page = PageRef { source: None, slug: Slug::parse("people/ada").unwrap() };
    let used_code = code(access, &BrowserOpen { page: Some(page.clone()), sign_out: false });
    let (id, shown) = access.browser_sign_in(&used_code).unwrap().unwrap();
    assert_eq!(shown, Some(page));
    assert!(access.browser_session(&id).is_some());
    assert!(access.browser_sign_in(&used_code).unwrap().is_none(), "used");
    assert!(access.browser_sign_in("").unwrap().is_none());
    assert!(access.browser_session(&used_code).is_none(), "a code is not a session");
    let expired_code = code(access, &BrowserOpen::default());
    fixture.clock.0.fetch_add(MINUTE, Ordering::SeqCst);
    assert!(access.browser_sign_in(&expired_code).unwrap().is_none(), "expired");
    fixture.clock.0.fetch_add(12 * HOUR, Ordering::SeqCst);
    assert!(access.browser_session(&id).is_none(), "12 hours");
    assert!(access.browser_sessions().is_empty());
}

#[test]
fn sessions_end_by_sign_out_and_by_a_new_admin_token() {
    let fixture = fixture();
    let access = fixture.access();
    let open = || {
        let code = code(access, &BrowserOpen::default());
        access.browser_sign_in(&code).unwrap().unwrap().0
    };
    let (one, other) = (open(), open());
    let token = |id: &str| access.browser_session(id).map(|session| session.csrf_token);
    assert_ne!(token(&one), token(&other));
    access.browser_sign_out(&one);
    assert!(token(&one).is_none() && token(&other).is_some());
    let unused = code(access, &BrowserOpen::default());
    let reply = access.browser_open(&BrowserOpen { page: None, sign_out: true }).unwrap();
    assert_eq!((reply.url, reply.signed_out), (None, 1));
    assert!(token(&other).is_none() && access.browser_sign_in(&unused).unwrap().is_none());
    let third = open();
    access.admin_token(&AdminToken { rotate: true }).unwrap();
    assert!(token(&third).is_none());
}

#[test]
fn too_many_sessions_end_the_oldest() {
    let fixture = fixture();
    let access = fixture.access();
    let open = || access.browser_sign_in(&code(access, &BrowserOpen::default())).unwrap();
    let ids: Vec<String> = (0..=32).map(|_| open().unwrap().0).collect();
    assert!(access.browser_session(&ids[0]).is_none());
    assert!(ids[1..].iter().all(|id| access.browser_session(id).is_some()));
}

#[test]
fn a_browser_cannot_be_opened_without_a_local_listener() {
    let fixture = Fixture::new();
    fixture.access().set_http_addresses(HttpAddresses::default());
    let fault = fixture.access().browser_open(&BrowserOpen::default()).unwrap_err();
    assert_eq!(fault.code, FaultCode::NotSetUp);
}

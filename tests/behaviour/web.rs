//! A small HTTP client for the tests of clients, owners and browsers: one request per connection,
//! and a browser that keeps cookies.

use brain_tests::{Daemon, TestHome, http};
use serde_json::Value;

/// The PKCE verifier of RFC 7636, appendix B.
pub(crate) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
/// The challenge of `VERIFIER`.
pub(crate) const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
/// The redirect URI of the test's client.
pub(crate) const CALLBACK: &str = "https://app.example/cb";

/// A daemon that serves HTTP on free ports.
pub(crate) struct Site {
    pub(crate) home: TestHome,
    _daemon: Daemon,
    /// The address of the local listener, as `HOST:PORT`.
    pub(crate) local: String,
    /// The address of the public listener, as `HOST:PORT`.
    pub(crate) public: String,
    /// The admin token.
    pub(crate) admin: String,
}

impl Site {
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    /// Starts the daemon with the environment variables `env`. They may change the ports.
    pub(crate) fn with(env: &[(&str, &str)]) -> Self {
        let mut home = TestHome::new();
        for (name, value) in
            [("BRAIN_HTTP_LOCAL", "127.0.0.1:0"), ("BRAIN_HTTP_PUBLIC", "127.0.0.1:0")]
                .iter()
                .chain(env)
        {
            home.env.retain(|(known, _)| known != name);
            home.env.push(((*name).into(), (*value).into()));
        }
        let _daemon = home.daemon();
        let status = home.json(["status"]);
        let address = |name: &str| {
            status[name].as_str().unwrap_or_else(|| panic!("no {name} in {status}")).to_owned()
        };
        let admin = std::fs::read_to_string(home.path().join("secrets/admin-token"))
            .unwrap()
            .trim()
            .to_owned();
        Self { local: address("http_local"), public: address("http_public"), home, _daemon, admin }
    }

    /// Returns the issuer: the URL of the local listener.
    pub(crate) fn issuer(&self) -> String {
        format!("http://{}", self.local)
    }

    /// Returns a new path that signs in one browser.
    pub(crate) fn sign_in_path(&self) -> String {
        let url = text(&self.home.json(["open", "--print"]), "url");
        url.strip_prefix(&self.issuer()).unwrap_or_else(|| panic!("{url}")).to_owned()
    }

    /// Returns a browser that `brain open` signed in.
    pub(crate) fn open(&self) -> Browser {
        let mut browser = Browser::default();
        browser.send(&self.local, HttpRequest::get(&self.sign_in_path())).expect(200);
        assert_eq!(browser.cookies.len(), 1, "{:?}", browser.cookies);
        browser
    }

    pub(crate) fn local(&self, request: &HttpRequest) -> HttpResponse {
        request.send(&self.local)
    }

    pub(crate) fn public(&self, request: &HttpRequest) -> HttpResponse {
        request.send(&self.public)
    }

    /// Registers a client through the administration API.
    pub(crate) fn register(&self, client: &Value) -> Value {
        let request = HttpRequest::json("/admin/api/register-client", client).bearer(&self.admin);
        self.local(&request).expect(201).json()
    }

    /// Registers a client that needs the owner's consent for `read write`; returns its id.
    pub(crate) fn register_public_client(&self) -> String {
        let client = self.register(&serde_json::json!({
            "name": "An app", "scope": "read write", "public": true, "redirect_uris": [CALLBACK],
            "grant_types": ["authorization_code", "refresh_token"],
        }));
        text(&client, "client_id")
    }

    pub(crate) fn token(&self, form: &[(&str, &str)]) -> HttpResponse {
        self.local(&HttpRequest::form("/token", form))
    }

    /// Exchanges a public client's code for tokens.
    pub(crate) fn exchange(&self, client: &str, code: &str) -> HttpResponse {
        self.token(&[
            ("grant_type", "authorization_code"),
            ("client_id", client),
            ("code", code),
            ("redirect_uri", CALLBACK),
            ("code_verifier", VERIFIER),
        ])
    }

    pub(crate) fn refresh(&self, client: &str, token: &str) -> HttpResponse {
        self.token(&[
            ("grant_type", "refresh_token"),
            ("client_id", client),
            ("refresh_token", token),
        ])
    }

    /// Sends an item to `/ingest` with this token. Returns the HTTP status.
    pub(crate) fn write_status(&self, token: &str) -> u16 {
        self.public(
            &HttpRequest::new("POST", "/ingest")
                .header("Content-Type", "text/plain")
                .body("a thought")
                .bearer(token),
        )
        .status
    }
}

/// An HTTP request.
#[derive(Clone)]
pub(crate) struct HttpRequest {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl HttpRequest {
    pub(crate) fn new(method: &str, path: &str) -> Self {
        Self { method: method.into(), path: path.into(), headers: Vec::new(), body: Vec::new() }
    }

    pub(crate) fn get(path: &str) -> Self {
        Self::new("GET", path)
    }

    pub(crate) fn form(path: &str, pairs: &[(&str, &str)]) -> Self {
        Self::new("POST", path)
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(&encoded(pairs))
    }

    pub(crate) fn json(path: &str, value: &Value) -> Self {
        Self::new("POST", path).header("Content-Type", "application/json").body(&value.to_string())
    }

    pub(crate) fn method(mut self, method: &str) -> Self {
        self.method = method.into();
        self
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub(crate) fn body(mut self, body: &str) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn bearer(self, token: &str) -> Self {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    /// Adds HTTP Basic authentication; `credentials` is `id:secret`.
    pub(crate) fn basic(self, credentials: &str) -> Self {
        self.header("Authorization", &format!("Basic {}", base64(credentials.as_bytes())))
    }

    fn send(&self, address: &str) -> HttpResponse {
        let mut headers: Vec<(&str, &str)> =
            self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        if self.body.is_empty() && self.method == "POST" {
            headers.push(("Content-Length", "0"));
        }
        let answer =
            http::call(address.parse().unwrap(), &self.method, &self.path, &headers, &self.body);
        let body = answer.text().to_owned();
        HttpResponse { status: answer.status, headers: answer.headers, body }
    }
}

/// An HTTP response.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl HttpResponse {
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// Checks that the response refuses in JSON with this status, this error code and a message.
    pub(crate) fn expect_refusal(self, status: u16, error: &str) -> Self {
        let this = self.expect(status);
        let json = this.json();
        assert_eq!(json["error"], error, "{json}");
        let message = json["message"].as_str().or(json["error_description"].as_str());
        assert!(message.is_some_and(|message| !message.is_empty()), "no message in {json}");
        this
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn headers(&self, name: &str) -> Vec<&str> {
        self.headers
            .iter()
            .filter(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
            .collect()
    }

    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("not JSON ({e}): {self:?}"))
    }

    /// Returns a parameter of the URL in the `Location` header.
    pub(crate) fn redirect_parameter(&self, name: &str) -> Option<String> {
        let location =
            self.header("location").unwrap_or_else(|| panic!("no Location header: {self:?}"));
        let (_, query) = location.split_once('?')?;
        query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .find(|(key, _)| *key == name)
            .map(|(_, v)| decoded(v))
    }
}

/// A browser that keeps cookies.
#[derive(Default)]
pub(crate) struct Browser {
    pub(crate) cookies: Vec<(String, String)>,
}

impl Browser {
    /// Sends a request to `address` with the cookies, and stores the cookies of the answer.
    pub(crate) fn send(&mut self, address: &str, request: HttpRequest) -> HttpResponse {
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = if cookies.is_empty() {
            request
        } else {
            request.header("Cookie", &cookies.join("; "))
        };
        let answer = request.send(address);
        for line in answer.headers("set-cookie") {
            let (name, value) = line.split(';').next().unwrap().split_once('=').unwrap();
            self.cookies.retain(|(known, _)| known != name);
            if !line.contains("Max-Age=0") {
                self.cookies.push((name.into(), value.into()));
            }
        }
        answer
    }

    /// Sends a form to `path`, with the CSRF token of this session.
    pub(crate) fn change(
        &mut self,
        site: &Site,
        path: &str,
        fields: &[(&str, &str)],
    ) -> HttpResponse {
        let home = self.send(&site.local, HttpRequest::get("/")).expect(200);
        let hidden = hidden_fields(&home.body);
        let csrf = hidden.iter().find(|(name, _)| name == "csrf").map(|(_, value)| value.as_str());
        let fields: Vec<_> =
            csrf.map(|csrf| ("csrf", csrf)).into_iter().chain(fields.iter().copied()).collect();
        let form = HttpRequest::form(path, &fields).header("Origin", &site.issuer());
        self.send(&site.local, form.header("Sec-Fetch-Site", "same-origin"))
    }

    /// Opens the consent page for `client` and `scope`.
    pub(crate) fn consent_page(&mut self, site: &Site, client: &str, scope: &str) -> HttpResponse {
        self.send(&site.local, HttpRequest::get(&authorize(client, &[("scope", scope)])))
    }

    /// Submits the form of a consent page with additional fields.
    pub(crate) fn submit(
        &mut self,
        site: &Site,
        page: &HttpResponse,
        more: &[(&str, &str)],
    ) -> HttpResponse {
        let hidden = hidden_fields(&page.body);
        let fields: Vec<(&str, &str)> = hidden
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .chain(more.iter().copied())
            .collect();
        let request = HttpRequest::form("/authorize", &fields).header("Origin", &site.issuer());
        self.send(&site.local, request.header("Sec-Fetch-Site", "same-origin"))
    }

    /// Consents to the request of `client` and returns the code.
    pub(crate) fn consent(&mut self, site: &Site, client: &str, scope: &str) -> String {
        let page = self.consent_page(site, client, scope).expect(200);
        let fields = [("decision", "approve"), ("admin_token", site.admin.as_str())];
        self.submit(site, &page, &fields).expect(303).redirect_parameter("code").unwrap()
    }
}

/// Returns the path and query of an authorization request. `more` adds or replaces parameters.
pub(crate) fn authorize(client: &str, more: &[(&str, &str)]) -> String {
    let mut pairs = vec![
        ("response_type", "code"),
        ("client_id", client),
        ("redirect_uri", CALLBACK),
        ("state", "a state & more"),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
    ];
    pairs.retain(|(name, _)| !more.iter().any(|(other, _)| other == name));
    pairs.extend_from_slice(more);
    format!("/authorize?{}", encoded(&pairs))
}

/// Returns the hidden fields of a page: names and values.
pub(crate) fn hidden_fields(html: &str) -> Vec<(String, String)> {
    let attribute = |tag: &str, name: &str| {
        let (_, rest) = tag.split_once(&format!("{name}=\""))?;
        Some(
            rest.split('"')
                .next()?
                .replace("&quot;", "\"")
                .replace("&#39;", "'")
                .replace("&amp;", "&"),
        )
    };
    let tags = html.split("<input").skip(1).map(|rest| rest.split('>').next().unwrap());
    let hidden = tags.filter(|tag| tag.contains("type=\"hidden\""));
    hidden.filter_map(|tag| Some((attribute(tag, "name")?, attribute(tag, "value")?))).collect()
}

/// Returns a text member of a JSON object.
pub(crate) fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}")).to_owned()
}

/// Encodes names and values as a form.
pub(crate) fn encoded(pairs: &[(&str, &str)]) -> String {
    let encode_part = |text: &str| {
        let byte = |b: u8| match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
                char::from(b).to_string()
            }
            _ => format!("%{b:02X}"),
        };
        text.bytes().map(byte).collect::<String>()
    };
    pairs
        .iter()
        .map(|(name, value)| format!("{}={}", encode_part(name), encode_part(value)))
        .collect::<Vec<_>>()
        .join("&")
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let hex: Vec<u8> = rest.by_ref().take(2).collect();
                u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap()
            }
            other => other,
        });
    }
    String::from_utf8(bytes).unwrap()
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let bits = (0..3)
            .fold(0_u32, |bits, at| bits << 8 | u32::from(group.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at)) as usize & 63];
            out.push(if at <= group.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

//! Finds secrets in a text by their well-known forms, and removes them.
//!
//! The forms are those that their issuers document, or that secret scanners use: a prefix, and at
//! least so many characters after it. A password, or a key without a prefix, has no form. Text may
//! be markdown in which a backslash stands before punctuation.

/// The form of a secret: a prefix, then at least `length` characters.
struct Form {
    kind: &'static str,
    prefixes: &'static [&'static str],
    is_part: fn(u8) -> bool,
    length: usize,
}

const fn form(
    kind: &'static str,
    prefixes: &'static [&'static str],
    is_part: fn(u8) -> bool,
    length: usize,
) -> Form {
    Form { kind, prefixes, is_part, length }
}

/// All forms. `docs/import.md` lists them.
const FORMS: [Form; 25] = [
    form("Anthropic key", &["sk-ant-"], is_base64url, 80),
    form("OpenRouter key", &["sk-or-v1-"], is_alphanumeric, 64),
    form("OpenAI key", &["sk-proj-", "sk-svcacct-", "sk-admin-"], is_base64url, 40),
    form("Stripe key", &["sk_live_", "sk_test_", "rk_live_", "rk_test_"], is_alphanumeric, 24),
    form("Stripe secret", &["whsec_"], is_alphanumeric, 32),
    // OpenAI before 2024, and others with its interface.
    form("API key", &["sk-"], is_alphanumeric, 32),
    form("GitHub token", &["github_pat_"], is_word, 82),
    form("GitHub token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], is_alphanumeric, 36),
    form("GitLab token", &["glpat-"], is_base64url, 20),
    form("AWS key", &["AKIA", "ASIA"], is_upper, 16),
    form("Google key", &["AIza"], is_base64url, 35),
    form("Google secret", &["GOCSPX-"], is_base64url, 28),
    form("Slack token", &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xapp-"], is_base64url, 20),
    form("npm token", &["npm_"], is_alphanumeric, 36),
    form("PyPI token", &["pypi-AgEIcHlwaS5vcmc"], is_base64url, 50),
    form("Hugging Face token", &["hf_"], is_alphanumeric, 34),
    form("SendGrid key", &["SG."], is_dotted, 66),
    form("DigitalOcean token", &["dop_v1_"], is_hex, 64),
    form("Docker token", &["dckr_pat_"], is_base64url, 27),
    form("Databricks token", &["dapi"], is_hex, 32),
    form("Notion token", &["ntn_"], is_alphanumeric, 40),
    form("Groq key", &["gsk_"], is_alphanumeric, 48),
    form("Tailscale key", &["tskey-"], is_base64url, 20),
    form("token of brain", &["brain_pt_", "brain_at_", "brain_ad_", "brain_cs_"], is_base64url, 43),
    form("JSON web token", &[JSON_WEB_TOKEN], is_dotted, 60),
];

/// The beginning of each of the first two parts of a JSON web token (RFC 7519), which full stops
/// separate.
const JSON_WEB_TOKEN: &str = "eyJ";

/// What begins and ends a private key, and how the name between them ends.
const KEY_BEGIN: &str = "-----BEGIN ";
const KEY_END: &str = "-----END ";
const KEY_DASHES: &str = "-----";
const KEY_NAMES: [&str; 2] = ["PRIVATE KEY", "PRIVATE KEY BLOCK"];
/// Maximum lengths of that name, and of a private key, in bytes.
const MAX_KEY_NAME: usize = 40;
const MAX_KEY: usize = 32 << 10;
/// Minimum length of a line of a private key that has no end.
const KEY_LINE: usize = 16;

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScrubbedText {
    /// The text, with `[removed: KIND]` in place of each secret.
    pub text: String,
    /// The kind of each secret, in order: "GitHub token".
    pub kinds: Vec<&'static str>,
}

/// Removes API keys, tokens and private keys from a text. Returns `None` if it has none.
pub fn scrub(text: &str) -> Option<ScrubbedText> {
    let (mut out, mut kinds) = (String::new(), Vec::new());
    let (mut at, mut copied) = (0, 0);
    let (mut is_in_word, mut former) = (false, 0);
    while let Some((byte, next)) = byte_at(text, at) {
        let secret = if is_in_word { None } else { secret_at(text, at) };
        let Some((kind, end)) = secret else {
            // In a text of JSON or of a program, `\n` ends a line.
            let is_line_end = former == b'\\' && b"nrt".contains(&byte);
            // A secret begins no later in a run of its characters, so that each is read once.
            is_in_word = (is_dotted(byte) || !byte.is_ascii()) && !is_line_end;
            (at, former) = (next, byte);
            continue;
        };
        out.push_str(&text[copied..at]);
        out.push_str(&format!("[removed: {kind}]"));
        kinds.push(kind);
        (at, copied, is_in_word) = (end, end, false);
    }
    out.push_str(&text[copied..]);
    (!kinds.is_empty()).then_some(ScrubbedText { text: out, kinds })
}

/// Returns the kind and the end of the secret that begins at `at`.
fn secret_at(text: &str, at: usize) -> Option<(&'static str, usize)> {
    let (first, _) = byte_at(text, at)?;
    if first == b'-' {
        return private_key(text, at).map(|end| ("private key", end));
    }
    FORMS.iter().find_map(|form| {
        let prefixes = form.prefixes.iter().filter(|it| it.as_bytes().first() == Some(&first));
        let mut ends = prefixes.filter_map(|prefix| form.end(text, skip(text, at, prefix)?));
        Some((form.kind, ends.next()?))
    })
}

impl Form {
    /// Returns the end of the secret of this form whose prefix ends at `start`.
    fn end(&self, text: &str, start: usize) -> Option<usize> {
        let (mut end, mut length) = (start, 0);
        while let Some((byte, next)) = byte_at(text, end).filter(|(byte, _)| (self.is_part)(*byte))
        {
            // The full stop of a sentence is no part of it.
            if byte == b'.' && !byte_at(text, next).is_some_and(|(byte, _)| is_base64url(byte)) {
                break;
            }
            (end, length) = (next, length + 1);
        }
        let is_web_token = self.prefixes == [JSON_WEB_TOKEN];
        let has_parts = || text[start..end].split('.').nth(1)?.strip_prefix(JSON_WEB_TOKEN);
        (length >= self.length && (!is_web_token || has_parts().is_some())).then_some(end)
    }
}

/// Returns the end of the private key that begins at `at`.
fn private_key(text: &str, at: usize) -> Option<usize> {
    let name = skip(text, at, KEY_BEGIN)?;
    let name_end = name + window(text, name, MAX_KEY_NAME).find(KEY_DASHES)?;
    if !KEY_NAMES.iter().any(|it| text[name..name_end].ends_with(it)) {
        return None;
    }
    let start = name_end + KEY_DASHES.len();
    let marked_end = || {
        let end = start + window(text, start, MAX_KEY).find(KEY_END)? + KEY_END.len();
        Some(end + window(text, end, MAX_KEY_NAME).find(KEY_DASHES)? + KEY_DASHES.len())
    };
    marked_end().or_else(|| end_of_lines(text, start))
}

/// Returns the end of the lines of a private key that was cut. `start` is the end of its heading.
fn end_of_lines(text: &str, start: usize) -> Option<usize> {
    let (mut at, mut end) = (start, start);
    let is_key = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    for line in text[start..].split_inclusive('\n') {
        let key = line.trim_end();
        let is_rest_of_heading = at == start && key.is_empty();
        if !is_rest_of_heading && (key.len() < KEY_LINE || !key.bytes().all(is_key)) {
            break;
        }
        end = at + key.len();
        at += line.len();
    }
    (end > start).then_some(end)
}

/// Returns at most `max` bytes of the text from `start` on.
fn window(text: &str, start: usize, max: usize) -> &str {
    &text[start..text.floor_char_boundary(start + max)]
}

/// Returns the byte at `at` and the place of the next one. A backslash before punctuation is skipped
/// (CommonMark 2.4).
fn byte_at(text: &str, at: usize) -> Option<(u8, usize)> {
    match text.as_bytes().get(at..)? {
        [b'\\', escaped, ..] if escaped.is_ascii_punctuation() => Some((*escaped, at + 2)),
        [byte, ..] => Some((*byte, at + 1)),
        [] => None,
    }
}

/// Returns the end of `prefix` if it is at `at`.
fn skip(text: &str, mut at: usize, prefix: &str) -> Option<usize> {
    for expected in prefix.bytes() {
        let (byte, next) = byte_at(text, at)?;
        if byte != expected {
            return None;
        }
        at = next;
    }
    Some(at)
}

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_base64url(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}

fn is_dotted(byte: u8) -> bool {
    is_base64url(byte) || byte == b'.'
}

fn is_upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Returns the text with its secrets removed.
    fn scrubbed(text: &str) -> String {
        scrub(text).map_or_else(|| text.to_owned(), |it| it.text)
    }

    /// A secret of each prefix, and the name of its kind. No real one.
    fn examples() -> Vec<(String, &'static str)> {
        let example = |form: &'static Form| {
            form.prefixes.iter().map(move |prefix| {
                let second = if *prefix == JSON_WEB_TOKEN { "abc.eyJ" } else { "" };
                let part = if (form.is_part)(b'x') {
                    "x7"
                } else if (form.is_part)(b'A') {
                    "A7"
                } else {
                    "a7"
                };
                (format!("{prefix}{second}{}", part.repeat(form.length.div_ceil(2))), form.kind)
            })
        };
        FORMS.iter().flat_map(example).collect()
    }

    #[test]
    fn a_secret_of_each_form_is_removed_and_nothing_else() {
        for (secret, kind) in examples() {
            let (before, after) = ("Tar – `KEY=", "`, and \\*rope\\*.\n");
            let found = scrub(&format!("{before}{secret}{after}")).unwrap();
            assert_eq!(found.text, format!("{before}[removed: {kind}]{after}"), "{secret}");
            assert_eq!(found.kinds, [kind]);
            assert_eq!(scrub(&format!("x{secret}")), None, "{secret} in a word");
            let short = &secret[..secret.len() - 8];
            assert_eq!(scrub(short), None, "{short} is too short");
        }
    }

    #[test]
    fn a_secret_with_escaped_punctuation_is_removed() {
        let secret = format!("ghp\\_{}", "a1".repeat(18));
        assert_eq!(scrubbed(&format!("*{secret}*")), "*[removed: GitHub token]*");
        let two = format!("{secret}\\n{}", examples()[0].0);
        assert_eq!(scrubbed(&two), "[removed: GitHub token]\\n[removed: Anthropic key]");
    }

    #[test]
    fn words_that_resemble_a_secret_stay() {
        for text in [
            "C:\\notes\\token",
            "sk-learn is in scikit-learn, and hf_hub too",
            "AKIAN is a name; AIza is a prefix",
            "eyJ and a.b.c",
            "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
            "",
        ] {
            assert_eq!(scrub(text), None, "{text}");
        }
        // Two parts, but the second one is no object.
        assert_eq!(scrub(&format!("eyJ{}.abc", "a".repeat(70))), None);
    }

    #[test]
    fn the_full_stop_after_a_token_stays() {
        let token = format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{}", "a".repeat(43));
        assert_eq!(scrubbed(&format!("It is {token}.")), "It is [removed: JSON web token].");
    }

    #[test]
    fn a_private_key_is_removed_to_its_end() {
        let lines = format!("{0}\n{0}\nQ==\n", "MIIEvQ+/".repeat(8));
        for name in ["PRIVATE KEY", "RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"] {
            let key = format!("-----BEGIN {name}-----\n{lines}-----END {name}-----");
            assert_eq!(scrubbed(&format!("a\n{key}\nb")), "a\n[removed: private key]\nb");
            // As literal text in markdown, and in a text of JSON.
            let literal = key.replace("-----BEGIN", "\\-----BEGIN").replace('\n', "  \n");
            assert_eq!(scrubbed(&format!("a\n{literal}\nb")), "a\n[removed: private key]\nb");
            let json = key.replace('\n', "\\n");
            assert_eq!(scrubbed(&format!("\"{json}\\n\"")), "\"[removed: private key]\\n\"");
        }
    }

    #[test]
    fn a_private_key_without_end_is_removed_with_its_lines() {
        let lines = format!("{0}\n{0}\n", "MIIEvQ+/".repeat(8));
        let cut = format!("-----BEGIN RSA PRIVATE KEY-----\n{lines}That is all.\n");
        assert_eq!(scrubbed(&cut), "[removed: private key]\nThat is all.\n");
        assert_eq!(scrub("-----BEGIN PRIVATE KEY----- begins a key.\n\nIt is long."), None);
    }
}

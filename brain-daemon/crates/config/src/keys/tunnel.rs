//! Keys of `[tunnel]` and `[voice]`.

use super::Key;
use crate::Kind;

pub(super) const KEYS: &[Key] = &[
    Key {
        section: "tunnel",
        name: "provider",
        kind: Kind::Word(&["none", "ngrok", "cloudflared", "tailscale"]),
        default: "none",
        description: "whose agent keeps the public address up",
    },
    Key {
        section: "tunnel",
        name: "domain",
        kind: Kind::Text,
        default: "",
        description: "the fixed name, for example brain.example.org; empty: whatever the provider \
                      gives",
    },
    Key {
        section: "tunnel",
        name: "binary",
        kind: Kind::Text,
        default: "",
        description: "the agent's program; empty: looked for on PATH",
    },
    Key {
        section: "tunnel",
        name: "api",
        kind: Kind::BaseUrl,
        default: "http://127.0.0.1:4040",
        description: "the agent's own address; for cloudflared its --metrics, \
                      http://127.0.0.1:20241",
    },
    Key {
        section: "tunnel",
        name: "forward",
        kind: Kind::Number(1, 65535),
        default: "8765",
        description: "the port that it leads to: that of http.public",
    },
    Key {
        section: "tunnel",
        name: "authtoken_file",
        kind: Kind::Text,
        default: "",
        description: "file with the agent's token: absolute, below ~/, or in the brain's home; \
                      empty: secrets/tunnel-authtoken",
    },
    Key {
        section: "voice",
        name: "enabled",
        kind: Kind::Word(&["true", "false"]),
        default: "false",
        description: "whether /voice answers the telephony provider",
    },
    Key {
        section: "voice",
        name: "account_sid",
        kind: Kind::Text,
        default: "",
        description: "the telephony account, AC…",
    },
    Key {
        section: "voice",
        name: "number_sid",
        kind: Kind::Text,
        default: "",
        description: "the telephone number's id, PN…: its webhook follows the public address; \
                      empty: it is left alone",
    },
    Key {
        section: "voice",
        name: "auth_token_file",
        kind: Kind::Text,
        default: "",
        description: "file with the telephony account's token: absolute, below ~/, or in the \
                      brain's home; empty: secrets/telephony-auth-token",
    },
    Key {
        section: "voice",
        name: "api",
        kind: Kind::SafeUrl,
        default: "https://api.twilio.com",
        description: "the telephony provider's address",
    },
    Key {
        section: "voice",
        name: "callers",
        kind: Kind::Texts,
        default: "[]",
        description: "numbers that may ask, such as +4915112345678; all others may only leave a \
                      message",
    },
    Key {
        section: "voice",
        name: "language",
        kind: Kind::Text,
        default: "en-US",
        description: "language that is spoken and heard, as the provider names it",
    },
    Key {
        section: "voice",
        name: "voice",
        kind: Kind::Text,
        default: "",
        description: "the voice that speaks, as the provider names it; empty: its own",
    },
    Key {
        section: "voice",
        name: "greeting",
        kind: Kind::Text,
        default: "",
        description: "what known callers hear first; empty: one in the language",
    },
    Key {
        section: "voice",
        name: "upstream",
        kind: Kind::PlainUrl,
        default: "",
        description: "http:// address of a voice agent of your own that answers /voice instead, \
                      signatures being checked first; empty: none",
    },
];

//! `[tunnel]` and `[voice]`.

use crate::rules::{
    base_url, boolean, http_url, number, optional, path, safe_url, texts, trimmed, word,
};
use crate::values::{HomePath, HttpUrl};

/// The provider of the tunnel's agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TunnelProvider {
    /// ngrok.
    Ngrok,
    /// Cloudflare's cloudflared.
    Cloudflared,
    /// Tailscale Funnel.
    Tailscale,
}

section! {
    /// The public tunnel.
    TunnelConfig [tunnel]

    provider: Option<TunnelProvider> = word(&[
            ("none", None),
            ("ngrok", Some(TunnelProvider::Ngrok)),
            ("cloudflared", Some(TunnelProvider::Cloudflared)),
            ("tailscale", Some(TunnelProvider::Tailscale)),
        ]), "none",
        "agent that maintains the public address: ngrok, cloudflared, tailscale, or none";
    domain: Option<String> = optional(), "",
        "fixed host name, for example brain.example.org; empty: the provider chooses";
    binary: Option<String> = optional(), "",
        "the agent's program; empty: found on PATH";
    api: Option<String> = base_url(), "http://127.0.0.1:4040",
        "address of the agent's own API; for cloudflared its --metrics, http://127.0.0.1:20241";
    forward: u16 = number(1, 65535), "8765",
        "port that the tunnel forwards to: that of http.public";
    authtoken_file: Option<HomePath> = path(), "",
        "file with the agent's token: absolute, below ~/, or in brain's home; empty: \
         secrets/tunnel-authtoken";
}

section! {
    /// The telephone.
    VoiceConfig [voice]

    enabled: bool = boolean(), "false",
        "whether /voice answers the telephony provider";
    account_sid: Option<String> = optional(), "",
        "the telephony account, AC…";
    number_sid: Option<String> = optional(), "",
        "id of the telephone number, PN…: its webhook follows the public address; empty: it is not \
         changed";
    auth_token_file: Option<HomePath> = path(), "",
        "file with the telephony account's token: absolute, below ~/, or in brain's home; empty: \
         secrets/telephony-auth-token";
    api: String = safe_url(), "https://api.twilio.com",
        "the telephony provider's address";
    callers: Vec<String> = texts(), "[]",
        "numbers that can ask questions, such as +4915112345678; all others can only leave a \
         message";
    language: String = trimmed(), "en-US",
        "language of the calls, as the provider names it";
    voice: Option<String> = optional(), "",
        "voice, as the provider names it; empty: the provider's default";
    greeting: Option<String> = optional(), "",
        "greeting for known callers; empty: a default in the language";
    upstream: Option<HttpUrl> = http_url(), "",
        "http:// address of your own voice agent that answers /voice instead; brain still checks \
         signatures; empty: none";
}

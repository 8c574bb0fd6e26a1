//! Reads the settings of a tunnel from the configuration.

use std::path::PathBuf;

use brain_config::Config;

use crate::{Kind, Settings};

impl Settings {
    /// Returns the configured tunnel; `None` if there is no provider.
    #[must_use]
    pub fn from_config(config: &Config) -> Option<Self> {
        let text = |name| config.text("tunnel", name);
        let provider = match text("provider") {
            "ngrok" => Kind::Ngrok,
            "cloudflared" => Kind::Cloudflared,
            "tailscale" => Kind::Tailscale,
            _ => return None,
        };
        let optional = |name| Some(text(name).trim()).filter(|text| !text.is_empty());
        Some(Self {
            provider,
            domain: optional("domain").map(bare_name),
            binary: optional("binary").map(PathBuf::from),
            api: text("api").trim_end_matches('/').to_owned(),
            api_is_default: config.is_default("tunnel", "api"),
            forward: config.tunnel_forward(),
        })
    }
}

/// Returns the name in `domain`, which is a name or an address.
fn bare_name(domain: &str) -> String {
    let name = domain.split_once("://").map_or(domain, |(_, name)| name);
    name.trim_end_matches('/').to_ascii_lowercase()
}

//! Reads the settings of a tunnel from the configuration.

use std::path::PathBuf;

use brain_config::{Config, TunnelProvider};

use crate::{AgentProvider, Settings};

impl Settings {
    /// Returns the configured tunnel; `None` if there is no provider.
    #[must_use]
    pub fn from_config(config: &Config) -> Option<Self> {
        let tunnel = &config.tunnel;
        Some(Self {
            provider: match tunnel.provider? {
                TunnelProvider::Ngrok => AgentProvider::Ngrok,
                TunnelProvider::Cloudflared => AgentProvider::Cloudflared,
                TunnelProvider::Tailscale => AgentProvider::Tailscale,
            },
            domain: tunnel.domain.as_deref().map(bare_name),
            binary: tunnel.binary.as_ref().map(PathBuf::from),
            api: tunnel.api.clone().unwrap_or_default(),
            api_is_default: config.is_default("tunnel", "api"),
            local_port: tunnel.forward,
        })
    }
}

/// Returns the hostname in `domain`, which is a hostname or a URL, in lower case.
fn bare_name(domain: &str) -> String {
    let name = domain.split_once("://").map_or(domain, |(_, name)| name);
    name.trim_end_matches('/').to_ascii_lowercase()
}

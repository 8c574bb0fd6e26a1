//! The known AI clients, and where their files are.

use std::{env, path::PathBuf};

use super::{AiClient, ServerList};
use crate::xdg;

/// All known clients.
pub(crate) const CLIENTS: [AiClient; 15] = [
    AiClient {
        name: "claude-code",
        label: "Claude Code",
        program: Some("claude"),
        registration: ServerList::ClaudeCommand,
        file: || match env_path("CLAUDE_CONFIG_DIR") {
            Some(dir) => Some(dir.join(".claude.json")),
            None => in_user_home(".claude.json"),
        },
    },
    AiClient {
        name: "claude-desktop",
        label: "Claude Desktop",
        program: None,
        registration: ServerList::Json("mcpServers"),
        file: || in_config("Claude/claude_desktop_config.json"),
    },
    AiClient {
        name: "codex",
        label: "Codex",
        program: Some("codex"),
        registration: ServerList::Toml,
        file: || match env_path("CODEX_HOME") {
            Some(dir) => Some(dir.join("config.toml")),
            None => in_user_home(".codex/config.toml"),
        },
    },
    AiClient {
        name: "cursor",
        label: "Cursor",
        program: Some("cursor"),
        registration: ServerList::Json("mcpServers"),
        file: || in_user_home(".cursor/mcp.json"),
    },
    AiClient {
        name: "vscode",
        label: "VS Code",
        program: Some("code"),
        registration: ServerList::Json("servers"),
        file: || in_config("Code/User/mcp.json"),
    },
    AiClient {
        name: "windsurf",
        label: "Windsurf",
        program: Some("windsurf"),
        registration: ServerList::Json("mcpServers"),
        file: || in_user_home(".codeium/windsurf/mcp_config.json"),
    },
    AiClient {
        name: "devin",
        label: "Devin Desktop",
        program: Some("devin"),
        registration: ServerList::Json("mcpServers"),
        file: || in_dot_config("devin/mcp_config.json"),
    },
    AiClient {
        name: "gemini",
        label: "Gemini CLI",
        program: Some("gemini"),
        registration: ServerList::Json("mcpServers"),
        file: || in_user_home(".gemini/settings.json"),
    },
    AiClient {
        name: "antigravity",
        label: "Antigravity",
        program: Some("agy"),
        registration: ServerList::Json("mcpServers"),
        file: || in_user_home(".gemini/config/mcp_config.json"),
    },
    AiClient {
        name: "zed",
        label: "Zed",
        program: Some("zed"),
        registration: ServerList::Json("context_servers"),
        file: || in_dot_config("zed/settings.json"),
    },
    AiClient {
        name: "opencode",
        label: "opencode",
        program: Some("opencode"),
        registration: ServerList::Json("mcp"),
        // It reads both, and makes the second one.
        file: || {
            let plain = in_dot_config("opencode/opencode.json")?;
            Some(if plain.is_file() { plain } else { plain.with_extension("jsonc") })
        },
    },
    AiClient {
        name: "qwen",
        label: "Qwen Code",
        program: Some("qwen"),
        registration: ServerList::Json("mcpServers"),
        file: || in_user_home(".qwen/settings.json"),
    },
    AiClient {
        name: "copilot",
        label: "Copilot CLI",
        program: Some("copilot"),
        registration: ServerList::Json("mcpServers"),
        file: || in_user_home(".copilot/mcp-config.json"),
    },
    AiClient {
        name: "cline",
        label: "Cline CLI",
        program: Some("cline"),
        registration: ServerList::Json("mcpServers"),
        file: || in_user_home(".cline/data/settings/cline_mcp_settings.json"),
    },
    AiClient {
        name: "mcporter",
        label: "mcporter",
        program: Some("mcporter"),
        registration: ServerList::Json("mcpServers"),
        file: || match env::var_os("XDG_CONFIG_HOME") {
            Some(_) => in_dot_config("mcporter/mcporter.json"),
            None => in_user_home(".mcporter/mcporter.json"),
        },
    },
];

fn env_path(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

fn in_user_home(path: &str) -> Option<PathBuf> {
    env_path("HOME").map(|home| home.join(path))
}

/// Returns `path` in the user's directory of settings.
fn in_config(path: &str) -> Option<PathBuf> {
    if cfg!(target_os = "macos") {
        return in_user_home("Library/Application Support").map(|dir| dir.join(path));
    }
    in_dot_config(path)
}

/// Returns a path in `~/.config`, which some applications use on macOS too.
fn in_dot_config(path: &str) -> Option<PathBuf> {
    xdg::config_home().ok().map(|dir| dir.join(path))
}

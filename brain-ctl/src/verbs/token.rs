//! `brain token`: manages personal tokens and the admin token.

use std::io::{self, IsTerminal};

use brain_protocol::{
    AdminToken, AdminTokenReply, Fault, FaultCode, GrantChange, TokenCreate, TokenCreateReply,
    TokenInfo, TokenKind, TokenList, TokenRevoke, TokenRevokeReply, Tokens,
};
use clap::{Args, ValueEnum};

use super::access::{check_flags, scopes, source_list, sources};
use crate::{
    command::{Group, Verb},
    context::Context,
    duration, fail,
    home::Home,
    output::{Column, Outcome, Paint, Show, Table, Text, format_to_day, format_to_minute},
};

/// Arguments of `token`.
#[derive(Debug, Args)]
pub(crate) struct TokenCommand {
    /// What to do with the tokens
    #[arg(value_enum, value_name = "ACTION", default_value_t = TokenAction::List)]
    action: TokenAction,

    /// Name of the token; for revoke also its id
    #[arg(value_name = "NAME", required_if_eq_any([("action", "create"), ("action", "revoke")]))]
    name: Option<String>,

    /// Scopes: read, write, admin, or several: "read write" (create)
    #[arg(long, value_name = "SCOPES")]
    scope: Option<String>,

    /// Limit access to this source (repeatable) [default: all sources] (create)
    #[arg(long = "source", value_name = "SOURCE")]
    sources: Vec<String>,

    /// Lifetime, for example 12h, or never [default: 90d; with scope admin 30d] (create)
    #[arg(long, value_name = "SPAN", value_parser = lifetime)]
    expires: Option<u64>,

    /// Lifetime in days (create)
    #[arg(long, value_name = "N", conflicts_with = "expires")]
    days: Option<u32>,

    /// Include tokens of clients, and revoked and expired ones (list)
    #[arg(long)]
    all: bool,

    /// Create a new admin token and revoke the old one (admin)
    #[arg(long)]
    rotate: bool,
}

/// The actions of `token`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TokenAction {
    /// List tokens
    List,
    /// Create a token and print it once
    Create,
    /// Revoke a token
    Revoke,
    /// Print the admin token (only on a terminal)
    Admin,
}

impl Verb for TokenCommand {
    const NAME: &'static str = "token";
    const GROUP: Group = Group::Access;
    const ABOUT: &'static str = "Create and revoke tokens";
    const EXAMPLES: &'static str = "Examples:
  brain token create shortcut --scope write --days 365
  brain token revoke shortcut";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        self.check()?;
        let name = self.name.unwrap_or_default();
        match self.action {
            TokenAction::List => context.run(TokenList { all: self.all }),
            TokenAction::Create => context.run(TokenCreate {
                name,
                scopes: scopes(self.scope.as_deref())?,
                sources: sources(&self.sources)?,
                expires_in: match self.days {
                    Some(0) => {
                        return Err(fail::usage(
                            "the lifetime cannot be 0 days; \
                             --expires never creates a token that never expires",
                        ));
                    }
                    Some(days) => Some(u64::from(days) * 86_400),
                    None => self.expires,
                },
            }),
            TokenAction::Revoke => context.run(TokenRevoke { token: name }),
            TokenAction::Admin => {
                // Checked before the request, so that a new token is never created without being
                // printed.
                require_terminal(io::stdout().is_terminal())?;
                context.run(AdminToken { rotate: self.rotate })
            }
        }
    }
}

/// Parses a lifetime into seconds. Returns 0 for `never`.
fn lifetime(text: &str) -> Result<u64, String> {
    if text == "never" { Ok(0) } else { duration::parse_seconds(text) }
}

impl TokenCommand {
    /// Refuses arguments that the action does not use.
    fn check(&self) -> Result<(), Fault> {
        use TokenAction::{Admin, Create, List};
        if let (List | Admin, Some(name)) = (self.action, &self.name) {
            let kind = if name.starts_with("brain_") { "a token" } else { "a name" };
            return Err(fail::usage(format!("this action takes no name, but {kind} is given"))
                .hint("see: brain token --help"));
        }
        check_flags(
            Self::NAME,
            &self.action,
            &[
                ("--scope", self.scope.is_some(), &[Create]),
                ("--source", !self.sources.is_empty(), &[Create]),
                ("--expires", self.expires.is_some(), &[Create]),
                ("--days", self.days.is_some(), &[Create]),
                ("--all", self.all, &[List]),
                ("--rotate", self.rotate, &[Admin]),
            ],
        )
    }
}

/// Refuses to print the admin token to files, pipes and logs.
///
/// # Errors
/// `forbidden` if standard output is no terminal.
fn require_terminal(is_terminal: bool) -> Result<(), Fault> {
    if is_terminal {
        return Ok(());
    }
    let path = Home::find()?.dir().join("secrets/admin-token");
    Err(Fault::new(FaultCode::Forbidden, "the admin token is printed only on a terminal").hint(
        format!(
            "programs can read it from {}; prefer a separate token: brain token create",
            path.display()
        ),
    ))
}

const COLUMNS: &[Column] = &[
    Column::flexible("NAME", 12).with_paint(Paint::cyan),
    Column::fixed("SCOPE"),
    Column::flexible("SOURCES", 8).droppable(2),
    Column::fixed("EXPIRES").droppable(1),
    Column::flexible("ID", 10),
];

/// Columns of a list with tokens of clients or revoked tokens.
const EXTENDED_COLUMNS: &[Column] = &[
    Column::flexible("NAME", 12).with_paint(Paint::cyan),
    Column::fixed("KIND"),
    Column::fixed("SCOPE").droppable(1),
    Column::flexible("SOURCES", 8).droppable(4),
    Column::fixed("EXPIRES").droppable(2),
    Column::fixed("REVOKED").droppable(3),
    Column::flexible("ID", 10),
];

impl Show for Tokens {
    fn text(&self, t: &mut Text) {
        // Only with `--all` can the list have revoked tokens and tokens of clients.
        let is_extended = self
            .tokens
            .iter()
            .any(|token| token.kind != TokenKind::Personal || token.revoked_at.is_some());
        let mut table = Table::new(if is_extended { EXTENDED_COLUMNS } else { COLUMNS });
        for token in &self.tokens {
            let expires =
                token.expires_at.as_deref().map_or_else(|| "never".to_owned(), format_to_day);
            let revoked = token.revoked_at.as_deref().map(format_to_day).unwrap_or_default();
            let sources = source_list(&token.sources);
            let TokenInfo { id, kind, name, scope, .. } = token;
            if is_extended {
                table.row([name, kind.as_str(), scope, &sources, &expires, &revoked, id]);
            } else {
                table.row([name, scope, &sources, &expires, id]);
            }
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for token in &self.tokens {
            t.line(&token.id);
        }
    }

    fn notes(&self) -> Vec<String> {
        if !self.tokens.is_empty() {
            return Vec::new();
        }
        vec!["no tokens; create one: brain token create NAME --scope write".into()]
    }
}

/// Prints the fields of a token that are no secrets, except its name.
fn show_fields(t: &mut Text, info: &TokenInfo) {
    t.field("id", &info.id);
    t.field("scope", &info.scope);
    t.field("sources", &source_list(&info.sources));
    t.field(
        "expires",
        &info.expires_at.as_deref().map_or_else(|| "never".into(), format_to_minute),
    );
    if let Some(at) = &info.revoked_at {
        t.field("revoked", &format_to_minute(at));
    }
}

impl Show for TokenCreateReply {
    fn text(&self, t: &mut Text) {
        t.line(&format!("created token {}", self.info.name));
        t.field("token", self.token.expose());
        show_fields(t, &self.info);
    }

    fn quiet(&self, t: &mut Text) {
        t.line(self.token.expose());
    }

    fn notes(&self) -> Vec<String> {
        vec![
            "it is shown only once; store it in the program's configuration, \
             for example as BRAIN_TOKEN"
                .into(),
            "programs send it as `Authorization: Bearer …`".into(),
            match &self.info.expires_at {
                Some(end) => {
                    format!("it expires on {}; brain doctor warns before", format_to_day(end))
                }
                None => "it never expires; brain token revoke revokes it".into(),
            },
        ]
    }
}

impl Show for TokenRevokeReply {
    fn text(&self, t: &mut Text) {
        t.line(&match self.status {
            GrantChange::Revoked => format!("revoked {}", self.info.name),
            _ => format!("{} was already revoked", self.info.name),
        });
        show_fields(t, &self.info);
    }

    fn quiet(&self, _: &mut Text) {}
}

impl Show for AdminTokenReply {
    fn text(&self, t: &mut Text) {
        t.line(if self.rotated {
            "new admin token; the old one is revoked"
        } else {
            "the admin token"
        });
        t.field("token", self.token.expose());
        t.field("file", &self.path);
    }

    fn quiet(&self, t: &mut Text) {
        t.line(self.token.expose());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(kind: TokenKind, revoked: bool) -> TokenInfo {
        TokenInfo {
            id: "0123456789abcdef".into(),
            kind,
            name: "the shortcut on the phone of my sister".into(),
            client_id: None,
            scope: "read write".into(),
            sources: vec!["work".into()],
            created_at: "2026-11-21T10:00:00.000Z".into(),
            expires_at: Some("2027-02-19T10:00:00.000Z".into()),
            revoked_at: revoked.then(|| "2026-11-21T11:00:00.000Z".into()),
        }
    }

    #[test]
    fn the_list_fits_60_columns() {
        for tokens in [
            vec![info(TokenKind::Personal, false)],
            vec![info(TokenKind::Access, false), info(TokenKind::Personal, true)],
        ] {
            let reply = Tokens { tokens };
            let mut t = Text::plain(Some(60));
            reply.text(&mut t);
            assert!(t.as_str().lines().all(|line| line.chars().count() <= 60), "{}", t.as_str());
            let mut wide = Text::plain(None);
            reply.text(&mut wide);
            assert!(
                wide.as_str().contains("2027-02-19") && wide.as_str().contains("0123456789abcdef")
            );
        }
    }

    #[test]
    fn the_admin_token_is_printed_only_on_a_terminal() {
        assert_eq!(require_terminal(true), Ok(()));
        let fault = require_terminal(false).map_err(|fault| (fault.code.exit() as u8, fault.hint));
        assert!(
            matches!(fault, Err((3, Some(hint))) if hint.to_string().contains("secrets/admin-token"))
        );
    }
}

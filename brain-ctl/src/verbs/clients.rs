//! `brain clients`: manages OAuth clients.

use brain_protocol::{
    Client, ClientList, ClientRegister, ClientRegisterReply, ClientReply, ClientRevoke,
    ClientUpdate, Clients as ClientsReply, Fault, GrantType,
};
use clap::{Args, ValueEnum};

use super::access::{check_flags, scopes, source_list, sources};
use crate::{
    command::{Group, Verb},
    context::Context,
    duration, fail,
    output::{Column, Outcome, Paint, Show, Table, Text, count, format_to_day, format_to_minute},
};

/// Arguments of `clients`.
#[derive(Debug, Args)]
pub(crate) struct ClientsCommand {
    /// What to do with the clients
    #[arg(value_enum, value_name = "ACTION", default_value_t = ClientsAction::List)]
    action: ClientsAction,

    /// Name of the client; for update and revoke also its id
    #[arg(
        value_name = "NAME",
        required_if_eq_any([("action", "register"), ("action", "update"), ("action", "revoke")])
    )]
    name: Option<String>,

    /// Scopes: read, write, admin, or several: "read write" (register, update)
    #[arg(long, value_name = "SCOPES")]
    scope: Option<String>,

    /// Limit access to this source (repeatable) [default for register: all sources] (register,
    /// update)
    #[arg(long = "source", value_name = "SOURCE")]
    sources: Vec<String>,

    /// Allow all sources again (update)
    #[arg(long, conflicts_with = "sources")]
    all_sources: bool,

    /// Grant type (repeatable) [default: client_credentials; with --public: authorization_code,
    /// refresh_token] (register)
    #[arg(long = "grant", value_name = "TYPE")]
    grants: Vec<String>,

    /// Redirect URI (repeatable) (register)
    #[arg(long = "redirect-uri", value_name = "URI")]
    redirect_uris: Vec<String>,

    /// Lifetime of its tokens, for example 1h (register, update)
    #[arg(long, value_name = "SPAN", value_parser = ttl)]
    token_ttl: Option<u32>,

    /// Create a client without a secret, for consent in a browser (register)
    #[arg(long)]
    public: bool,

    /// Include revoked clients (list)
    #[arg(long)]
    all: bool,

    /// Confirm (revoke)
    #[arg(long)]
    yes: bool,
}

/// The actions of `clients`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ClientsAction {
    /// List clients
    List,
    /// Register a client and print its secret once
    Register,
    /// Change a client's rights
    Update,
    /// Revoke a client and its tokens
    Revoke,
}

/// Parses the lifetime of a token. Returns seconds.
fn ttl(text: &str) -> Result<u32, String> {
    let seconds = duration::parse_seconds(text)?;
    u32::try_from(seconds)
        .map_err(|_| format!("\"{text}\" is too long for an access token; the maximum is 30d"))
}

impl Verb for ClientsCommand {
    const NAME: &'static str = "clients";
    const GROUP: Group = Group::Access;
    const ABOUT: &'static str = "Manage OAuth clients";
    const EXAMPLES: &'static str = "Examples:
  brain clients register Phone --scope \"read write\"
  brain clients revoke Phone --yes";

    fn run(self, context: &Context) -> Result<Outcome, Fault> {
        self.check()?;
        let name = self.name.clone().unwrap_or_default();
        match self.action {
            ClientsAction::List => context.run(ClientList { all: self.all }),
            ClientsAction::Register => context.run(ClientRegister {
                name,
                scopes: scopes(self.scope.as_deref())?,
                sources: sources(&self.sources)?,
                grant_types: self
                    .grants
                    .iter()
                    .map(|text| grant(text))
                    .collect::<Result<_, _>>()?,
                redirect_uris: self.redirect_uris,
                token_ttl: self.token_ttl,
                public: self.public,
            }),
            ClientsAction::Update => context.run(self.update(name)?),
            ClientsAction::Revoke => context.run(ClientRevoke { client: name, yes: self.yes }),
        }
    }
}

impl ClientsCommand {
    /// Refuses arguments that the action does not use.
    fn check(&self) -> Result<(), Fault> {
        use ClientsAction::{List, Register, Revoke, Update};
        if self.action == List
            && let Some(name) = &self.name
        {
            return Err(fail::usage(format!(
                "`brain clients list` takes no name, but \"{name}\" is given"
            ))
            .hint("list revoked clients, too: brain clients list --all"));
        }
        check_flags(
            Self::NAME,
            &self.action,
            &[
                ("--scope", self.scope.is_some(), &[Register, Update]),
                ("--source", !self.sources.is_empty(), &[Register, Update]),
                ("--all-sources", self.all_sources, &[Update]),
                ("--grant", !self.grants.is_empty(), &[Register]),
                ("--redirect-uri", !self.redirect_uris.is_empty(), &[Register]),
                ("--token-ttl", self.token_ttl.is_some(), &[Register, Update]),
                ("--public", self.public, &[Register]),
                ("--all", self.all, &[List]),
                ("--yes", self.yes, &[Revoke]),
            ],
        )
    }

    /// Returns the request of `update`.
    fn update(&self, client: String) -> Result<ClientUpdate, Fault> {
        let scopes = self.scope.as_deref().map(|text| scopes(Some(text))).transpose()?;
        let sources = match (self.all_sources, self.sources.is_empty()) {
            (false, true) => None,
            _ => Some(sources(&self.sources)?),
        };
        if scopes.is_none() && sources.is_none() && self.token_ttl.is_none() {
            return Err(fail::usage("no change is given")
                .hint("give at least one of --scope, --source, --all-sources and --token-ttl"));
        }
        Ok(ClientUpdate { client, scopes, sources, token_ttl: self.token_ttl })
    }
}

/// Parses a grant type.
fn grant(text: &str) -> Result<GrantType, Fault> {
    GrantType::parse(&text.replace('-', "_")).ok_or_else(|| {
        let all: Vec<&str> = GrantType::ALL.iter().map(|kind| kind.as_str()).collect();
        fail::usage(format!("\"{text}\" is not a grant type"))
            .hint(format!("use one of: {}", all.join(", ")))
    })
}

const COLUMNS: &[Column] = &[
    Column::flexible("NAME", 12).with_paint(Paint::cyan),
    Column::fixed("SCOPE"),
    Column::flexible("SOURCES", 8).droppable(2),
    Column::fixed("USED").droppable(1),
    Column::flexible("ID", 14),
];

const COLUMNS_WITH_REVOKED: &[Column] = &[
    Column::flexible("NAME", 12).with_paint(Paint::cyan),
    Column::fixed("SCOPE"),
    Column::flexible("SOURCES", 8).droppable(3),
    Column::fixed("USED").droppable(2),
    Column::fixed("REVOKED").droppable(1),
    Column::flexible("ID", 14),
];

impl Show for ClientsReply {
    fn text(&self, t: &mut Text) {
        // The column REVOKED is printed only if a listed client is revoked.
        let has_revoked = self.clients.iter().any(|client| client.revoked_at.is_some());
        let mut table = Table::new(if has_revoked { COLUMNS_WITH_REVOKED } else { COLUMNS });
        for client in &self.clients {
            let used =
                client.last_used_at.as_deref().map_or_else(|| "never".to_owned(), format_to_day);
            let revoked = client.revoked_at.as_deref().map(format_to_day).unwrap_or_default();
            let sources = source_list(&client.sources);
            let Client { client_id: id, client_name: name, scope, .. } = client;
            if has_revoked {
                table.row([name, scope, &sources, &used, &revoked, id]);
            } else {
                table.row([name, scope, &sources, &used, id]);
            }
        }
        table.write(t);
    }

    fn quiet(&self, t: &mut Text) {
        for client in &self.clients {
            t.line(&client.client_id);
        }
    }

    fn notes(&self) -> Vec<String> {
        if !self.clients.is_empty() {
            return Vec::new();
        }
        vec!["no clients; register one: brain clients register NAME --scope \"read write\"".into()]
    }
}

impl Show for ClientRegisterReply {
    fn text(&self, t: &mut Text) {
        t.line(&format!("registered {}", self.client_name));
        t.field("id", &self.client_id);
        if let Some(secret) = &self.client_secret {
            t.field("secret", secret.expose());
        }
        t.field("scope", &self.scope);
        t.field("sources", &source_list(&self.sources));
        t.field("grants", &self.grant_types.join(", "));
        if !self.redirect_uris.is_empty() {
            t.field("redirects", &self.redirect_uris.join(", "));
        }
        t.field("tokens", &format!("lifetime {}", duration::format(self.token_ttl.into())));
    }

    fn quiet(&self, t: &mut Text) {
        t.line(
            self.client_secret.as_ref().map_or(self.client_id.as_str(), |secret| secret.expose()),
        );
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.client_secret.is_some() {
            notes.push(
                "the secret is shown only once; store it in the client's configuration".to_owned(),
            );
        }
        if self.grant_types.iter().any(|kind| kind == GrantType::ClientCredentials.as_str()) {
            notes.push(
                "the client gets its tokens by POST /token with grant_type=client_credentials, \
                 id and secret as HTTP Basic, and sends them as `Authorization: Bearer …`"
                    .to_owned(),
            );
        } else {
            notes.push(
                "the client opens /authorize in a browser, where you give your consent".to_owned(),
            );
        }
        notes
    }
}

impl Show for ClientReply {
    fn text(&self, t: &mut Text) {
        let Client { client_id, client_name, scope, sources, token_ttl, .. } = &self.client;
        t.line(&format!("{} {client_name}", self.status));
        t.field("id", client_id);
        t.field("scope", scope);
        t.field("sources", &source_list(sources));
        t.field("tokens", &format!("lifetime {}", duration::format((*token_ttl).into())));
        if let Some(at) = &self.client.revoked_at {
            t.field("revoked", &format_to_minute(at));
        }
        if self.tokens_revoked > 0 {
            t.line(&format!("{} revoked", count(self.tokens_revoked, "token")));
        }
    }

    fn quiet(&self, _: &mut Text) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use brain_protocol::Secret;

    fn client(revoked: bool) -> Client {
        Client {
            client_id: format!("brain_cl_{}", "x".repeat(43)),
            client_name: "A rather long name of a program on a phone".into(),
            scope: "read write".into(),
            sources: vec!["work".into(), "default".into()],
            grant_types: vec!["client_credentials".into()],
            redirect_uris: Vec::new(),
            token_ttl: 3600,
            public: false,
            registered_by: "admin".into(),
            created_at: "2026-11-21T10:00:00.000Z".into(),
            last_used_at: None,
            revoked_at: revoked.then(|| "2026-11-21T11:00:00.000Z".into()),
        }
    }

    #[test]
    fn the_list_fits_60_columns_or_is_whole_in_a_pipe() {
        for revoked in [false, true] {
            let reply = ClientsReply { clients: vec![client(false), client(revoked)] };
            let mut t = Text::plain(Some(60));
            reply.text(&mut t);
            assert!(t.as_str().lines().all(|line| line.chars().count() <= 60), "{}", t.as_str());
            assert_eq!(t.as_str().contains("REVOKED"), revoked, "{}", t.as_str());
            let mut wide = Text::plain(None);
            reply.text(&mut wide);
            assert!(
                wide.as_str().contains(&"x".repeat(43)) && wide.as_str().contains("work, default")
            );
        }
    }

    #[test]
    fn quiet_prints_the_secret_or_a_public_clients_id() {
        let mut registered = ClientRegisterReply {
            client_id: "brain_cl_x".into(),
            client_secret: Some(Secret::new("brain_cs_x")),
            client_name: "Phone".into(),
            scope: "read".into(),
            sources: Vec::new(),
            grant_types: vec!["client_credentials".into()],
            redirect_uris: Vec::new(),
            token_ttl: 3600,
        };
        let quiet = |registered: &ClientRegisterReply| {
            let mut t = Text::plain(None);
            registered.quiet(&mut t);
            t.as_str().to_owned()
        };
        assert_eq!(quiet(&registered), "brain_cs_x\n");
        assert!(registered.notes()[0].contains("only once"));
        registered.client_secret = None;
        registered.grant_types = vec!["authorization_code".into()];
        assert_eq!(quiet(&registered), "brain_cl_x\n");
        assert!(registered.notes().iter().all(|note| !note.contains("secret")));
    }
}

//! The options of a server's URL: everything after `?`.
//!
//! An unescaped password can look like an option, so a message names only options that are known:
//! those of PostgreSQL's client library, of other drivers, and of hosters.

use std::path::PathBuf;

use tokio_postgres::Config;

use super::{FORM, decode, invalid};
use crate::Error;

/// Options that the driver has.
const OF_DRIVER: &[&str] = &[
    "user",
    "password",
    "dbname",
    "options",
    "application_name",
    "connect_timeout",
    "tcp_user_timeout",
    "channel_binding",
    "sslnegotiation",
];
/// Options that change nothing here: the log needs no session state and sets its own limits.
const WITHOUT_EFFECT: &[&str] = &[
    "pgbouncer",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "keepalives_count",
    "load_balance_hosts",
    "fallback_application_name",
    "sslsni",
];
/// Options of other programs that cannot be obeyed.
const UNSUPPORTED: &[&str] = &[
    "client_encoding",
    "connection_limit",
    "gssdelegation",
    "gsslib",
    "krbsrvname",
    "passfile",
    "pool_mode",
    "pool_size",
    "pool_timeout",
    "prepareThreshold",
    "prepared_statements",
    "replication",
    "require_auth",
    "requirepeer",
    "requiressl",
    "service",
    "servicefile",
    "socket_timeout",
    "ssl",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "sslaccept",
    "sslcert",
    "sslcertmode",
    "sslcompression",
    "sslcrl",
    "sslcrldir",
    "sslidentity",
    "sslkey",
    "sslkeylogfile",
    "sslpassword",
    "statement_cache_size",
    "statement_timeout",
];

/// The options of a URL.
#[derive(Default)]
pub(super) struct UrlOptions {
    pub(super) mode: Option<TlsMode>,
    /// Whether `sslrootcert` is given.
    pub(super) names_authority: bool,
    /// The file of `sslrootcert`; `None` for the system's authorities.
    pub(super) root_certificates: Option<PathBuf>,
    /// Hosts, addresses and ports, separated by commas.
    pub(super) hosts: Option<String>,
    pub(super) addresses: Option<String>,
    pub(super) ports: Option<String>,
    /// Options for the driver, as in the URL.
    pub(super) of_driver: Vec<String>,
}

/// What `sslmode` demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TlsMode {
    Disable,
    Optional,
    Require,
}

impl UrlOptions {
    /// Parses the text after `?`.
    ///
    /// # Errors
    /// [`Error::InvalidUrl`]; its message names an option only if the option is known.
    pub(super) fn parse(query: &str) -> Result<Self, Error> {
        let mut options = Self::default();
        for (index, pair) in query.split('&').enumerate() {
            if !pair.is_empty() {
                options.add(pair, index + 1)?;
            }
        }
        Ok(options)
    }

    fn add(&mut self, pair: &str, number: usize) -> Result<(), Error> {
        let unknown = || invalid(&format!("its option {number} is unknown or incomplete; {FORM}"));
        let (name, value) = pair.split_once('=').ok_or_else(unknown)?;
        let (name, value) = (decode(name).ok_or_else(unknown)?, decode(value));
        let refused = |reason: &str| Err(invalid(&format!("the option \"{name}\" {reason}")));
        let is_known = |names: &[&str]| names.contains(&name.as_str());
        match (name.as_str(), value.as_deref()) {
            ("sslmode", Some("disable")) => self.mode = Some(TlsMode::Disable),
            ("sslmode", Some("prefer" | "allow")) => self.mode = Some(TlsMode::Optional),
            ("sslmode", Some("require" | "verify-ca" | "verify-full")) => {
                self.mode = Some(TlsMode::Require);
            }
            ("sslmode", _) => return refused("must be verify-full, require or disable"),
            ("sslrootcert", Some(file)) if !file.is_empty() => {
                self.names_authority = true;
                self.root_certificates = (file != "system").then(|| PathBuf::from(file));
            }
            ("target_session_attrs", Some("read-write" | "primary" | "any")) => {}
            ("target_session_attrs", _) => {
                return refused("must be read-write or primary: brain writes");
            }
            ("gssencmode", Some("disable" | "prefer" | "allow")) => {}
            ("gssencmode", _) => return refused("must be disable: brain uses TLS"),
            ("host", Some(hosts)) => self.hosts = Some(hosts.to_owned()),
            ("hostaddr", Some(addresses)) => self.addresses = Some(addresses.to_owned()),
            ("port", Some(ports)) => self.ports = Some(ports.to_owned()),
            ("schema" | "currentSchema" | "search_path", _) => {
                return refused("is not supported; remove it, and use --namespace");
            }
            (_, Some(_)) if is_known(WITHOUT_EFFECT) => {}
            (_, _) if is_known(OF_DRIVER) => {
                if format!("postgresql:///?{pair}").parse::<Config>().is_err() {
                    return refused("has an invalid value");
                }
                self.of_driver.push(pair.to_owned());
            }
            (_, _) if is_known(UNSUPPORTED) => return refused("is not supported; remove it"),
            _ => return Err(unknown()),
        }
        Ok(())
    }
}

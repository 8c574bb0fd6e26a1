//! The URL of a server: hosts, credentials and options. Nothing prints the password.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use brain_protocol::Secret;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

use crate::Error;

const FORM: &str = "write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, and special characters \
                    of the password as %XX";

/// A parsed URL of a PostgreSQL server or pooler.
///
/// TLS with a verified certificate is required, except for hosts on this machine. `sslrootcert`
/// names a file with certificates of authorities, which replace the system's. Several hosts are
/// separated by commas; the one that accepts writes is used.
#[derive(Clone)]
pub struct ServerUrl {
    pub(super) config: Config,
    pub(super) root_certificates: Option<PathBuf>,
    address: String,
}

impl fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerUrl({})", self.address)
    }
}

impl ServerUrl {
    /// Parses a URL. Options of PostgreSQL's client library are accepted as far as the driver has
    /// them.
    ///
    /// # Errors
    /// [`Error::InvalidUrl`]; its message contains no part of the URL.
    pub fn parse(url: &Secret) -> Result<Self, Error> {
        let invalid = |reason: &str| Error::InvalidUrl(reason.to_owned());
        let url = url.expose();
        if !url.starts_with("postgresql://") && !url.starts_with("postgres://") {
            return Err(invalid(FORM));
        }
        let host_start = url.rfind('@').unwrap_or(0);
        let (base, query) = match url[host_start..].find('?') {
            Some(at) => (&url[..host_start + at], &url[host_start + at + 1..]),
            None => (url, ""),
        };
        let (mut mode, mut root_certificates, mut rest) = (None, None, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", "system")) => {}
                Some(("sslrootcert", path)) => root_certificates = Some(PathBuf::from(path)),
                _ => rest.push(pair),
            }
        }
        let url = format!("{base}?{}", rest.join("&"));
        let mut config: Config = url
            .parse()
            .map_err(|_| invalid(&format!("it has an unknown option or cannot be read; {FORM}")))?;
        let is_local = is_local(&config);
        let ssl_mode = match mode {
            None | Some("prefer" | "allow") if is_local => SslMode::Disable,
            Some("disable") if is_local => SslMode::Disable,
            None | Some("prefer" | "allow" | "require" | "verify-ca" | "verify-full") => {
                SslMode::Require
            }
            Some("disable") => {
                return Err(invalid(
                    "sslmode=disable would send everything unencrypted to another machine; \
                     remove it",
                ));
            }
            Some(_) => return Err(invalid("sslmode must be verify-full, require or disable")),
        };
        config.ssl_mode(ssl_mode);
        if config.get_hosts().is_empty() {
            return Err(invalid(FORM));
        }
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        if config.get_application_name().is_none() {
            config.application_name("brain");
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(Duration::from_secs(15));
        }
        config.keepalives(true).keepalives_idle(Duration::from_secs(30));
        config.keepalives_interval(Duration::from_secs(10)).keepalives_retries(3);
        let address = address(&config);
        Ok(Self { config, root_certificates, address })
    }

    /// Returns hosts, ports and database, without user and password.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns whether the connection is encrypted.
    #[must_use]
    pub fn uses_tls(&self) -> bool {
        self.config.get_ssl_mode() != SslMode::Disable
    }
}

/// Returns whether all hosts are on this machine.
fn is_local(config: &Config) -> bool {
    let host_is_local = |host: &Host| match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
        }
        Host::Unix(_) => true,
    };
    config.get_hosts().iter().all(host_is_local)
        && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

fn address(config: &Config) -> String {
    let ports = config.get_ports();
    let mut text = String::new();
    for (index, host) in config.get_hosts().iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        match host {
            Host::Tcp(name) => text.push_str(name),
            Host::Unix(path) => text.push_str(&path.to_string_lossy()),
        }
        let port = ports.get(index).or(ports.first()).copied().unwrap_or(5432);
        text.push_str(&format!(":{port}"));
    }
    text.push('/');
    text.push_str(config.get_dbname().or(config.get_user()).unwrap_or(""));
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<ServerUrl, Error> {
        ServerUrl::parse(&Secret::new(url))
    }

    #[test]
    fn tls_is_required_except_on_this_machine() {
        for (url, mode) in [
            ("postgresql://u:p@db.example.com/brain", SslMode::Require),
            ("postgresql://u:p@db.example.com/brain?sslmode=prefer", SslMode::Require),
            ("postgresql://u:p@localhost,db.example.com/brain", SslMode::Require),
            ("postgresql://u:p@localhost/brain?hostaddr=192.0.2.1", SslMode::Require),
            ("postgresql://u:p@localhost/brain", SslMode::Disable),
            ("postgresql://u:p@127.0.0.1,[::1]/brain", SslMode::Disable),
            ("postgresql://u:p@localhost/brain?sslmode=verify-full", SslMode::Require),
        ] {
            assert_eq!(parse(url).unwrap().config.get_ssl_mode(), mode, "{url}");
        }
        let refused = parse("postgresql://u:p@db.example.com/brain?sslmode=disable");
        assert!(refused.unwrap_err().to_string().contains("unencrypted"));
    }

    #[test]
    fn the_password_is_in_no_message() {
        let url = parse("postgresql://u:hunter2@one.example.com:6432,two.example.com/b").unwrap();
        assert_eq!(url.address(), "one.example.com:6432,two.example.com:5432/b");
        assert_eq!(format!("{url:?}"), format!("ServerUrl({})", url.address()));
        for url in [
            "hunter2",
            "mysql://u:hunter2@host/b",
            "postgresql://u:hunter2@host:port/b",
            "postgresql://u:hunter2@host/b?hunter2=1",
            "postgresql://u:pass?hunter2@host/b?sslmode=hunter2",
            "postgresql://u:p/hunter2@host/b",
        ] {
            if let Err(error) = parse(url) {
                assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
            }
        }
    }

    #[test]
    fn limits_of_connections_are_set() {
        let url = parse("postgres://u:p@h/b?sslrootcert=/etc/ca.pem&connect_timeout=3").unwrap();
        assert_eq!(url.root_certificates, Some(PathBuf::from("/etc/ca.pem")));
        assert_eq!(url.config.get_connect_timeout(), Some(&Duration::from_secs(3)));
        assert_eq!(url.config.get_tcp_user_timeout(), Some(&Duration::from_secs(15)));
        assert_eq!(url.config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
    }
}

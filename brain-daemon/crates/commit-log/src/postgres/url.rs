//! The URL of a server: hosts, credentials and options. Nothing prints the password.

mod options;

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;
use std::time::Duration;

use brain_protocol::Secret;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

use self::options::{TlsMode, UrlOptions};
use crate::Error;

const FORM: &str = "write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, and special characters \
                    of the password as %XX";
pub(super) const DEFAULT_PORT: u16 = 5432;

/// A parsed URL of a PostgreSQL server or pooler.
///
/// TLS with a verified certificate is required, except for hosts on this machine. `sslrootcert`
/// names a file with certificates of authorities, which replace the system's. Several hosts are
/// separated by commas; the first one that accepts writes is used.
#[derive(Clone)]
pub struct ServerUrl {
    targets: Vec<UrlHost>,
    pub(super) root_certificates: Option<PathBuf>,
    address: String,
}

/// One host of a URL.
#[derive(Clone)]
pub(super) struct UrlHost {
    /// The driver's settings, with this host alone.
    pub(super) config: Config,
    /// Host, port and database, without user and password.
    pub(super) address: String,
}

impl fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerUrl({})", self.address)
    }
}

/// Returns the driver's mode of TLS. `is_local` says that all hosts are this machine.
fn ssl_mode(options: &UrlOptions, is_local: bool) -> Result<SslMode, Error> {
    match options.mode {
        // Who names an authority wants TLS.
        None | Some(TlsMode::Optional) if is_local && !options.names_authority => {
            Ok(SslMode::Disable)
        }
        Some(TlsMode::Disable) if is_local => Ok(SslMode::Disable),
        Some(TlsMode::Disable) => Err(invalid(
            "sslmode=disable would send everything unencrypted to another machine; remove it",
        )),
        None | Some(TlsMode::Optional | TlsMode::Require) => Ok(SslMode::Require),
    }
}

impl ServerUrl {
    /// Parses a URL. Options of PostgreSQL's client library are accepted as far as the driver has
    /// them.
    ///
    /// A second `@` is refused, and so is a character that no host's name has: an unescaped
    /// password would be shown and looked up as a host otherwise.
    ///
    /// # Errors
    /// [`Error::InvalidUrl`]; its message contains no part of the URL, except the name of an
    /// option that is known.
    pub fn parse(url: &Secret) -> Result<Self, Error> {
        let url = url.expose().trim();
        let rest = url.strip_prefix("postgresql://").or_else(|| url.strip_prefix("postgres://"));
        let rest = rest.ok_or_else(|| invalid(FORM))?;
        if rest.matches('@').count() > 1 {
            return Err(invalid(
                "it has more than one @; write each @ of the user, the password and the options \
                 as %40",
            ));
        }
        let (credentials, rest) = rest.split_once('@').unwrap_or(("", rest));
        let user = credentials.split(':').next().unwrap_or("");
        if user.contains(['/', '?']) {
            return Err(invalid("write each @ of an option as %40, and each / of the user as %2F"));
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let options = UrlOptions::parse(query)?;
        let hosts = hosts(authority, &options)?;
        let is_local = hosts.iter().all(HostPort::is_local);
        let ssl_mode = ssl_mode(&options, is_local)?;
        let of_driver = options.of_driver.join("&");
        let sign = if credentials.is_empty() { "" } else { "@" };
        let base = format!("postgresql://{credentials}{sign}/{database}?{of_driver}");
        let mut base: Config = base.parse().map_err(|_| invalid(FORM))?;
        let has_sockets_only = hosts.iter().all(|host| host.host.starts_with('/'));
        if base.get_user().is_none_or(str::is_empty) && !has_sockets_only {
            return Err(invalid(&format!("it names no user; {FORM}")));
        }
        base.ssl_mode(ssl_mode);
        base.target_session_attrs(TargetSessionAttrs::ReadWrite);
        if base.get_application_name().is_none() {
            base.application_name("brain");
        }
        if base.get_tcp_user_timeout().is_none() {
            base.tcp_user_timeout(Duration::from_secs(15));
        }
        base.keepalives(true).keepalives_idle(Duration::from_secs(30));
        base.keepalives_interval(Duration::from_secs(10)).keepalives_retries(3);
        let database = base.get_dbname().or(base.get_user()).unwrap_or("").to_owned();
        let names: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        let address = format!("{}/{database}", names.join(","));
        let targets = hosts.iter().zip(names).map(|(host, name)| {
            let mut config = base.clone();
            config.host(&host.host).port(host.port);
            if let Some(ip) = host.address {
                config.hostaddr(ip);
            }
            UrlHost { config, address: format!("{name}/{database}") }
        });
        let targets = targets.collect();
        Ok(Self { targets, root_certificates: options.root_certificates, address })
    }

    /// Returns hosts, ports and database, without user and password.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns whether the connection is encrypted.
    #[must_use]
    pub fn uses_tls(&self) -> bool {
        self.targets.iter().all(|target| target.config.get_ssl_mode() != SslMode::Disable)
    }

    /// Returns the hosts in their order; at least one.
    pub(super) fn targets(&self) -> &[UrlHost] {
        &self.targets
    }

    /// Sets the limit of a TCP connection if the URL has none.
    pub(super) fn limit_connect(&mut self, limit: Duration) {
        for target in &mut self.targets {
            if target.config.get_connect_timeout().is_none() {
                target.config.connect_timeout(limit);
            }
        }
    }
}

impl UrlHost {
    /// Returns the name and the port to look up; `None` for a socket in a directory, and if the
    /// URL has the IP address.
    pub(super) fn name(&self) -> Option<(&str, u16)> {
        match self.config.get_hosts() {
            [Host::Tcp(name)] if self.config.get_hostaddrs().is_empty() => {
                Some((name, self.config.get_ports().first().copied().unwrap_or(DEFAULT_PORT)))
            }
            _ => None,
        }
    }
}

/// A host of a URL with its port.
struct HostPort {
    /// A name, an IP address, or the directory of a socket.
    host: String,
    /// `hostaddr` of the URL.
    address: Option<IpAddr>,
    port: u16,
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl HostPort {
    /// Returns whether the host is this machine.
    fn is_local(&self) -> bool {
        let is_loopback = |ip: IpAddr| ip.is_loopback();
        let name_is_local = self.host.starts_with('/')
            || self.host == "localhost"
            || self.host.parse().is_ok_and(is_loopback);
        name_is_local && self.address.is_none_or(is_loopback)
    }
}

fn invalid(reason: &str) -> Error {
    Error::InvalidUrl(reason.to_owned())
}

/// Replaces each `%XX`. Returns `None` if the result is no UTF-8.
fn decode(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((&first, after)) = rest.split_first() {
        let code = (first == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

/// Returns the hosts of a URL, from the place before the path and from options.
fn hosts(authority: &str, options: &UrlOptions) -> Result<Vec<HostPort>, Error> {
    let split = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
    let list = |text: &Option<String>| text.as_deref().map(split).unwrap_or_default();
    let (addresses, ports) = (list(&options.addresses), list(&options.ports));
    let names = match (&options.hosts, authority) {
        (Some(_), _) => list(&options.hosts).iter().map(|name| bracketed(name)).collect(),
        (None, "") => addresses.iter().map(|ip| bracketed(ip)).collect(),
        (None, authority) => split(authority),
    };
    let mut hosts = names.iter().map(|name| host(name)).collect::<Result<Vec<_>, _>>()?;
    if hosts.is_empty() {
        return Err(invalid(FORM));
    }
    if !addresses.is_empty() && addresses.len() != hosts.len() {
        return Err(invalid("hostaddr must have as many addresses as there are hosts"));
    }
    for (host, ip) in hosts.iter_mut().zip(&addresses) {
        let ip = ip.parse().map_err(|_| invalid("hostaddr must be an IP address for each host"))?;
        host.address = Some(ip);
    }
    if !ports.is_empty() && ports.len() != 1 && ports.len() != hosts.len() {
        return Err(invalid("port must be one for all hosts, or one for each host"));
    }
    for (index, host) in hosts.iter_mut().enumerate() {
        if let Some(text) = ports.get(index).or(ports.first()) {
            host.port = port(text)?;
        }
    }
    Ok(hosts)
}

/// Puts an IPv6 address in brackets, as in a URL.
fn bracketed(ip: &str) -> String {
    if ip.parse::<Ipv6Addr>().is_ok() { format!("[{ip}]") } else { ip.to_owned() }
}

/// Parses `HOST`, `HOST:PORT` or `[IPV6]:PORT`.
fn host(text: &str) -> Result<HostPort, Error> {
    let failed = || invalid(&format!("a host in it is not valid; {FORM}"));
    let (name, after) = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']').ok_or_else(failed)?,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let name = decode(name).ok_or_else(failed)?;
    let is_name = |c: char| c.is_alphanumeric() || ['-', '_', '.'].contains(&c);
    let is_valid = match name.split_once('%').map_or(name.as_str(), |(ip, _zone)| ip) {
        _ if name.starts_with('/') => true,
        ip if text.starts_with('[') => ip.parse::<Ipv6Addr>().is_ok(),
        _ => !name.is_empty() && name.chars().all(is_name),
    };
    let port = match after.strip_prefix(':') {
        Some("") | None if after.len() < 2 => DEFAULT_PORT,
        Some(number) => port(number)?,
        None => return Err(failed()),
    };
    if is_valid { Ok(HostPort { host: name, address: None, port }) } else { Err(failed()) }
}

fn port(text: &str) -> Result<u16, Error> {
    let number = if text.is_empty() { Some(DEFAULT_PORT) } else { text.parse().ok() };
    let is_valid = |port: &u16| *port > 0;
    number
        .filter(is_valid)
        .ok_or_else(|| invalid(&format!("a port in it is no number from 1 to 65535; {FORM}")))
}

#[cfg(test)]
#[path = "url/tests.rs"]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;

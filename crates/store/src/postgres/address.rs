//! Where a PostgreSQL database is: its address, and whether the way there is encrypted.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::Error;
use crate::tls::Tls;

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(5);

/// An address that was read.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) config: Config,
    /// Nothing where the way is not encrypted.
    pub(super) tls: Option<Tls>,
    name: String,
}

/// Without the password.
impl fmt::Debug for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)
    }
}

impl Address {
    /// Reads an address such as `postgres://user:password@host/database`.
    ///
    /// Beyond this machine the way is encrypted and the certificate checked, unless `sslmode` is
    /// `disable`; `sslrootcert` names the file of another issuer.
    pub(super) fn parse(url: &str) -> Result<Self, Error> {
        let wrong = |why: String| Error::Address { why };
        let (base, parameters) = url.split_once('?').unwrap_or((url, ""));
        let (mut mode, mut issuers, mut rest) = (None, None, Vec::new());
        for parameter in parameters.split('&').filter(|one| !one.is_empty()) {
            match parameter.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) => issuers = Some(PathBuf::from(value)),
                _ => rest.push(parameter),
            }
        }
        let plain = format!("{base}?{}", rest.join("&"));
        let mut config: Config = plain.parse().map_err(|fault: tokio_postgres::Error| {
            let why = std::error::Error::source(&fault).map(ToString::to_string);
            wrong(why.unwrap_or_else(|| fault.to_string()))
        })?;
        let (hosts, addresses) = (config.get_hosts(), config.get_hostaddrs());
        let is_nowhere = |host: &Host| matches!(host, Host::Tcp(name) if name.is_empty());
        // Whoever connects wants one of both, and where both are given goes to the address.
        if addresses.is_empty() && (hosts.is_empty() || hosts.iter().any(is_nowhere)) {
            return Err(wrong("it names no host".to_owned()));
        }
        let encrypted = match mode {
            None => {
                let is_local = addresses.iter().all(IpAddr::is_loopback);
                !(is_local && hosts.iter().all(is_here))
            }
            Some("disable") => false,
            Some("prefer" | "require" | "verify-ca" | "verify-full") => true,
            Some(other) => return Err(wrong(format!("`sslmode` is `{other}`"))),
        };
        config.ssl_mode(if encrypted {
            SslMode::Require
        } else {
            SslMode::Disable
        });
        config.connect_timeout(CONNECT);
        config.application_name("mcpproxy");
        let tls = encrypted.then(|| Tls::new(issuers.as_deref())).transpose();
        let tls = tls.map_err(|fault| wrong(fault.to_string()))?;
        Ok(Self {
            name: name(&config),
            config,
            tls,
        })
    }

    /// Names the database, without a password.
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            let address: Option<IpAddr> = name.parse().ok();
            name == "localhost" || address.is_some_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// The port that need not be said.
const USUAL: u16 = 5432;

fn name(config: &Config) -> String {
    let (hosts, ports) = (config.get_hosts().iter(), config.get_ports());
    let hosts = hosts.enumerate().map(|(at, host)| match host {
        Host::Tcp(name) => {
            let name = if name.contains(':') {
                format!("[{name}]")
            } else {
                name.clone()
            };
            // One port is that of all hosts.
            match ports.get(at).or(ports.first()) {
                Some(port) if *port != USUAL => format!("{name}:{port}"),
                Some(_) | None => name,
            }
        }
        #[cfg(unix)]
        Host::Unix(path) => path.display().to_string(),
    });
    let hosts: Vec<_> = hosts.collect();
    let database = config.get_dbname().or(config.get_user());
    format!(
        "postgres://{}/{}",
        hosts.join(","),
        database.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_this_machine_the_way_is_encrypted_and_passwords_are_not_shown() {
        let check = |url: &str, expect: Option<(bool, &str)>| {
            let address = Address::parse(url);
            let found = address.as_ref().ok();
            let found = found.map(|address| (address.tls.is_some(), address.name()));
            assert_eq!(found, expect, "{url}");
            assert!(!format!("{address:?}").contains("hunter2"), "{url}");
        };
        let at = |host| format!("postgres://me:hunter2@{host}");
        check(
            &at("127.0.0.1/log"),
            Some((false, "postgres://127.0.0.1/log")),
        );
        check(
            &at("[::1]:5433/log"),
            Some((false, "postgres://[::1]:5433/log")),
        );
        check(
            &at("a:5433,b:5432/log"),
            Some((true, "postgres://a:5433,b/log")),
        );
        check(&at("localhost"), Some((false, "postgres://localhost/me")));
        check(
            &at("db.example/log"),
            Some((true, "postgres://db.example/log")),
        );
        check(&at("a,b/log"), Some((true, "postgres://a,b/log")));
        let plain = at("db.example/log?sslmode=disable");
        check(&plain, Some((false, "postgres://db.example/log")));
        let strict = at("localhost/log?sslmode=verify-full");
        check(&strict, Some((true, "postgres://localhost/log")));
        check(&at("h/log?sslmode=maybe"), None);
        check(&at("h/log?sslrootcert=/absent.pem"), None);
        check(&at("h/log?colour=red"), None);
        check("postgres://h:port/log", None);
        check("mysql://h/log", None);
        // Regression for #8: without a host there is nobody to connect to.
        for nowhere in ["postgres://", "postgres:///log", "postgres://me@/log"] {
            check(nowhere, None);
        }
        check("postgres://me@:5432/log", None);
        let socket = "postgres:///log?host=/var/run/postgresql";
        check(socket, Some((false, "postgres:///var/run/postgresql/log")));
        // An address beside a name is where the way leads.
        let beside = at("localhost/log?hostaddr=192.0.2.1");
        check(&beside, Some((true, "postgres://localhost/log")));
    }
}

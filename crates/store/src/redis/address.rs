//! Where Redis is: its address, and whether the way there is encrypted.

use std::fmt;
use std::io;
use std::path::PathBuf;

use redis::{ConnectionAddr, IntoConnectionInfo as _, RedisConnectionInfo};
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

use crate::Error;
use crate::tls::Tls;

/// A connection of either kind.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// An address that was read.
pub(super) struct Address {
    at: ConnectionAddr,
    /// Who connects, and to which database.
    pub(super) login: RedisConnectionInfo,
    /// Nothing where the way is not encrypted.
    tls: Option<Tls>,
    name: String,
}

/// Without the password.
impl fmt::Debug for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)
    }
}

impl Address {
    /// Reads an address such as `redis://user:password@host:6379/0`; `rediss` encrypts the way and
    /// checks the certificate, whose issuer `sslrootcert` may name; `unix:///path` is a socket.
    pub(super) fn parse(url: &str) -> Result<Self, Error> {
        let wrong = |why: String| Error::Address { why };
        let (scheme, rest) = url
            .split_once("://")
            .ok_or_else(|| wrong("it has no scheme".to_owned()))?;
        let (rest, issuers) = match rest.split_once("?sslrootcert=") {
            Some((rest, path)) => (rest, Some(PathBuf::from(path))),
            None => (rest, None),
        };
        let encrypted = scheme == "rediss";
        let plain = match scheme {
            "redis" | "rediss" => format!("redis://{rest}"),
            "unix" => format!("unix://{rest}"),
            other => return Err(wrong(format!("its scheme is `{other}`"))),
        };
        if issuers.is_some() && !encrypted {
            return Err(wrong("`sslrootcert` is for `rediss://`".to_owned()));
        }
        let told = |fault: redis::RedisError| wrong(reason(&fault));
        let info = plain.as_str().into_connection_info().map_err(told)?;
        let tls = encrypted.then(|| Tls::new(issuers.as_deref())).transpose();
        let tls = tls.map_err(|fault| wrong(fault.to_string()))?;
        let name = match info.addr() {
            ConnectionAddr::Unix(path) => format!("unix://{}", path.display()),
            other => format!("{scheme}://{other}"),
        };
        Ok(Self {
            at: info.addr().clone(),
            login: info.redis_settings().clone(),
            tls,
            name,
        })
    }

    /// Names it, without a password.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Connects.
    pub(super) async fn dial(&self) -> io::Result<Box<dyn Stream>> {
        let (host, port) = match &self.at {
            ConnectionAddr::Unix(path) => return Ok(Box::new(UnixStream::connect(path).await?)),
            ConnectionAddr::Tcp(host, port) => (host, *port),
            other => return Err(io::Error::other(format!("`{other}` is not supported"))),
        };
        let stream = TcpStream::connect((host.as_str(), port)).await?;
        stream.set_nodelay(true)?;
        let Some(tls) = &self.tls else {
            return Ok(Box::new(stream));
        };
        let name = ServerName::try_from(host.clone()).map_err(io::Error::other)?;
        Ok(Box::new(tls.connector().connect(name, stream).await?))
    }
}

/// Says what is wrong, without repeating what was sent.
pub(super) fn reason(fault: &redis::RedisError) -> String {
    let detail = fault.detail().map(|detail| format!(": {detail}"));
    format!("{}{}", fault.category(), detail.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_passwords_are_not_shown() {
        let check = |url: &str, expect: Option<(bool, &str)>| {
            let address = Address::parse(url);
            let found = address.as_ref().ok();
            let found = found.map(|address| (address.tls.is_some(), address.name()));
            assert_eq!(found, expect, "{url}");
            assert!(!format!("{address:?}").contains("hunter2"), "{url}");
        };
        check("redis://127.0.0.1", Some((false, "redis://127.0.0.1:6379")));
        let full = "redis://me:hunter2@cache.example:6380/3";
        check(full, Some((false, "redis://cache.example:6380")));
        let safe = "rediss://:hunter2@cache.example";
        check(safe, Some((true, "rediss://cache.example:6379")));
        check(
            "unix:///run/redis.sock",
            Some((false, "unix:///run/redis.sock")),
        );
        check("rediss://h?sslrootcert=/absent.pem", None);
        check("redis://h?sslrootcert=/absent.pem", None);
        check("redis://me:hunter2@h/letters", None);
        check("postgres://h/log", None);
        check("127.0.0.1:6379", None);
    }
}

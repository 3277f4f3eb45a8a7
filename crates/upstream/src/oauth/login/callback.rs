//! Waiting for a browser to bring back what the authorization server gave it.
//!
//! Any page and any program on this machine can knock here. Who does not know the state is sent
//! away and changes nothing; who does decides how the login ends.

use std::time::Duration;

use mcpproxy_core::Secret;
use mcpproxy_text::decode::percent_decoded;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::super::web::flat;
use crate::Error;

/// The path that a login comes back to.
pub(super) const PATH: &str = "/callback";
/// The longest head of a request that is read.
const LONGEST: usize = 16 * 1024;
/// How long one who knocks may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many may knock at a time.
const MOST: usize = 16;

/// What must be known by who comes back.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    pub(super) state: Secret,
    pub(super) issuer: String,
    pub(super) names_itself: bool,
}

/// What one who knocked brought.
#[derive(Debug, PartialEq, Eq)]
enum Came {
    /// Nothing that concerns this login.
    Nothing,
    /// The code that tokens are fetched with.
    Code(Secret),
    /// The end of the login, and why.
    End(String),
}

/// Waits until the login comes back.
pub(super) async fn wait(listener: &TcpListener, expected: &Expected) -> Result<Secret, Error> {
    let (sender, mut came) = mpsc::channel(1);
    let mut knocking = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                if knocking.len() < MOST {
                    knocking.spawn(heard(stream, expected.clone(), sender.clone()));
                }
            }
            Some(_) = knocking.join_next() => {}
            Some(came) = came.recv() => match came {
                Came::Nothing => {}
                Came::Code(code) => return Ok(code),
                Came::End(why) => return Err(Error::Authority(why)),
            }
        }
    }
}

async fn heard(stream: TcpStream, expected: Expected, sender: mpsc::Sender<Came>) {
    let exchange = async {
        let mut stream = stream;
        let head = head(&mut stream).await?;
        let came = expected.judge(&head);
        let (status, words) = match &came {
            Came::Nothing => ("400 Bad Request", "This is not a login that is waited for."),
            Came::Code(_) => ("200 OK", "Logged in. You can close this window."),
            Came::End(_) => ("200 OK", "The login failed; the terminal says why."),
        };
        let length = words.len();
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\
             cache-control: no-store\r\nreferrer-policy: no-referrer\r\nconnection: close\r\n\r\n{words}"
        );
        stream.write_all(answer.as_bytes()).await.ok()?;
        stream.shutdown().await.ok()?;
        Some(came)
    };
    if let Ok(Some(came)) = timeout(PATIENCE, exchange).await {
        // The other end is only gone once somebody else was faster.
        drop(sender.send(came).await);
    }
}

/// Reads the head of a request.
async fn head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut part = [0; 2048];
    loop {
        let read = stream.read(&mut part).await.ok()?;
        head.extend_from_slice(part.get(..read)?);
        if head.windows(4).any(|end| end == b"\r\n\r\n") {
            return String::from_utf8(head).ok();
        }
        if read == 0 || head.len() > LONGEST {
            return None;
        }
    }
}

impl Expected {
    fn judge(&self, head: &str) -> Came {
        let mut words = head.lines().next().unwrap_or_default().split(' ');
        let (Some("GET"), Some(target)) = (words.next(), words.next()) else {
            return Came::Nothing;
        };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if path != PATH {
            return Came::Nothing;
        }
        let fields = Fields::read(query);
        let Ok(Some(state)) = fields.one("state") else {
            return Came::Nothing;
        };
        if state != self.state.expose() {
            return Came::Nothing;
        }
        self.conclude(&fields).unwrap_or_else(Came::End)
    }

    fn conclude(&self, fields: &Fields) -> Result<Came, String> {
        let twice = |name: &str| format!("it came back with `{name}` twice");
        // RFC 9207, 2.4: an answer of another server than the one that was asked is an attack.
        match fields.one("iss").map_err(|()| twice("iss"))? {
            Some(issuer) if issuer != self.issuer => {
                let issuer = flat(&issuer);
                return Err(format!("`{issuer}` answered, which was not asked"));
            }
            None if self.names_itself => {
                return Err("the answer does not say who gave it".to_owned());
            }
            Some(_) | None => {}
        }
        if let Some(error) = fields.one("error").map_err(|()| twice("error"))? {
            return Err(format!("it answered `{}`", flat(&error)));
        }
        let code = fields.one("code").map_err(|()| twice("code"))?;
        let code = code.filter(|code| !code.is_empty());
        let code = code.ok_or("it came back without a code")?;
        Ok(Came::Code(Secret::new(code)))
    }
}

/// The fields of a query.
struct Fields(Vec<(String, String)>);

impl Fields {
    fn read(query: &str) -> Self {
        let text = |part: &str| {
            let bytes = percent_decoded(part.replace('+', " ").as_bytes());
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let pairs = query.split('&').take(64).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (text(name), text(value))
        });
        Self(pairs.collect())
    }

    /// Returns a field that may stand once (OAuth 2.1, 3.1).
    fn one(&self, name: &str) -> Result<Option<String>, ()> {
        let mut found = self.0.iter().filter(|(one, _)| one == name);
        let first = found.next().map(|(_, value)| value.clone());
        if found.next().is_some() {
            return Err(());
        }
        Ok(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_back_is_judged_by_state_and_issuer() {
        let expected = |names_itself| Expected {
            state: Secret::new("s-1"),
            issuer: "https://as.example".to_owned(),
            names_itself,
        };
        let check = |names_itself, target: &str, expect: &str| {
            let head = format!("GET {target} HTTP/1.1\r\n\r\n");
            let found = match expected(names_itself).judge(&head) {
                Came::Nothing => "nothing".to_owned(),
                Came::Code(code) => format!("code {}", code.expose()),
                Came::End(why) => format!("end {why}"),
            };
            assert!(found.starts_with(expect), "{target}: {found}");
        };
        let iss = "iss=https%3A%2F%2Fas.example";
        check(false, "/callback?state=s-1&code=a%2Bb", "code a+b");
        check(true, &format!("/callback?state=s-1&code=c&{iss}"), "code c");
        check(
            false,
            &format!("/callback?state=s-1&code=c&{iss}"),
            "code c",
        );
        check(
            true,
            "/callback?state=s-1&code=c",
            "end the answer does not say",
        );
        check(
            false,
            "/callback?state=s-1&code=c&iss=https%3A%2F%2Fevil.example",
            "end `https://evil.example` answered",
        );
        check(false, "/callback?state=s-2&code=c", "nothing");
        check(false, "/callback?code=c", "nothing");
        check(false, "/callback?state=s-2&error=access_denied", "nothing");
        check(
            false,
            "/callback?state=s-1&error=access_denied",
            "end it answered `access_denied`",
        );
        check(false, "/callback?state=s-1", "end it came back without");
        check(
            false,
            "/callback?state=s-1&code=a&code=b",
            "end it came back with `code` twice",
        );
        check(false, "/callback?state=s-1&state=s-1&code=a", "nothing");
        check(false, "/favicon.ico?state=s-1&code=c", "nothing");
        check(false, "", "nothing");
    }
}

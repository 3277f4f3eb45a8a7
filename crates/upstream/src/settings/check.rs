//! Checks of one upstream that no single key can answer.

use std::path::Path;

use http::HeaderValue;
use mcpproxy_core::Secret;
use mcpproxy_mcp::dial::Pin;

use super::{Grant, Transport, UpstreamSettings};

/// Longest name of an upstream.
const LONGEST_NAME: usize = 64;

/// One thing wrong with an upstream's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Key that is at fault; empty for the upstream as a whole.
    pub key: &'static str,
    /// What is wrong, ready to print.
    pub message: String,
    /// What would make it right, where that is known.
    pub hint: Option<&'static str>,
}

impl Fault {
    fn new(key: &'static str, message: impl Into<String>) -> Self {
        Self {
            key,
            message: message.into(),
            hint: None,
        }
    }

    fn hint(self, hint: &'static str) -> Self {
        Self {
            hint: Some(hint),
            ..self
        }
    }
}

/// Tells what is wrong with a name for an upstream, if anything.
///
/// The name stands before `__` and `:` in the names of its tools, so it contains neither.
pub fn check_name(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    if name.is_empty() {
        Err("the name of an upstream is empty".to_owned())
    } else if name.len() > LONGEST_NAME {
        Err(format!(
            "the name of an upstream is longer than {LONGEST_NAME} characters"
        ))
    } else if !name.chars().all(plain) {
        Err(format!(
            "`{name}` is no name for an upstream: letters, digits, `_`, `.` and `-` only"
        ))
    } else if name.chars().all(|c| c == '.') {
        // No client can ask for it: such a part of a path is taken out of an address.
        Err(format!("`{name}` is no name for an upstream: dots only"))
    } else if name.contains("__") {
        Err(format!(
            "`{name}` is no name for an upstream: `__` separates upstream and tool"
        ))
    } else {
        Ok(())
    }
}

impl UpstreamSettings {
    /// Returns everything that is wrong with these settings; nothing where they can be used.
    pub fn check(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        faults.extend(self.check_target());
        faults.extend(self.check_transport());
        faults.extend(self.url.as_deref().and_then(check_url));
        faults.extend(self.check_bounds());
        faults.extend(self.check_oauth());
        faults.extend(self.check_tls());
        if let Some(name) = self
            .env
            .keys()
            .chain(&self.inherit_env)
            .find(|name| !is_variable(name))
        {
            let key = if self.env.contains_key(name) {
                "env"
            } else {
                "inherit_env"
            };
            faults.push(Fault::new(
                key,
                format!("`{name}` is no name for an environment variable"),
            ));
        }
        if let Some(key) = self.with_null() {
            let message = "what a program is given has no null characters";
            faults.push(Fault::new(key, message));
        }
        if let Some(name) = self.headers.keys().find(|name| !is_header(name)) {
            faults.push(Fault::new(
                "headers",
                format!("`{name}` is no name for a header"),
            ));
        }
        let unsendable = |value: &Secret| HeaderValue::from_str(value.expose()).is_err();
        if let Some((name, _)) = self.headers.iter().find(|(_, value)| unsendable(value)) {
            faults.push(Fault::new(
                "headers",
                format!("the value of `{name}` has characters that cannot stand in a header"),
            ));
        }
        faults
    }

    /// Names the key whose value no program can be started with.
    fn with_null(&self) -> Option<&'static str> {
        let folder = self.working_dir.as_deref().map(Path::as_os_str);
        let null = |text: &str| text.contains('\0');
        [
            ("args", self.args.iter().any(|one| null(one))),
            ("env", self.env.values().any(|one| null(one.expose()))),
            (
                "working_dir",
                folder.is_some_and(|one| one.as_encoded_bytes().contains(&0)),
            ),
        ]
        .into_iter()
        .find_map(|(key, there)| there.then_some(key))
    }

    fn check_target(&self) -> Option<Fault> {
        match (self.command.as_deref(), self.url.as_deref()) {
            (None, None) => Some(
                Fault::new("", "neither `command` nor `url` is given")
                    .hint("give the program to start as `command`, or the address as `url`"),
            ),
            (Some(_), Some(_)) => {
                Some(Fault::new("", "both `command` and `url` are given").hint("keep one of them"))
            }
            (Some(command), None) if command.trim().is_empty() => {
                Some(Fault::new("command", "the program to start is empty"))
            }
            (Some(command), None) if command.contains('\0') => Some(Fault::new(
                "command",
                "the program to start contains a null character",
            )),
            (Some(_), None) => check_unused(
                "url",
                &[
                    ("headers", !self.headers.is_empty()),
                    ("oauth", self.oauth.is_some()),
                    ("tls", self.tls.is_some()),
                ],
            ),
            (None, Some(_)) => check_unused(
                "command",
                &[
                    ("args", !self.args.is_empty()),
                    ("env", !self.env.is_empty()),
                    ("inherit_env", !self.inherit_env.is_empty()),
                    ("working_dir", self.working_dir.is_some()),
                ],
            ),
        }
    }

    fn check_transport(&self) -> Option<Fault> {
        let (name, needs, there) = match self.transport {
            Transport::Auto => return None,
            Transport::Stdio => ("stdio", "command", self.command.is_some()),
            Transport::Http => ("http", "url", self.url.is_some()),
            Transport::Sse => ("sse", "url", self.url.is_some()),
        };
        // Without either the missing target is reported already.
        let target = self.command.is_some() || self.url.is_some();
        (target && !there)
            .then(|| Fault::new("transport", format!("transport `{name}` needs `{needs}`")))
    }

    fn check_oauth(&self) -> Option<Fault> {
        let oauth = self.oauth.as_ref()?;
        let shows = |header: &String| header.eq_ignore_ascii_case("authorization");
        if self.headers.keys().any(shows) {
            let message = "`oauth` and a header `Authorization` cannot both be shown";
            return Some(Fault::new("oauth", message).hint("keep one of them"));
        }
        let missing = |key, needs: &str| {
            let message = format!("`{key}` needs `{needs}`");
            Some(Fault::new("oauth", message))
        };
        if oauth.client_secret.is_some() && oauth.client_id.is_none() {
            return missing("client_secret", "client_id");
        }
        if oauth.client_secret.is_some() && oauth.issuer.is_none() {
            // Otherwise the upstream would say who gets to see it.
            return missing("client_secret", "issuer");
        }
        if oauth.grant == Grant::ClientCredentials && oauth.client_secret.is_none() {
            return missing("grant: client_credentials", "client_secret");
        }
        let word = |scope: &String| scope.is_empty() || scope.contains(char::is_whitespace);
        if oauth.scopes.iter().any(word) {
            return Some(Fault::new("oauth.scopes", "a scope is one word"));
        }
        (oauth.redirect_port == Some(0))
            .then(|| Fault::new("oauth.redirect_port", "must be greater than zero"))
    }

    fn check_tls(&self) -> Option<Fault> {
        let tls = self.tls.as_ref()?;
        let url = self.url.as_deref().unwrap_or_default();
        if self.url.is_some() && !url.to_ascii_lowercase().starts_with("https://") {
            let message = "`tls` has no effect without an address with `https`";
            return Some(Fault::new("tls", message));
        }
        if tls.pin.all().is_empty() {
            let message = "`tls` without `pin` changes nothing";
            return Some(Fault::new("tls", message).hint("name the key's hash"));
        }
        let wrong = tls.pin.all().iter().find(|pin| Pin::read(pin).is_none())?;
        let message = format!("`{wrong}` is no pin");
        let hint = "write `sha256/` and the base64 of the SHA-256 of the public key";
        Some(Fault::new("tls.pin", message).hint(hint))
    }

    fn check_bounds(&self) -> Vec<Fault> {
        let zero = [
            ("start_timeout", self.start_timeout.is_zero()),
            (
                "call_timeout",
                self.call_timeout.is_some_and(super::Span::is_zero),
            ),
            ("restart.backoff_min", self.restart.backoff_min.is_zero()),
            ("max_instances", self.max_instances == 0),
            ("max_in_flight", self.max_in_flight == 0),
        ];
        let mut faults: Vec<_> = zero
            .into_iter()
            .filter(|(_, zero)| *zero)
            .map(|(key, _)| Fault::new(key, "must be greater than zero"))
            .collect();
        if self.restart.backoff_max < self.restart.backoff_min {
            let message = "`backoff_max` is shorter than `backoff_min`";
            faults.push(Fault::new("restart.backoff_max", message));
        }
        faults
    }
}

/// An option that would have no effect is an error, since somebody believes in it.
fn check_unused(needs: &str, given: &[(&'static str, bool)]) -> Option<Fault> {
    let (key, _) = given.iter().find(|(_, given)| *given)?;
    Some(Fault::new(
        key,
        format!("`{key}` has no effect without `{needs}`"),
    ))
}

/// Returns scheme and host of an address, without what may carry credentials.
pub(super) fn origin_of(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url.get(start..).and_then(|rest| rest.find(['/', '?', '#']));
    let origin = end.and_then(|end| url.get(..start + end)).unwrap_or(url);
    if origin.contains('@') { "***" } else { origin }
}

fn check_url(url: &str) -> Option<Fault> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return Some(
            Fault::new("url", "the address has no scheme `http` or `https`")
                .hint("write it out, for example `https://example.com/mcp`"),
        );
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Some(
            Fault::new("url", "the address carries a user name or password")
                .hint("send credentials with `headers`"),
        );
    }
    if authority.is_empty() || authority.starts_with(':') {
        return Some(Fault::new("url", "the address has no host"));
    }
    let odd = |c: char| c.is_whitespace() || c.is_control();
    url.contains(odd)
        .then(|| Fault::new("url", "the address contains white space"))
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

/// RFC 9110, 5.6.2: a header's name is a token.
fn is_header(name: &str) -> bool {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !name.is_empty() && name.bytes().all(token)
}

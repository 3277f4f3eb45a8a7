//! An upstream that wants to be logged in to, and what it says about where: documents that an honest
//! authorization server would have, but for the one address that the role names.

use http::StatusCode;
use serde_json::{Value, json};

/// What the upstream describes itself with.
const RESOURCE: &str = "/.well-known/oauth-protected-resource/";
/// What its authorization server describes itself with.
const SERVER: &str = "/.well-known/oauth-authorization-server/";

/// What is asked for: a document of an upstream, or the upstream itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted<'a> {
    Resource(&'a str),
    Server(&'a str),
    Client(&'a str),
    Upstream(&'a str),
}

impl<'a> Wanted<'a> {
    /// Reads a path.
    pub(super) fn of(path: &'a str) -> Self {
        let bare = |name: &'a str| name.trim_start_matches('/');
        if let Some(name) = path.strip_prefix(RESOURCE) {
            Self::Resource(name)
        } else if let Some(name) = path.strip_prefix(SERVER) {
            Self::Server(name)
        } else if let Some(name) = path.strip_suffix("/register") {
            Self::Client(bare(name))
        } else {
            Self::Upstream(bare(path))
        }
    }

    /// Returns the name of the upstream that this is about.
    pub(super) fn name(&self) -> &'a str {
        match self {
            Self::Resource(name)
            | Self::Server(name)
            | Self::Client(name)
            | Self::Upstream(name) => name,
        }
    }

    /// Returns the document, where it is one, of an upstream at an address that sends people to
    /// `place`.
    pub(super) fn document(&self, address: &str, place: &str) -> Option<(StatusCode, Value)> {
        let own = format!("{address}/authorize");
        Some(match self {
            Self::Resource(_) => {
                let document = json!({ "resource": address, "authorization_servers": [address] });
                (StatusCode::OK, document)
            }
            Self::Server(_) => {
                let document = json!({
                    "issuer": address,
                    "authorization_endpoint": if place == "/" { &own } else { place },
                    "token_endpoint": format!("{address}/token"),
                    "registration_endpoint": format!("{address}/register"),
                    "response_types_supported": ["code"],
                    "grant_types_supported": ["authorization_code"],
                    "code_challenge_methods_supported": ["S256"],
                    "token_endpoint_auth_methods_supported": ["none"],
                });
                (StatusCode::OK, document)
            }
            Self::Client(_) => (StatusCode::CREATED, json!({ "client_id": "agent" })),
            Self::Upstream(_) => return None,
        })
    }
}

/// Says where an upstream describes itself, in words of HTTP.
pub(super) fn challenge(origin: &str, name: &str) -> String {
    format!("Bearer resource_metadata=\"{origin}{RESOURCE}{name}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_says_which_document_of_whom_is_wanted() {
        let check = |path: &str, expect: Wanted<'_>| assert_eq!(Wanted::of(path), expect);
        check(
            "/.well-known/oauth-protected-resource/a",
            Wanted::Resource("a"),
        );
        check(
            "/.well-known/oauth-authorization-server/a",
            Wanted::Server("a"),
        );
        check("/a/register", Wanted::Client("a"));
        check("/a", Wanted::Upstream("a"));
        let named = |place: &str| {
            let document = Wanted::Server("a").document("http://h/a", place).unwrap().1;
            document["authorization_endpoint"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(named("/"), "http://h/a/authorize");
        assert_eq!(named("file:///a"), "file:///a");
    }
}

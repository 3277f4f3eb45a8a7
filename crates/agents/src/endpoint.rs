//! What an agent is pointed at: mcpproxy itself, over HTTP or as a command.
//!
//! How an agent spells it is the agent's own file.

use std::path::Path;

use crate::imported::Transport;

/// The name of the one entry that replaces all others.
pub const ENTRY_NAME: &str = "mcpproxy";

/// A command and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program, best as a full path, since desktop agents start with a bare `PATH`.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
}

/// Where an agent finds mcpproxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A running daemon, for agents that speak Streamable HTTP; others get the bridge.
    Http {
        /// The address of the MCP endpoint.
        url: String,
        /// The command for agents that can only start one.
        bridge: Launch,
    },
    /// A command, for every agent.
    Stdio(Launch),
}

impl Endpoint {
    /// Returns the address, where agents that can use one shall.
    pub(crate) fn url(&self) -> Option<&str> {
        match self {
            Self::Http { url, .. } => Some(url),
            Self::Stdio(_) => None,
        }
    }

    /// Returns the command.
    pub(crate) fn launch(&self) -> &Launch {
        match self {
            Self::Http { bridge, .. } => bridge,
            Self::Stdio(launch) => launch,
        }
    }

    /// Says whether an entry already leads here, by whichever path of the same origin.
    pub(crate) fn reached_by(&self, transport: &Transport) -> bool {
        match transport {
            Transport::Stdio { command, args, .. } => {
                let launch = self.launch();
                is_bridge(command, args) || (*command == launch.command && *args == launch.args)
            }
            Transport::Http { url, .. } | Transport::Sse { url, .. } => {
                self.url().is_some_and(|own| origin(own) == origin(url))
            }
        }
    }
}

/// Says whether a command is mcpproxy's own bridge.
pub(crate) fn is_bridge(command: &str, args: &[String]) -> bool {
    let name = command.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = Path::new(name).file_stem().and_then(|stem| stem.to_str());
    name == Some(ENTRY_NAME) && args.iter().any(|arg| arg == "stdio")
}

/// Returns scheme and authority, with the names of this machine made one.
fn origin(url: &str) -> (String, String) {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let authority = rest
        .split(['/', '?', '#'])
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let authority = match authority.rsplit_once(':') {
        Some(("localhost" | "[::1]", port)) => format!("127.0.0.1:{port}"),
        _ => authority,
    };
    (scheme.to_ascii_lowercase(), authority)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reached_by_any_path_of_the_same_origin() {
        let bridge = Launch {
            command: "/opt/mcpproxy".into(),
            args: vec!["stdio".into()],
        };
        let endpoint = Endpoint::Http {
            url: "http://127.0.0.1:8080/mcp".into(),
            bridge,
        };
        let http = |url: &str| Transport::Http {
            url: url.into(),
            headers: [].into(),
        };
        let stdio = |command: &str, arg: &str| Transport::Stdio {
            command: command.into(),
            args: vec![arg.into()],
            env: [].into(),
            cwd: None,
        };
        let check = |transport: Transport, expect: bool| {
            assert_eq!(endpoint.reached_by(&transport), expect, "{transport:?}");
        };
        check(http("http://127.0.0.1:8080/mcp"), true);
        check(http("http://localhost:8080/mcp/all"), true);
        check(http("HTTP://[::1]:8080"), true);
        check(http("http://127.0.0.1:9090/mcp"), false);
        check(http("https://127.0.0.1:8080/mcp"), false);
        check(http("https://api.example.com/mcp"), false);
        check(stdio("mcpproxy", "stdio"), true);
        check(stdio(r"C:\bin\mcpproxy.exe", "stdio"), true);
        check(stdio("/opt/mcpproxy", "serve"), false);
        check(stdio("npx", "stdio"), false);
    }
}

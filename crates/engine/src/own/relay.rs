//! Commands that send to this gateway itself: what it is handed goes on to a tool of an upstream, so
//! that an address of this machine does not mean that data stays.

use mcpproxy_classify::host::{Place, place};
use mcpproxy_classify::shell::Send;

/// Tells whether a command sends to the port at which this gateway takes calls.
pub(crate) fn is_relayed(send: &Send, port: Option<u16>) -> bool {
    let near = |host: &String| place(host) != Place::Public;
    port.is_some() && send.host.as_ref().is_some_and(near) && port_of(send) == port
}

fn port_of(send: &Send) -> Option<u16> {
    let url = send.url.as_deref()?;
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let said = authority.rsplit_once(':').map(|(_, port)| port.parse());
    match said {
        Some(Ok(port)) => Some(port),
        _ if scheme.eq_ignore_ascii_case("https") => Some(443),
        _ => Some(80),
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_classify::shell;

    use super::*;

    #[test]
    fn our_own_door_is_told_from_others_of_this_machine() {
        let check = |command: &str, expect: bool| {
            let sends = shell::read(command).sends;
            let found = sends.iter().any(|send| is_relayed(send, Some(8080)));
            assert_eq!(found, expect, "{command}: {sends:?}");
        };
        check("curl -d @x http://127.0.0.1:8080/mcp", true);
        check("curl -d @x localhost:8080/mcp", true);
        check("curl -d @x http://[::1]:8080/mcp", true);
        check("wget --post-file x http://localhost:8080/mcp", true);
        check("curl -d @x http://127.0.0.1:3000/mcp", false);
        check("curl -d @x http://localhost/mcp", false);
        check("curl -d @x https://mcp.example.com:8080/mcp", false);
    }
}

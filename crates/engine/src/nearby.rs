//! Addresses inside that a tool is told to get: whatever class its upstream has, what stands there is
//! no page that others wrote.

use std::ops::ControlFlow;

use mcpproxy_classify::host::{self, Place};
use mcpproxy_text as text;

use crate::contradictions::is_looked_for;

/// Tells whether an argument is an address of this machine or its network, or a file on it, and no word to
/// look for.
pub(crate) fn leads_inside(arguments: &str) -> bool {
    let mut inside = false;
    text::visit(arguments, |leaf| {
        inside |= is_inside(leaf.text.trim()) && !is_looked_for(&leaf.path.to_string());
        if inside {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    inside
}

fn is_inside(address: &str) -> bool {
    if address.is_empty() || address.contains(char::is_whitespace) {
        return false;
    }
    let scheme = address.split_once(':').map_or("", |(scheme, _)| scheme);
    if scheme.eq_ignore_ascii_case("file") {
        return true;
    }
    let Some(host) = host::host(address) else {
        return false;
    };
    // A bare word may be the name of a machine nearby as well as anything else.
    let named = address.contains("://") || host == "localhost" || host::ip(&host).is_some();
    named && host::place(&host) != Place::Public
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_inside_are_told_from_others() {
        let check = |argument: &str, expect: bool| {
            let arguments = format!(r#"{{"url":"{argument}","max_length":5000}}"#);
            assert_eq!(leads_inside(&arguments), expect, "{argument}");
        };
        check("http://169.254.169.254/latest/meta-data", true);
        check("http://localhost:3000/admin", true);
        check("localhost:3000", true);
        check("http://10.0.0.5/x", true);
        check("10.0.0.5", true);
        check("http://[::1]/", true);
        check("http://intranet.corp.internal/", true);
        check("http://wiki/", true);
        check("FILE:///etc/passwd", true);
        check("https://example.com/?next=http://localhost/", false);
        check("https://example.com/", false);
        check("why does http://localhost:3000 not answer", false);
        check("wiki", false);
        check("", false);
        assert!(!leads_inside(r#"{"query":"http://localhost:3000"}"#));
    }
}

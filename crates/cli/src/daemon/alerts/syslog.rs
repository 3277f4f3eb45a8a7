//! Alerts as syslog messages (RFC 5424), over UDP or the socket of the machine's own log.

use std::io;

use serde_json::Value;
use tokio::net::{UdpSocket, UnixDatagram};

/// The facility of security messages.
const FACILITY: u8 = 10;
/// The longest message: larger ones get lost on the way.
const LONGEST: usize = 8 * 1024;

/// Sends an alert.
pub(super) async fn send(place: &str, alert: &Value) -> io::Result<()> {
    let message = message(alert);
    if let Some(path) = place.strip_prefix("unix://") {
        let socket = UnixDatagram::unbound()?;
        socket.send_to(message.as_bytes(), path).await?;
        return Ok(());
    }
    let address = place.strip_prefix("udp://").unwrap_or(place);
    let found = tokio::net::lookup_host(address).await?.next();
    let to = found.ok_or_else(|| io::Error::other("the host is not known"))?;
    let from = if to.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" };
    let socket = UdpSocket::bind(from).await?;
    socket.send_to(message.as_bytes(), to).await?;
    Ok(())
}

/// The message: what it is about as structured data, and the alert as text.
fn message(alert: &Value) -> String {
    let text = |name: &str| alert.get(name).and_then(Value::as_str).unwrap_or_default();
    let severity = match text("severity") {
        "critical" => 2,
        "high" => 3,
        "low" => 5,
        "info" => 6,
        _ => 4,
    };
    let priority = FACILITY * 8 + severity;
    let kind = text("type");
    let (time, process) = (text("timestamp"), std::process::id());
    let data = format!(
        "[alert@32473 type=\"{kind}\" severity=\"{}\"]",
        text("severity")
    );
    let head = format!("<{priority}>1 {time} - mcpproxy {process} {kind} {data} ");
    let mut message = head + &alert.to_string();
    let mut end = LONGEST.min(message.len());
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    message.truncate(end);
    message
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_has_the_parts_of_the_standard() {
        let alert = json!({
            "type": "flow.alert", "severity": "critical", "timestamp": "2026-01-02T03:04:05.678Z",
        });
        let message = message(&alert);
        let process = std::process::id();
        let head = format!(
            "<82>1 2026-01-02T03:04:05.678Z - mcpproxy {process} flow.alert \
             [alert@32473 type=\"flow.alert\" severity=\"critical\"] {{"
        );
        assert!(message.starts_with(&head), "{message}");
        for (severity, priority) in [("high", 83), ("medium", 84), ("low", 85), ("info", 86)] {
            let message = super::message(&json!({ "severity": severity }));
            assert!(message.starts_with(&format!("<{priority}>1 ")), "{message}");
        }
        let long = json!({ "type": "é".repeat(LONGEST) });
        assert!(super::message(&long).len() <= LONGEST);
    }
}

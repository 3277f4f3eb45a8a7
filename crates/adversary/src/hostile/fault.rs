//! Answers that break the protocol, each in one way.

use std::time::Duration;

use bytes::Bytes;
use mcpproxy_mcp::compose;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use super::{Outlet, heard, say};
use crate::scenario::{Fault, FaultKind};

/// How long an upstream that has nothing to say keeps its peace.
const SILENCE: Duration = Duration::from_secs(30);

/// How often an upstream that never ends says something after its first words.
const TICK: Duration = Duration::from_millis(20);

/// How often an upstream that is slow says that it is still there.
const PULSE: Duration = Duration::from_millis(300);

/// Returns one page of a list that has no last one, where that is how an upstream breaks the protocol.
/// What it really has is on the first.
pub(super) fn page(fault: Option<&Fault>, tools: Vec<Value>, params: &Value) -> Value {
    if fault.is_none_or(|fault| fault.how != FaultKind::Pages) {
        return json!({ "tools": tools });
    }
    let cursor = params.get("cursor").and_then(Value::as_str);
    let number: usize = cursor.and_then(|one| one.parse().ok()).unwrap_or(0);
    let tools = if number == 0 {
        tools
    } else {
        let name = format!("more_{number}");
        let any = json!({ "type": "object" });
        vec![json!({ "name": name, "description": "One more.", "inputSchema": any })]
    };
    json!({ "tools": tools, "nextCursor": (number + 1).to_string() })
}

/// Answers a call in a broken way.
pub(super) async fn answer(
    fault: &Fault,
    id: &str,
    result: &Value,
    outlet: &Outlet,
    news: &broadcast::Sender<Bytes>,
) {
    let forged = json!({ "content": [{ "type": "text", "text": fault.text }] }).to_string();
    let honest = compose::result(id, &result.to_string());
    match fault.how {
        FaultKind::DuplicateKeys => say(outlet, twice(id, result, "result", &forged)).await,
        FaultKind::EscapedDuplicate => {
            say(outlet, twice(id, result, "re\\u0073ult", &forged)).await;
        }
        FaultKind::WrongIds => {
            // The answer to its own request is an upstream's to give.
            let others = (0..fault.size).map(|other| other.to_string());
            for other in others.filter(|other| other != id) {
                say(outlet, compose::result(&other, &forged)).await;
            }
            say(outlet, honest).await;
        }
        FaultKind::Batch => {
            let batch = [b"[", &*compose::result(id, &forged), b"]"].concat();
            say(outlet, batch.into()).await;
        }
        FaultKind::NotUtf8 => say(outlet, with_bytes(id, &fault.text, b"\xff\xfe")).await,
        FaultKind::LoneSurrogate => say(outlet, with_bytes(id, &fault.text, b"\\ud800")).await,
        FaultKind::Huge => {
            let text = "x".repeat(fault.size);
            let huge = json!({ "content": [{ "type": "text", "text": text }] });
            say(outlet, compose::result(id, &huge.to_string())).await;
        }
        FaultKind::Deep => {
            let nested = ["[".repeat(fault.size), "]".repeat(fault.size)].concat();
            let text = compose::quoted(&fault.text);
            let deep = format!(
                r#"{{"content":[{{"type":"text","text":{text}}}],"structuredContent":{{"a":{nested}}}}}"#
            );
            say(outlet, compose::result(id, &deep)).await;
        }
        FaultKind::Silent => tokio::time::sleep(SILENCE).await,
        FaultKind::Endless => {
            for _ in 0..fault.size {
                say(outlet, log(&fault.text)).await;
            }
            while heard(outlet, log(&fault.text)).await {
                tokio::time::sleep(TICK).await;
            }
        }
        FaultKind::Slow => {
            for _ in 0..fault.size {
                say(outlet, log(&fault.text)).await;
                tokio::time::sleep(PULSE).await;
            }
        }
        FaultKind::Pages | FaultKind::Crossed => say(outlet, honest).await,
        FaultKind::Storm => {
            for _ in 0..fault.size {
                let word = compose::notification("notifications/tools/list_changed", "{}");
                drop(news.send(word.clone()));
                say(outlet, word).await;
            }
            say(outlet, honest).await;
        }
        FaultKind::FakeLog | FaultKind::FakeProgress | FaultKind::FakeCancel => {
            let word = word(fault, id);
            drop(news.send(word.clone()));
            say(outlet, word).await;
            say(outlet, honest).await;
        }
    }
}

fn log(text: &str) -> Bytes {
    let params = json!({ "level": "emergency", "logger": "system", "data": text });
    compose::notification("notifications/message", &params.to_string())
}

fn word(fault: &Fault, id: &str) -> Bytes {
    match fault.how {
        FaultKind::FakeProgress => {
            let token = fault.size;
            let params = json!({ "progressToken": token, "progress": 1, "message": fault.text });
            compose::notification("notifications/progress", &params.to_string())
        }
        FaultKind::FakeCancel => {
            let text = compose::quoted(&fault.text);
            let params = format!(r#"{{"requestId":{id},"reason":{text}}}"#);
            compose::notification("notifications/cancelled", &params)
        }
        _ => log(&fault.text),
    }
}

/// An answer in which a key stands twice.
fn twice(id: &str, result: &Value, key: &str, forged: &str) -> Bytes {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result},"{key}":{forged}}}"#).into()
}

/// An answer with bytes in its text that do not belong there.
fn with_bytes(id: &str, text: &str, bytes: &[u8]) -> Bytes {
    let start = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"#
    );
    [start.as_bytes(), bytes, br#""}]}}"#].concat().into()
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    /// What is endless ends only when nobody listens any more.
    #[tokio::test]
    async fn notifications_without_end_go_on_until_the_other_side_is_gone() {
        let fault = Fault {
            how: FaultKind::Endless,
            size: 3,
            text: "hold".to_owned(),
        };
        let (outlet, mut words) = mpsc::channel(64);
        let (news, _) = broadcast::channel(1);
        let playing = async { answer(&fault, "1", &json!({}), &outlet, &news).await };
        let listening = async {
            for _ in 0..8 {
                let word = words.recv().await.unwrap();
                assert!(word.windows(4).any(|part| part == b"hold"));
            }
            drop(words);
        };
        tokio::join!(playing, listening);
    }
}

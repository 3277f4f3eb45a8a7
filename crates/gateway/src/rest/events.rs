//! What happens, as it happens: server-sent events at `/events`.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State as AxumState;
use axum::response::sse::{Event as Sent, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::poll_fn;
use mcpproxy_core::Clock;
use mcpproxy_engine::Event;
use serde_json::{Value, json};
use tokio::sync::{broadcast, mpsc};

use super::{Shared, Who, only_owner};
use crate::gateway::Gateway;

/// How long a listener waits before it connects again.
const RETRY: Duration = Duration::from_secs(3);
/// How often a quiet channel shows that it is open.
const PING: Duration = Duration::from_secs(30);
/// Events that may wait for one listener; after that it misses the oldest and is told so.
const WAITING: usize = 64;

/// Listens.
pub(super) async fn listen(AxumState(gateway): Shared, who: Who) -> Response {
    owner!(who);
    let events = gateway.engine.events().listen();
    let (sender, mut receiver) = mpsc::channel(WAITING);
    tokio::spawn(tell(gateway, events, sender));
    let ping = Sent::default().event("ping").data("{}");
    let stream = poll_fn(move |context| {
        let event = receiver.poll_recv(context);
        event.map(|event| event.map(Ok::<_, Infallible>))
    });
    Sse::new(stream)
        .keep_alive(KeepAlive::new().interval(PING).event(ping))
        .into_response()
}

/// Passes events on for as long as somebody listens and the gateway runs.
async fn tell(
    gateway: Arc<Gateway>,
    mut events: broadcast::Receiver<Arc<Event>>,
    sender: mpsc::Sender<Sent>,
) {
    let clock = Arc::clone(&gateway.clock);
    let hello = json!({ "version": env!("CARGO_PKG_VERSION"), "since": gateway.since.rfc3339() });
    // The delay comes first: a listener that loses the stream within its first event knows it.
    let hello = fill(Sent::default().retry(RETRY), "status", hello, &*clock);
    if sender.send(hello).await.is_err() {
        return;
    }
    loop {
        let event = tokio::select! {
            event = events.recv() => event,
            () = sender.closed() => return,
            () = gateway.stopped() => return,
        };
        let event = match event {
            Ok(event) => {
                let payload = serde_json::to_value(&*event).unwrap_or_default();
                sent(event.name(), payload, &*clock)
            }
            Err(broadcast::error::RecvError::Lagged(missed)) => {
                sent("missed", json!({ "events": missed }), &*clock)
            }
            Err(broadcast::error::RecvError::Closed) => return,
        };
        if sender.send(event).await.is_err() {
            return;
        }
    }
}

fn sent(name: &str, payload: Value, clock: &dyn Clock) -> Sent {
    fill(Sent::default(), name, payload, clock)
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "a payload is made to be sent"
)]
fn fill(event: Sent, name: &str, payload: Value, clock: &dyn Clock) -> Sent {
    let data = json!({ "payload": payload, "timestamp": clock.wall().rfc3339() });
    event.event(name).data(data.to_string())
}

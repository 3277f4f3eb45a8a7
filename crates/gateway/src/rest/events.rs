//! What happens, as it happens: server-sent events at `/events`.
//!
//! A listener that cannot keep up is told so and let go; it comes back with the number of the last
//! event it got and hears what is still kept of the rest.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State as AxumState;
use axum::response::sse::{Event as Sent, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::unfold;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use mcpproxy_core::{Clock, Principal, Wall};
use mcpproxy_engine::Event;
use mcpproxy_engine::events::{Listening, Numbered};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{broadcast, mpsc};
use tokio::time::timeout;

use super::taken::Asked;
use super::{Shared, Who, failed};
use crate::gateway::Gateway;

/// How long a listener waits before it connects again.
const RETRY: Duration = Duration::from_secs(3);
/// How often a quiet channel shows that it is open.
const PING: Duration = Duration::from_secs(30);
/// Events that may wait for one listener.
const WAITING: usize = 64;
/// The number of the last event that a listener got.
const LAST: HeaderName = HeaderName::from_static("last-event-id");

/// What a listener wants to hear of.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Wanted {
    types: Option<String>,
}

/// Which events one listener hears.
#[derive(Debug, Default)]
struct Filter(Option<Vec<String>>);

impl Filter {
    /// Reads names with commas between; a name that ends in `.*` stands for all that begin so.
    fn read(types: Option<&str>) -> Result<Self, String> {
        let Some(types) = types else {
            return Ok(Self(None));
        };
        let names: Vec<_> = types
            .split(',')
            .map(|name| name.trim_matches(' ').to_owned())
            .collect();
        let known = |name: &String| Event::NAMES.iter().any(|known| covers(name, known));
        match names.iter().find(|name| !known(name)) {
            Some(odd) => Err(format!("there is no event `{odd}`")),
            None => Ok(Self(Some(names))),
        }
    }

    fn wants(&self, event: &Event) -> bool {
        // That something is not known concerns everybody.
        if matches!(event, Event::Missed(_)) {
            return true;
        }
        let names = self.0.as_ref();
        names.is_none_or(|names| names.iter().any(|name| covers(name, event.name())))
    }
}

/// Returns an expression for the types that a listener may name.
pub(super) fn types() -> String {
    let starts = |name: &'static str| {
        let dots = name.match_indices('.');
        dots.filter_map(move |(at, _)| name.get(..at))
    };
    let kinds: BTreeSet<_> = Event::NAMES.into_iter().flat_map(starts).collect();
    let kinds = kinds.into_iter().map(|start| format!("{start}.*"));
    let names = Event::NAMES.iter().map(|name| (*name).to_owned());
    let all: Vec<_> = names.chain(kinds).collect();
    let escaped = all.join("|").replace('.', "\\.").replace('*', "\\*");
    super::activity::listed(&escaped)
}

fn covers(name: &str, event: &str) -> bool {
    match name.strip_suffix(".*") {
        Some(start) => event
            .strip_prefix(start)
            .is_some_and(|rest| rest.starts_with('.')),
        None => name == event,
    }
}

/// Listens.
pub(super) async fn listen(
    AxumState(gateway): Shared,
    who: Who,
    headers: HeaderMap,
    Asked(wanted): Asked<Wanted>,
) -> Response {
    let filter = match Filter::read(wanted.types.as_deref()) {
        Ok(filter) => filter,
        Err(message) => {
            let hint = format!("known are {}", Event::NAMES.join(", "));
            return failed(StatusCode::BAD_REQUEST, &message, Some(&hint));
        }
    };
    // What is no number of ours is one of another run: something was missed.
    let known = |last: &HeaderValue| number(last.to_str().ok()?);
    let last = headers
        .get(LAST)
        .map(|last| known(last).unwrap_or_default());
    let listening = gateway.engine.events().listen(last, gateway.clock.wall().0);
    gateway.watchers.came.notify_one();
    let (sender, receiver) = mpsc::channel(WAITING);
    let clock = Arc::clone(&gateway.clock);
    tokio::spawn(tell(gateway, who.0, listening, filter, sender));
    channel(receiver, clock)
}

/// The answer that carries events as they come, and a ping while none does.
fn channel(receiver: mpsc::Receiver<Sent>, clock: Arc<dyn Clock>) -> Response {
    let stream = unfold((receiver, clock), async |(mut receiver, clock)| {
        let event = match timeout(PING, receiver.recv()).await {
            Ok(event) => event?,
            Err(_quiet) => fill(Sent::default(), "ping", &json!({}), clock.wall()),
        };
        Some((Ok::<_, Infallible>(event), (receiver, clock)))
    });
    Sse::new(stream).into_response()
}

fn number(last: &str) -> Option<(u64, u64)> {
    let (run, number) = last.split_once('-')?;
    Some((u64::from_str_radix(run, 16).ok()?, number.parse().ok()?))
}

/// Passes events on for as long as somebody listens, may listen, and the gateway runs.
async fn tell(
    gateway: Arc<Gateway>,
    who: Principal,
    listening: Listening,
    filter: Filter,
    sender: mpsc::Sender<Sent>,
) {
    let clock = Arc::clone(&gateway.clock);
    let hello = json!({ "version": env!("CARGO_PKG_VERSION"), "since": gateway.since.rfc3339() });
    // The delay comes first: a listener that loses the stream within its first event knows it.
    let hello = fill(Sent::default().retry(RETRY), "status", &hello, clock.wall());
    let mut first = vec![hello];
    if listening.gap {
        let gap = json!({ "events": null, "reason": "they are not kept any more" });
        first.push(fill(Sent::default(), "missed", &gap, clock.wall()));
    }
    let before = listening
        .before
        .iter()
        .filter(|one| filter.wants(&one.event));
    first.extend(before.map(|one| numbered(one)));
    for event in first {
        if sender.send(event).await.is_err() {
            return;
        }
    }
    let mut events = listening.from_now;
    loop {
        let event = tokio::select! {
            event = events.recv() => event,
            () = sender.closed() => return,
            () = gateway.stopped() => return,
            () = gateway.until_invalid(&who) => return,
        };
        match event {
            Ok(event) if !filter.wants(&event.event) => {}
            Ok(event) => {
                if sender.send(numbered(&event)).await.is_err() {
                    return;
                }
            }
            Err(broadcast::error::RecvError::Lagged(missed)) => {
                let payload = json!({ "events": missed, "reason": "they were not read in time" });
                let notice = fill(Sent::default(), "missed", &payload, clock.wall());
                // Who does not take even this is gone with the stream.
                drop(sender.send_timeout(notice, RETRY).await);
                return;
            }
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}

fn numbered(event: &Numbered) -> Sent {
    let payload = serde_json::to_value(&event.event).unwrap_or_default();
    let id = format!("{:x}-{}", event.run, event.number);
    // When it happened: who comes back is told of it later.
    fill(
        Sent::default().id(id),
        event.event.name(),
        &payload,
        event.at,
    )
}

fn fill(event: Sent, name: &str, payload: &Value, at: Wall) -> Sent {
    let data = json!({ "payload": payload, "timestamp": at.rfc3339() });
    event.event(name).data(data.to_string())
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;
    use mcpproxy_testkit::FixedClock;

    use super::*;

    #[test]
    fn a_filter_takes_names_and_kinds() {
        let check = |types: &str, expect: &[&str]| {
            let filter = Filter::read(Some(types)).unwrap();
            let names = filter.0.unwrap();
            let wanted = Event::NAMES.into_iter().filter(|known| {
                let mut names = names.iter();
                names.any(|name| covers(name, known))
            });
            assert_eq!(wanted.collect::<Vec<_>>(), expect, "{types}");
        };
        check("flow.alert", &["flow.alert"]);
        check("approval.*", &["approval.requested", "approval.resolved"]);
        check(
            "flow.alert, servers.changed",
            &["flow.alert", "servers.changed"],
        );
        let pattern = regex::Regex::new(&types()).unwrap();
        let taken = [
            "flow.alert",
            "flow.*",
            " flow.alert , approval.*",
            "flow.alert,flow.alert",
        ];
        let refused = [
            "",
            "*",
            "flow",
            "flow*",
            ".*",
            "nope",
            "flow.alert,",
            "flow.alert,\u{a0}flow.*",
        ];
        for (text, is_taken) in taken
            .map(|one| (one, true))
            .into_iter()
            .chain(refused.map(|one| (one, false)))
        {
            assert_eq!(Filter::read(Some(text)).is_ok(), is_taken, "{text:?}");
            assert_eq!(pattern.is_match(text), is_taken, "{text:?}");
        }
        for name in Event::NAMES {
            assert!(pattern.is_match(name), "{name}");
        }
        assert!(Filter::read(Some("flow")).is_err());
        assert!(Filter::read(Some("flow*")).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_quiet_channel_pings_every_thirty_seconds() {
        let (sender, receiver) = mpsc::channel(WAITING);
        let clock = Arc::new(FixedClock::default());
        let channel = channel(receiver, Arc::clone(&clock) as _);
        let mut body = channel.into_body().into_data_stream();
        let begun = tokio::time::Instant::now();
        for times in 1..=3 {
            let piece = body.next().await.unwrap().unwrap();
            // Regression for #8: it has what every event has.
            let at = clock.wall().rfc3339();
            let data = format!(r#"{{"payload":{{}},"timestamp":"{at}"}}"#);
            assert_eq!(piece, format!("event: ping\ndata: {data}\n\n"));
            clock.advance(Duration::from_secs(30));
            assert_eq!(begun.elapsed(), times * Duration::from_secs(30));
        }
        drop(sender);
        assert!(body.next().await.is_none());
    }

    #[test]
    fn a_number_is_read_as_it_is_written() {
        assert_eq!(number("ff-12"), Some((255, 12)));
        for odd in ["", "12", "-", "x-1", "1-x"] {
            assert_eq!(number(odd), None, "{odd}");
        }
    }
}

//! Subscriptions at modern upstreams that outlive what carries them: a request that stays open is
//! sent again when it ends without having been taken back, as after a restart of the upstream.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_mcp::era::Era;
use mcpproxy_mcp::{Error, Frame, FrameKind};
use mcpproxy_upstream::{FromUpstream, Instance};
use tokio::sync::mpsc;

/// The notification with which an upstream confirms a subscription.
pub(crate) const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// Messages of an upstream that may wait here.
const EVENTS: usize = 64;
/// How long a subscription that ended is left alone before it is opened again: the shortest and the
/// longest time.
const PAUSE: (Duration, Duration) = (Duration::from_millis(250), Duration::from_mins(1));

/// Where a subscription can be opened again.
pub(crate) enum Again {
    /// In this conversation.
    Here(Arc<Instance>),
    /// Nowhere at the moment.
    Later,
    /// Nowhere ever again: nobody wants it, or the upstream has been removed.
    Never,
}

/// Keeps a subscription with these parameters open, and says what is heard on it. It ends when the
/// upstream refuses, or there is no place for it any more.
pub(crate) async fn listen<F: Future<Output = Again>>(
    mut instance: Arc<Instance>,
    params: &str,
    mut heard: impl FnMut(&Frame),
    again: impl Fn() -> F,
) {
    let mut pause = PAUSE.0;
    loop {
        let mut confirmed = false;
        let (sender, mut events) = mpsc::channel(EVENTS);
        let told = async {
            while let Some(event) = events.recv().await {
                if let FromUpstream::Message(frame) = event {
                    confirmed |= &**frame.method() == ACKNOWLEDGED;
                    heard(&frame);
                }
            }
        };
        let asked = instance.own_call("subscriptions/listen", params, sender);
        let ((), answer) = tokio::join!(told, asked);
        if is_refused(&answer) {
            let upstream = instance.upstream();
            return tracing::debug!("`{upstream}` does not take a subscription");
        }
        if confirmed {
            pause = PAUSE.0;
        }
        instance = loop {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE.1);
            match again().await {
                // It speaks another era now: what is wanted of it would have to be judged anew.
                Again::Here(next) if next.era() == Era::Legacy => return,
                Again::Here(next) => break next,
                Again::Later => {}
                Again::Never => return,
            }
        };
    }
}

/// An answer that is an error will be one again; an end, or no answer, may be due to a restart.
fn is_refused(answer: &Result<Frame, Error>) -> bool {
    matches!(answer, Ok(frame) if frame.kind() == FrameKind::Error)
}

//! What every test needs: a gateway as a process, upstreams with a memory, and small clients of
//! both eras that show the bytes.
//!
//! Nothing here waits for a fixed time: whatever is waited for is looked for until a deadline.

mod bridge;
mod daemon;
mod hook;
mod legacy;
mod lived;
mod modern;
mod scene;
mod upstreams;
mod wire;

use std::future::Future;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

pub(crate) use self::bridge::{Bridge, Wiring};
pub(crate) use self::daemon::{Gateway, Home, PASSWORD, refuses_without_password};
pub(crate) use self::hook::{Heard, Said, hook};
pub(crate) use self::legacy::Legacy;
pub(crate) use self::lived::Lived;
pub(crate) use self::modern::Modern;
pub(crate) use self::scene::{KEY, Scene, WORDS, arrived, sides};
pub(crate) use self::upstreams::{Over, Upstream, played, program, scripted};
pub(crate) use self::wire::{Http, Reply, headers, speak};

/// How long anything may take before a test gives up on it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Waits for something that must come, and fails with its name if it does not.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let done = timeout(PATIENCE, future).await;
    done.unwrap_or_else(|_| panic!("waited in vain for {what}"))
}

/// Looks again and again until `look` finds something, and fails with its name if it never does.
pub(crate) async fn until<T, F: Future<Output = Option<T>>>(
    what: &str,
    mut look: impl FnMut() -> F,
) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        sleep(Duration::from_millis(10)).await;
    }
}

/// The text of a tool's result.
pub(crate) fn text_of(result: &Value) -> &str {
    result["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text in {result}"))
}

/// The names in a list.
pub(crate) fn names_of(list: &Value) -> Vec<&str> {
    let entries = list.as_array().into_iter().flatten();
    entries.filter_map(|entry| entry["name"].as_str()).collect()
}

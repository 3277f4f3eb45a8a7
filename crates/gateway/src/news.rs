//! Word of upstreams that their lists changed, for one session: however often it comes, it is passed
//! on a few times a second, and the last of it always is.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use mcpproxy_core::UpstreamId;
use mcpproxy_mcp::Frame;
use tokio::time::Instant;

use crate::session::lock;

/// The least time between two words of one upstream about one of its lists.
const PAUSE: Duration = Duration::from_millis(250);

/// The lists of which upstreams tell that they changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum List {
    Tools,
    Prompts,
    Resources,
}

impl List {
    /// Reads which list a notification is about; nothing if it is about none.
    pub(crate) fn of(frame: &Frame) -> Option<Self> {
        Some(match frame.method().as_ref() {
            "notifications/tools/list_changed" => Self::Tools,
            "notifications/prompts/list_changed" => Self::Prompts,
            "notifications/resources/list_changed" => Self::Resources,
            _ => return None,
        })
    }
}

/// What is done with word that a list changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// It is passed on.
    Now,
    /// It is passed on then, together with all that comes until then.
    At(Instant),
    /// It will be passed on with one before it.
    Joined,
}

/// When a session was told of each list, and whether it is about to be.
#[derive(Debug, Default)]
pub(crate) struct News(Mutex<HashMap<(UpstreamId, List), Last>>);

#[derive(Clone, Copy, Debug)]
struct Last {
    told: Instant,
    waits: bool,
}

impl News {
    /// Takes word that a list changed.
    pub(crate) fn heard(&self, upstream: &UpstreamId, list: List, now: Instant) -> When {
        let mut lists = lock(&self.0);
        let new = Last {
            told: now,
            waits: false,
        };
        match lists.get_mut(&(upstream.clone(), list)) {
            Some(before) if before.waits => When::Joined,
            Some(before) if now < before.told + PAUSE => {
                before.waits = true;
                When::At(before.told + PAUSE)
            }
            Some(before) => {
                *before = new;
                When::Now
            }
            None => {
                lists.insert((upstream.clone(), list), new);
                When::Now
            }
        }
    }

    /// Notes that what waited is being passed on: what comes from now on is news again.
    pub(crate) fn told(&self, upstream: &UpstreamId, list: List, now: Instant) {
        let told = Last {
            told: now,
            waits: false,
        };
        lock(&self.0).insert((upstream.clone(), list), told);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn word_of_changes_comes_at_once_and_then_seldom_and_never_gets_lost() {
        let (news, start) = (News::default(), Instant::now());
        let check = |upstream: &str, list, millis: u64, expect: When| {
            let now = start + Duration::from_millis(millis);
            let found = news.heard(&UpstreamId::new(upstream), list, now);
            assert_eq!(found, expect, "{upstream} {list:?} {millis}");
        };
        check("a", List::Tools, 0, When::Now);
        check("a", List::Prompts, 1, When::Now);
        check("b", List::Tools, 1, When::Now);
        check("a", List::Tools, 1, When::At(start + PAUSE));
        check("a", List::Tools, 2, When::Joined);
        check("a", List::Tools, 249, When::Joined);
        news.told(&UpstreamId::new("a"), List::Tools, start + PAUSE);
        check("a", List::Tools, 251, When::At(start + PAUSE + PAUSE));
        check("b", List::Tools, 251, When::Now);
    }
}

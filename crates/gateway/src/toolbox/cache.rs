//! Answers that were cut, kept for a while so that they can be read on.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use mcpproxy_core::{Id128, Tick, ToolRef};
use serde_json::{Value, json};

use crate::session::lock;

/// Answers kept at most; the oldest go first.
const ENTRIES: usize = 64;
/// Bytes kept at most; the oldest answers go first.
const BYTES: usize = 64 * 1024 * 1024;
/// How long an answer is kept.
const AGE: Duration = Duration::from_mins(10);

#[derive(Debug)]
struct Kept {
    key: String,
    owner: String,
    from: ToolRef,
    text: String,
    at: Tick,
}

/// Answers that were cut.
#[derive(Debug, Default)]
pub struct Cache(Mutex<VecDeque<Kept>>);

impl Cache {
    /// Keeps an answer for its owner and returns the key; one that is too large is not kept.
    pub fn keep(&self, owner: &str, from: ToolRef, text: String, at: Tick) -> Option<String> {
        if text.len() > BYTES {
            return None;
        }
        let random: [u8; 16] = mcpproxy_mcp::seal::random().ok()?;
        let key = Id128::from_bytes(random).to_string();
        let mut kept = lock(&self.0);
        kept.push_back(Kept {
            key: key.clone(),
            owner: owner.to_owned(),
            from,
            text,
            at,
        });
        let size = |kept: &VecDeque<Kept>| kept.iter().map(|one| one.text.len()).sum::<usize>();
        while kept.len() > ENTRIES || size(&kept) > BYTES {
            kept.pop_front();
        }
        Some(key)
    }

    /// Reads a part of what was kept for this owner, and says whose answer it is.
    pub fn read(
        &self,
        owner: &str,
        key: &str,
        offset: usize,
        limit: usize,
    ) -> Option<(ToolRef, Value)> {
        let kept = lock(&self.0);
        let one = kept
            .iter()
            .find(|one| one.key == key && one.owner == owner)?;
        let start = one.text.floor_char_boundary(offset);
        let rest = one.text.get(start..).unwrap_or_default();
        let shown = head(rest, limit);
        let next = start + shown.len();
        let more = (next < one.text.len()).then_some(next);
        let total = one.text.len();
        let page = json!({ "text": shown, "offset": start, "total": total, "next_offset": more });
        Some((one.from.clone(), page))
    }

    /// Forgets what is too old.
    pub fn sweep(&self, now: Tick) {
        lock(&self.0).retain(|one| one.at.until(now) < AGE);
    }
}

/// The first `limit` bytes, cut between characters.
pub(super) fn head(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use mcpproxy_core::{ToolName, UpstreamId};

    use super::*;

    #[test]
    fn pages_add_up_to_the_whole() {
        let cache = Cache::default();
        let from = ToolRef {
            upstream: UpstreamId::new("files"),
            tool: ToolName::new("read"),
        };
        let whole = "äöü".repeat(100);
        let key = cache
            .keep("owner", from.clone(), whole.clone(), Tick(Duration::ZERO))
            .unwrap();
        let (mut offset, mut read) = (0, String::new());
        loop {
            let (source, page) = cache.read("owner", &key, offset, 7).unwrap();
            assert_eq!(source, from);
            read.push_str(page["text"].as_str().unwrap());
            match page["next_offset"].as_u64() {
                Some(next) => offset = usize::try_from(next).unwrap(),
                None => break,
            }
        }
        assert_eq!(read, whole);
        assert!(cache.read("somebody else", &key, 0, 7).is_none());
        cache.sweep(Tick(AGE));
        assert!(cache.read("owner", &key, 0, 7).is_none());
    }
}

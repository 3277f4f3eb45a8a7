//! What calls on their way say, until it is known whether they left.
//!
//! A call that nobody settles is forgotten when its turn comes: then what it said is not known to
//! be the agent's own, which errs on the side of asking.

use std::collections::VecDeque;
use std::sync::Arc;

use mcpproxy_core::{CallId, DataOrigin};

use crate::reading::Reading;

/// Calls on their way, and windows of all of them together.
const CALLS: usize = 256;
const WINDOWS: usize = 1 << 16;

/// What a call says, and where to.
#[derive(Debug)]
pub(crate) struct Words {
    pub(crate) by: DataOrigin,
    pub(crate) to: Arc<str>,
    pub(crate) said: Reading,
}

/// What the calls of a scope that are on their way say.
#[derive(Debug, Default)]
pub(crate) struct Going {
    calls: VecDeque<Words>,
    windows: usize,
}

impl Going {
    pub(crate) fn bytes(&self) -> usize {
        self.windows * 8 + self.calls.len() * size_of::<Words>()
    }

    /// Keeps what a call says.
    pub(crate) fn start(&mut self, by: &DataOrigin, to: &Arc<str>, said: Option<Reading>) {
        let Some(said) = said else {
            return;
        };
        self.windows += said.grams.len();
        self.calls.push_back(Words {
            by: by.clone(),
            to: Arc::clone(to),
            said,
        });
        while (self.calls.len() > CALLS || self.windows > WINDOWS) && self.remove(0).is_some() {}
    }

    /// Hands out what a call said.
    pub(crate) fn end(&mut self, call: CallId) -> Option<Words> {
        let index = self.calls.iter().position(|words| words.by.call == call)?;
        self.remove(index)
    }

    fn remove(&mut self, index: usize) -> Option<Words> {
        let gone = self.calls.remove(index)?;
        self.windows -= gone.said.grams.len();
        Some(gone)
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_core::{Side, ToolName, UpstreamId, Wall};

    use super::*;

    #[test]
    fn the_oldest_are_forgotten_at_either_bound() {
        let check = |windows: usize, calls: u64, kept: usize| {
            let mut going = Going::default();
            let by = |number| DataOrigin {
                call: CallId::new(number, 0),
                upstream: UpstreamId::new("mail"),
                tool: ToolName::new("send"),
                at: Wall(0),
                side: Side::Outside,
            };
            for number in 0..calls {
                let said = Reading {
                    grams: vec![number; windows],
                    ..Reading::default()
                };
                going.start(&by(number), &"mail".into(), Some(said));
            }
            assert_eq!(going.calls.len(), kept);
            assert_eq!(going.windows, kept * windows);
            assert!(going.end(by(calls - 1).call).is_some());
            assert!(going.end(by(calls - 1).call).is_none());
            assert_eq!(
                going.end(by(0).call).is_some(),
                kept > 1 && kept as u64 == calls
            );
        };
        check(1, 10, 10);
        check(1, 1000, CALLS);
        check(1 << 14, 10, 4);
    }
}

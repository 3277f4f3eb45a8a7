//! What leaves is seen, in whatever form; what is not ours, or common, is not held against anyone.
//!
//! Here is the desk at which it is tried; what is tried stands in a file for each subject.

mod disguises;
mod fields;
mod findings;
mod pieces;
mod properties;
mod sessions;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Duration;

use mcpproxy_core::{
    CallId, DataOrigin, Destination, FlowEvidence, FlowScope, Id128, Label, Nature, Reduced,
    SessionBasis, SessionKey, Severity, Side, Sink, Taint, Tick, ToolName, UpstreamId, Wall,
    Weight,
};
use serde_json::json;

use super::{Checked, Leaving, Tracker};
use crate::content::{Content, Marked};
use crate::event::Fate;
use crate::roll::scramble;
use crate::settings::{FlowTracking, Scope};
use crate::whose::Whose;

const NOW: Tick = Tick(Duration::ZERO);
/// Made up: of the shape of a key, and of nobody.
const KEY: &str = "qz9-live-7Hx2mVb8TkwYpR4sNdLc6Gf1";
const PROSE: &str = "The Helsinki warehouse will close two weeks before midsummer, and the \
    eleven people of the night shift move to Tampere with a bonus of a fifth of their pay.";

fn session(id: u128) -> SessionKey {
    SessionKey {
        basis: SessionBasis::McpSession,
        id: Id128(id),
    }
}

fn whose(scope: u128, id: u128) -> Whose {
    Whose {
        scope: FlowScope(Id128(scope)),
        session: session(id),
    }
}

const ME: u128 = 1;

fn origin(number: u64, side: Side, upstream: &str) -> DataOrigin {
    DataOrigin {
        call: CallId::new(number, 0),
        upstream: UpstreamId::new(upstream),
        tool: ToolName::new("read"),
        at: Wall(number),
        side,
    }
}

fn label(nature: Nature) -> Label {
    Label {
        kind: "test_key".into(),
        word: "api_token",
        severity: Severity::Critical,
        validated: true,
        nature,
    }
}

fn to(name: &str, sink: Sink) -> Destination {
    Destination {
        sink,
        class: "external",
        name: name.into(),
    }
}

/// A tracker with a clock of calls.
struct Desk {
    tracker: Tracker,
    calls: std::cell::Cell<u64>,
}

impl Desk {
    fn new() -> Self {
        Self::with(&FlowTracking::default())
    }

    fn with(settings: &FlowTracking) -> Self {
        Self {
            tracker: Tracker::new(settings),
            calls: std::cell::Cell::new(1),
        }
    }

    fn call(&self) -> u64 {
        self.calls.set(self.calls.get() + 1);
        self.calls.get()
    }

    fn read(&self, json: &str) -> &Self {
        self.read_as(whose(ME, ME), Side::Inside, "files", json, &[])
    }

    fn read_secret(&self, json: &str, value: &str, nature: Nature) -> &Self {
        let marked = [Marked {
            value: Cow::Borrowed(value),
            label: label(nature),
            place: Cow::Borrowed(""),
        }];
        self.read_as(whose(ME, ME), Side::Inside, "files", json, &marked)
    }

    fn read_as(
        &self,
        whose: Whose,
        side: Side,
        upstream: &str,
        json: &str,
        marked: &[Marked<'_>],
    ) -> &Self {
        let content = Content { json, marked };
        let origin = origin(self.call(), side, upstream);
        self.tracker.record(whose, origin, &content, NOW);
        self
    }

    /// Sends to the outside, and it leaves.
    fn send(&self, json: &str) -> FlowEvidence {
        self.send_as(whose(ME, ME), "slack", json, true)
    }

    fn send_as(&self, whose: Whose, name: &str, json: &str, left: bool) -> FlowEvidence {
        let call = self.call();
        let checked = check(&self.tracker, whose, call, name, json, NOW);
        let call = CallId::new(call, 0);
        let fate = if left { Fate::Left } else { Fate::Stopped };
        self.tracker.settle(whose, call, fate, NOW);
        checked.evidence
    }

    /// Asks what is known of a session with respect to a place, by a call that does not leave.
    fn asked(&self, name: &str, now: Tick) -> Checked {
        let (me, call) = (whose(ME, ME), self.call());
        let checked = check(&self.tracker, me, call, name, "", now);
        self.tracker
            .settle(me, CallId::new(call, 0), Fate::Undone, now);
        checked
    }
}

fn check(tracker: &Tracker, whose: Whose, call: u64, name: &str, json: &str, now: Tick) -> Checked {
    let leaving = Leaving {
        by: &origin(call, Side::Outside, name),
        to: &to(name, Sink::Outside),
        content: &Content { json, marked: &[] },
        said: &(0..json.len()),
    };
    tracker.check(whose, leaving, Duration::from_mins(5), now)
}

fn weight(evidence: &FlowEvidence) -> Option<Weight> {
    evidence.heaviest().map(|one| one.weight)
}

fn env_file() -> String {
    let text = format!("# settings\nDEBUG=false\nAPI_KEY={KEY}\nREGION=eu-north-1\n");
    json!({"content": [{"type": "text", "text": text}]}).to_string()
}

fn message(text: &str) -> String {
    json!({"channel": "#general", "text": text}).to_string()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// Letters and digits by chance, the same for the same seed.
fn random(seed: u64, length: usize) -> String {
    let symbol = |at: u64| {
        let digit = scramble(scramble(seed).wrapping_add(at)) % 36;
        char::from_digit(u32::try_from(digit).unwrap(), 36).unwrap()
    };
    (0..length as u64).map(symbol).collect()
}

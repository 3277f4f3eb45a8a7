//! Counts and times of calls by tool: what explanations and histories have in common.

use std::collections::BTreeMap;

use crate::json::Json;
use crate::view::CallView;

/// The upper ends of the buckets in which durations are counted, in milliseconds.
const BUCKETS: [u64; 16] = [
    1,
    2,
    5,
    10,
    20,
    50,
    100,
    200,
    500,
    1_000,
    2_000,
    5_000,
    10_000,
    30_000,
    60_000,
    u64::MAX,
];

/// What the calls of one tool came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Answered.
    pub forwarded: u64,
    /// Refused.
    pub denied: u64,
    /// Answered with an error.
    pub errors: u64,
    /// Not answered.
    pub timeouts: u64,
    /// Forwarded although the policy said no.
    pub advisory: u64,
    /// The longest, in milliseconds.
    pub longest: u64,
    timed: [u64; BUCKETS.len()],
}

impl Tally {
    /// Counts a call.
    pub fn add(&mut self, call: &CallView) {
        match call.outcome.as_str() {
            "forwarded" => self.forwarded += 1,
            "denied" => self.denied += 1,
            "error" => self.errors += 1,
            _ => self.timeouts += 1,
        }
        self.advisory += u64::from(call.verdict == "denied" && call.outcome != "denied");
        let Some(duration) = call.duration else {
            return;
        };
        self.longest = self.longest.max(duration);
        let bucket = BUCKETS.iter().position(|end| duration <= *end);
        if let Some(count) = bucket.and_then(|bucket| self.timed.get_mut(bucket)) {
            *count += 1;
        }
    }

    /// Returns how many calls there were.
    pub fn calls(&self) -> u64 {
        self.forwarded + self.denied + self.errors + self.timeouts
    }

    /// Returns an upper bound of the duration that `percent` of the calls stay within.
    pub fn within(&self, percent: u64) -> Option<u64> {
        let all: u64 = self.timed.iter().sum();
        let want = (all * percent).div_ceil(100);
        let mut seen = 0;
        let reached = self.timed.iter().zip(BUCKETS).find(|(count, _)| {
            seen += **count;
            seen >= want
        });
        reached
            .filter(|_| all > 0)
            .map(|(_, end)| end.min(self.longest))
    }

    /// Returns the counts for machines.
    pub fn json(&self) -> Json {
        let bound = |bound: Option<u64>| bound.map_or(Json::Null, Json::Number);
        Json::Object(vec![
            ("calls", Json::Number(self.calls())),
            ("forwarded", Json::Number(self.forwarded)),
            ("denied", Json::Number(self.denied)),
            ("errors", Json::Number(self.errors)),
            ("timeouts", Json::Number(self.timeouts)),
            ("advisory_denials", Json::Number(self.advisory)),
            ("p50_ms_at_most", bound(self.within(50))),
            ("p95_ms_at_most", bound(self.within(95))),
            ("longest_ms", Json::Number(self.longest)),
        ])
    }

    /// Returns the counts for people.
    pub fn text(&self) -> String {
        let mut parts = vec![format!("{} calls", self.calls())];
        let mut part = |count: u64, what: &str| {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        };
        part(self.denied, "denied");
        part(self.errors, "failed");
        part(self.timeouts, "unanswered");
        part(self.advisory, "against the policy's advice");
        if let (Some(p50), Some(p95)) = (self.within(50), self.within(95)) {
            parts.push(format!("half within {p50} ms, 95 % within {p95} ms"));
        }
        parts.join(", ")
    }
}

/// Counts calls by tool.
pub fn by_tool<'a>(calls: impl IntoIterator<Item = &'a CallView>) -> BTreeMap<String, Tally> {
    let mut tools: BTreeMap<String, Tally> = BTreeMap::new();
    for call in calls {
        tools.entry(call.tool.clone()).or_default().add(call);
    }
    tools
}

/// Returns counts by tool for machines.
pub(crate) fn tools_json(tools: &BTreeMap<String, Tally>) -> Json {
    let rows = tools.iter().map(|(tool, tally)| {
        Json::Object(vec![("tool", Json::text(tool)), ("counts", tally.json())])
    });
    Json::List(rows.collect())
}

/// Shows a name that others chose on one line, without characters that move the cursor.
pub(crate) fn shown(name: &str) -> String {
    if name.is_empty() {
        return "(no name)".to_owned();
    }
    let short: String = name.chars().take(80).collect();
    plain(&short)
}

/// Shows a text that repeats what others wrote on one line: without characters that move the cursor,
/// begin another line or change the direction.
pub fn plain(text: &str) -> String {
    text.chars()
        .map(|char| {
            if char.is_control() || is_hidden(char) {
                '\u{fffd}'
            } else {
                char
            }
        })
        .collect()
}

/// Tells whether a character has no width or changes the direction of text.
fn is_hidden(char: char) -> bool {
    matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_bounded_from_above() {
        let mut tally = Tally::default();
        for duration in 1..=100 {
            let outcome = "forwarded".to_owned();
            tally.add(&CallView {
                outcome,
                duration: Some(duration),
                ..CallView::default()
            });
        }
        assert_eq!((tally.within(50), tally.within(95)), (Some(50), Some(100)));
        assert_eq!(
            tally.text(),
            "100 calls, half within 50 ms, 95 % within 100 ms"
        );
        assert_eq!(Tally::default().within(50), None);
    }

    #[test]
    fn names_cannot_move_the_cursor() {
        assert_eq!(
            shown("a\u{1b}[2Jb\u{202e}c\n"),
            "a\u{fffd}[2Jb\u{fffd}c\u{fffd}"
        );
        assert_eq!(shown(""), "(no name)");
    }
}

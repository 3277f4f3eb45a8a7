//! Whether a tool sends to somebody, as far as its name, parameters and description show.

use crate::purpose::Purpose;
use crate::signal::{Says, Signal, SignalSource};
use crate::tool::{Parameter, Tool};
use crate::words::{Words, forms};

/// What a tool shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outward {
    /// It sends to somebody: a verb that sends, with something to send or somebody to send it to.
    pub(super) sends: bool,
    /// What it takes.
    pub(super) takes: Takes,
    /// Its description says that it sends.
    pub(super) described: bool,
}

/// What the parameters of a tool are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Takes {
    /// The name of somebody.
    pub(super) recipient: bool,
    /// An address.
    pub(super) address: bool,
    /// A place inside: a path, a query, a table.
    pub(super) inside: bool,
}

impl Outward {
    /// Says whether a call can reach beyond the upstream.
    pub(super) fn reaches(self) -> bool {
        self.sends || self.takes.recipient || self.takes.address
    }

    pub(super) fn report(self, signals: &mut Vec<Signal>) {
        let seen = [
            (self.sends, SignalSource::NameHeuristic, Says::ExternalSend),
            (
                self.takes.recipient || self.takes.address,
                SignalSource::Schema,
                Says::OpenWorld,
            ),
            (
                self.described,
                SignalSource::Description,
                Says::ExternalSend,
            ),
        ];
        let said = seen.into_iter().filter(|(seen, ..)| *seen);
        signals.extend(said.map(|(_, source, says)| Signal { source, says }));
    }
}

/// Verbs that send.
const SENDS: &[&str] = &[
    "send",
    "post",
    "publish",
    "broadcast",
    "forward",
    "notify",
    "share",
    "invite",
    "reply",
    "deliver",
    "transmit",
    "submit",
    "dispatch",
    "upload",
    "push",
    "export",
];
/// Verbs that send to somebody by themselves.
const ALWAYS_SENDS: &[&str] = &[
    "tweet",
    "retweet",
    "toot",
    "fax",
    "email",
    "sms",
    "dm",
    "telephone",
];
/// What is sent to somebody.
const MESSAGES: &[&str] = &[
    "email",
    "mail",
    "message",
    "sms",
    "notification",
    "tweet",
    "webhook",
    "invite",
    "invitation",
    "dm",
    "reminder",
    "newsletter",
    "fax",
    "alert",
    "gist",
    "thread",
    "reaction",
    "sticker",
];
/// Words by which a description says that something leaves.
const TELLS: &[&str] = &[
    "sends",
    "posts",
    "publishes",
    "emails",
    "uploads",
    "tweets",
    "broadcasts",
    "forwards",
    "webhook",
    "internet",
    "website",
];
/// Words of a description that are read.
const MOST_WORDS: usize = 60;

/// Looks at what a tool shows.
pub(super) fn outward(tool: &Tool<'_>) -> Outward {
    let name = Words::of(&tool.name);
    let mut seen = Outward::default();
    for parameter in &tool.parameters {
        see(parameter, &mut seen.takes);
    }
    let is = |table: &[&str]| name.iter().any(|word| has(table, word));
    let verb = name.iter().any(|word| SENDS.contains(&word));
    // `get_email` and `list_tweets` do not send what they name.
    let first = name.word(0);
    let always = ALWAYS_SENDS.contains(&first) && !seen.takes.inside;
    seen.sends = always
        || (verb && (is(MESSAGES) || seen.takes.recipient))
        || (verb && seen.takes.address && !SENDS_INSIDE.contains(&first));
    seen.sends &= !reads(&name);
    seen.described = described(&tool.description);
    seen
}

/// Verbs that send, but as often to the upstream itself, which an address does not disprove.
const SENDS_INSIDE: &[&str] = &["export", "submit"];

/// Says whether a name begins with looking, whatever follows.
fn reads(name: &Words) -> bool {
    const LOOKS: &[&str] = &[
        "get", "list", "read", "search", "find", "fetch", "query", "view", "show", "count",
        "describe", "check",
    ];
    let and = name
        .iter()
        .any(|word| ["and", "or", "then"].contains(&word));
    let mut verbs = name
        .iter()
        .filter(|word| LOOKS.contains(word) || SENDS.contains(word));
    !and && verbs.next().is_some_and(|verb| LOOKS.contains(&verb))
}

fn see(parameter: &Parameter<'_>, takes: &mut Takes) {
    takes.address |= parameter.is_address;
    match parameter.purpose {
        Some(Purpose::Recipient) => takes.recipient = true,
        Some(Purpose::Address) => takes.address = true,
        Some(Purpose::Place) => takes.inside = true,
        Some(Purpose::Choice | Purpose::Content | Purpose::Destroys) | None => {}
    }
}

fn has(table: &[&str], word: &str) -> bool {
    forms(word).any(|(stem, ending)| ending.is_empty() && table.contains(&stem))
}

fn described(description: &str) -> bool {
    let words = description.split_whitespace().take(MOST_WORDS);
    words
        .map(|word| word.trim_matches(|character: char| !character.is_alphanumeric()))
        .any(|word| TELLS.iter().any(|tell| word.eq_ignore_ascii_case(tell)))
}

//! What is known about a call before it is judged. Computed once by the engine; every check reads
//! it, none looks again.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::call::Operation;
use crate::finding::Severity;
use crate::flow::{FlowEvidence, Label, Sink, as_text};
use crate::secret::Masked;

/// Everything that is known about a call.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Where it goes.
    pub destination: Destination,
    /// What it does, by name, annotations and arguments; nothing if they do not say.
    pub operation: Option<Operation>,
    /// What contradicts what.
    pub contradictions: Vec<Contradiction>,
    /// Addresses in the arguments that are known for collecting what is sent to them.
    pub suspicious: Vec<Suspicious>,
    /// Hosts outside that the arguments name.
    pub hosts: Vec<Box<str>>,
    /// How the call would reach for what guards the agent, safe to show.
    pub tampering: Option<Masked>,
    /// How the call would change what the agent starts the next time, safe to show.
    pub rewiring: Option<Masked>,
    /// What a command in the arguments would take outside, wherever else it was seen.
    pub moves: Vec<Moved>,
    /// Sensitive values in the arguments themselves, wherever they are from.
    pub sensitive: Vec<Sensitive>,
    /// Data in the arguments that was read before.
    pub flow: FlowEvidence,
    /// What the session did within the window of the thresholds, this call included.
    pub recent: Recent,
    /// What happened in this session before.
    pub history: History,
}

/// Where a call goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Destination {
    /// What it counts as.
    pub sink: Sink,
    /// Its class as the specification spells it: internal, external, hybrid, unknown.
    pub class: &'static str,
    /// Its name, for a sentence.
    #[serde(serialize_with = "as_text")]
    pub name: Arc<str>,
}

/// Two signals that do not go together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Contradiction {
    /// Who says the one thing.
    pub signal1: &'static str,
    /// Who says the other.
    pub signal2: &'static str,
    /// What the one says.
    pub claim1: &'static str,
    /// What the other says.
    pub claim2: &'static str,
    /// How bad that is, from 0 to 100, as the specification's matrix has it.
    pub severity: u8,
    /// How far the one is trusted that speaks against the other, in percent.
    #[serde(skip)]
    pub confidence: u8,
    /// Whether the upstream is caught in a lie, so that it should wait for a person.
    #[serde(skip)]
    pub quarantines: bool,
    /// What contradicts what, safe to show.
    pub explanation: Masked,
}

/// An address that is known for collecting what is sent to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Suspicious {
    /// The host, safe to show.
    pub host: Box<str>,
    /// Whether the configuration lists it; otherwise it only looks like one.
    pub listed: bool,
    /// Where it stands, as a path.
    pub place: Box<str>,
}

/// Data that a command would take from where it is kept to somewhere outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// What kind of thing it is, safe to show, as `aws_credentials` or `file`.
    pub what: Box<str>,
    /// Whether it is kept for its secrets.
    pub sensitive: bool,
    /// Whether the program is there to publish such things, as `git push` is.
    pub usual: bool,
    /// The host it goes to, if that is known.
    pub to: Option<Box<str>>,
}

/// A sensitive value in the arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sensitive {
    /// What it is.
    pub label: Label,
    /// How sure that is, in percent.
    pub confidence: u8,
    /// Where it stands, as a path.
    pub place: Box<str>,
    /// A masked sample.
    pub sample: Masked,
}

/// What a session did within the window of the thresholds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Recent {
    /// Calls that went outside in the last minute.
    pub outside_calls: u32,
    /// Calls within the window that took personal data outside.
    pub personal_sends: u32,
    /// Bytes that went outside within the window.
    pub outside_bytes: u64,
}

/// What happened in a session before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct History {
    /// Flows that were denied.
    pub denials: u32,
    /// Whether a justification was asked for at this destination, and none came.
    pub unjustified: bool,
    /// Whether something that was read gave orders to the model.
    pub ordered: bool,
}

impl Facts {
    /// Returns facts of a call about which nothing is known but where it goes.
    pub fn bare(destination: Destination) -> Self {
        Self {
            destination,
            operation: None,
            contradictions: Vec::new(),
            suspicious: Vec::new(),
            hosts: Vec::new(),
            tampering: None,
            rewiring: None,
            moves: Vec::new(),
            sensitive: Vec::new(),
            flow: FlowEvidence::default(),
            recent: Recent::default(),
            history: History::default(),
        }
    }

    /// Returns how bad the worst sensitive value is that this call would take along.
    pub fn worst(&self) -> Option<Severity> {
        self.sensitive.iter().map(|one| one.label.severity).max()
    }
}

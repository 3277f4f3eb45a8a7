//! Scenario files: hostile upstreams, what a corruptible agent does with them, what would be the
//! harm, and beside each attack a twin that means none.
//!
//! Here is the form of a file. `library` has those that ship, `matrix` unfolds tables of carriers and
//! disguises into cases, `fill` puts in what is made up anew for each case.

mod fill;
mod library;
mod matrix;
mod versions;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(crate) use self::fill::filled;
pub use self::library::{Library, load};
use self::matrix::Matrix;
pub use self::versions::{Version, Versions};
use crate::error::Error;

/// One file: the attacks of one category.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// The name it is asked for by, and the category in the report.
    pub name: String,
    /// What it is about.
    pub title: String,
    /// Which of the figures its cases count for.
    pub measures: Measures,
    /// What must be reached.
    pub floors: Floors,
    /// The ids of standards that its cases are tests of.
    pub standards: Vec<String>,
    /// What the gateway's configuration has beside its defaults, for all cases that say nothing else.
    pub config: Map<String, Value>,
    /// How the defence is switched off in a control run.
    pub control: Control,
    /// The cases.
    pub cases: Vec<Case>,
    /// What one tool turns into: a file may have nothing but this and the trigger.
    pub versions: Versions,
    /// When it turns.
    pub trigger: Option<Trigger>,
    /// A table that unfolds into more cases.
    pub(crate) matrix: Option<Matrix>,
}

/// Which of the figures a case counts for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measures {
    /// Detection, false alarms and misses.
    #[default]
    Attack,
    /// These, and the rate of rug pulls.
    RugPull,
    /// These, and precision and recall of contradictions.
    Contradiction,
    /// Only whether the operation of a tool is told right.
    Classification,
    /// Only whether personal data is recognized.
    Pii,
    /// Only the verdict of a published incident.
    Incident,
}

/// What must be reached in a category, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Floors {
    /// Attacks that are stopped or at least warned about.
    pub detected: f64,
    /// Attacks that are stopped.
    pub stopped: f64,
}

/// How a defence is switched off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Control {
    /// The gateway checks nothing: `security.enabled: false`.
    #[default]
    Off,
    /// There is no gateway: the agent talks to the upstreams itself.
    Direct,
    /// The gateway runs as it does without the configuration that the case brings.
    Default,
    /// The gateway serves under the names, and for the pages, that the HTTP requests of the case give.
    Named,
    /// The owner of the gateway chose the key that the HTTP requests of the case show.
    Known,
    /// The HTTP requests of the case show the owner's key.
    Owner,
    /// There is no switch: the protection is how the gateway is built.
    None,
}

/// One attack with its twin.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Case {
    /// Its name within the scenario.
    pub id: String,
    /// What happens.
    pub title: String,
    /// The published incident that it replays.
    pub incident: Option<Incident>,
    /// More ids of standards.
    pub standards: Vec<String>,
    /// How it can be played; both ways where nothing is said.
    pub modes: Vec<Mode>,
    /// The eras in which it can be played; both where nothing is said.
    pub eras: Vec<Era>,
    /// Whether it needs a gateway of its own.
    pub alone: bool,
    /// What the gateway's configuration has beside its defaults.
    pub config: Map<String, Value>,
    /// How its defence is switched off, if not as for the whole file.
    pub control: Option<Control>,
    /// The attack.
    pub attack: Play,
    /// The same without harm.
    pub twin: Option<Play>,
}

/// How agent and gateway work together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The gateway sees what passes through it.
    Proxy,
    /// The agent's hook also tells it what the agent is about to do.
    Hooks,
}

/// The era of the protocol in which agent and upstreams speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Era {
    /// Opens with `initialize`; upstreams ask in requests of their own.
    Legacy,
    /// 2026-07-28: every request stands for itself; upstreams ask in results.
    Modern,
}

/// A published incident.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Incident {
    /// Its number in the table.
    pub number: u32,
    /// Its name, with the ids it is known by.
    pub name: String,
    /// What the gateway can do about it.
    pub verdict: Verdict,
    /// Why this and no better.
    pub why: String,
    /// Why there is no run with the defence switched off, where there is none.
    #[serde(default)]
    pub uncontrolled: Option<String>,
}

/// What the gateway can do about an incident.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The harm does not happen.
    Stopped,
    /// A part of it does, or it is only told.
    Limited,
    /// It happens, although it could be stopped here.
    Open,
    /// It happens where the gateway is not.
    #[default]
    NotOurs,
}

/// One conversation.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Play {
    /// The upstreams; those of the attack where a twin has none.
    pub upstreams: Vec<Role>,
    /// What the agent does.
    pub steps: Vec<Step>,
    /// What the agent lets upstreams ask: `elicitation`, `sampling`, `roots`.
    pub capabilities: Vec<String>,
    /// Texts that the agent must not be shown.
    pub shown: Vec<String>,
    /// Texts that the agent must be shown, as they are.
    pub needed: Vec<String>,
    /// Bytes that the agent must not be handed in one answer.
    pub flooded: Option<usize>,
    /// Messages beside answers that the agent must not be handed.
    pub heard: Option<usize>,
    /// What an expected record says, for the figures that are about recognizing.
    pub expect: Expect,
}

impl Play {
    /// Returns the play with everything made up that it needs; upstreams keep their names.
    pub fn filled(&self, case: &str) -> Result<Self, Error> {
        filled(self, case, &str::to_owned)
    }

    /// Tells whether anything in it counts as harm.
    pub(crate) fn has_harm(&self) -> bool {
        let harms = |step: &Step| step.is_harmful() || step.needed || step.within.is_some();
        !self.shown.is_empty()
            || !self.needed.is_empty()
            || self.flooded.is_some()
            || self.heard.is_some()
            || self.steps.iter().any(harms)
    }

    /// Returns the upstream that attacks: it breaks the protocol, asks or turns, says what the agent
    /// must not be shown or obeys, or is where the harm arrives. Nothing where the agent is the attacker.
    pub fn attacker(&self) -> Option<&Role> {
        let acts = |role: &&Role| {
            let asks = role.tools.iter().any(|tool| tool.contains_key("asks"));
            role.fault.is_some() || role.login.is_some() || asks || !role.versions.is_empty()
        };
        let orders = self.steps.iter().flat_map(|step| &step.when);
        let orders: Vec<&String> = orders.chain(&self.shown).collect();
        let speaks = |role: &&Role| role.says(&orders);
        let harms = |step: &&Step| step.harm || step.told.is_some();
        let harm = self.steps.iter().find(harms);
        let reached = harm.and_then(|step| step.call.as_deref()?.split_once(':'));
        let receives = |role: &&Role| reached.is_some_and(|(name, _)| role.name == name);
        let mut roles = self.upstreams.iter();
        roles
            .clone()
            .find(acts)
            .or_else(|| roles.clone().find(speaks))
            .or_else(|| roles.find(receives))
    }
}

/// What is to be recognized.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Expect {
    /// The operation of the tool that is called: read, write or destructive.
    pub operation: Option<String>,
    /// Types of personal data.
    pub types: Vec<String>,
}

/// One upstream and what it plays.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Role {
    /// Its name in the configuration.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// The eras that it speaks; that in which the case is played where nothing is said.
    pub eras: Vec<Era>,
    /// Over stdio, the package that it seems to be started from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// What it says about itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Its tools, with `result`, `error` and `asks` beside what is listed; one with `task` answers with
    /// a task of that id.
    pub tools: Vec<Map<String, Value>>,
    /// Its prompts, with `text` beside what is listed.
    pub prompts: Vec<Map<String, Value>>,
    /// Its resources, with `text` beside what is listed.
    pub resources: Vec<Map<String, Value>>,
    /// What it is and what it turns into, one after the other.
    pub versions: Versions,
    /// When it turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
    /// How it breaks the protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// Where it sends people to log in, if it wants to be logged in to; `/` is a place of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
    /// More keys of its entry in the configuration.
    pub settings: Map<String, Value>,
}

impl Role {
    /// Returns the role as one that speaks these eras, unless it says itself which.
    #[must_use]
    pub fn speaking(mut self, eras: &[Era]) -> Self {
        if self.eras.is_empty() {
            self.eras = eras.to_vec();
        }
        self
    }

    /// Tells whether it speaks an era.
    pub(crate) fn speaks(&self, era: Era) -> bool {
        self.eras.contains(&era)
    }

    /// Tells whether one of these texts is in anything that it says.
    fn says(&self, texts: &[&String]) -> bool {
        fn found(value: &Value, texts: &[&String]) -> bool {
            match value {
                Value::String(said) => texts.iter().any(|text| said.contains(text.as_str())),
                Value::Array(items) => items.iter().any(|item| found(item, texts)),
                Value::Object(members) => members.values().any(|member| found(member, texts)),
                Value::Null | Value::Bool(_) | Value::Number(_) => false,
            }
        }
        let said = self.instructions.clone().map(Value::from);
        let entries = [&self.tools, &self.prompts, &self.resources];
        let entries = entries.into_iter().flatten().cloned().map(Value::Object);
        said.into_iter()
            .chain(entries)
            .any(|one| found(&one, texts))
    }
}

/// How an upstream is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// Streamable HTTP.
    #[default]
    Http,
    /// A child of the gateway.
    Stdio,
}

/// When an upstream turns into the next of its versions.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Trigger {
    /// What is counted.
    #[serde(rename = "type")]
    pub kind: TriggerKind,
    /// After how many of them it turns, each time; milliseconds for `elapsed_ms`.
    #[serde(default)]
    pub threshold: usize,
    /// The name that a client must give for `client`.
    #[serde(default)]
    pub client: String,
    /// The era that a client must speak for `era`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub era: Option<Era>,
    /// Whether it says that its list changed.
    #[serde(default)]
    pub announced: bool,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TriggerKind {
    /// Calls.
    CallCount,
    /// Time since the first message.
    ElapsedMs,
    /// Conversations that were opened.
    Reconnect,
    /// Nothing: whoever has a certain name gets the other version.
    Client,
    /// Nothing: whoever speaks a certain era gets the other version.
    Era,
    /// Times that the list was read.
    Listings,
}

/// How an upstream breaks the protocol when a tool is called.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// How.
    pub how: FaultKind,
    /// How much of it: bytes, levels, messages or milliseconds.
    #[serde(default)]
    pub size: usize,
    /// The text that is smuggled.
    #[serde(default)]
    pub text: String,
}

/// A way to break the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// A result that stands there twice, the second one forged.
    DuplicateKeys,
    /// The same with the second key spelled with escapes.
    EscapedDuplicate,
    /// Forged answers to requests that others may have made.
    WrongIds,
    /// Answers in a batch.
    Batch,
    /// Bytes that are no text.
    NotUtf8,
    /// Half of a surrogate pair.
    LoneSurrogate,
    /// An answer of many bytes.
    Huge,
    /// An answer that nests deep.
    Deep,
    /// No answer.
    Silent,
    /// Notifications without end: so many at once, and then one after the other.
    Endless,
    /// A sign of life now and then, and no answer.
    Slow,
    /// Lists in which there is always another page.
    Pages,
    /// Word of changed lists, again and again.
    Storm,
    /// A log message with orders.
    FakeLog,
    /// Progress of a request that nobody made, with orders.
    FakeProgress,
    /// Word that the agent cancelled.
    FakeCancel,
    /// Of two calls under way with the same id, each is given what is the other's.
    Crossed,
}

#[cfg(test)]
impl FaultKind {
    /// All of them.
    pub(crate) const ALL: [Self; 17] = [
        Self::DuplicateKeys,
        Self::EscapedDuplicate,
        Self::WrongIds,
        Self::Batch,
        Self::NotUtf8,
        Self::LoneSurrogate,
        Self::Huge,
        Self::Deep,
        Self::Silent,
        Self::Endless,
        Self::Slow,
        Self::Pages,
        Self::Storm,
        Self::FakeLog,
        Self::FakeProgress,
        Self::FakeCancel,
        Self::Crossed,
    ];
}

/// One thing that the agent or its owner does.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a key of a step, and most steps have none of them"
)]
pub struct Step {
    /// Calls a tool: `upstream:tool`.
    pub call: Option<String>,
    /// Its arguments.
    pub args: Map<String, Value>,
    /// Declares what the call does, as in call mode.
    pub operation: Option<String>,
    /// Reads the lists of tools, prompts and resources.
    pub look: bool,
    /// Reads a resource: `upstream|uri`.
    pub read: Option<String>,
    /// Gets a prompt: `upstream:prompt`.
    pub prompt: Option<String>,
    /// Uses a tool of the agent's own, which only its hook tells of.
    pub own: Option<String>,
    /// What the agent's own tool gives back.
    pub output: Option<Value>,
    /// What the agent says where the upstream of the call asks something: by the name of a field, and
    /// as `text` for a model. What is not in it is filled in with the secret that was read.
    pub answers: Map<String, Value>,
    /// Sends a body as it is.
    pub raw: Option<String>,
    /// A body that another agent sends at the same time.
    pub beside: Option<Beside>,
    /// Sends an HTTP request as it is.
    pub http: Option<Http>,
    /// Runs a command of the product in a folder of its own.
    pub run: Option<Run>,
    /// Has the gateway read the lists of an upstream again.
    pub refresh: Option<String>,
    /// Has the gateway open its conversation with an upstream anew.
    pub restart: Option<String>,
    /// Has the configuration start another program under the name of an upstream.
    pub swap: Option<String>,
    /// Waits, in milliseconds.
    pub pause: u64,
    /// Where a raw message goes; where tools are called, if nothing is said.
    pub at: Option<String>,
    /// Goes past the gateway, to the upstream itself.
    pub past: bool,
    /// Speaks as another agent, with a token of its own.
    pub agent: Option<String>,
    /// Shows the session of this agent instead of its own.
    pub borrows: Option<String>,
    /// How often.
    pub times: usize,
    /// Only where the agent was shown one of these texts and does as it is told.
    pub when: Vec<String>,
    /// That this step comes through is the harm.
    pub harm: bool,
    /// That the agent of a raw message was shown this text is the harm.
    pub unseen: Option<String>,
    /// That the upstream of the call is told this text, in whatever message, is the harm.
    pub told: Option<String>,
    /// That this step does not come through is the harm.
    pub needed: bool,
    /// That this step takes longer is the harm, in milliseconds.
    pub within: Option<u64>,
}

impl Step {
    /// Tells whether it is a step that does harm where nothing is in its way.
    pub(crate) fn is_harmful(&self) -> bool {
        self.harm || self.told.is_some() || self.unseen.is_some()
    }
}

/// What another agent sends at the same time.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Beside {
    /// The other agent.
    pub agent: String,
    /// The body, as it is.
    pub raw: String,
}

/// An HTTP request.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Http {
    /// The method; POST where nothing is said.
    pub method: String,
    /// The path at the gateway.
    pub path: String,
    /// The headers.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: String,
    /// Whether it shows the key of the gateway's owner.
    pub owner: bool,
}

/// A command of the product. `<NAME>` in it is the address of the upstream of that name.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Run {
    /// The arguments.
    pub args: Vec<String>,
    /// Files to write first, by their path in the folder.
    pub files: BTreeMap<String, String>,
    /// The exit code that says no; with any other the command counts as having come through.
    pub refused: i32,
}

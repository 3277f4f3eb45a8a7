//! What is known about data on its way: where it was read, how it was recognized, what it is.
//!
//! How it is recognized is for `flow` to know; what follows from it is for `policy`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Wall;
use crate::finding::Severity;
use crate::id::{CallId, ToolName, UpstreamId};
use crate::secret::Masked;

/// Which side of the fence data was read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Private: it should not leave.
    Inside,
    /// Public, or somebody else's.
    Outside,
}

/// What a destination counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sink {
    /// Data stays inside.
    Inside,
    /// Data may leave.
    Outside,
    /// Nothing is known; treated as outside, at medium risk.
    Assumed,
    /// Only its own word speaks for it, that it reads or stays inside: good enough for anything but
    /// secrets.
    Unproven,
}

impl Sink {
    /// Tells whether data that is sent here may leave.
    pub fn is_outside(self) -> bool {
        match self {
            Self::Inside | Self::Unproven => false,
            Self::Outside | Self::Assumed => true,
        }
    }

    /// Tells whether nothing that is sent here needs to be looked for.
    pub fn is_trusted(self) -> bool {
        match self {
            Self::Inside => true,
            Self::Outside | Self::Assumed | Self::Unproven => false,
        }
    }
}

/// Where data was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DataOrigin {
    /// The call that read it.
    pub call: CallId,
    /// The upstream, or the agent's own tools.
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "String")]
    pub upstream: UpstreamId,
    /// The tool, prompt or resource.
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "String")]
    pub tool: ToolName,
    /// When, RFC 3339.
    #[serde(serialize_with = "as_time")]
    #[schemars(with = "String")]
    pub at: Wall,
    /// The side it was read on: `inside` where it is private and should not leave, `outside` where it is
    /// public or somebody else's.
    pub side: Side,
}

/// What kind of sensitive value something is; the label of an origin survives every encoding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Label {
    /// The exact type, as `aws_secret_key`.
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "String")]
    pub kind: Arc<str>,
    /// The coarse word for a sentence, as `api_token`.
    pub word: &'static str,
    /// How bad it is when it leaves.
    pub severity: Severity,
    /// Whether a checksum or a structure shows that it is real.
    pub validated: bool,
    /// Whether it is a secret, personal data, or only typed: a code, an identifier, a number.
    pub nature: Nature,
}

/// The coarse words for sentences; the last stands for all that are not known.
const WORDS: [&str; 11] = [
    "api_token",
    "private_key",
    "auth_token",
    "database_credential",
    "high_entropy",
    "credit_card",
    "pii",
    "custom",
    "sensitive_file",
    "identifier",
    "sensitive",
];

impl Label {
    /// Finds the coarse word that another process wrote.
    pub fn word_of(text: &str) -> &'static str {
        let known = WORDS.into_iter().find(|word| *word == text);
        known.unwrap_or("sensitive")
    }
}

/// What a labelled value is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Nature {
    /// A short value with a type: a code, an identifier, a number.
    Typed,
    /// Personal data.
    Personal,
    /// A credential.
    Secret,
}

/// How data was recognized, surest first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Likeness {
    /// The whole content, or a labelled value, as it was.
    Exact,
    /// A whole field as it was.
    Field,
    /// A whole field but for case and space.
    Normalized,
    /// A part of it.
    Fragment,
    /// After encodings were undone.
    Encoded,
    /// Put together from several fields or calls.
    Pieces,
    /// Several rare words, names or numbers of it.
    Tokens,
}

/// How much a match weighs.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// An edge in the log and no more: a ticket number, a link, a common phrase.
    Trace,
    /// Enough private text to ask about.
    Notable,
    /// A sensitive value, or enough of one.
    Sensitive,
}

/// One recognized piece of data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Match {
    /// How it was recognized.
    #[serde(rename = "evidence")]
    pub how: Likeness,
    /// The encodings that were undone, outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<&'static str>,
    /// Where it was read.
    pub origin: DataOrigin,
    /// Where it stands in what is about to leave, as a path.
    pub place: Box<str>,
    /// Characters that are shared.
    pub shared: u32,
    /// How much it weighs.
    pub weight: Weight,
    /// What it is, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
    /// A masked sample.
    pub sample: Masked,
}

/// A run of bytes that nobody can read: encrypted, or in a code that is not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Opaque {
    /// Where it stands, as a path.
    pub place: Box<str>,
    /// How long it is.
    pub bytes: u32,
}

/// What the tracker knows about a message that is about to leave.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FlowEvidence {
    /// What was recognized, heaviest first; a bounded number.
    pub matches: Vec<Match>,
    /// Runs that nobody can read.
    pub opaque: Vec<Opaque>,
    /// What the session has seen so far.
    pub taint: Taint,
    /// Whether something could not be looked at: too much encoded text, fingerprints that had to
    /// go, a store that was not there.
    pub reduced: Vec<Reduced>,
}

impl FlowEvidence {
    /// Returns the heaviest match of data that was read inside.
    pub fn heaviest(&self) -> Option<&Match> {
        let mut inside = self.matches.iter();
        inside.find(|one| one.origin.side == Side::Inside)
    }
}

/// The legs of the lethal trifecta that a session has stood on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Taint {
    /// Private data was read.
    pub private: bool,
    /// Text of strangers was read.
    pub untrusted: bool,
    /// Something outside can be reached.
    pub outside: bool,
}

impl Taint {
    /// Tells whether all three legs are there.
    pub fn is_lethal(self) -> bool {
        self.private && self.untrusted && self.outside
    }
}

/// Why less was looked at than there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reduced {
    /// More was encoded, or deeper, than is undone.
    Decoding,
    /// More was sent than is compared.
    Size,
    /// An answer was longer than what is looked through for secrets, and this may be of it.
    Unscanned,
    /// Fingerprints of older text had to make room.
    Evicted,
    /// The common store was not there; only what this process saw was compared.
    LocalOnly,
}

/// What a session came to, written down when it ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FlowSummary {
    /// How long it lasted, in milliseconds.
    pub duration_ms: u64,
    /// Answers that were remembered, evicted ones included.
    pub origins: u64,
    /// Data seen on its way, whatever was decided about it.
    pub edges: u64,
    /// Edges by direction, as `internal→external`.
    pub flow_types: BTreeMap<&'static str, u64>,
    /// Edges by risk.
    pub risk_levels: BTreeMap<&'static str, u64>,
    /// Sessions of the protocol that were linked with it.
    pub linked_sessions: Vec<String>,
    /// Tools that were used, as `upstream:tool`; a bounded number.
    pub tools: BTreeSet<String>,
}

pub(crate) fn as_text<S: serde::Serializer>(
    name: &impl std::fmt::Display,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(name)
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn as_time<S: serde::Serializer>(at: &Wall, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&at.rfc3339())
}

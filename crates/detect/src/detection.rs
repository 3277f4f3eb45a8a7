//! The one thing a scanner may say, and the port that every scanner implements.

use std::borrow::Cow;
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use mcpproxy_core::{Masked, Severity};

use crate::makeup::Makeup;

/// One thing seen in one text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Detection {
    /// The rule that saw it, for `rules show` and for allow lists.
    pub rule: Cow<'static, str>,
    /// What it is, in the words filters use: `aws_access_key`, `email`, `zero_width`.
    #[serde(rename = "type")]
    pub kind: Cow<'static, str>,
    /// The family it belongs to.
    pub category: Category,
    /// How bad it is if true.
    pub severity: Severity,
    /// How sure the rule is, in percent; shown as a fraction of one.
    #[serde(serialize_with = "fraction")]
    pub confidence: u8,
    /// What it amounts to when it stands alone.
    pub level: Level,
    /// Where it stands in the text that was given, in bytes: the whole encoded run if it was found
    /// in a decoded view.
    #[serde(flatten)]
    pub span: Range<usize>,
    /// The decodings it was seen through, outermost first; empty for plain text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<Cow<'static, str>>,
    /// Why it counts, safe to show.
    pub reason: Masked,
    /// What it looks like, masked.
    pub sample: Masked,
    /// Ids in public taxonomies: OWASP MCP and ASI, MITRE ATLAS.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub tags: &'static [&'static str],
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands fields by reference"
)]
fn fraction<S: Serializer>(percent: &u8, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(f64::from(*percent) / 100.0)
}

/// What a detection amounts to by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Worth recording; nobody is bothered with it.
    Note,
    /// Worth a person's look.
    Warn,
    /// Enough to stop what carries it.
    Block,
}

/// The families of detections; each can be switched off by itself.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Keys of cloud providers.
    CloudCredentials,
    /// Private keys in any armour.
    PrivateKey,
    /// Tokens of services.
    ApiToken,
    /// Sessions and bearers: JWT, basic auth, cookies, one-time codes.
    AuthToken,
    /// Connection strings and passwords of databases and queues.
    DatabaseCredential,
    /// Payment cards.
    CreditCard,
    /// Data about a person.
    Pii,
    /// Random-looking values in the place of a secret.
    HighEntropy,
    /// Paths of files that hold credentials.
    SensitiveFile,
    /// Words and patterns of the operator's own.
    Custom,
    /// Characters that a person does not see.
    HiddenText,
    /// Text that orders the model about.
    HostileText,
    /// Content that is encoded, too large or too deep to be read.
    Opaque,
}

/// A scanner: looks once over a text and adds what it sees.
///
/// Linear in the length of `text`, no panic on any input. A scanner does not decode: the detector
/// hands it the decoded views as texts of their own.
pub trait Scan: Send + Sync {
    /// Adds what is seen in `text` to `out`, spans in bytes of `text`, in any order.
    fn scan(&self, text: &str, out: &mut Vec<Detection>);

    /// Tells whether `scan` can see anything in a text of this makeup; to say no saves its start.
    fn may_see(&self, _makeup: Makeup) -> bool {
        true
    }

    /// Tells whether `scan_keyed` can see anything in a value under this name.
    fn heeds(&self, _key: &str) -> bool {
        false
    }

    /// Adds what the name of a field says about its value, beyond what `scan` sees in the value:
    /// spans are in bytes of `value`. Most scanners do not care for names.
    fn scan_keyed(&self, _key: &str, _value: &str, _out: &mut Vec<Detection>) {}
}

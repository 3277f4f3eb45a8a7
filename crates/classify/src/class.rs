//! What an upstream or a tool is, how sure that is, and how it was found out.
//!
//! How a class is found is in `upstreams`, `tools` and `agents`; what follows from it is policy.

use std::borrow::Cow;

use mcpproxy_core::{Masked, Operation, Sink};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize, Serializer};

/// Which side of the fence something is on.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "UpstreamClass")]
pub enum Kind {
    /// Holds data that should not leave.
    Internal,
    /// Can carry data out.
    External,
    /// Both, depending on the call.
    Hybrid,
    /// Nothing is known.
    Unknown,
}

/// How a class was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// The operator said so.
    Config,
    /// The upstream said so.
    Annotation,
    /// Names, packages, hosts and schemas say so.
    Heuristic,
}

/// How sure an opinion is, in percent; written as a number from 0.0 to 1.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Confidence(u8);

impl Confidence {
    /// Beyond doubt: the operator's word.
    pub const FULL: Self = Self(100);
    /// No opinion at all.
    pub const NONE: Self = Self(0);

    /// Takes percent; more than a hundred is a hundred.
    pub const fn percent(percent: u8) -> Self {
        Self(if percent > 100 { 100 } else { percent })
    }

    /// Returns percent.
    pub const fn as_percent(self) -> u8 {
        self.0
    }

    /// Returns a number from 0.0 to 1.0.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 100.0
    }

    /// Takes some percent away.
    #[must_use]
    pub const fn less(self, percent: u8) -> Self {
        Self(self.0.saturating_sub(percent))
    }
}

impl Serialize for Confidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_f64())
    }
}

/// An opinion about an upstream or a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// What it is.
    pub kind: Kind,
    /// How sure that is.
    pub confidence: Confidence,
    /// How it was found.
    pub method: Method,
    /// Why, safe to show.
    pub reason: Masked,
}

/// What is known about the world that a call reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum World {
    /// Said or seen to reach outside.
    Open,
    /// Said to stay within the upstream.
    Closed,
    /// Nothing was said.
    Unsaid,
}

impl Class {
    /// Makes the class that the operator gave.
    pub fn configured(kind: Kind, reason: impl Into<String>) -> Self {
        Self {
            kind,
            confidence: Confidence::FULL,
            method: Method::Config,
            reason: Masked::from_safe(reason),
        }
    }

    /// Makes a class from heuristics.
    pub fn guessed(kind: Kind, percent: u8, reason: impl Into<String>) -> Self {
        Self {
            kind,
            confidence: Confidence::percent(percent),
            method: Method::Heuristic,
            reason: Masked::from_safe(reason),
        }
    }

    /// Makes the class of what nothing is known about.
    pub fn unknown(reason: impl Into<String>) -> Self {
        Self::guessed(Kind::Unknown, 0, reason)
    }

    /// Says whether private data can be read through it.
    pub fn can_read_data(&self) -> bool {
        matches!(self.kind, Kind::Internal | Kind::Hybrid)
    }

    /// Says whether data can leave through it.
    pub fn can_exfiltrate(&self) -> bool {
        matches!(self.kind, Kind::External | Kind::Hybrid)
    }

    /// Returns the class of data that is read here; `default` is that of an unknown source.
    pub fn as_source(&self, default: Kind) -> Kind {
        match self.kind {
            Kind::Unknown => default,
            known => known,
        }
    }

    /// Returns what it counts as when data is sent here.
    ///
    /// The unknown is seen, never silently trusted: what writes or reaches an open world counts as
    /// outside. An operation that nobody could tell counts as one that writes.
    pub fn as_sink(&self, operation: Option<Operation>, world: World) -> Sink {
        let only_reads = operation == Some(Operation::Read) && world != World::Open;
        match self.kind {
            Kind::Internal => Sink::Inside,
            // Looking leaves nothing behind, unless it is done somewhere outside.
            Kind::Hybrid | Kind::Unknown if only_reads => Sink::Inside,
            Kind::External | Kind::Hybrid => Sink::Outside,
            Kind::Unknown => Sink::Assumed,
        }
    }
}

/// What an upstream or a tool is taken for.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Class")]
struct Written<'a> {
    /// What it is.
    classification: Kind,
    /// How sure that is, from 0.0 to 1.0.
    #[schemars(with = "f64")]
    confidence: Confidence,
    /// How it was found.
    method: Method,
    /// Whether private data can be read through it.
    can_read_data: bool,
    /// Whether data can leave through it.
    can_exfiltrate: bool,
    /// Why.
    reason: &'a Masked,
}

impl Serialize for Class {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = Written {
            classification: self.kind,
            confidence: self.confidence,
            method: self.method,
            can_read_data: self.can_read_data(),
            can_exfiltrate: self.can_exfiltrate(),
            reason: &self.reason,
        };
        written.serialize(serializer)
    }
}

impl JsonSchema for Class {
    fn schema_name() -> Cow<'static, str> {
        Written::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Written::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_written_as_the_specification_names_it() {
        let class = Class::guessed(Kind::Internal, 85, "a database");
        let expect = r#"{"classification":"internal","confidence":0.85,"method":"heuristic","can_read_data":true,"can_exfiltrate":false,"reason":"a database"}"#;
        assert_eq!(serde_json::to_string(&class).unwrap(), expect);
    }

    #[test]
    fn an_unknown_source_takes_the_default() {
        let check = |kind, default, expect| {
            assert_eq!(Class::guessed(kind, 50, "").as_source(default), expect);
        };
        check(Kind::Unknown, Kind::Internal, Kind::Internal);
        check(Kind::Unknown, Kind::External, Kind::External);
        check(Kind::Hybrid, Kind::External, Kind::Hybrid);
        check(Kind::External, Kind::Internal, Kind::External);
    }

    #[test]
    fn an_unknown_destination_is_never_silently_trusted() {
        use Operation::{Destructive, Read, Write};
        use World::{Closed, Open, Unsaid};
        let check = |kind, operation, world, expect| {
            let found = Class::guessed(kind, 50, "").as_sink(operation, world);
            assert_eq!(found, expect, "{kind:?} {operation:?} {world:?}");
        };
        check(Kind::Unknown, Some(Read), Unsaid, Sink::Inside);
        check(Kind::Unknown, Some(Read), Closed, Sink::Inside);
        check(Kind::Unknown, Some(Read), Open, Sink::Assumed);
        check(Kind::Unknown, Some(Write), Closed, Sink::Assumed);
        check(Kind::Unknown, Some(Destructive), Unsaid, Sink::Assumed);
        check(Kind::Unknown, None, Unsaid, Sink::Assumed);
        check(Kind::Hybrid, Some(Read), Unsaid, Sink::Inside);
        check(Kind::Hybrid, Some(Write), Unsaid, Sink::Outside);
        check(Kind::Hybrid, None, Closed, Sink::Outside);
        check(Kind::Internal, Some(Write), Open, Sink::Inside);
        check(Kind::External, Some(Read), Closed, Sink::Outside);
    }
}

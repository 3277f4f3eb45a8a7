//! What one source says about a tool or a call. Whether sources contradict each other, and which
//! of them lies, is decided elsewhere.

use mcpproxy_core::Operation;
use serde::{Serialize, Serializer};

/// One statement by one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Signal {
    /// Who says it.
    pub source: SignalSource,
    /// What is said.
    pub says: Says,
}

/// Who makes a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalSource {
    /// What the agent says it is about to do.
    AgentIntent,
    /// The words of the tool's name.
    NameHeuristic,
    /// The hints that the upstream gives.
    ServerAnnotation,
    /// The parameters that the tool takes.
    Schema,
    /// What the upstream writes about the tool.
    Description,
    /// The arguments of a call.
    ArgumentAnalysis,
    /// An address outside among the arguments.
    ExternalUrl,
}

impl SignalSource {
    /// Returns the name under which records have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::AgentIntent => "agent_intent",
            Self::NameHeuristic => "name_heuristic",
            Self::ServerAnnotation => "server_annotation",
            Self::Schema => "schema",
            Self::Description => "description",
            Self::ArgumentAnalysis => "argument_analysis",
            Self::ExternalUrl => "external_url",
        }
    }

    /// Returns how far the source is trusted, in percent: whoever can lie easily is trusted less.
    pub fn trust(self) -> u8 {
        match self {
            Self::ArgumentAnalysis | Self::ExternalUrl => 90,
            Self::NameHeuristic => 80,
            Self::Schema => 70,
            Self::ServerAnnotation => 60,
            Self::AgentIntent | Self::Description => 40,
        }
    }
}

/// What a source says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    /// It does this to the world.
    Operation(Operation),
    /// It sends something out.
    ExternalSend,
    /// It reaches beyond the upstream.
    OpenWorld,
    /// It stays inside.
    ClosedWorld,
}

impl Serialize for Says {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Operation(operation) => operation.serialize(serializer),
            Self::ExternalSend => serializer.serialize_str("external_send"),
            Self::OpenWorld => serializer.serialize_str("open_world"),
            Self::ClosedWorld => serializer.serialize_str("closed_world"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_written_in_the_words_of_the_specification() {
        let check = |source, says, expect: &str| {
            let found = serde_json::to_string(&Signal { source, says }).unwrap();
            assert_eq!(found, expect);
        };
        check(
            SignalSource::NameHeuristic,
            Says::Operation(Operation::Destructive),
            r#"{"source":"name_heuristic","says":"destructive"}"#,
        );
        check(
            SignalSource::ExternalUrl,
            Says::ExternalSend,
            r#"{"source":"external_url","says":"external_send"}"#,
        );
    }

    #[test]
    fn whoever_can_lie_easily_is_trusted_less() {
        let trust = [
            SignalSource::AgentIntent,
            SignalSource::ServerAnnotation,
            SignalSource::NameHeuristic,
            SignalSource::ArgumentAnalysis,
        ]
        .map(SignalSource::trust);
        assert_eq!(trust, [40, 60, 80, 90]);
    }
}

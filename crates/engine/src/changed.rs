//! What somebody changed through the gateway: an order, a token, the configuration, an upstream. What
//! becomes of the quarantine has records of its own (`quarantine`).

use mcpproxy_core::{ChangeNote, Door, Record};

use crate::engine::Engine;
use crate::record::short;

/// A change, and who made it.
#[derive(Clone, Debug)]
pub struct Changed {
    /// The type of its record.
    pub kind: &'static str,
    /// What was done, as `create_token`.
    pub act: &'static str,
    /// Who did it.
    pub by: String,
    /// By which door.
    pub door: Door,
    /// To what.
    pub note: ChangeNote,
}

impl Changed {
    /// Adds it to a record of its type. Names that a person chose may be values of theirs, pasted
    /// into the wrong field.
    pub(crate) fn record(self, engine: &Engine, record: Record) -> Record {
        let safe = |words: &str| short(engine.masked(words).as_str());
        let target = safe(&self.note.target);
        let upstream = (self.kind == "server_change").then(|| target.clone());
        let details = self.note.details.iter().map(|detail| safe(detail));
        Record {
            source: self.door,
            server_name: upstream.unwrap_or_default(),
            principal: self.by,
            change: Some(Box::new(ChangeNote {
                details: details.collect(),
                target,
                ..self.note
            })),
            ..record
        }
    }
}

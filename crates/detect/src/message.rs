//! Whole JSON-RPC messages: every text of a result, an error or a request, each judged by its place.

use serde_json::Value;

use crate::audience::Audience;
use crate::detection::Level;
use crate::tool::fields::{self, Field};
use crate::tool::{Appraisal, Inspector, Sheet, structural};

impl Inspector {
    /// Scans what an upstream says about itself.
    pub fn instructions(&self, text: &str) -> Appraisal {
        self.text_for(Audience::Instructions, "instructions", text)
    }

    /// Scans the text of a tool's result.
    pub fn result(&self, text: &str) -> Appraisal {
        self.text_for(Audience::Result, "result", text)
    }

    /// Scans a JSON-RPC message. Each listed tool is a descriptor of its own; the worst one decides.
    pub fn frame(&self, frame: &Value) -> Appraisal {
        let mut report = Appraisal::default();
        let tools = frame.pointer("/result/tools").and_then(Value::as_array);
        for tool in tools.into_iter().flatten() {
            report.merge(self.tool(tool));
        }
        let mut sheet = Sheet::default();
        for field in fields::of(frame) {
            if !(tools.is_some() && field.path.starts_with("result.tools[")) {
                self.text(
                    audience(frame, &field),
                    &field.path,
                    &field.text,
                    &mut sheet,
                );
            }
        }
        if frame.get("method").and_then(Value::as_str) == Some("elicitation/create") {
            // By itself nothing; a question for credentials here goes straight to the person.
            let reason = "asks the user directly".to_owned();
            let asks = structural("elicitation", Level::Note, 25, reason, &["MCP01", "ASI09"]);
            sheet.add("params", 0, vec![asks]);
        }
        report.merge(sheet.report());
        report
    }
}

impl Appraisal {
    /// Adds another report; the worse level stays.
    pub(crate) fn merge(&mut self, mut other: Self) {
        self.level = self.level.max(other.level);
        self.findings.append(&mut other.findings);
        self.unread.append(&mut other.unread);
    }
}

impl Default for Appraisal {
    fn default() -> Self {
        Self {
            level: Level::Note,
            findings: Vec::new(),
            unread: Vec::new(),
        }
    }
}

/// The audience of a field, by the message it stands in.
fn audience(frame: &Value, field: &Field) -> Audience {
    let method = frame
        .get("method")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let path = field.path.as_str();
    let sampled = matches!(method, "sampling/createMessage" | "elicitation/create");
    if path.starts_with("error") {
        Audience::Error
    } else if path.starts_with("result.instructions") || path.starts_with("result.serverInfo") {
        Audience::Instructions
    } else if sampled || path.starts_with("result.messages") || path.starts_with("result.prompts") {
        Audience::Prompt
    } else if path.starts_with("params") {
        Audience::Arguments
    } else {
        Audience::Result
    }
}

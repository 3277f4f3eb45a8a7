//! An upstream that plays a script: the tools it lists and the answers it gives are in a file, so
//! that a scenario can be played with real processes.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Mutex;

use serde::Deserialize;
use serde_json::{Value, json};

use super::tool::text;
use crate::lock;

/// The file: descriptors, and the answers to the calls of each tool in their order; those to reads of
/// resources stand under `resources/read`. The last answer is given again and again.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    tools: Vec<Value>,
    results: HashMap<String, Vec<Value>>,
    prompts: Vec<Value>,
    resources: Vec<Value>,
    instructions: Option<String>,
    turns: Option<Turn>,
}

/// Other tools, which take the place of the first ones after so many calls, without a word.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Turn {
    after_calls: usize,
    tools: Vec<Value>,
}

/// A script that is played.
#[derive(Debug, Default)]
pub(crate) struct Script {
    file: File,
    played: Mutex<HashMap<String, usize>>,
}

impl Script {
    /// Reads a script.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let bytes = std::fs::read(path)?;
        let file = serde_json::from_slice(&bytes)?;
        let played = Mutex::default();
        Ok(Self { file, played })
    }

    /// Returns the descriptors.
    pub(crate) fn tools(&self) -> Vec<Value> {
        let calls: usize = lock(&self.played).values().sum();
        match &self.file.turns {
            Some(turn) if calls >= turn.after_calls => turn.tools.clone(),
            Some(_) | None => self.file.tools.clone(),
        }
    }

    /// Returns what the upstream says about itself.
    pub(crate) fn instructions(&self) -> &str {
        let said = self.file.instructions.as_deref();
        said.unwrap_or("Plays a script.")
    }

    /// Returns the capabilities that the script has use for.
    pub(crate) fn capabilities(&self) -> Value {
        let mut declared = json!({ "tools": {} });
        for (name, list) in [
            ("prompts", &self.file.prompts),
            ("resources", &self.file.resources),
        ] {
            if let (false, Some(members)) = (list.is_empty(), declared.as_object_mut()) {
                members.insert(name.to_owned(), json!({}));
            }
        }
        declared
    }

    /// Answers what is neither a list nor a call of tools.
    pub(crate) fn answer(&self, method: &str) -> Option<Value> {
        Some(match method {
            "prompts/list" => json!({ "prompts": self.file.prompts }),
            "prompts/get" => {
                let said = json!({ "type": "text", "text": "played" });
                json!({ "messages": [{ "role": "user", "content": said }] })
            }
            "resources/list" => json!({ "resources": self.file.resources }),
            "resources/read" => {
                let next = self.next(method);
                next.unwrap_or_else(|| json!({ "contents": [] }))
            }
            "resources/templates/list" => json!({ "resourceTemplates": [] }),
            _ => return None,
        })
    }

    /// Answers the next call of a tool; an unknown one is nothing.
    pub(crate) fn call(&self, tool: &str) -> Option<Value> {
        self.file.results.get(tool)?;
        Some(match self.next(tool) {
            Some(Value::String(words)) => text(words),
            Some(value) if value.get("content").is_some() => value,
            Some(value) => json!({ "content": [], "structuredContent": value }),
            None => text("done"),
        })
    }

    /// Returns the next answer that the script has under a name.
    fn next(&self, name: &str) -> Option<Value> {
        let results = self.file.results.get(name)?;
        let mut played = lock(&self.played);
        let at = played.entry(name.to_owned()).or_default();
        let result = results.get(*at).or_else(|| results.last());
        *at += 1;
        result.cloned()
    }
}

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

/// The file: descriptors, and the answers to the calls of each tool in their order. The last answer
/// is given again and again.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    tools: Vec<Value>,
    results: HashMap<String, Vec<Value>>,
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
        self.file.tools.clone()
    }

    /// Answers the next call of a tool; an unknown one is nothing.
    pub(crate) fn call(&self, tool: &str) -> Option<Value> {
        let results = self.file.results.get(tool)?;
        let mut played = lock(&self.played);
        let at = played.entry(tool.to_owned()).or_default();
        let result = results.get(*at).or_else(|| results.last());
        *at += 1;
        Some(match result {
            Some(Value::String(words)) => text(words.clone()),
            Some(value) if value.get("content").is_some() => value.clone(),
            Some(value) => json!({ "content": [], "structuredContent": value }),
            None => text("done"),
        })
    }
}

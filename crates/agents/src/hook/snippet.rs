//! Fills the program texts that are written for agents whose hooks are functions.

use super::command::TIMEOUT;
use super::target::Setting;
use super::{FailMode, claude_code};

/// Fills a text: the command without its event, the time after which it is given up, and what then.
///
/// A list of JSON texts is also one of Python and of TypeScript.
pub(super) fn fill(snippet: &str, mark: &str, setting: &Setting<'_>) -> String {
    // The event is added when it is known.
    let words = setting.command.words(setting.agent, "");
    let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let words: Vec<&String> = words.iter().filter(|word| *word != "--event").collect();
    let words: Vec<String> = words
        .into_iter()
        .map(|word| serde_json::Value::from(word.as_str()).to_string())
        .collect();
    let fail = match setting.command.fail {
        FailMode::Open => "continue",
        FailMode::Closed => "block",
    };
    snippet
        .replace("@MARK@", mark)
        .replace("@COMMAND@", &format!("[{}]", words.join(", ")))
        .replace("@TIMEOUT_MS@", &TIMEOUT.as_millis().to_string())
        .replace("@TIMEOUT_S@", &TIMEOUT.as_secs().to_string())
        .replace("@FAIL@", fail)
        .replace("@MATCHER@", claude_code::MATCHER)
}

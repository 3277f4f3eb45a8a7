//! What programs are told that decide about an agent or about what guards it: their words are kept as
//! a shell would hand them over, whatever quotes, variables and wrappers stand around them.

use super::super::facts::Told;
use super::super::interp::Interp;
use super::super::value::Value;

/// Programs that are listened to: the guard, agents, and what ends or looks up processes and services.
const HEARD: [&str; 20] = [
    "mcpproxy",
    "mcpproxy-rest",
    "claude",
    "codex",
    "gemini",
    "code",
    "cursor",
    "kill",
    "pkill",
    "killall",
    "killall5",
    "pgrep",
    "pidof",
    "fuser",
    "skill",
    "systemctl",
    "service",
    "launchctl",
    "taskkill",
    "stop-process",
];
/// How many words of one program are kept.
const MOST_WORDS: usize = 64;
/// How much of a word is kept.
const LONGEST: usize = 256;
/// How many programs are kept.
const MOST: usize = 256;

/// Keeps the words of a program that is listened to.
pub(super) fn note(interp: &mut Interp, name: &str, args: &[Value]) {
    let program = name.to_ascii_lowercase();
    if !HEARD.contains(&program.as_str()) {
        return;
    }
    let words = args.iter().take(MOST_WORDS);
    let short = |word: &Value| word.text.chars().take(LONGEST).collect();
    let told = Told {
        program,
        words: words.map(short).collect(),
    };
    if interp.facts.told.contains(&told) {
        return;
    }
    // An order may stand past what is kept; of others there may be as many words as there are files.
    let cut = args.len() > MOST_WORDS && told.program.starts_with("mcpproxy");
    if cut || interp.facts.told.len() >= MOST {
        interp.limit("words");
    } else {
        interp.facts.told.push(told);
    }
}

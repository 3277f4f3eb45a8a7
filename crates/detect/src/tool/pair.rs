//! A tool that changed after it was approved: what was added is judged, not that something was.

use serde_json::Value;

use crate::audience::Audience;
use crate::detection::Level;
use crate::tool::fields::{self, Field};
use crate::tool::{Appraisal, Inspector, Sheet, params, purpose, reach, structural};

/// Tags of a change after approval.
const TAGS: &[&str] = &["MCP03", "MCP04", "ASI04", "AML.T0109"];

/// The weight of added text and structure from which a change is worth a look.
const NOTABLE: u32 = 30;

/// Judges a change.
pub(crate) fn judge(scan: &Inspector, before: &Value, after: &Value) -> Appraisal {
    let mut sheet = Sheet::new(purpose::so_far(before, scan.detector()));
    let old = fields::of(before);
    let news: Vec<Field> = fields::of(after)
        .into_iter()
        .filter_map(|field| added(&old, field))
        .collect();
    for field in &news {
        sheet.add(
            &field.path,
            0,
            vec![structural(
                "changed",
                Level::Note,
                0,
                "text was added".to_owned(),
                TAGS,
            )],
        );
        scan.text(Audience::Descriptor, &field.path, &field.text, &mut sheet);
    }
    schema(before, after, &mut sheet);
    annotations(before, after, &mut sheet);
    reach::judge(before, after, TAGS, &mut sheet);
    if before != after && sheet.is_empty() {
        sheet.add(
            "",
            0,
            vec![structural(
                "changed",
                Level::Note,
                0,
                "the descriptor changed".to_owned(),
                TAGS,
            )],
        );
    }
    let mut appraisal = sheet.report();
    // What was added after approval has less to go on and more to explain than the rest.
    let weight: u32 = appraisal
        .findings
        .iter()
        .map(|placed| u32::from(placed.detection.confidence))
        .sum();
    if weight >= NOTABLE {
        appraisal.level = appraisal.level.max(Level::Warn);
    }
    // A change is stopped for what the tool now says, not for being a change.
    if appraisal.level == Level::Block && scan.tool(after).level < Level::Block {
        appraisal.level = Level::Warn;
    }
    appraisal
}

/// What a field says that no sentence of the field said before; nothing if it says nothing new.
fn added(old: &[Field], field: Field) -> Option<Field> {
    let former = old.iter().find(|former| former.path == field.path);
    let Some(former) = former else {
        let moved = old.iter().any(|former| former.text == field.text);
        return (!moved).then_some(field);
    };
    if former.text == field.text {
        return None;
    }
    let known: Vec<&str> = sentences(&former.text).collect();
    let new: Vec<&str> = sentences(&field.text)
        .filter(|sentence| !known.contains(sentence))
        .collect();
    let text = if new.is_empty() {
        field.text
    } else {
        new.join(". ")
    };
    Some(Field {
        path: field.path,
        text,
    })
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split(". ")
        .flat_map(str::lines)
        .map(str::trim)
        .filter(|sentence| !sentence.is_empty())
}

/// Parameters that came, at whatever depth.
fn schema(before: &Value, after: &Value, sheet: &mut Sheet) {
    let (old, new) = (params::all(before), params::all(after));
    let was_there = |name: &str| old.iter().any(|param| param.name == name);
    let had = |words: &[&str]| old.iter().any(|param| has_word(param.name, words));
    let had_way_out = had(WAYS_OUT) || had(GOES);
    let had_secret = old.iter().any(|param| is_secret(param.name));
    let had_command = had(COMMANDS) || has_word(name_of(before), COMMANDS);
    for param in new.iter().filter(|param| !was_there(param.name)) {
        let name = param.name;
        let asks_secret = is_secret(name) || (is_token(name) && param.is_required);
        let found = if asks_secret && !param.is_number && !had_secret && !had(&["token"]) {
            let reason = "a credential is asked for that was not needed before".to_owned();
            structural("new_demand", Level::Warn, 50, reason, TAGS)
        } else if has_word(name, COMMANDS) && !param.is_number && !had_command {
            let reason = "a parameter was added that takes a command".to_owned();
            structural("new_command", Level::Warn, 50, reason, TAGS)
        } else if has_word(name, WAYS_OUT) && !had_way_out {
            let reason = "a parameter was added that names where to send something".to_owned();
            structural("new_way_out", Level::Warn, 50, reason, TAGS)
        } else {
            structural(
                "changed",
                Level::Note,
                0,
                "a parameter was added".to_owned(),
                TAGS,
            )
        };
        sheet.add(&param.path, 0, vec![found]);
    }
    let mut suspect = Sheet::default();
    params::judge(after, &mut suspect);
    for finding in suspect.findings {
        let mut new = new.iter().filter(|param| !was_there(param.name));
        if new.any(|param| param.path == finding.path) {
            sheet.add(&finding.path, 0, vec![finding.detection]);
        }
    }
}

fn name_of(tool: &Value) -> &str {
    tool.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// Tells whether a name asks for what opens something, by itself.
fn is_secret(name: &str) -> bool {
    let is_token = is_token(name) && has_word(name, OF_TOKENS);
    let is_key = has_word(name, &["key"]) && has_word(name, OF_KEYS);
    let is_phrase = has_word(name, &["phrase"]) && has_word(name, OF_PHRASES);
    has_word(name, SECRETS) || is_token || is_key || is_phrase
}

/// Tells whether a name asks for a token, and not for the place to go on reading from.
fn is_token(name: &str) -> bool {
    has_word(name, &["token", "pin"]) && !has_word(name, GOES_ON)
}

/// Words of names that say where a copy of something is sent.
const WAYS_OUT: &[&str] = &[
    "exfil",
    "exfiltrate",
    "webhook",
    "callback",
    "bcc",
    "cc",
    "forward",
    "upload",
    "collector",
    "beacon",
    "report",
    "mirror",
    "send",
    "relay",
    "telemetry",
];

/// Words of names that say where what the tool does goes anyway.
const GOES: &[&str] = &["to", "recipient", "recipients", "url", "channel"];

/// Words of names that ask for a credential.
const SECRETS: &[&str] = &[
    "password",
    "passphrase",
    "secret",
    "credential",
    "credentials",
    "apikey",
    "apikeys",
    "passwd",
    "cookie",
    "cookies",
    "otp",
    "mnemonic",
];

/// Words beside `token` that make it a credential, and those that make it a place in a list.
const OF_TOKENS: &[&str] = &[
    "access", "api", "auth", "bearer", "bot", "github", "gitlab", "id", "jwt", "login", "oauth",
    "personal", "refresh", "secret", "session", "slack", "user",
];
const GOES_ON: &[&str] = &[
    "page",
    "next",
    "continuation",
    "start",
    "sync",
    "cursor",
    "resume",
    "progress",
    "pagination",
];

/// Words beside `phrase` that make it a credential.
const OF_PHRASES: &[&str] = &["seed", "recovery", "secret", "pass", "wallet", "backup"];

/// Words of names that ask for something to be run.
const COMMANDS: &[&str] = &[
    "shell",
    "command",
    "commands",
    "cmd",
    "exec",
    "execute",
    "eval",
    "bash",
    "powershell",
];

/// Words beside `key` that make it a credential.
const OF_KEYS: &[&str] = &[
    "api", "secret", "access", "private", "auth", "ssh", "service",
];

/// Whether a name has one of these words in it.
fn has_word(name: &str, known: &[&str]) -> bool {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    let mut words = words.split(|letter: char| !letter.is_alphanumeric());
    words.any(|word| known.contains(&word))
}

/// The hint from which others follow, and the one that never does.
const READ_ONLY: &str = "readOnlyHint";
const OPEN_WORLD: &str = "openWorldHint";

/// Hints that changed. A hint that came is noted; one that was turned round is worth a look either
/// way: consent was given for what it said before. A promise that is made no more is one that was
/// turned round: a tool that says nothing is one that may do anything.
fn annotations(before: &Value, after: &Value, sheet: &mut Sheet) {
    let hint = |tool: &Value, name: &str| {
        tool.pointer(&format!("/annotations/{name}"))
            .and_then(Value::as_bool)
    };
    for (name, harmless) in [
        (READ_ONLY, true),
        ("destructiveHint", false),
        ("idempotentHint", true),
        (OPEN_WORLD, false),
    ] {
        let (old, new) = (hint(before, name), hint(after, name));
        if old == new {
            continue;
        }
        let path = format!("annotations.{name}");
        let found = if old == Some(!harmless) && new == Some(harmless) {
            let reason = "the tool now promises less danger".to_owned();
            structural("promise", Level::Warn, 50, reason, TAGS)
        } else if old == Some(harmless) && !is_implied(name, new, hint(after, READ_ONLY)) {
            let reason = "the tool now does more than it promised".to_owned();
            structural("new_reach", Level::Warn, 50, reason, TAGS)
        } else {
            structural("changed", Level::Note, 0, "a hint changed".to_owned(), TAGS)
        };
        sheet.add(&path, 0, vec![found]);
    }
}

/// Tells whether a hint that is not given follows from another: what only reads destroys nothing, once
/// or twice. Whom it speaks to does not follow.
fn is_implied(name: &str, given: Option<bool>, read_only: Option<bool>) -> bool {
    name != OPEN_WORLD && given.is_none() && read_only == Some(true)
}

impl Sheet {
    fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }
}

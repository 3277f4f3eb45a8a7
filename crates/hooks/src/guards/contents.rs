//! Whether what is sent and what comes back has the form that the tool itself declares: JSON Schema
//! of arguments and of structured results, sizes, and kinds of content.
//!
//! A schema is an upstream's text, so it is read with limits: large or deep ones are not used. Patterns
//! that are not linear and references to elsewhere are left out of it (`schema`), and the rest holds.

mod schema;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use jsonschema::{PatternOptions, Validator};
use mcpproxy_core::{
    Action, ByteSize, Call, Finding, Masked, Threat, Tier, ToolName, ToolRef, UpstreamId,
};
use mcpproxy_text as text;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::show;

/// The id by which the configuration knows this guard.
pub const ID: &str = "content-filter";
/// Bytes of a schema that is used.
const LARGEST_SCHEMA: usize = 256 * 1024;
/// Nesting of a schema that is used.
const DEEPEST_SCHEMA: usize = 48;
/// Bytes that one pattern of a schema may take in memory.
const LARGEST_PATTERN: usize = 1 << 20;
/// Characters of a place that are shown.
const SHOWN: usize = 120;

/// What is checked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Whether arguments are.
    pub check_request_body: bool,
    /// Whether results are.
    pub check_response_body: bool,
    /// Bytes that a message may have, as a number or as `1MB`.
    pub max_body_size: ByteSize,
    /// Kinds of content that may come back, as `text` or `image/png`; all where none is named.
    pub allowed_content_types: Vec<String>,
    /// Whether a tool is refused whose schema cannot be used.
    pub strict_mode: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            check_request_body: true,
            check_response_body: true,
            max_body_size: ByteSize::new(1_000_000),
            allowed_content_types: Vec::new(),
            strict_mode: false,
        }
    }
}

/// The guard at work.
#[derive(Debug)]
pub struct Contents {
    settings: Settings,
    known: RwLock<HashMap<UpstreamId, HashMap<ToolName, Arc<Form>>>>,
}

/// The form that a tool declares.
#[derive(Debug)]
struct Form {
    arguments: Schema,
    results: Schema,
}

#[derive(Debug)]
enum Schema {
    None,
    Some(Box<Validator>),
    /// What is left of it once what cannot be used is left out.
    Part(Box<Validator>),
    /// It cannot be used, and why.
    Unusable(&'static str),
}

/// Why a schema is not used as it is.
const UNUSABLE: &str = "is not one that can be used";

/// What is wrong with a message, in words that are safe to show.
struct Wrong(String);

impl Contents {
    /// Starts without having seen any listing.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            known: RwLock::default(),
        }
    }

    /// Takes a new listing of an upstream, in place of the one before.
    pub fn learn<'a>(
        &self,
        upstream: &UpstreamId,
        tools: impl Iterator<Item = (&'a ToolName, &'a str)>,
    ) {
        let forms = tools.map(|(name, descriptor)| {
            let form = Form {
                arguments: schema(descriptor, "inputSchema"),
                results: schema(descriptor, "outputSchema"),
            };
            (name.clone(), Arc::new(form))
        });
        let forms: HashMap<ToolName, Arc<Form>> = forms.collect();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let before = known.insert(upstream.clone(), forms);
        let forms = known.get(upstream).into_iter().flatten();
        for (tool, form) in forms.filter(|(_, form)| form.trouble().is_some()) {
            // A listing comes again and again; it is said once.
            let known = before.as_ref().and_then(|before| before.get(tool));
            if known.and_then(|known| known.trouble()) != form.trouble() {
                let trouble = form.trouble().unwrap_or_default();
                let tool = show::name(tool.as_str());
                tracing::warn!(%upstream, %tool, "the schema of this tool {trouble} (`{ID}`)");
            }
        }
    }

    /// Forgets an upstream that is gone.
    pub fn forget(&self, upstream: &UpstreamId) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.remove(upstream);
    }

    /// Checks a call before it leaves.
    pub fn request(&self, call: &Call) -> Option<Finding> {
        if !self.settings.check_request_body {
            return None;
        }
        let raw = std::str::from_utf8(&call.wire.raw).unwrap_or_default();
        let wrong = self.fits(raw.len()).and_then(|()| {
            if call.kind.method() != "tools/call" {
                return Ok(());
            }
            let arguments = text::get(raw, &["params", "arguments"]);
            let arguments = arguments.map_or("{}", |(arguments, _)| arguments);
            let form = self.form(&call.tool);
            form.map_or(Ok(()), |form| {
                self.obeys(&form.arguments, arguments, "arguments")
            })
        });
        wrong.err().as_ref().map(finding)
    }

    /// Checks a result before the caller sees it.
    pub fn response(&self, call: &Call, result: &str) -> Option<Finding> {
        if !self.settings.check_response_body {
            return None;
        }
        let wrong = self
            .fits(result.len())
            .and_then(|()| self.kinds(result))
            .and_then(|()| {
                let Some(form) = self.form(&call.tool) else {
                    return Ok(());
                };
                let structured = text::get(result, &["structuredContent"]);
                structured.map_or(Ok(()), |(structured, _)| {
                    self.obeys(&form.results, structured, "structuredContent")
                })
            });
        wrong.err().as_ref().map(finding)
    }

    fn form(&self, tool: &ToolRef) -> Option<Arc<Form>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&tool.upstream)?.get(&tool.tool).cloned()
    }

    fn fits(&self, bytes: usize) -> Result<(), Wrong> {
        let most = self.settings.max_body_size.bytes();
        let fits = u64::try_from(bytes).is_ok_and(|bytes| bytes <= most);
        let wrong = || Wrong(format!("it has {bytes} bytes, {most} at most are allowed"));
        if fits { Ok(()) } else { Err(wrong()) }
    }

    fn obeys(&self, schema: &Schema, json: &str, place: &str) -> Result<(), Wrong> {
        let validator = match schema {
            Schema::None => return Ok(()),
            Schema::Some(validator) => validator,
            Schema::Part(validator) if !self.settings.strict_mode => validator,
            Schema::Part(_) => {
                return Err(Wrong(format!(
                    "the tool's schema of its {place} {UNUSABLE}"
                )));
            }
            Schema::Unusable(_) if !self.settings.strict_mode => return Ok(()),
            Schema::Unusable(why) => {
                return Err(Wrong(format!("the tool's schema of its {place} {why}")));
            }
        };
        // It passed the strict reader on its way here, so this never fails.
        let Ok(value) = serde_json::from_str::<Value>(json) else {
            return Err(Wrong(format!("its {place} cannot be read")));
        };
        validator.validate(&value).map_err(|error| {
            // The error's own words quote the value, which may be anything.
            let path = error.instance_path().to_string();
            let path: String = path.chars().take(SHOWN).collect();
            let rule = error.schema_path().to_string();
            let rule = rule.rsplit('/').next().unwrap_or_default().to_owned();
            let rule: String = rule.chars().filter(char::is_ascii_alphanumeric).collect();
            let inner = if path.is_empty() {
                String::new()
            } else {
                format!(" at `{path}`")
            };
            Wrong(format!(
                "its {place}{inner} break the rule `{rule}` of the tool's schema"
            ))
        })
    }

    /// Checks the kinds of the blocks of a result.
    fn kinds(&self, result: &str) -> Result<(), Wrong> {
        let allowed = &self.settings.allowed_content_types;
        if allowed.is_empty() {
            return Ok(());
        }
        // A tool's answer has `content`, what is read of a resource `contents`.
        for member in ["content", "contents"] {
            let Some((content, _)) = text::get(result, &[member]) else {
                continue;
            };
            let Ok(blocks) = serde_json::from_str::<Vec<Value>>(content) else {
                return Err(Wrong(format!(
                    "its `{member}` is no list, so that nobody can tell its kind"
                )));
            };
            for block in &blocks {
                let Some(said) = kind(block) else {
                    return Err(Wrong(format!(
                        "something in its `{member}` does not say of which kind it is"
                    )));
                };
                if !allowed.iter().any(|one| is_of(said, one)) {
                    let said: String = said.chars().take(SHOWN).collect();
                    return Err(Wrong(format!(
                        "content of the kind `{said}` is not allowed"
                    )));
                }
            }
        }
        Ok(())
    }
}

/// What a block says that it is: its media type, or else its type; what is read of a resource and says
/// neither is text if it has one.
fn kind(block: &Value) -> Option<&str> {
    let at = |path: &str| block.pointer(path).and_then(Value::as_str);
    let media = at("/mimeType").or(at("/resource/mimeType"));
    let text = || block.get("uri").and(at("/text")).map(|_| "text");
    media.or(at("/type")).or_else(text)
}

/// Tells whether a kind is one that is allowed, also by its first half, as `image/*`.
fn is_of(said: &str, allowed: &str) -> bool {
    let said = said.split(';').next().unwrap_or_default().trim();
    match allowed.strip_suffix("/*") {
        Some(half) => said
            .split_once('/')
            .is_some_and(|(first, _)| first.eq_ignore_ascii_case(half)),
        // What is read of a resource says `text/plain` where a tool says `text`.
        None if allowed == "text" && said.eq_ignore_ascii_case("text/plain") => true,
        None => said.eq_ignore_ascii_case(allowed),
    }
}

/// Reads a schema of a descriptor.
fn schema(descriptor: &str, member: &str) -> Schema {
    let Some((raw, _)) = text::get(descriptor, &[member]) else {
        return Schema::None;
    };
    if raw.len() > LARGEST_SCHEMA {
        return Schema::Unusable("is too large");
    }
    let Ok(value) = serde_json::from_str::<Value>(raw) else {
        return Schema::Unusable("cannot be read");
    };
    if depth(&value) > DEEPEST_SCHEMA {
        return Schema::Unusable("is nested too deep");
    }
    if let Some(validator) = built(&value) {
        return Schema::Some(validator);
    }
    let part = built(&schema::usable(value, |pattern| {
        built(&serde_json::json!({ "pattern": pattern })).is_some()
    }));
    part.map_or(Schema::Unusable(UNUSABLE), Schema::Part)
}

fn built(schema: &Value) -> Option<Box<Validator>> {
    let patterns = PatternOptions::regex()
        .size_limit(LARGEST_PATTERN)
        .dfa_size_limit(LARGEST_PATTERN);
    let options = jsonschema::options().offline();
    let built = options.with_pattern_options(patterns).build(schema);
    built.ok().map(Box::new)
}

impl Form {
    /// Says what is not checked of it.
    fn trouble(&self) -> Option<&'static str> {
        let of = |schema: &Schema| match schema {
            Schema::None | Schema::Some(_) => None,
            Schema::Part(_) => {
                Some("has a pattern or a reference that cannot be used; the rest of it is checked")
            }
            Schema::Unusable(why) => Some(*why),
        };
        of(&self.arguments).or(of(&self.results))
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn finding(wrong: &Wrong) -> Finding {
    Finding {
        threat: Threat::CommandInjection,
        reason: Masked::from_safe(format!(
            "The message is not of the form that is allowed: {}.",
            wrong.0
        )),
        ..Finding::new(ID, Tier::Guard, Action::Deny)
    }
}

#[cfg(test)]
mod tests;

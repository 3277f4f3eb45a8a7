//! What upstreams offer, saved or live: tools beside each other, and everything else they say.

use mcpproxy_detect::tool::{Appraisal, Placed};
use mcpproxy_detect::{Inspector, Peer};
use serde_json::{Value, json};

use super::file::Source;
use super::finding::Finding;

/// What one upstream offers.
pub(super) struct Offer<'a> {
    /// The upstream, or the file that it was saved in.
    name: String,
    tools: Vec<Value>,
    /// The rest of it as an answer of the upstream: prompts, resources, instructions.
    rest: Value,
    saved: Option<Saved<'a>>,
}

/// Where a saved offer stands.
#[derive(Clone, Copy)]
struct Saved<'a> {
    source: &'a Source,
    /// The way to the list of tools.
    tools: &'static str,
    /// What the way of everything else begins with.
    rest: &'static str,
}

impl<'a> Offer<'a> {
    /// Puts together what a live upstream offers.
    pub(super) fn live(name: &str, tools: Vec<Value>, rest: &Value) -> Self {
        Self {
            name: name.to_owned(),
            tools,
            rest: json!({ "result": rest }),
            saved: None,
        }
    }

    /// Reads a saved answer: a whole message, its result, or the list alone. Nothing if the file
    /// is something else.
    pub(super) fn saved(source: &'a Source) -> Option<Self> {
        let root = &source.document.value;
        let (result, tools, rest) = match root {
            Value::Array(items) if items.iter().all(is_tool) => (json!({ "tools": root }), "", ""),
            Value::Object(_) if offers(root.get("result")) => {
                let result = root.get("result").cloned().unwrap_or_default();
                (result, "result.tools", "result.")
            }
            Value::Object(_) if offers(Some(root)) => (root.clone(), "tools", ""),
            _ => return None,
        };
        let mut result = result;
        let list = result.as_object_mut()?.remove("tools");
        Some(Self {
            name: source.name.clone(),
            tools: list
                .and_then(|list| list.as_array().cloned())
                .unwrap_or_default(),
            rest: json!({ "result": result }),
            saved: Some(Saved {
                source,
                tools,
                rest,
            }),
        })
    }

    fn peers(&self) -> impl Iterator<Item = Peer<'_>> {
        self.tools.iter().filter_map(|tool| {
            let description = tool.get("description").and_then(Value::as_str);
            Some(Peer {
                upstream: &self.name,
                name: tool.get("name")?.as_str()?,
                description: description.unwrap_or_default(),
            })
        })
    }

    fn tool(&self, inspector: &Inspector, at: usize, tool: &Value, peers: &[Peer<'_>]) -> Seen {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or("?");
        let subject = match self.saved {
            Some(_) => name.to_owned(),
            None => format!("{}:{name}", self.name),
        };
        let mut seen = Seen::of(&subject, "function", inspector.tool_among(tool, peers));
        if let Some(saved) = self.saved {
            let base = format!("{}[{at}]", saved.tools);
            seen.placed(saved.source, |field| format!("{base}.{field}"));
        }
        seen
    }

    fn rest(&self, inspector: &Inspector) -> Seen {
        let mut seen = Seen::of(&self.name, "module", inspector.frame(&self.rest));
        for finding in &mut seen.findings {
            let field = finding.field.strip_prefix("result.");
            finding.field = field.unwrap_or(&finding.field).to_owned();
        }
        if let Some(saved) = self.saved {
            seen.placed(saved.source, |field| format!("{}{field}", saved.rest));
        }
        seen
    }
}

fn is_tool(value: &Value) -> bool {
    let has = |key: &str| value.get(key).is_some();
    has("name") && (has("inputSchema") || has("description"))
}

/// Whether a result lists what an upstream offers.
fn offers(result: Option<&Value>) -> bool {
    let lists = ["tools", "prompts", "resources", "resourceTemplates"];
    let has = |key: &str| result.and_then(|result| result.get(key));
    lists
        .iter()
        .any(|list| has(list).is_some_and(Value::is_array))
        || has("instructions").is_some_and(Value::is_string)
}

/// What was seen in one thing.
struct Seen {
    findings: Vec<Finding>,
    unread: Option<String>,
}

impl Seen {
    fn of(subject: &str, part: &'static str, appraisal: Appraisal) -> Self {
        let level = appraisal.level;
        let findings = appraisal.findings.into_iter();
        // Where several small things make a big one, each of them is part of it.
        let finding = |placed: Placed| Finding::new(subject, part, level, placed);
        let unread = appraisal.unread.first();
        Self {
            findings: findings.map(finding).collect(),
            unread: unread.map(|_| format!("`{subject}` was not read to its end")),
        }
    }

    fn placed(&mut self, source: &Source, path: impl Fn(&str) -> String) {
        let findings = std::mem::take(&mut self.findings).into_iter();
        let placed = findings.map(|mut finding| {
            finding.path = path(&finding.field);
            finding.in_file(source)
        });
        self.findings = placed.collect();
    }
}

/// Looks at all offers, the tools of each beside those of the others. Returns what was found and
/// what was not read.
pub(super) fn inspect(inspector: &Inspector, offers: &[Offer<'_>]) -> (Vec<Finding>, Vec<String>) {
    let mut all: Vec<Seen> = Vec::new();
    for (at, offer) in offers.iter().enumerate() {
        let others = offers.iter().enumerate().filter(|(other, _)| *other != at);
        let peers: Vec<Peer<'_>> = others.flat_map(|(_, other)| other.peers()).collect();
        let tools = offer.tools.iter().enumerate();
        all.extend(tools.map(|(at, tool)| offer.tool(inspector, at, tool, &peers)));
        all.push(offer.rest(inspector));
    }
    let mut found = (Vec::new(), Vec::new());
    for seen in all {
        found.0.extend(seen.findings);
        found.1.extend(seen.unread);
    }
    found
}

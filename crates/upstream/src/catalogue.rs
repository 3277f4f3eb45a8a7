//! What an upstream offers: its tools, prompts, resources and templates, as raw as they came.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mcpproxy_core::ToolName;
use mcpproxy_mcp::compose::quoted;
use mcpproxy_mcp::header::{ParamHeader, param_headers};
use mcpproxy_text as text;

use crate::instance::Instance;
use crate::settings::ToolFilter;

/// Pages asked for in one listing; an upstream that pages on is cut off there.
const MOST_PAGES: usize = 500;
/// Entries kept of one listing; the rest is left out, and the catalogue says so.
const MOST_ENTRIES: usize = 20_000;
/// How long one page may take.
const PAGE_PATIENCE: Duration = Duration::from_secs(30);

/// One tool as its upstream describes it.
#[derive(Clone, Debug)]
pub struct ToolCard {
    /// Its name at the upstream.
    pub name: ToolName,
    /// The raw descriptor.
    pub raw: Bytes,
    /// Arguments that modern requests repeat in headers.
    pub param_headers: Vec<ParamHeader>,
}

impl ToolCard {
    /// Returns the raw descriptor as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.raw).unwrap_or_default()
    }

    /// Reads a string of the descriptor.
    pub fn string(&self, path: &[&str]) -> Option<String> {
        text::get(self.text(), path)
            .and_then(|(raw, _)| text::string(raw))
            .map(Into::into)
    }

    /// Reads an annotation that is true or false.
    pub fn hint(&self, name: &str) -> Option<bool> {
        text::get(self.text(), &["annotations", name])?
            .0
            .parse()
            .ok()
    }
}

/// A prompt, resource or template: what it is called, and the raw descriptor.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name or address at the upstream.
    pub key: String,
    /// The raw descriptor.
    pub raw: Bytes,
}

/// One listing of everything.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    /// The tools that the filter lets through.
    pub tools: Vec<Arc<ToolCard>>,
    /// Names of tools that the filter holds back.
    pub filtered: Vec<ToolName>,
    /// The prompts.
    pub prompts: Vec<Entry>,
    /// The resources.
    pub resources: Vec<Entry>,
    /// The resource templates.
    pub templates: Vec<Entry>,
    /// What was wrong with the listing, in words.
    pub problems: Vec<String>,
    by_name: HashMap<ToolName, usize>,
}

/// The latest listing.
pub type Catalogue = arc_swap::ArcSwap<Listed>;

impl Listed {
    /// Finds a tool.
    pub fn tool(&self, name: &str) -> Option<&Arc<ToolCard>> {
        self.by_name.get(name).and_then(|at| self.tools.get(*at))
    }

    /// Asks an upstream for everything that it says it has.
    pub async fn fetch(instance: &Instance, filter: &ToolFilter) -> Result<Self, crate::Error> {
        let mut listed = Self::default();
        let problems = &mut listed.problems;
        if instance.declares(&["tools"]) {
            let found = pages(instance, "tools/list", "tools", "name", problems).await?;
            (listed.tools, listed.filtered) = cards(found, filter);
            let names = listed.tools.iter().enumerate();
            listed.by_name = names.map(|(at, card)| (card.name.clone(), at)).collect();
        }
        if instance.declares(&["prompts"]) {
            let found = pages(instance, "prompts/list", "prompts", "name", problems).await;
            listed.prompts = unless_refused(found, problems)?;
        }
        if instance.declares(&["resources"]) {
            let found = pages(instance, "resources/list", "resources", "uri", problems).await;
            listed.resources = unless_refused(found, problems)?;
            let method = "resources/templates/list";
            let templates = pages(
                instance,
                method,
                "resourceTemplates",
                "uriTemplate",
                problems,
            )
            .await;
            // Many upstreams have resources and do not know the method for templates.
            listed.templates = templates.unwrap_or_default();
        }
        Ok(listed)
    }
}

/// Takes a refusal for an empty list: an upstream that declares more than it has still has its
/// tools.
fn unless_refused(
    found: Result<Vec<Entry>, crate::Error>,
    problems: &mut Vec<String>,
) -> Result<Vec<Entry>, crate::Error> {
    match found {
        Err(fault @ crate::Error::Refused { .. }) => {
            problems.push(fault.to_string());
            Ok(Vec::new())
        }
        found => found,
    }
}

fn cards(found: Vec<Entry>, filter: &ToolFilter) -> (Vec<Arc<ToolCard>>, Vec<ToolName>) {
    let (mut kept, mut filtered) = (Vec::with_capacity(found.len()), Vec::new());
    for entry in found {
        let name = ToolName::new(entry.key);
        if !filter.admits(name.as_str()) {
            filtered.push(name);
            continue;
        }
        let descriptor = std::str::from_utf8(&entry.raw).unwrap_or_default();
        let schema = text::get(descriptor, &["inputSchema"]).map_or("{}", |(raw, _)| raw);
        let param_headers = param_headers(schema);
        kept.push(Arc::new(ToolCard {
            name,
            raw: entry.raw,
            param_headers,
        }));
    }
    (kept, filtered)
}

async fn pages(
    instance: &Instance,
    method: &'static str,
    list: &str,
    key: &str,
    problems: &mut Vec<String>,
) -> Result<Vec<Entry>, crate::Error> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let mut params = "{}".to_owned();
    for _ in 0..MOST_PAGES {
        let page = instance.own(method, &params, PAGE_PATIENCE).await?;
        let (array, _) = text::get(&page, &[list]).unwrap_or(("[]", 0..0));
        for raw in text::elements(array).filter_map(|span| array.get(span)) {
            let Some(name) = text::get(raw, &[key]).and_then(|(raw, _)| text::string(raw)) else {
                problems.push(format!("an entry of `{method}` has no `{key}`"));
                continue;
            };
            if entries.len() >= MOST_ENTRIES {
                problems.push(format!("`{method}` has more than {MOST_ENTRIES} entries"));
                return Ok(entries);
            }
            // Two entries of one name cannot be told apart when called: the first stands.
            if !seen.insert(name.clone().into_owned()) {
                problems.push(format!("`{method}` names `{name}` twice"));
                continue;
            }
            let raw = Bytes::copy_from_slice(raw.as_bytes());
            entries.push(Entry {
                key: name.into_owned(),
                raw,
            });
        }
        let cursor = text::get(&page, &["nextCursor"]).and_then(|(raw, _)| text::string(raw));
        let Some(cursor) = cursor else {
            return Ok(entries);
        };
        params = format!(r#"{{"cursor":{}}}"#, quoted(&cursor));
    }
    problems.push(format!("`{method}` has more than {MOST_PAGES} pages"));
    Ok(entries)
}

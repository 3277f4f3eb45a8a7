//! From what agents had configured to entries of our own file, beside those that it has already.

use std::collections::BTreeMap;

use anyhow::Result;
use mcpproxy_agents::{AgentKind, Imported, PlannedUpstream, Transport};
use mcpproxy_config::check_upstream;
use mcpproxy_upstream::settings::UpstreamSettings;
use serde_json::{Map, Value, json};

use super::own::environment;
use crate::exit::bad_input;

/// The longest name of an upstream.
const LONGEST: usize = 64;

/// An entry of our own file.
pub(super) type Entry = Map<String, Value>;

/// An upstream that our configuration does not have yet.
pub(super) struct Addition {
    pub(super) name: String,
    pub(super) entry: Entry,
    /// The variables that it needs where the gateway runs.
    pub(super) variables: Vec<String>,
}

/// What is new, and what is there already.
#[derive(Default)]
pub(super) struct Additions {
    pub(super) new: Vec<Addition>,
    /// The upstreams of our configuration that are the same as an imported one.
    pub(super) present: Vec<String>,
    /// What the user should know.
    pub(super) notes: Vec<String>,
}

impl Additions {
    /// Compares what was planned with what our configuration has.
    pub(super) fn beside(
        planned: &[PlannedUpstream],
        existing: &BTreeMap<String, UpstreamSettings>,
    ) -> Result<Self> {
        let mut taken = existing.clone();
        let mut additions = Self::default();
        for PlannedUpstream { upstream, origins } in planned {
            let entry = entry(upstream);
            let checked =
                check_upstream(&upstream.name, &Value::Object(entry.clone()), &environment);
            let settings = checked.map_err(|problems| bad_input(problems.to_string(), None))?;
            let agent = origins.first().map(|origin| origin.agent);
            let suffix = agent.map_or("imported", AgentKind::slug);
            for key in &upstream.ignored {
                let owner = agent.map_or("its agent", AgentKind::name);
                let name = &upstream.name;
                additions.notes.push(format!(
                    "`{key}` of `{name}` means something to {owner} only and is not imported"
                ));
            }
            match place(&upstream.name, suffix, &settings, &taken) {
                Placed::Present(name, held) => {
                    additions.note_disabled(&name, held, &settings);
                    additions.present.push(name);
                }
                Placed::Free(name) => {
                    additions.note_renamed(&upstream.name, &name);
                    taken.insert(name.clone(), settings);
                    let variables = upstream.variables.clone();
                    additions.new.push(Addition {
                        name,
                        entry,
                        variables,
                    });
                }
            }
        }
        Ok(additions)
    }

    /// Returns the new entries by name.
    pub(super) fn entries(&self) -> Vec<(String, Entry)> {
        self.new
            .iter()
            .map(|new| (new.name.clone(), new.entry.clone()))
            .collect()
    }

    fn note_renamed(&mut self, wanted: &str, name: &str) {
        if wanted != name {
            self.notes.push(format!(
                "`{wanted}` is called `{name}`, since our configuration has a different `{wanted}`"
            ));
        }
    }

    fn note_disabled(&mut self, name: &str, held: &UpstreamSettings, wanted: &UpstreamSettings) {
        if wanted.enabled && !held.enabled {
            self.notes.push(format!(
                "`{name}` is switched off in our configuration; `mcpproxy upstream enable {name}` \
                 switches it on"
            ));
        }
    }
}

/// Spells an upstream as our own file does.
pub(super) fn entry(upstream: &Imported) -> Entry {
    let mut entry = Map::new();
    let mut put = |key: &str, value: Value| drop(entry.insert(key.to_owned(), value));
    match &upstream.transport {
        Transport::Stdio {
            command,
            args,
            env,
            cwd,
        } => {
            put("command", json!(command));
            if !args.is_empty() {
                put("args", json!(args));
            }
            if !env.is_empty() {
                put("env", json!(env));
            }
            if let Some(cwd) = cwd {
                put("working_dir", json!(cwd.to_string_lossy()));
            }
        }
        Transport::Http { url, headers } | Transport::Sse { url, headers } => {
            put("url", json!(url));
            if matches!(upstream.transport, Transport::Sse { .. }) {
                put("transport", json!("sse"));
            }
            if !headers.is_empty() {
                put("headers", json!(headers));
            }
        }
    }
    if !upstream.enabled {
        put("enabled", json!(false));
    }
    entry
}

/// Where an upstream finds its place.
enum Placed<'a> {
    /// It is there, under this name.
    Present(String, &'a UpstreamSettings),
    /// It is not, and this name is free.
    Free(String),
}

fn place<'a>(
    name: &str,
    suffix: &str,
    settings: &UpstreamSettings,
    taken: &'a BTreeMap<String, UpstreamSettings>,
) -> Placed<'a> {
    let mut wanted = name.to_owned();
    let mut count = 1_usize;
    while let Some(held) = taken.get(&wanted) {
        if same(held, settings) {
            return Placed::Present(wanted, held);
        }
        let numbered = if count == 1 {
            suffix.to_owned()
        } else {
            format!("{suffix}-{count}")
        };
        let room = LONGEST.saturating_sub(numbered.len() + 1);
        let short: String = name.chars().take(room).collect();
        wanted = format!("{short}-{numbered}");
        count += 1;
    }
    Placed::Free(wanted)
}

/// Tells whether two settings reach the same upstream. How it is bounded, shared or filtered here
/// does not make it another one, nor does a folder that only one of them names.
fn same(held: &UpstreamSettings, other: &UpstreamSettings) -> bool {
    let folders = match (&held.working_dir, &other.working_dir) {
        (Some(held), Some(other)) => held == other,
        _ => true,
    };
    folders
        && held.command == other.command
        && held.args == other.args
        && held.env == other.env
        && held.url == other.url
        && held.headers == other.headers
        && held.effective_transport() == other.effective_transport()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(command: &str) -> UpstreamSettings {
        UpstreamSettings {
            command: Some(command.to_owned()),
            ..UpstreamSettings::default()
        }
    }

    #[test]
    fn a_name_is_held_by_one_content() {
        let tuned = UpstreamSettings {
            max_in_flight: 3,
            ..settings("one")
        };
        let long = "x".repeat(64);
        let taken = BTreeMap::from([
            ("a".to_owned(), tuned),
            ("a-cursor".to_owned(), settings("two")),
            (long.clone(), settings("one")),
        ]);
        let check = |name: &str, command: &str, expect: &str| {
            let placed = match place(name, "cursor", &settings(command), &taken) {
                Placed::Present(name, _) => format!("present {name}"),
                Placed::Free(name) => format!("free {name}"),
            };
            assert_eq!(placed, expect);
        };
        check("b", "one", "free b");
        check("a", "one", "present a");
        check("a", "two", "present a-cursor");
        check("a", "three", "free a-cursor-2");
        check(&long, "two", &format!("free {}-cursor", "x".repeat(57)));
    }

    #[test]
    fn what_reaches_the_same_is_the_same() {
        let folder = |folder: &str| UpstreamSettings {
            working_dir: Some(folder.into()),
            ..settings("one")
        };
        let check = |held: &UpstreamSettings, other: &UpstreamSettings, expect: bool| {
            assert_eq!(same(held, other), expect, "{held:?} {other:?}");
        };
        check(&settings("one"), &settings("one"), true);
        check(&settings("one"), &settings("two"), false);
        check(&folder("/a"), &settings("one"), true);
        check(&folder("/a"), &folder("/a"), true);
        check(&folder("/a"), &folder("/b"), false);
        let off = UpstreamSettings {
            enabled: false,
            ..settings("one")
        };
        check(&off, &settings("one"), true);
    }
}

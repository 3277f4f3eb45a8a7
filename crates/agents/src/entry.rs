//! Reads one entry of an agent's list into an upstream.
//!
//! Most agents share their keys, so that the common shapes are here and the adapters say only what
//! is theirs. A reason given here is shown to the user next to the entry's name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::imported::Transport;
use crate::tree::{Node, Value};
use crate::vars::Context;

/// Keys without which the upstream would not work, and which only the agent can honour.
const AGENT_BOUND: [(&str, &str); 3] = [
    (
        "envFile",
        "its variables are in an `envFile`, which mcpproxy does not read",
    ),
    (
        "headersHelper",
        "its headers come from a `headersHelper`, which only the agent runs",
    ),
    (
        "env_keys",
        "its secrets (`env_keys`) are in the agent's keyring",
    ),
];

/// The keys of an entry, each ticked off when it is read.
pub(crate) struct Fields<'a> {
    entry: &'a Node,
    read: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// Opens an entry.
    pub(crate) fn new(entry: &'a Node) -> Result<Self, String> {
        if entry.members().is_none() {
            return Err("it is not a map".to_owned());
        }
        let bound = AGENT_BOUND
            .iter()
            .find(|(key, _)| entry.get(key).is_some_and(|v| !is_empty(v)));
        match bound {
            Some((_, reason)) => Err((*reason).to_owned()),
            None => Ok(Self {
                entry,
                read: Vec::new(),
            }),
        }
    }

    fn take(&mut self, key: &'static str) -> Option<&'a Node> {
        self.read.push(key);
        self.entry
            .get(key)
            .filter(|node| !matches!(node.value, Value::Null))
    }

    /// Ticks off keys that say nothing an upstream needs to know.
    pub(crate) fn skip(&mut self, keys: &[&'static str]) {
        self.read.extend(keys);
    }

    /// Reads a text.
    pub(crate) fn text(&mut self, key: &'static str) -> Result<Option<String>, String> {
        let Some(node) = self.take(key) else {
            return Ok(None);
        };
        scalar(node)
            .map(Some)
            .ok_or_else(|| format!("`{key}` is not a text"))
    }

    /// Reads a list of texts.
    pub(crate) fn texts(&mut self, key: &'static str) -> Result<Vec<String>, String> {
        let Some(node) = self.take(key) else {
            return Ok(Vec::new());
        };
        let texts = node
            .items()
            .and_then(|items| items.iter().map(scalar).collect());
        texts.ok_or_else(|| format!("`{key}` is not a list of texts"))
    }

    /// Reads a map of texts.
    pub(crate) fn pairs(&mut self, key: &'static str) -> Result<BTreeMap<String, String>, String> {
        let Some(node) = self.take(key) else {
            return Ok(BTreeMap::new());
        };
        let pair =
            |member: &crate::tree::Member| Some((member.key.clone(), scalar(&member.value)?));
        let pairs = node
            .members()
            .and_then(|members| members.iter().map(pair).collect());
        pairs.ok_or_else(|| format!("`{key}` is not a map of texts"))
    }

    /// Reads a switch.
    pub(crate) fn flag(&mut self, key: &'static str) -> Result<Option<bool>, String> {
        match self.take(key).map(|node| &node.value) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(format!("`{key}` is neither true nor false")),
        }
    }

    /// Reads whether the entry is in use; agents spell it either way.
    pub(crate) fn enabled(&mut self) -> Result<bool, String> {
        let disabled = self.flag("disabled")?.unwrap_or(false);
        Ok(self.flag("enabled")?.unwrap_or(true) && !disabled)
    }

    /// Reads `command`, `args`, `env` and `cwd`, as nearly every agent spells them.
    pub(crate) fn stdio(&mut self) -> Result<Transport, String> {
        let command = self
            .text("command")?
            .ok_or("it has neither a command nor an address")?;
        Ok(Transport::Stdio {
            command,
            args: self.texts("args")?,
            env: self.pairs("env")?,
            cwd: self.text("cwd")?.map(PathBuf::from),
        })
    }

    /// Makes a remote transport of the kind the agent would have used for the address.
    pub(crate) fn remote(&mut self, url: String, kind: Remote) -> Result<Transport, String> {
        let headers = self.pairs("headers")?;
        Ok(match kind {
            Remote::Sse => Transport::Sse { url, headers },
            Remote::Guess if ends_in_sse(&url) => Transport::Sse { url, headers },
            Remote::Http | Remote::Guess => Transport::Http { url, headers },
        })
    }

    /// Returns the keys nobody has read.
    pub(crate) fn rest(self) -> Vec<String> {
        let members = self.entry.members().unwrap_or_default();
        let unread = members
            .iter()
            .filter(|member| !self.read.contains(&member.key.as_str()));
        let known = unread.filter(|member| !matches!(member.value.value, Value::Null));
        known.map(|member| member.key.clone()).collect()
    }
}

/// Which remote transport an entry asks for.
#[derive(Clone, Copy)]
pub(crate) enum Remote {
    Http,
    Sse,
    /// The agent tries Streamable HTTP and falls back, so that the address has to tell.
    Guess,
}

/// A variable the agent puts into a value itself, behind a fixed word.
pub(crate) struct Reference {
    pub(crate) scheme: &'static str,
    pub(crate) variable: String,
}

/// References by the variable of the child, or the header, that they fill.
pub(crate) type References = BTreeMap<String, Reference>;

/// Fills in references, as values in mcpproxy's own form.
pub(crate) fn refer(transport: &mut Transport, found: References, variables: &mut Vec<String>) {
    let values = match transport {
        Transport::Stdio { env, .. } => env,
        Transport::Http { headers, .. } | Transport::Sse { headers, .. } => headers,
    };
    for (name, Reference { scheme, variable }) in found {
        values.insert(name, format!("{scheme}${{{variable}}}"));
        if !variables.contains(&variable) {
            variables.push(variable);
        }
    }
}

/// Resolves what an agent would have resolved itself: references, and the folder to start in.
pub(crate) fn settle(transport: &mut Transport, context: &mut Context<'_>) -> Result<(), String> {
    let mut each = |text: &mut String| -> Result<(), String> {
        *text = context.translate(text)?;
        Ok(())
    };
    match transport {
        Transport::Stdio {
            command,
            args,
            env,
            cwd,
        } => {
            each(command)?;
            args.iter_mut()
                .chain(env.values_mut())
                .try_for_each(&mut each)?;
            let mut folder = cwd.as_deref().and_then(Path::to_str).map(str::to_owned);
            folder.iter_mut().try_for_each(&mut each)?;
            *cwd = match (context.project, folder) {
                (Some(project), Some(folder)) => Some(project.join(folder)),
                (project, folder) => folder.map(PathBuf::from).or(project.map(Path::to_owned)),
            };
        }
        Transport::Http { url, headers } | Transport::Sse { url, headers } => {
            each(url)?;
            headers.values_mut().try_for_each(&mut each)?;
        }
    }
    Ok(())
}

fn scalar(node: &Node) -> Option<String> {
    match &node.value {
        Value::Text(text) | Value::Number(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::List(_) | Value::Map(_) => None,
    }
}

fn is_empty(node: &Node) -> bool {
    match &node.value {
        Value::Null => true,
        Value::Text(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Map(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn ends_in_sse(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    path.trim_end_matches('/').ends_with("/sse")
}

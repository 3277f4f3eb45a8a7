//! Which tool an agent's hook speaks of: one of the agent's own, one behind this gateway, or one
//! that the agent reaches by itself.

use mcpproxy_agents::ENTRY_NAME;
use mcpproxy_agents::hook::{Asked, HookAgent, Tool};
use mcpproxy_classify::{Meaning, Names, meaning, role};
use mcpproxy_core::{Declared, Operation, Owner, ToolName, ToolRef, UpstreamId};
use serde_json::Value;

use crate::gateway::Gateway;
use crate::router::{SEPARATOR, only_upstream};
use crate::settings::RoutingMode;
use crate::toolbox::{self, declared};

/// What stands between the name of this gateway and that of a tool, in the spellings of agents that
/// do not mark what is behind MCP.
const BETWEEN: [char; 6] = ['_', '-', '.', ':', '/', ' '];

/// The tool that a hook speaks of.
#[derive(Debug, PartialEq)]
pub(crate) struct Aim {
    /// Whose it is.
    pub(crate) owner: Owner,
    /// The tool.
    pub(crate) tool: ToolRef,
    /// What it is given.
    pub(crate) arguments: Value,
    /// What the agent says about its intent.
    pub(crate) declared: Declared,
    /// The name under which the call will come by here.
    pub(crate) announced: Option<String>,
    /// Whether what it gives is data: our own tools tell of tools.
    pub(crate) brings_data: bool,
}

impl Aim {
    /// Finds the tool that a payload speaks of.
    pub(crate) fn of(gateway: &Gateway, asked: &Asked) -> Self {
        let (upstream, tool) = match &asked.tool {
            Tool::Own { name, spelled } => {
                return match unmarked(spelled) {
                    Some(tool) => Self::behind(gateway, "", tool, &asked.input),
                    None => glued(gateway, asked.agent, spelled, &asked.input)
                        .unwrap_or_else(|| Self::own(asked, name)),
                };
            }
            Tool::Mcp { upstream, tool, .. } => (upstream.as_str(), tool.as_str()),
            Tool::None => return Self::own(asked, ""),
        };
        Self::behind(gateway, upstream, tool, &asked.input)
    }

    /// Finds a tool behind MCP: one behind this gateway, else one that the agent reaches by itself.
    fn behind(gateway: &Gateway, upstream: &str, tool: &str, input: &Value) -> Self {
        called(gateway, tool, input)
            .or_else(|| prefixed(gateway, tool, input))
            .or_else(|| single(gateway, upstream, tool, input))
            .unwrap_or_else(|| Self::elsewhere(upstream, tool, input))
    }

    fn elsewhere(upstream: &str, tool: &str, input: &Value) -> Self {
        Self {
            owner: Owner::Elsewhere,
            tool: tool_ref(upstream, tool),
            arguments: input.clone(),
            declared: Declared::default(),
            announced: None,
            brings_data: true,
        }
    }

    fn own(asked: &Asked, name: &str) -> Self {
        Self {
            owner: Owner::Agent,
            tool: tool_ref(asked.agent.name(), name),
            arguments: asked.input.clone(),
            declared: Declared::default(),
            announced: None,
            brings_data: true,
        }
    }

    fn here(announced: &str, tool: ToolRef, arguments: Value) -> Self {
        Self {
            owner: Owner::Gateway,
            tool,
            arguments,
            declared: Declared::default(),
            announced: Some(announced.to_owned()),
            brings_data: true,
        }
    }
}

fn tool_ref(upstream: &str, tool: &str) -> ToolRef {
    ToolRef {
        upstream: UpstreamId::new(upstream),
        tool: ToolName::new(tool),
    }
}

/// Finds one of our own tools behind a name that an agent did not take apart.
fn unmarked(spelled: &str) -> Option<&str> {
    let mut own = toolbox::NAMES.iter();
    own.find_map(|name| {
        let before = spelled.strip_suffix(name)?;
        let cut = spelled.len() - name.len();
        before.ends_with(BETWEEN).then(|| spelled.get(cut..))?
    })
}

/// Understands `upstream_tool` and `upstream-tool`, which agents write that do not mark what is behind
/// MCP: what stands behind our name is ours, and a tool of nobody's that begins with the name of an
/// upstream is one that the agent has, too.
fn glued(gateway: &Gateway, agent: HookAgent, spelled: &str, input: &Value) -> Option<Aim> {
    if !matches!(agent, HookAgent::OpenCode | HookAgent::CopilotCli) || role(spelled).is_some() {
        return None;
    }
    let fleet = gateway.fleet.all();
    let upstreams: Vec<&str> = fleet.keys().map(UpstreamId::as_str).collect();
    let names = Names {
        upstreams: &upstreams,
        gateways: &[],
    };
    if let Some(inner) = behind_us(spelled) {
        let announced = |upstream: &str, tool: &str| [upstream, SEPARATOR, tool].concat();
        return Some(match meaning(inner, &names) {
            // The name of an upstream may be written in other letters than its own.
            Meaning::Upstream { upstream, tool, .. } if inner.contains(SEPARATOR) => {
                Aim::behind(gateway, ENTRY_NAME, &announced(upstream, tool), input)
            }
            _ => Aim::behind(gateway, ENTRY_NAME, inner, input),
        });
    }
    match meaning(spelled, &names) {
        Meaning::Upstream { upstream, tool, .. } => Some(Aim::elsewhere(upstream, tool, input)),
        Meaning::Ambiguous { upstreams, tool } => {
            let upstream = upstreams.first().copied().unwrap_or_default();
            Some(Aim::elsewhere(upstream, tool, input))
        }
        Meaning::Elsewhere { name } => Some(Aim::elsewhere("", name, input)),
        Meaning::Gateway { .. } | Meaning::Plain => None,
    }
}

/// Returns what stands behind the name under which `init` writes us into agents' files.
fn behind_us(spelled: &str) -> Option<&str> {
    let rest = spelled.strip_prefix(ENTRY_NAME)?;
    rest.strip_prefix(BETWEEN).filter(|tool| !tool.is_empty())
}

/// Understands a call of one of our own tools.
fn called(gateway: &Gateway, tool: &str, input: &Value) -> Option<Aim> {
    if !toolbox::NAMES.contains(&tool) {
        return None;
    }
    let operation = match tool {
        "call_tool_read" => Operation::Read,
        "call_tool_write" => Operation::Write,
        "call_tool_destructive" => Operation::Destructive,
        _ => {
            return Some(Aim {
                owner: Owner::Agent,
                brings_data: false,
                ..Aim::here(tool, tool_ref("mcpproxy", tool), input.clone())
            });
        }
    };
    let (upstream, name) = input.get("name")?.as_str()?.split_once(':')?;
    gateway.fleet.get(upstream).ok()?;
    let text = input.get("args_json").and_then(Value::as_str);
    let inner = match text.filter(|text| !text.is_empty()) {
        Some(text) => serde_json::from_str(text).ok()?,
        None => input.get("args").cloned().unwrap_or_default(),
    };
    let fallback = Declared {
        operation: Some(operation),
        ..Declared::default()
    };
    Some(Aim {
        declared: declared(operation, input).unwrap_or(fallback),
        ..Aim::here(tool, tool_ref(upstream, name), inner)
    })
}

/// Understands `upstream__tool`, as a gateway shows it that shows all tools.
fn prefixed(gateway: &Gateway, tool: &str, input: &Value) -> Option<Aim> {
    let (upstream, name) = tool.split_once(SEPARATOR)?;
    gateway.fleet.get(upstream).ok()?;
    Some(Aim::here(tool, tool_ref(upstream, name), input.clone()))
}

/// Understands the bare name of a tool of the only upstream. Another server of the agent's may have a
/// tool of the same name, which the names of the other modes rule out.
fn single(gateway: &Gateway, entry: &str, tool: &str, input: &Value) -> Option<Aim> {
    if gateway.active().settings.routing_mode != RoutingMode::Single {
        return None;
    }
    let upstream = only_upstream(gateway).ok()?;
    upstream.listed().tool(tool)?;
    let name = upstream.name().as_str();
    is_ours(entry, name).then(|| Aim::here(tool, tool_ref(name, tool), input.clone()))
}

/// Tells whether an agent's entry of this name leads here: nobody tells us what it is called. Ours is
/// what `init` writes, what is called like the upstream for which we stand, and where the agent does
/// not say; any other is taken for another server, which links nobody.
fn is_ours(entry: &str, upstream: &str) -> bool {
    let plain = |name: &str| {
        let letters = name.chars().filter(|letter| letter.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect::<String>()
    };
    // Agents write other letters for some, and put the name of a plugin before it.
    let named = plain(entry);
    entry.is_empty() || named.ends_with(ENTRY_NAME) || named == plain(upstream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_tools_are_found_in_names_that_nobody_took_apart() {
        let check = |spelled: &str, expect: Option<&str>| {
            assert_eq!(unmarked(spelled), expect, "{spelled}");
        };
        check("mcpproxy_call_tool_write", Some("call_tool_write"));
        check("gw-retrieve_tools", Some("retrieve_tools"));
        check("call_tool_write", None);
        check("xcall_tool_write", None);
        check("Read", None);
    }

    #[test]
    fn what_stands_behind_our_name_is_ours() {
        let check = |spelled: &str, expect: Option<&str>| {
            assert_eq!(behind_us(spelled), expect, "{spelled}");
        };
        check("mcpproxy_slack__post_message", Some("slack__post_message"));
        check("mcpproxy-slack__post_message", Some("slack__post_message"));
        check("mcpproxy_", None);
        check("mcpproxy", None);
        check("mcpproxyslack", None);
        check("slack_post_message", None);
    }

    #[test]
    fn an_entry_that_has_neither_our_name_nor_the_upstreams_is_another_server() {
        let check = |entry: &str, expect: bool| {
            assert_eq!(is_ours(entry, "my.files"), expect, "{entry}");
        };
        check("mcpproxy", true);
        check("MCPProxy", true);
        check("plugin_tools_mcpproxy", true);
        check("my_files", true);
        check("", true);
        check("filesystem", false);
        check("files", false);
        check("mcpproxy-docs", false);
    }
}

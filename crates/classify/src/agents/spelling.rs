//! Agents' spellings of tools behind MCP, taken apart into upstream and tool.
//!
//! | spelling | who |
//! |---|---|
//! | `mcp__upstream__tool` | Claude Code and its SDK, Codex |
//! | `mcp__plugin_name_upstream__tool` | Claude Code, for plugins |
//! | `mcp_upstream_tool` | Gemini CLI, VS Code |
//! | `upstream__tool` | Goose, our own list of all tools |
//! | `upstream:tool`, `upstream.tool` | our own calls, others |
//! | `@upstream/tool`, `upstream/tool` | Kiro, Amazon Q |
//! | `upstream_tool`, `upstream-tool` | `OpenCode`, Copilot CLI |
//! | `MCP:tool` | Cursor, which names the upstream elsewhere |
//!
//! Agents rewrite what they do not like in a name, so `my.db` arrives as `my_db`; upstream names may
//! contain the separators themselves. The longest known name wins, and who else could have been
//! meant is said.

use super::role;

/// The names under which something may stand in an agent's spelling.
#[derive(Clone, Copy, Debug, Default)]
pub struct Names<'a> {
    /// The upstreams that are known.
    pub upstreams: &'a [&'a str],
    /// The names under which agents know this gateway: what follows them is one of our own tools,
    /// or an upstream's.
    pub gateways: &'a [&'a str],
}

/// What a spelling means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning<'a> {
    /// A tool of a known upstream.
    Upstream {
        /// The upstream, as it is known.
        upstream: &'a str,
        /// The tool.
        tool: &'a str,
        /// Other upstreams that the spelling could name, with shorter names.
        others: Vec<&'a str>,
    },
    /// Two upstreams have names that this agent cannot tell apart.
    Ambiguous {
        /// The upstreams.
        upstreams: Vec<&'a str>,
        /// The tool.
        tool: &'a str,
    },
    /// A tool of this gateway.
    Gateway {
        /// The tool.
        tool: &'a str,
    },
    /// A tool behind MCP whose upstream is not named, or not known here.
    Elsewhere {
        /// What is left of the name without the mark of MCP.
        name: &'a str,
    },
    /// Not spelled as a tool behind MCP.
    Plain,
}

/// Takes a spelling apart.
pub fn meaning<'a>(spelled: &'a str, names: &Names<'a>) -> Meaning<'a> {
    let (rest, separators) = match unmarked(spelled) {
        // `web_search` is the agent's own, even beside an upstream that is called `web`.
        (rest, separators) if !separators.is_marked && role(spelled).is_some() => (rest, CERTAIN),
        found => found,
    };
    if let Some(found) = named(rest, separators, names.upstreams) {
        return found;
    }
    // An upstream may be called `mcp-something`.
    if separators.is_marked
        && let Some(found) = named(spelled, ANY, names.upstreams)
    {
        return found;
    }
    if let Some(inner) = after_gateway(rest, separators, names.gateways) {
        return named(inner, ANY, names.upstreams).unwrap_or(Meaning::Gateway { tool: inner });
    }
    if separators.is_marked {
        return Meaning::Elsewhere { name: rest };
    }
    Meaning::Plain
}

/// What may stand between upstream and tool.
#[derive(Clone, Copy)]
struct Separators {
    /// Longer ones first.
    between: &'static [&'static str],
    /// Whether the spelling carries a mark of MCP.
    is_marked: bool,
    /// Whether the name of a plugin may stand before the upstream.
    has_plugins: bool,
}

const ANY: Separators = Separators {
    between: &["__", ":", "/", ".", "_", "-"],
    is_marked: false,
    has_plugins: false,
};

/// What no agent writes inside the name of a tool of its own.
const CERTAIN: Separators = Separators {
    between: &["__", ":", "/"],
    ..ANY
};

/// Takes the mark of MCP off a spelling.
fn unmarked(spelled: &str) -> (&str, Separators) {
    let marked = Separators {
        is_marked: true,
        ..ANY
    };
    if let Some(rest) = spelled.strip_prefix("mcp__") {
        let between = &["__"];
        return (
            rest,
            Separators {
                between,
                has_plugins: true,
                ..marked
            },
        );
    }
    if let Some(rest) = spelled.strip_prefix("mcp_") {
        return (
            rest,
            Separators {
                between: &["__", "_"],
                ..marked
            },
        );
    }
    if let Some(rest) = spelled.strip_prefix('@') {
        return (
            rest,
            Separators {
                between: &["/"],
                ..marked
            },
        );
    }
    for mark in ["MCP:", "mcp:", "mcp.", "mcp-", "mcp/"] {
        if let Some(rest) = spelled.strip_prefix(mark) {
            return (rest.trim_start(), marked);
        }
    }
    (spelled, ANY)
}

/// Finds the known upstreams that a spelling could begin with.
fn named<'a>(rest: &'a str, separators: Separators, known: &[&'a str]) -> Option<Meaning<'a>> {
    let mut found: Vec<(&'a str, &'a str)> = known
        .iter()
        .filter_map(|name| Some((*name, tool_after(rest, name, separators)?)))
        .collect();
    if found.is_empty() && separators.has_plugins {
        found = plugin_named(rest, separators, known);
    }
    let longest = found.iter().map(|(_, tool)| tool.len()).min()?;
    let (best, shorter): (Vec<_>, Vec<_>) = found
        .into_iter()
        .partition(|(_, tool)| tool.len() == longest);
    let exact = best.iter().find(|(name, _)| rest.starts_with(name));
    match (exact, &*best) {
        (Some((upstream, tool)), _) | (None, [(upstream, tool)]) => {
            let others = shorter.iter().map(|(name, _)| *name).collect();
            Some(Meaning::Upstream {
                upstream,
                tool,
                others,
            })
        }
        (None, several) => {
            let upstreams = several.iter().map(|(name, _)| *name).collect();
            let tool = several.first().map_or("", |(_, tool)| tool);
            Some(Meaning::Ambiguous { upstreams, tool })
        }
    }
}

/// Finds upstreams behind the name of a plugin: `plugin_acme_github__get_file`.
fn plugin_named<'a>(
    rest: &'a str,
    separators: Separators,
    known: &[&'a str],
) -> Vec<(&'a str, &'a str)> {
    let Some(inner) = rest.strip_prefix("plugin_") else {
        return Vec::new();
    };
    let starts: Vec<&'a str> = inner
        .match_indices('_')
        .filter_map(|(at, _)| inner.get(at + 1..))
        .take(16)
        .collect();
    let at = |name: &&'a str| {
        starts
            .iter()
            .find_map(|start| Some((*name, tool_after(start, name, separators)?)))
    };
    known.iter().filter_map(at).collect()
}

/// Returns what follows the name of the gateway.
fn after_gateway<'a>(
    rest: &'a str,
    separators: Separators,
    gateways: &[&'a str],
) -> Option<&'a str> {
    let tools = gateways
        .iter()
        .filter_map(|name| tool_after(rest, name, separators));
    tools.min_by_key(|tool| tool.len())
}

/// Returns the tool if `spelled` is the upstream `name`, a separator and something.
fn tool_after<'a>(spelled: &'a str, name: &str, separators: Separators) -> Option<&'a str> {
    if name.is_empty() {
        return None;
    }
    let mut rest = spelled.chars();
    for expected in name.chars() {
        if !is_same(rest.next()?, expected) {
            return None;
        }
    }
    let rest = rest.as_str();
    let mut between = separators.between.iter();
    let tool = between.find_map(|separator| rest.strip_prefix(separator))?;
    (!tool.is_empty()).then_some(tool)
}

/// Says whether an agent may have written `expected` as `found`.
fn is_same(found: char, expected: char) -> bool {
    found.eq_ignore_ascii_case(&expected) || (found == '_' && !expected.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const UPSTREAMS: &[&str] = &[
        "slack",
        "github",
        "github-enterprise",
        "my.db",
        "my-db",
        "a",
        "a__b",
        "google drive",
        "time",
        "mcp-server",
        "web",
    ];

    fn show(spelled: &str) -> String {
        let names = Names {
            upstreams: UPSTREAMS,
            gateways: &["mcpproxy", "gw"],
        };
        match meaning(spelled, &names) {
            Meaning::Upstream {
                upstream,
                tool,
                others,
            } if others.is_empty() => {
                format!("{upstream} > {tool}")
            }
            Meaning::Upstream {
                upstream,
                tool,
                others,
            } => {
                format!("{upstream} > {tool}, or {}", others.join(", "))
            }
            Meaning::Ambiguous { upstreams, tool } => format!("{}? > {tool}", upstreams.join("|")),
            Meaning::Gateway { tool } => format!("gateway > {tool}"),
            Meaning::Elsewhere { name } => format!("elsewhere > {name}"),
            Meaning::Plain => "plain".to_owned(),
        }
    }

    fn check(spelled: &str, expect: &str) {
        assert_eq!(show(spelled), expect, "{spelled}");
    }

    #[test]
    fn fr_006_every_agents_spelling_is_understood() {
        check("mcp__slack__post_message", "slack > post_message");
        check("mcp_slack_post_message", "slack > post_message");
        check("slack__post_message", "slack > post_message");
        check("slack:post_message", "slack > post_message");
        check("slack.post_message", "slack > post_message");
        check("@slack/post_message", "slack > post_message");
        check("slack/post_message", "slack > post_message");
        check("slack_post_message", "slack > post_message");
        check("slack-post_message", "slack > post_message");
        check("MCP:slack:post_message", "slack > post_message");
        check("MCP:post_message", "elsewhere > post_message");
        check("MCP: post_message", "elsewhere > post_message");
        check("mcp__Slack__post", "slack > post");
        check("mcp__plugin_acme_slack__post", "slack > post");
        check("mcp__google_drive__search", "google drive > search");
        check("mcp__mcp-server__x", "mcp-server > x");
        check("mcp-server:x", "mcp-server > x");
        check("mcp_server_x", "mcp-server > x");
    }

    #[test]
    fn the_longest_known_name_wins_and_the_others_are_said() {
        check(
            "mcp__github-enterprise__search",
            "github-enterprise > search",
        );
        check(
            "mcp_github_enterprise_search",
            "github-enterprise > search, or github",
        );
        check("mcp_github_search", "github > search");
        check("mcp__a__b__c", "a__b > c, or a");
        check("mcp__a__x__c", "a > x__c");
    }

    #[test]
    fn twins_that_the_agent_cannot_tell_apart_are_ambiguous() {
        check("mcp__my_db__query", "my.db|my-db? > query");
        check("mcp__my-db__query", "my-db > query");
        check("my.db:query", "my.db > query");
    }

    #[test]
    fn what_comes_through_this_gateway_is_taken_apart_again() {
        check("mcp__gw__slack__post_message", "slack > post_message");
        check("mcp__mcpproxy__call_tool_read", "gateway > call_tool_read");
        check("mcp_mcpproxy_slack__post", "slack > post");
        check("mcpproxy:retrieve_tools", "gateway > retrieve_tools");
    }

    #[test]
    fn the_unknown_is_not_taken_for_the_known() {
        check("mcp__evil__post", "elsewhere > evil__post");
        check("mcp__slackish__post", "elsewhere > slackish__post");
        check("mcp__slack_post", "elsewhere > slack_post");
        check("mcp__slack__", "elsewhere > slack__");
        check("web_search", "plain");
        check("web__search", "web > search");
        check("mcp__web__search", "web > search");
        check("Read", "plain");
        check("timeout", "plain");
        check("time", "plain");
        check("", "plain");
        check("mcp__", "elsewhere > ");
    }

    proptest! {
        #[test]
        fn any_spelling_is_taken(spelled in "\\PC{0,60}") {
            let _shown = show(&spelled);
        }

        #[test]
        fn what_was_put_together_comes_apart(
            upstream in "[a-z][a-z0-9-]{0,12}",
            tool in "[a-z][a-z0-9_]{0,15}",
        ) {
            let known = [&*upstream];
            let names = Names { upstreams: &known, gateways: &[] };
            let spellings = [
                format!("mcp__{upstream}__{tool}"),
                format!("{upstream}:{tool}"),
                format!("{upstream}__{tool}"),
                format!("@{upstream}/{tool}"),
                format!("mcp_{}_{tool}", upstream.replace('-', "_")),
            ];
            for spelled in &spellings {
                let expect = Meaning::Upstream { upstream: &upstream, tool: &tool, others: vec![] };
                prop_assert_eq!(meaning(spelled, &names), expect, "{}", spelled);
            }
        }
    }
}

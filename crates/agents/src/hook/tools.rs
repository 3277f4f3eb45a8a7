//! The names of tools: the agents' own under the names of the specification, and those behind MCP
//! taken apart where the agent's spelling is plain.
//!
//! What a tool is for, and upstreams whose names contain the separators, are not known here: the
//! daemon knows the upstreams and has the spelling too.

use super::Tool;

/// The specification's names (FR-002), and what agents call the same, as one word in lower case.
const NAMES: &[(&str, &[&str])] = &[
    (
        "Bash",
        &[
            "bash",
            "shell",
            "developershell",
            "execcommand",
            "executebash",
            "executecommand",
            "localshell",
            "runcommand",
            "runinterminal",
            "runshellcommand",
            "runterminalcmd",
            "runterminalcommand",
            "shellcommand",
            "unifiedexec",
        ],
    ),
    (
        "Read",
        &[
            "read",
            "readfile",
            "fsread",
            "readcode",
            "readmanyfiles",
            "view",
            "viewfile",
        ],
    ),
    (
        "Write",
        &[
            "write",
            "writefile",
            "writetofile",
            "create",
            "createfile",
            "developerwrite",
            "fswrite",
        ],
    ),
    (
        "Edit",
        &[
            "edit",
            "editfile",
            "applypatch",
            "developeredit",
            "developertexteditor",
            "inserteditintofile",
            "multiedit",
            "patch",
            "replace",
            "replaceinfile",
            "replacestringinfile",
            "strreplaceeditor",
            "writecode",
        ],
    ),
    ("Glob", &["glob", "filesearch", "findfiles"]),
    (
        "Grep",
        &["grep", "grepsearch", "searchfilecontent", "searchfiles"],
    ),
    (
        "WebFetch",
        &[
            "webfetch",
            "fetch",
            "fetchurl",
            "fetchwebpage",
            "readurlcontent",
        ],
    ),
    ("WebSearch", &["websearch", "googlewebsearch", "searchweb"]),
    (
        "Task",
        &["task", "agent", "runsubagent", "spawnagent", "subagent"],
    ),
];

/// Makes a tool that the agent brings along. No agent writes characters that nobody sees: a name with one is
/// that of no known tool, and is not to be read as if it were on record.
pub(super) fn own(spelled: &str) -> Tool {
    let is_seen = !spelled.chars().any(char::is_control);
    let letters = spelled.chars().filter(char::is_ascii_alphanumeric);
    let word: String = letters.take(40).map(|it| it.to_ascii_lowercase()).collect();
    let mut known = NAMES.iter().filter(|(_, all)| all.contains(&word.as_str()));
    let known = known.next().filter(|_| is_seen);
    let name = known.map_or(spelled, |(name, _)| *name);
    Tool::Own {
        name: name.to_owned(),
        spelled: spelled.to_owned(),
    }
}

/// Makes a tool behind MCP.
pub(super) fn mcp(upstream: &str, tool: &str, spelled: &str) -> Tool {
    Tool::Mcp {
        upstream: upstream.to_owned(),
        tool: tool.to_owned(),
        spelled: spelled.to_owned(),
    }
}

/// Takes `mark upstream separator tool` apart; `upstream` is known where the agent says it beside.
///
/// Agents write one character for each that they do not like, so that a known name tells by its
/// length where the tool begins, also where it contains the separator.
pub(super) fn marked(
    spelled: &str,
    mark: &str,
    separator: &str,
    upstream: Option<&str>,
) -> Option<Tool> {
    let rest = spelled.strip_prefix(mark)?;
    let known = upstream.and_then(|upstream| {
        let at = rest.char_indices().nth(upstream.chars().count())?.0;
        let tool = rest.get(at..)?.strip_prefix(separator)?;
        Some((upstream, tool))
    });
    let (found, tool) = match known {
        Some(known) => known,
        None => rest.split_once(separator)?,
    };
    let upstream = upstream.unwrap_or(found);
    let whole = !tool.is_empty() && !upstream.is_empty();
    whole.then(|| mcp(upstream, tool, spelled))
}

/// Understands `mcp__upstream__tool`, as Claude Code and Codex spell it.
pub(super) fn claude(spelled: &str, upstream: Option<&str>) -> Tool {
    marked(spelled, "mcp__", "__", upstream).unwrap_or_else(|| own(spelled))
}

/// Understands `mcp_upstream_tool`, as Gemini CLI and VS Code spell it.
pub(super) fn underscored(spelled: &str, upstream: Option<&str>) -> Tool {
    marked(spelled, "mcp__", "__", upstream)
        .or_else(|| marked(spelled, "mcp_", "_", upstream))
        .unwrap_or_else(|| own(spelled))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(tool: &Tool) -> String {
        match tool {
            Tool::Own { name, .. } => name.clone(),
            Tool::Mcp { upstream, tool, .. } => format!("{upstream} > {tool}"),
            Tool::None => "none".to_owned(),
        }
    }

    #[test]
    fn agents_names_become_the_specifications() {
        let check = |expect: &str, names: &str| {
            for name in names.split_whitespace() {
                assert_eq!(show(&own(name)), expect, "{name}");
            }
        };
        check(
            "Bash",
            "Bash Shell run_shell_command developer__shell execute_bash",
        );
        check("Read", "Read read_file ReadFile fs_read view");
        check("Edit", "Edit apply_patch replace MultiEdit");
        check("WebFetch", "WebFetch web_fetch fetch_webpage");
        check("Task", "Task Agent spawn_agent");
        check("frobnicate", "frobnicate");
        check("日本", "日本");
        // Regression for #8: it was on record as another tool than was told.
        check("Ba\0sh", "Ba\0sh");
        check("Ba\u{1b}sh", "Ba\u{1b}sh");
    }

    #[test]
    fn tools_behind_mcp_come_apart() {
        let check = |spelled: &str, upstream: Option<&str>, expect: &str| {
            assert_eq!(show(&claude(spelled, upstream)), expect, "{spelled}");
        };
        check("mcp__slack__post_message", None, "slack > post_message");
        check("mcp__gw__slack__post", None, "gw > slack__post");
        check("mcp__gw__slack__post", Some("gw"), "gw > slack__post");
        check("mcp__my_db__query", Some("my.db"), "my.db > query");
        check("mcp__a__b__query", Some("a__b"), "a__b > query");
        check("mcp__plugin_x_s__t", Some("s"), "s > t");
        check("mcp__slack__", None, "mcp__slack__");
        check("mcp__slack", None, "mcp__slack");
        check("Read", Some("x"), "Read");
    }

    #[test]
    fn single_underscores_come_apart_too() {
        let check = |spelled: &str, upstream: Option<&str>, expect: &str| {
            assert_eq!(show(&underscored(spelled, upstream)), expect, "{spelled}");
        };
        check("mcp_slack_post_message", None, "slack > post_message");
        check("mcp_my_db_query", Some("my_db"), "my_db > query");
        check("mcp_é_query", Some("é"), "é > query");
        check("read_file", None, "Read");
    }
}

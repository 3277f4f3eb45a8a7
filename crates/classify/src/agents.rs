//! The tools that agents bring along: files, shells, the web, helpers. Their names with each agent
//! are in `rules/agents.txt`; names of tools behind MCP are taken apart in [`spelling`].
//!
//! Only a door that hears from the agent itself may ask here: an upstream can call its own tool
//! `Read` as well.

pub mod spelling;
pub mod wiring;

use std::collections::HashMap;
use std::sync::LazyLock;

use mcpproxy_core::{Masked, Operation};
use serde::Serialize;

use crate::class::{Class, Confidence, Kind, Method};
use crate::rules::{Section, sections};
use crate::words::Words;

/// What a tool of an agent is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Reads files, or lists and searches them.
    ReadFiles,
    /// Creates or changes files.
    WriteFiles,
    /// Removes files.
    DeleteFiles,
    /// Runs commands: what they read and where they send is for the shell's reader to say.
    Shell,
    /// Looks at a command that runs.
    WatchShell,
    /// Stops a command that runs.
    StopShell,
    /// Gets an address.
    WebFetch,
    /// Asks a search engine.
    WebSearch,
    /// Drives a browser or a desktop.
    Browser,
    /// Hands work to another agent.
    Delegate,
    /// Talks to the person in front of it.
    AskUser,
    /// Keeps notes, plans and memories.
    Notes,
    /// Calls a tool or reads a resource behind MCP, named in the arguments.
    CallUpstream,
    /// Puts something where others see it.
    Publish,
    /// Drives a cloud.
    Cloud,
}

impl Role {
    /// Returns the class of such tools.
    pub fn kind(self) -> Kind {
        match self {
            Self::ReadFiles
            | Self::WriteFiles
            | Self::DeleteFiles
            | Self::WatchShell
            | Self::StopShell
            | Self::AskUser
            | Self::Notes => Kind::Internal,
            Self::WebFetch | Self::WebSearch | Self::Publish => Kind::External,
            Self::Shell | Self::Browser | Self::Delegate | Self::CallUpstream | Self::Cloud => {
                Kind::Hybrid
            }
        }
    }

    /// Returns what such tools do.
    pub fn operation(self) -> Operation {
        match self {
            Self::ReadFiles
            | Self::WatchShell
            | Self::WebFetch
            | Self::WebSearch
            | Self::AskUser => Operation::Read,
            Self::WriteFiles
            | Self::Shell
            | Self::Browser
            | Self::Delegate
            | Self::Notes
            | Self::CallUpstream
            | Self::Publish
            | Self::Cloud => Operation::Write,
            Self::DeleteFiles | Self::StopShell => Operation::Destructive,
        }
    }

    fn reason(self) -> &'static str {
        match self {
            Self::ReadFiles => "reads local files",
            Self::WriteFiles => "changes local files",
            Self::DeleteFiles => "removes local files",
            Self::Shell => "runs commands, which can read and send",
            Self::WatchShell => "looks at a running command",
            Self::StopShell => "stops a running command",
            Self::WebFetch => "gets an address on the web",
            Self::WebSearch => "asks a search engine",
            Self::Browser => "drives a browser or a desktop",
            Self::Delegate => "hands work to another agent",
            Self::AskUser => "talks to the user",
            Self::Notes => "keeps notes of the agent",
            Self::CallUpstream => "calls what its arguments name",
            Self::Publish => "puts something where others see it",
            Self::Cloud => "drives a cloud",
        }
    }

    /// Returns the class as a value with its reason.
    pub fn class(self) -> Class {
        Class {
            kind: self.kind(),
            confidence: Confidence::percent(95),
            method: Method::Heuristic,
            reason: Masked::from_safe(self.reason()),
        }
    }
}

static ROLES: LazyLock<HashMap<&'static str, Role>> = LazyLock::new(|| {
    let each = |section: Section| {
        let role = parse(section.header);
        section.names().filter_map(move |name| Some((name, role?)))
    };
    sections(include_str!("../rules/agents.txt"))
        .flat_map(each)
        .collect()
});

/// Finds what a tool of an agent is for; nothing if no agent is known to have it.
pub fn role(tool: &str) -> Option<Role> {
    ROLES.get(Words::of(tool).joined()).copied()
}

fn parse(header: &str) -> Option<Role> {
    Some(match header {
        "read_files" => Role::ReadFiles,
        "write_files" => Role::WriteFiles,
        "delete_files" => Role::DeleteFiles,
        "shell" => Role::Shell,
        "watch_shell" => Role::WatchShell,
        "stop_shell" => Role::StopShell,
        "web_fetch" => Role::WebFetch,
        "web_search" => Role::WebSearch,
        "browser" => Role::Browser,
        "delegate" => Role::Delegate,
        "ask_user" => Role::AskUser,
        "notes" => Role::Notes,
        "call_upstream" => Role::CallUpstream,
        "publish" => Role::Publish,
        "cloud" => Role::Cloud,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: Kind, operation: Operation, names: &str) {
        for name in names.split_whitespace() {
            let role = role(name).unwrap_or_else(|| panic!("{name} is not known"));
            assert_eq!(
                (role.kind(), role.operation()),
                (kind, operation),
                "{name}: {role:?}"
            );
        }
    }

    #[test]
    fn us2_3_read_is_internal_and_reads_data() {
        let class = role("Read").unwrap().class();
        assert_eq!(class.kind, Kind::Internal);
        assert!(class.can_read_data() && !class.can_exfiltrate());
    }

    #[test]
    fn us2_4_web_fetch_is_external_and_can_exfiltrate() {
        let class = role("WebFetch").unwrap().class();
        assert_eq!(class.kind, Kind::External);
        assert!(class.can_exfiltrate() && !class.can_read_data());
    }

    #[test]
    fn us2_5_bash_is_hybrid() {
        let class = role("Bash").unwrap().class();
        assert_eq!(class.kind, Kind::Hybrid);
        assert!(class.can_exfiltrate() && class.can_read_data());
    }

    #[test]
    fn fr_002_agents_tools_have_their_class_under_every_agents_name() {
        use Operation::{Destructive, Read, Write};
        check(
            Kind::Internal,
            Read,
            "Read Glob Grep LS NotebookRead read_file view_file fs_read",
        );
        check(
            Kind::Internal,
            Read,
            "search_file_content list_dir grep_search view codebase_search",
        );
        check(
            Kind::Internal,
            Write,
            "Write Edit MultiEdit NotebookEdit apply_patch write_to_file",
        );
        check(
            Kind::Internal,
            Write,
            "replace str_replace_editor insert_edit_into_file fs_write",
        );
        check(
            Kind::Internal,
            Write,
            "developer__text_editor TodoWrite update_plan save_memory",
        );
        check(Kind::Internal, Destructive, "Delete delete_file KillShell");
        check(
            Kind::Hybrid,
            Write,
            "Bash Shell run_terminal_cmd run_shell_command run_in_terminal",
        );
        check(
            Kind::Hybrid,
            Write,
            "run_command execute_bash developer__shell exec_command Execute",
        );
        check(
            Kind::Hybrid,
            Write,
            "local_shell execute_command container.exec PowerShell terminal",
        );
        check(
            Kind::Hybrid,
            Write,
            "Task Agent spawn_agent use_mcp_tool browser_action use_aws",
        );
        check(
            Kind::External,
            Read,
            "WebFetch WebSearch web_fetch google_web_search search_web",
        );
        check(
            Kind::External,
            Read,
            "fetch_webpage read_url_content FetchUrl webfetch fetch",
        );
        check(Kind::External, Write, "deploy_web_app");
    }

    #[test]
    fn others_are_not_known() {
        for name in ["frobnicate", "", "mcp__slack__post_message", "Reader"] {
            assert_eq!(role(name), None, "{name}");
        }
    }

    #[test]
    fn the_table_is_whole() {
        let table = || sections(include_str!("../rules/agents.txt"));
        let names = table().flat_map(Section::names);
        assert_eq!(names.count(), ROLES.len(), "a name has two roles, or none");
        for name in table().flat_map(Section::names) {
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase()), "{name}");
        }
    }
}

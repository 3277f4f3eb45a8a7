//! The agents we know, and what each must say about itself.
//!
//! One adapter a file. An adapter names files, keys and shapes; it neither touches the disk (but
//! for finding profiles) nor edits text.

use std::fmt;
use std::path::PathBuf;

use crate::endpoint::Endpoint;
use crate::entry::{Fields, References};
use crate::format::Format;
use crate::imported::Transport;
use crate::places::{Location, Places};
use crate::tree::{KeyPath, Node};
use crate::vars::Dialect;
use crate::{claude_code, claude_desktop, codex, cursor, gemini, goose, vscode, windsurf};

/// An agent whose configuration we can read and change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AgentKind {
    /// Claude Code, Anthropic's agent for the terminal.
    ClaudeCode,
    /// Claude Desktop.
    ClaudeDesktop,
    /// Cursor.
    Cursor,
    /// Visual Studio Code.
    VsCode,
    /// Codex, `OpenAI`'s agent.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Windsurf, since 2026 also called Devin Desktop.
    Windsurf,
    /// Goose.
    Goose,
}

impl AgentKind {
    /// All agents, in the order in which their upstreams claim names.
    pub const ALL: [Self; 8] = [
        Self::ClaudeCode,
        Self::ClaudeDesktop,
        Self::Cursor,
        Self::VsCode,
        Self::Codex,
        Self::Gemini,
        Self::Windsurf,
        Self::Goose,
    ];

    /// Returns the name people know it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Windsurf => "Windsurf",
            Self::Goose => "Goose",
        }
    }

    /// Returns the name for command lines and suffixes.
    pub fn slug(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Windsurf => "windsurf",
            Self::Goose => "goose",
        }
    }

    /// Finds the agent of a slug.
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agent| agent.slug() == slug)
    }

    pub(crate) fn adapter(self) -> &'static dyn Adapter {
        match self {
            Self::ClaudeCode => &claude_code::ClaudeCode,
            Self::ClaudeDesktop => &claude_desktop::ClaudeDesktop,
            Self::Cursor => &cursor::Cursor,
            Self::VsCode => &vscode::VsCode,
            Self::Codex => &codex::Codex,
            Self::Gemini => &gemini::Gemini,
            Self::Windsurf => &windsurf::Windsurf,
            Self::Goose => &goose::Goose,
        }
    }
}

impl fmt::Display for AgentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A map of entries within a file.
pub(crate) struct List {
    pub(crate) path: KeyPath,
    /// The folder in which the entries are started, where the agent fixes one.
    pub(crate) project: Option<PathBuf>,
    /// Entries that another setting of the file switches off.
    pub(crate) off: Vec<String>,
}

/// What an agent must say about itself.
pub(crate) trait Adapter: Sync {
    /// Lists the files it may read, the one to create first.
    fn locations(&self, places: &Places) -> Vec<Location>;

    /// Says how its files are written.
    fn format(&self) -> Format {
        Format::Jsonc
    }

    /// Says how its values refer to variables.
    fn dialect(&self) -> Dialect;

    /// Names the key of the list that receives our entry.
    fn list(&self) -> &'static str {
        "mcpServers"
    }

    /// Finds the lists of a file, the one that receives our entry first.
    fn lists(&self, _root: &Node, location: &Location) -> Vec<List> {
        let path = vec![self.list().to_owned()];
        vec![List {
            path,
            project: location.project.clone(),
            off: Vec::new(),
        }]
    }

    /// Reads an entry: an upstream, nothing for what is no upstream, or why it must stay.
    fn read(&self, fields: &mut Fields<'_>) -> Result<Option<Transport>, String>;

    /// Reads variables that the agent names outside of values.
    fn references(&self, _fields: &mut Fields<'_>) -> Result<References, String> {
        Ok(References::new())
    }

    /// Spells the entry that leads to mcpproxy.
    fn entry(&self, endpoint: &Endpoint) -> Node;

    /// Says what else in the file keeps our entry from working.
    fn obstacles(&self, _root: &Node) -> Vec<String> {
        Vec::new()
    }
}

/// Spells a command as nearly every agent does.
pub(crate) fn stdio_entry(endpoint: &Endpoint) -> [(&'static str, Node); 2] {
    let launch = endpoint.launch();
    [
        ("command", Node::text(&launch.command)),
        ("args", Node::texts(&launch.args)),
    ]
}

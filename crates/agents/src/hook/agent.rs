//! The agents that have hooks, and the names by which commands and records know them.

use std::fmt;

use super::adapter::Adapter;
use super::{
    claude_agent_sdk, claude_code, cline, codex, copilot_cli, cursor, gemini_cli, goose, kiro,
    opencode, vscode, windsurf,
};

/// An agent that has hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookAgent {
    /// Claude Code.
    ClaudeCode,
    /// Programs made with the Claude Agent SDK, whose hooks are functions.
    ClaudeAgentSdk,
    /// Cursor, in its window and in the terminal.
    Cursor,
    /// Gemini CLI.
    GeminiCli,
    /// Codex, `OpenAI`'s agent.
    Codex,
    /// GitHub Copilot in the terminal.
    CopilotCli,
    /// The agent of Visual Studio Code.
    VsCode,
    /// Windsurf, since 2026 also called Devin Desktop.
    Windsurf,
    /// Goose.
    Goose,
    /// `OpenCode`, whose hooks are plugins.
    OpenCode,
    /// Kiro, and Amazon Q from which it came.
    Kiro,
    /// Cline.
    Cline,
}

impl HookAgent {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 12] = [
        Self::ClaudeCode,
        Self::ClaudeAgentSdk,
        Self::Cursor,
        Self::GeminiCli,
        Self::Codex,
        Self::CopilotCli,
        Self::VsCode,
        Self::Windsurf,
        Self::Goose,
        Self::OpenCode,
        Self::Kiro,
        Self::Cline,
    ];

    /// Returns the name for command lines and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeAgentSdk => "claude-agent-sdk",
            Self::Cursor => "cursor",
            Self::GeminiCli => "gemini-cli",
            Self::Codex => "codex",
            Self::CopilotCli => "copilot-cli",
            Self::VsCode => "vscode",
            Self::Windsurf => "windsurf",
            Self::Goose => "goose",
            Self::OpenCode => "opencode",
            Self::Kiro => "kiro",
            Self::Cline => "cline",
        }
    }

    /// Finds the agent of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agent| agent.name() == name)
    }

    /// Returns the name people know it by.
    pub fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::ClaudeAgentSdk => "Claude Agent SDK",
            Self::Cursor => "Cursor",
            Self::GeminiCli => "Gemini CLI",
            Self::Codex => "Codex",
            Self::CopilotCli => "Copilot CLI",
            Self::VsCode => "VS Code",
            Self::Windsurf => "Windsurf",
            Self::Goose => "Goose",
            Self::OpenCode => "OpenCode",
            Self::Kiro => "Kiro",
            Self::Cline => "Cline",
        }
    }

    pub(super) fn adapter(self) -> &'static dyn Adapter {
        match self {
            Self::ClaudeCode => &claude_code::ClaudeCode,
            Self::ClaudeAgentSdk => &claude_agent_sdk::ClaudeAgentSdk,
            Self::Cursor => &cursor::Cursor,
            Self::GeminiCli => &gemini_cli::GeminiCli,
            Self::Codex => &codex::Codex,
            Self::CopilotCli => &copilot_cli::CopilotCli,
            Self::VsCode => &vscode::VsCode,
            Self::Windsurf => &windsurf::Windsurf,
            Self::Goose => &goose::Goose,
            Self::OpenCode => &opencode::OpenCode,
            Self::Kiro => &kiro::Kiro,
            Self::Cline => &cline::Cline,
        }
    }
}

impl fmt::Display for HookAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_is_found_by_its_name() {
        for agent in HookAgent::ALL {
            assert_eq!(HookAgent::from_name(agent.name()), Some(agent));
        }
        assert_eq!(HookAgent::from_name("claude"), None);
    }
}

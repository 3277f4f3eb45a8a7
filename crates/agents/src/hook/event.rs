//! What an event of an agent means to us, whatever the agent calls it.

use std::fmt;

/// What an event means to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookEvent {
    /// A tool is about to run: this is where a call can be stopped.
    Pre,
    /// A tool has run, or failed: what it gave is on record, nothing is stopped.
    Post,
    /// A person has written to the agent.
    Prompt,
    /// A conversation begins.
    SessionStart,
    /// A conversation ends.
    SessionEnd,
    /// The agent is about to ask its user for leave.
    Permission,
}

/// What the agents call each event, as one word in lower case.
const SPELLINGS: &[(HookEvent, &[&str])] = &[
    (
        HookEvent::Pre,
        &[
            "pretooluse",
            "pre",
            "beforetool",
            "beforeshellexecution",
            "beforemcpexecution",
            "beforereadfile",
            "beforetabfileread",
            "preruncommand",
            "premcptooluse",
            "prereadcode",
            "prewritecode",
            "toolexecutebefore",
        ],
    ),
    (
        HookEvent::Post,
        &[
            "posttooluse",
            "post",
            "posttoolusefailure",
            "aftertool",
            "aftershellexecution",
            "aftermcpexecution",
            "afterfileedit",
            "aftertabfileedit",
            "postruncommand",
            "postmcptooluse",
            "postreadcode",
            "postwritecode",
            "toolexecuteafter",
        ],
    ),
    (
        HookEvent::Prompt,
        &[
            "userpromptsubmit",
            "userpromptsubmitted",
            "beforesubmitprompt",
            "beforeagent",
            "preuserprompt",
            "chatmessage",
            "prompt",
        ],
    ),
    (HookEvent::SessionStart, &["sessionstart", "agentspawn"]),
    (HookEvent::SessionEnd, &["sessionend"]),
    (HookEvent::Permission, &["permissionrequest", "permission"]),
];

impl HookEvent {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Pre,
        Self::Post,
        Self::Prompt,
        Self::SessionStart,
        Self::SessionEnd,
        Self::Permission,
    ];

    /// Returns the name that the specification gives it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pre => "PreToolUse",
            Self::Post => "PostToolUse",
            Self::Prompt => "UserPromptSubmit",
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::Permission => "PermissionRequest",
        }
    }

    /// Finds the meaning of a name in the spelling of any agent.
    pub fn from_name(name: &str) -> Option<Self> {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        let word: String = letters.take(40).map(|it| it.to_ascii_lowercase()).collect();
        let row = SPELLINGS.iter();
        let mut row = row.filter(|(_, spellings)| spellings.contains(&word.as_str()));
        row.next().map(|(event, _)| *event)
    }

    /// Says whether the event speaks of one tool call.
    pub fn has_tool(self) -> bool {
        matches!(self, Self::Pre | Self::Post | Self::Permission)
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expect: Option<HookEvent>, names: &str) {
        for name in names.split_whitespace() {
            assert_eq!(HookEvent::from_name(name), expect, "{name}");
        }
    }

    #[test]
    fn every_agents_spelling_has_its_meaning() {
        check(
            Some(HookEvent::Pre),
            "PreToolUse preToolUse pre-tool-use BeforeTool beforeShellExecution pre_run_command \
             beforeMCPExecution pre_mcp_tool_use tool.execute.before BeforeReadFile",
        );
        check(
            Some(HookEvent::Post),
            "PostToolUse postToolUse PostToolUseFailure AfterTool afterMCPExecution \
             post_mcp_tool_use tool.execute.after",
        );
        check(
            Some(HookEvent::Prompt),
            "UserPromptSubmit userPromptSubmitted beforeSubmitPrompt BeforeAgent pre_user_prompt",
        );
        check(Some(HookEvent::SessionStart), "SessionStart agentSpawn");
        check(Some(HookEvent::SessionEnd), "SessionEnd sessionEnd");
        check(
            Some(HookEvent::Permission),
            "PermissionRequest permissionRequest",
        );
        check(None, "Stop Notification PreCompact PreToolUseResult x");
        assert_eq!(HookEvent::from_name(""), None);
    }

    #[test]
    fn every_event_is_found_by_its_name() {
        for event in HookEvent::ALL {
            assert_eq!(HookEvent::from_name(event.name()), Some(event));
        }
    }
}
